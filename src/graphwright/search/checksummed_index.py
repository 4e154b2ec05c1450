"""Base of indexes that are equal if their arrays are: checksum, equality, hash and repr."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import Self


class ChecksummedIndex:
    """Base of indexes that are equal if their arrays are: checksum, equality, hash and repr."""

    _expression = ""

    def named(self, expression: str) -> Self:
        """Return this index with another repr, such as `ix.names` in a snapshot; nothing is copied."""
        if self._expression == expression:
            return self
        result = copy(self)
        object.__setattr__(result, "_expression", expression)
        return result

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of rows and columns."""
        raise NotImplementedError

    @cached_property
    def checksum(self) -> str:
        """Sixteen hexadecimal digits over all arrays."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self.shape == other.shape and self.checksum == other.checksum

    def __hash__(self) -> int:
        return hash(self.checksum)

    def __repr__(self) -> str:
        return self._expression or self.fingerprint

    @property
    def fingerprint(self) -> str:
        """Its kind, its shape, and the first half of its checksum."""
        return f"{type(self).__name__}({' × '.join(map(str, self.shape))}, {self.checksum[:8]})"
