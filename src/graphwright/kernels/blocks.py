"""Arrays of large files, mapped into memory, whose blocks are verified before they are first read."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import ArrayLike, NDArray

from graphwright.kernels.csr import kernel, readonly

BLOCK = 1 << 14
"""Bytes of a block: a power of two."""
_SHIFT = 14
_WORDS = BLOCK // 8
_THREADS = 8
_PARALLEL = 1 << 10  # blocks from which an array is verified by several threads
_A, _B, _C = np.uint64(0x9E3779B185EBCA87), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9)
_D = np.uint64(0x85EBCA77C2B2AE63)
Words = NDArray[np.uint64]
Positions = NDArray[np.int64]


class Limits(NamedTuple):
    """Limits of an array's values: the smallest, the largest, and whether they never descend."""

    low: int = 1
    high: int = 0  # less than low: any value
    ascending: bool = False


@kernel
def _rotated(x: np.uint64, left: int) -> np.uint64:
    return (x << np.uint64(left)) | (x >> np.uint64(64 - left))


@kernel
def _sum_block(words: Words, first: int) -> np.uint64:
    """Return XXH64 (Collet, 2014; seed 0) of the block that begins at a word."""
    a, b, c, d = _A + _B, _B, np.uint64(0), np.uint64(0) - _A
    for i in range(first, first + _WORDS, 4):
        a = _rotated(a + words[i] * _B, 31) * _A
        b = _rotated(b + words[i + 1] * _B, 31) * _A
        c = _rotated(c + words[i + 2] * _B, 31) * _A
        d = _rotated(d + words[i + 3] * _B, 31) * _A
    total = _rotated(a, 1) + _rotated(b, 7) + _rotated(c, 12) + _rotated(d, 18)
    for lane in (a, b, c, d):
        total = (total ^ (_rotated(lane * _B, 31) * _A)) * _A + _D
    total += np.uint64(BLOCK)
    total = (total ^ (total >> np.uint64(33))) * _B
    total = (total ^ (total >> np.uint64(29))) * _C
    return total ^ (total >> np.uint64(32))


@kernel
def _sum_blocks(words: Words, blocks: Positions, out: Words) -> None:
    for i in range(out.size):
        out[i] = _sum_block(words, blocks[i] * _WORDS)


def block_sums(data: NDArray[np.uint8], blocks: Positions | None = None) -> Words:
    """Return the checksum of each block of `data`, or of some, ascending: XXH64; the last is filled with zeros."""
    whole = data.size // BLOCK
    chosen = np.arange(-(-data.size // BLOCK)) if blocks is None else blocks
    inner = int(np.searchsorted(chosen, whole))
    sums, words = np.empty(chosen.size, np.uint64), data[: whole * BLOCK].view(np.uint64)
    _sum_blocks(readonly(words, np.uint64), readonly(chosen[:inner], np.int64), sums[:inner])
    if inner < chosen.size:
        last = np.zeros(BLOCK, np.uint8)
        last[: data.size - whole * BLOCK] = data[whole * BLOCK :]
        _sum_blocks(readonly(last.view(np.uint64), np.uint64), readonly([0], np.int64), sums[inner:])
    return sums


def outside(array: NDArray[Any], limits: Limits) -> bool:
    """Return whether an array holds a value outside limits.

    >>> outside(np.array([0, 2, 1]), Limits(0, 2)), outside(np.array([0, 2, 1]), Limits(0, 2, ascending=True))
    (False, True)
    """
    if limits.low > limits.high or not array.size:
        return False
    if array.min() < limits.low or array.max() > limits.high:
        return True
    return limits.ascending and bool((array[1:] < array[:-1]).any())


class MappedArray(NDArrayOperatorsMixin):
    """A read-only array over the bytes of a mapped npy file; each block is verified before it is first read.

    Rows that are indexed are verified alone; everything else verifies the whole array first. So does a kernel, which
    gets the plain array (see `readonly`), because it follows ids without checking them. A damaged block raises the
    error that `damage` returns. A verified block is not read again, so changes of the file while it is mapped go
    unnoticed.
    """

    def __init__(
        self, raw: NDArray[np.uint8], values: NDArray[Any], sums: Words, damage: Callable[[int], Exception]
    ) -> None:
        """`raw`: the file's bytes; `values`: the array over their end; `damage`: the error for a damaged block."""
        self._raw, self._plain, self._sums, self._damage = raw, values, sums, damage
        self.shape, self.dtype, self.ndim, self.size = values.shape, values.dtype, values.ndim, values.size
        self._header, self._row = raw.size - values.nbytes, values.nbytes // max(len(values), 1)  # bytes
        self.verified = np.zeros(sums.size, bool)
        self._limits, self._complete = Limits(), False

    def limit(self, limits: Limits) -> None:
        """Set limits that the values of a block must be within to count as verified. Call before the first read."""
        self._limits, self._complete = limits, False
        self.verified[:] = False

    def whole(self) -> NDArray[Any]:
        """Return the array, all of it verified, by several threads if it is large."""
        if not self._complete:
            count = self.verified.size
            parts = min(_THREADS, os.cpu_count() or 1) if count >= _PARALLEL else 1
            borders = [count * part // parts for part in range(parts + 1)]
            with ThreadPoolExecutor(parts) as pool:  # the kernel releases the interpreter lock
                list(pool.map(lambda ends: self._verify(np.arange(*ends)), pairwise(borders)))
            self._complete = True
        return self._plain

    def with_rows(self, starts: Positions, ends: Positions) -> NDArray[Any]:
        """Return the plain array, with the rows starts[i] to ends[i] − 1 verified for each i."""
        if not self._complete:
            some = starts < ends
            first = (self._header + starts[some] * self._row) >> _SHIFT
            last = (self._header + ends[some] * self._row - 1) >> _SHIFT
            while first.size:
                self._verify(np.unique(first[~self.verified[first]]))
                first, last = first[first < last] + 1, last[first < last]
        return self._plain

    def _verify(self, blocks: Positions) -> None:
        """Verify some blocks, ascending."""
        new = blocks[~self.verified[blocks]]
        damaged = new[block_sums(self._raw, new) != self._sums[new]]
        if not damaged.size and self._limits.low <= self._limits.high:
            damaged = self._outside_limits(new)
        if damaged.size:
            raise self._damage(int(damaged[0]))
        self.verified[new] = True

    def _outside_limits(self, blocks: Positions) -> Positions:
        """Return the blocks with a value outside the limits, ascending. Consecutive blocks are checked together."""
        runs = np.split(blocks, np.flatnonzero(np.diff(blocks) != 1) + 1)
        suspect = [run for run in runs if run.size and self._leaves_limits(run[0], run[-1])]
        return np.array([block for run in suspect for block in run if self._leaves_limits(block, block)], np.int64)

    def _leaves_limits(self, first: int, last: int) -> bool:
        """Return whether a value of the blocks first to last is outside the limits, or less than the one before."""
        start = max(first * BLOCK - self._header, 0) // self.dtype.itemsize
        end = max((last + 1) * BLOCK - self._header, 0) // self.dtype.itemsize
        return outside(self._plain.reshape(-1)[max(start - self._limits.ascending, 0) : end], self._limits)

    def _verify_rows(self, start: int, stop: int) -> None:
        """Verify the rows start to stop − 1."""
        if 0 <= start < stop <= len(self):  # else numpy raises the error
            first, last = self._header + start * self._row, self._header + stop * self._row - 1
            if not self.verified[first >> _SHIFT : (last >> _SHIFT) + 1].all():
                self._verify(np.arange(first >> _SHIFT, (last >> _SHIFT) + 1))

    def __getitem__(self, at: Any) -> Any:
        if not self._complete:
            rows = at[0] if isinstance(at, tuple) and at else at
            if isinstance(rows, int | np.integer):
                row = int(rows) + (len(self) if rows < 0 else 0)
                self._verify_rows(row, row + 1)
            elif isinstance(rows, slice):
                start, stop, step = rows.indices(len(self))
                self._verify_rows(*((start, stop) if step > 0 else (stop + 1, start + 1)))
            elif isinstance(rows, np.ndarray) and np.issubdtype(rows.dtype, np.integer):
                wide = rows.reshape(-1).astype(np.int64)
                wide[wide < 0] += len(self)
                if wide.size and wide.min() >= 0 and wide.max() < len(self):  # else numpy raises the error
                    self.with_rows(wide, wide + 1)
            else:
                self.whole()
        return self._plain[at]

    def __len__(self) -> int:
        return len(self._plain)

    def __iter__(self) -> Any:
        return iter(self.whole())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.whole(), dtype, copy=copy)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        plain = (part.whole() if isinstance(part, MappedArray) else part for part in inputs)
        return getattr(ufunc, method)(*plain, **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # protocols that numpy looks for
            raise AttributeError(name)
        return getattr(self.whole(), name)

    def __repr__(self) -> str:
        verified, count = int(self.verified.sum()), self.verified.size
        return f"MappedArray({self.shape}, {self.dtype}, {verified} of {count} blocks verified)"


def rows_verified(array: ArrayLike | MappedArray, starts: Positions, ends: Positions) -> NDArray[Any]:
    """Return the plain array, with the rows starts[i] to ends[i] − 1 verified for each i if it is mapped in blocks."""
    return array.with_rows(starts, ends) if isinstance(array, MappedArray) else np.asarray(array)
