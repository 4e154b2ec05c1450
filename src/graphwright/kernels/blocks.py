"""Arrays of large files, mapped into memory, whose blocks are verified when they are first read."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numba.np.numpy_support import from_dtype
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from graphwright.kernels.mapped_type import BLOCK, SHIFT, MappedType, sum_blocks, verify, verify_some

_THREADS = 8
_PARALLEL = 1 << 10  # blocks from which an array is verified by several threads
Words = NDArray[np.uint64]
Marks = NDArray[np.uint8]


class Limits(NamedTuple):
    """Limits of an array's values: the smallest, the largest, and whether they never descend."""

    low: int = 1
    high: int = 0  # less than low: any value
    ascending: bool = False


FREE = Limits()


def block_sums(data: NDArray[np.uint8]) -> Words:
    """Return a checksum of each block of `data`, XXH64; the last block is filled up with zeros."""
    whole = data.size // BLOCK
    sums = np.empty(-(-data.size // BLOCK), np.uint64)
    sum_blocks(data[: whole * BLOCK].view(np.uint64), sums[:whole])
    if whole < sums.size:
        sum_blocks(_padded(data), sums[whole:])
    return sums


def _padded(data: NDArray[np.uint8]) -> Words:
    """Return the last block, filled up with zeros."""
    last = np.zeros(BLOCK, np.uint8)
    rest = data[(data.size - 1) // BLOCK * BLOCK :]
    last[: rest.size] = rest
    return last.view(np.uint64)


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

    Rows that are indexed are read alone; everything else that arrays can do verifies the whole array first. Kernels
    take it in the place of an array, and verify a block when they reach it. A damaged block raises the error that
    `damage` returns, in kernels StoreError. What was verified is not read again: changes of the file while it is
    mapped go unseen.
    """

    def __init__(
        self,
        raw: NDArray[np.uint8],
        values: NDArray[Any],
        sums: Words,
        damage: Callable[[int], Exception],
        limits: Limits = FREE,
    ) -> None:
        """`raw`: the file's bytes; `values`: the array over their end; `damage`: the error for a damaged block."""
        self.plain, self._damage, self._complete = values, damage, False
        self.shape, self.dtype, self.ndim, self.size = values.shape, values.dtype, values.ndim, values.size
        self.header, self.row = raw.size - values.nbytes, values.nbytes // max(len(values), 1)  # bytes
        self.state = np.zeros(sums.size, np.uint8)
        self._arrays = values, raw[: raw.size // 8 * 8].view(np.uint64), _padded(raw), sums, self.state
        self._numba_type_ = MappedType(from_dtype(values.dtype), values.ndim)
        self.limit(limits)

    def limit(self, limits: Limits) -> None:
        """Set limits that the values of a block must be within to count as verified. Call before the first read."""
        values, *_, sums, _ = self._arrays
        columns = values.size // max(len(values), 1)
        numbers = (len(values), columns, values.itemsize, self.header, sums.size)
        self.limits = limits
        self.layout = (*(part.ctypes.data for part in self._arrays), *numbers, *map(int, limits))
        self.state[:] = 0

    @property
    def verified(self) -> NDArray[Any] | MappedArray:
        """The plain array once all of it is verified, this one before."""
        return self.plain if self._complete else self

    def whole(self) -> NDArray[Any]:
        """Return the array, all of it verified, by several threads if it is large."""
        if not self._complete:
            count = self.state.size
            parts = min(_THREADS, os.cpu_count() or 1) if count >= _PARALLEL else 1
            borders = [count * part // parts for part in range(parts + 1)]
            spans = list(itertools.pairwise(borders))
            if parts == 1:
                found = [verify(self, *spans[0])]
            else:
                with ThreadPoolExecutor(parts) as pool:
                    found = list(pool.map(lambda span: verify(self, *span), spans))
            self._complain(max(found))
            self._complete = True
        return self.plain

    def _complain(self, block: int) -> None:
        if block >= 0:
            raise self._damage(block)

    def __getitem__(self, at: Any) -> Any:
        if not self._complete:
            rows = at[0] if isinstance(at, tuple) and at else at
            if isinstance(rows, int | np.integer):
                row = int(rows) + (len(self) if rows < 0 else 0)
                self._need_rows(row, row + 1)
            elif isinstance(rows, slice):
                start, stop, step = rows.indices(len(self))
                self._need_rows(*((start, stop) if step > 0 else (stop + 1, start + 1)))
            elif getattr(rows, "dtype", None) is not None and np.issubdtype(rows.dtype, np.integer):
                self._need(rows)
            else:
                self.whole()
        return self.plain[at]

    def _need_rows(self, start: int, stop: int) -> None:
        """Verify rows start to stop − 1."""
        if 0 <= start < stop <= len(self):  # else numpy says what is wrong
            first, last = self.header + start * self.row, self.header + stop * self.row - 1
            self._complain(verify(self, first >> SHIFT, (last >> SHIFT) + 1))

    def _need(self, rows: NDArray[Any]) -> None:
        """Verify rows in any order."""
        wide = rows.reshape(-1).astype(np.int64)
        if not wide.size or not -len(self) <= wide.min() <= wide.max() < len(self):
            return  # numpy says what is wrong
        wide[wide < 0] += len(self)
        first = (self.header + wide * self.row) >> SHIFT
        last = (self.header + (wide + 1) * self.row - 1) >> SHIFT
        while (open_ := first <= last).any():
            first, last = first[open_], last[open_]
            self._complain(verify_some(self, np.unique(first[self.state[first] == 0])))
            first = first + 1

    def __len__(self) -> int:
        return len(self.plain)

    def __iter__(self) -> Any:
        return iter(self.whole())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.whole(), dtype, copy=copy)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        plain = (part.whole() if isinstance(part, MappedArray) else part for part in inputs)
        return getattr(ufunc, method)(*plain, **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # protocols that numpy and numba look for
            raise AttributeError(name)
        return getattr(self.whole(), name)

    def __repr__(self) -> str:
        return f"MappedArray({self.shape}, {self.dtype}, {int(self.state.sum())} of {self.state.size} blocks verified)"
