"""Methods as expressions of operators; the package itself is the registry, name to builder."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphwright.methods.registry import NamedMethod


class _Registry(ModuleType, Mapping[str, Any]):
    """A module that is also the mapping of its methods; hashed and compared as a module."""

    __hash__ = ModuleType.__hash__
    __eq__ = ModuleType.__eq__

    def _methods(self) -> dict[str, NamedMethod]:
        from graphwright.methods.registry import METHODS

        return METHODS

    def __getitem__(self, name: str) -> NamedMethod:
        return self._methods()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._methods())

    def __len__(self) -> int:
        return len(self._methods())


# The public names of the package and of the registry are the same, so one object is both.
sys.modules[__name__].__class__ = _Registry
