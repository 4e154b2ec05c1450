"""A column of strings in one block of UTF-8, so that millions of names open at once and cost no memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import overload

import numpy as np
from numpy.typing import NDArray

__all__ = ["TextColumn"]


class TextColumn(Sequence[str]):
    """Strings by position: `data: uint8[bytes]` holds them end to end, `offsets: int64[n + 1]` their borders.

    Both arrays may be memory-mapped; a string is decoded when it is asked for.

    >>> column = TextColumn.of(["Graz", "", "Łódź"])
    >>> len(column), column[2], column[-3], list(column)
    (3, 'Łódź', 'Graz', ['Graz', '', 'Łódź'])
    """

    __slots__ = ("data", "offsets")

    def __init__(self, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self.data = data
        self.offsets = offsets

    @classmethod
    def of(cls, strings: Iterable[str]) -> TextColumn:
        """Make a column of any strings; lone surrogates are kept."""
        encoded = [s.encode("utf-8", "surrogatepass") for s in strings]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(b) for b in encoded], out=offsets[1:])
        data = np.frombuffer(b"".join(encoded), np.uint8)
        offsets.flags.writeable = False
        return cls(data, offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self)))]
        if not -len(self) <= at < len(self):
            raise IndexError(f"position {at} in a column of {len(self)}")
        at = int(at) % len(self)
        return self._bytes(at).decode("utf-8", "surrogatepass")

    def _bytes(self, at: int) -> bytes:
        return self.data[self.offsets[at] : self.offsets[at + 1]].tobytes()

    def take(self, ids: Iterable[int]) -> list[str]:
        """Return the strings at `ids`, in that order."""
        return [self[int(i)] for i in ids]

    def order(self) -> NDArray[np.int64]:
        """Return positions sorted by string (by its UTF-8 bytes), equal strings by position: int64[n].

        `ends` searches a column through it.
        """
        encoded = [self._bytes(i) for i in range(len(self))]
        return np.array(sorted(range(len(self)), key=encoded.__getitem__), np.int64)

    def ends(self, text: str, order: NDArray[np.int64], *, prefix: bool = False) -> tuple[int, int]:
        """Return the part of `order` (first, last + 1) that equals `text`, or begins with it.

        Costs a few dozen string comparisons at any size.

        >>> column = TextColumn.of(["b", "a", "b", "bc"])
        >>> order = column.order()
        >>> first, last = column.ends("b", order); order[first:last].tolist()
        [0, 2]
        >>> first, last = column.ends("b", order, prefix=True); order[first:last].tolist()
        [0, 2, 3]
        """
        sought = text.encode("utf-8", "surrogatepass")
        first = self._bisect(order, sought, 0)
        if not prefix:
            return first, self._bisect(order, sought + b"\0", first)
        # No byte of UTF-8 is 0xff, so this comes after all that begins with the text.
        return first, self._bisect(order, sought + b"\xff", first)

    def first(self, text: str, order: NDArray[np.int64], low: int = 0) -> int:
        """Return where in `order`, from `low` on, `text` stands or would stand."""
        return self._bisect(order, text.encode("utf-8", "surrogatepass"), low)

    def _bisect(self, order: NDArray[np.int64], sought: bytes, low: int) -> int:
        high = len(order)
        while low < high:
            middle = (low + high) // 2
            if self._bytes(int(order[middle])) < sought:
                low = middle + 1
            else:
                high = middle
        return low

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TextColumn):
            return NotImplemented
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(self.data, other.data)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, islice(self, 3)))
        return f"TextColumn({shown}{', …' if len(self) > 3 else ''}; {len(self)} strings)"
