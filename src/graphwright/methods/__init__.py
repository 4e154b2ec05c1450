"""Published methods and baselines, each an expression of operators.

The package is itself the registry, name to builder: `methods["ppr"](index.snapshot)` is a pipeline.

>>> from graphwright import methods
>>> "fastinsight" in methods, "ppr" in methods, "pagerank" in methods
(True, True, False)
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphwright.methods.registry import Method


class _Registry(ModuleType, Mapping[str, Any]):
    """A module that is read as the mapping that it holds; hashed and compared as modules are."""

    __hash__ = ModuleType.__hash__
    __eq__ = ModuleType.__eq__

    def _methods(self) -> dict[str, Method]:
        from graphwright.methods.registry import METHODS

        return METHODS

    def __getitem__(self, name: str) -> Method:
        return self._methods()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._methods())

    def __len__(self) -> int:
        return len(self._methods())


# A package's name and the registry's are one in the public contract, so one object has to be both.
sys.modules[__name__].__class__ = _Registry
