"""Numbering of distinct 64-bit codes by first appearance."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.kernels.csr import Ids, kernel, readonly

Codes = NDArray[np.uint64]
_FULL = 0.75  # share of slots in use before the table grows
_FIRST = 1 << 16
_ONE = np.uint64(1)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: spreads close codes


@kernel
def _slot(slots: Codes, shift: int, code: np.uint64) -> np.uint64:
    """Return the slot that holds a code, or the free one where it belongs.

    A slot holds a code and its number plus 1, side by side: one cache line a look-up. `shift` leaves as many of the
    topmost bits of the spread code as number the slots.
    """
    last = np.uint64(len(slots) - 1)
    at = (code * _SPREAD) >> np.uint64(shift)
    while slots[at, 1] != 0 and slots[at, 0] != code:
        at = (at + _ONE) & last
    return at


@kernel
def _take(codes: Codes, slots: Codes, shift: int, size: int, capacity: int, out: Ids) -> tuple[int, int]:
    """Number codes by first appearance up to `capacity`; return how many were read and how many are distinct."""
    for i in range(codes.size):
        at = _slot(slots, shift, codes[i])
        if slots[at, 1] == 0:
            if size == capacity:
                return i, size
            size += 1
            slots[at, 0], slots[at, 1] = codes[i], np.uint64(size)
        out[i] = np.int32(slots[at, 1] - _ONE)
    return codes.size, size


@kernel
def _find(codes: Codes, slots: Codes, shift: int, out: Ids) -> None:
    """Write the number of each code, -1 for an unknown one."""
    for i in range(codes.size):
        out[i] = np.int32(np.int64(slots[_slot(slots, shift, codes[i]), 1]) - 1)


@kernel
def _move(old: Codes, slots: Codes, shift: int) -> None:
    """Move the entries of the old slots into larger ones."""
    for i in range(len(old)):
        if old[i, 1] != 0:
            slots[_slot(slots, shift, old[i, 0])] = old[i]


class Numbering:
    """A table from 64-bit codes, such as hashes of names, to numbers from 0 in the order of first appearance.

    Open addressing with linear probing (Knuth, volume 3, 6.4), at most three quarters full: 16 bytes a slot, so
    100 million codes take 2.1 GB. Raises ValueError beyond 2^31 - 2 codes.

    >>> numbering = Numbering()
    >>> numbering.take([7, 9, 7]).tolist(), numbering.take([5, 9]).tolist(), numbering.find([5, 6]).tolist()
    ([0, 1, 0], [2, 1], [2, -1])
    >>> len(numbering)
    3
    """

    def __init__(self) -> None:
        self._size = 0
        self._slots: Codes = np.zeros((_FIRST, 2), np.uint64)

    def __len__(self) -> int:
        return self._size

    def take(self, codes: ArrayLike) -> Ids:
        """Return the number of each code, numbering new ones: int32[len(codes)]."""
        remaining, numbers = _codes(codes), []
        while True:
            capacity = min(int(len(self._slots) * _FULL), np.iinfo(np.int32).max - 1)
            out = np.empty(remaining.size, np.int32)
            count, self._size = _take(remaining, self._slots, self._shift, self._size, capacity, out)
            numbers.append(out[:count])
            if count == remaining.size:
                return np.concatenate(numbers)
            if self._size < len(self._slots) * _FULL - 1:
                raise ValueError(f"There are more than {self._size} distinct codes, too many for 31-bit numbers.")
            old, self._slots = self._slots, np.zeros((2 * len(self._slots), 2), np.uint64)
            _move(old, self._slots, self._shift)
            remaining = remaining[count:]

    def find(self, codes: ArrayLike) -> Ids:
        """Return the number of each code, -1 for an unknown one: int32[len(codes)]."""
        values = _codes(codes)
        out = np.empty(values.size, np.int32)
        _find(values, self._slots, self._shift, out)
        return out

    @property
    def _shift(self) -> int:
        return 65 - len(self._slots).bit_length()


def _codes(codes: ArrayLike) -> Codes:
    return readonly(np.asarray(codes, np.uint64).reshape(-1), np.uint64)
