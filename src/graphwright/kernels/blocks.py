"""Arrays of large files, mapped into memory, whose blocks are verified before they are first read.

`HalfArray` takes half the disk space, memory and reading time of float32, in which it computes. A number is rounded to
eleven significant bits (IEEE 754, binary16), by at most one in 2,048; a cosine of long vectors changes by about 1e-4.

Own code, because numpy converts halves without vector instructions, which takes ten times as long. SimSIMD and numkong
are as fast, but were given the question in half precision too, which changes the order of near-ties.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import ArrayLike, NDArray

from graphwright.kernels.compiled import kernel, subkernel
from graphwright.kernels.csr import Ids, node_ids, readonly
from graphwright.kernels.far import Reading

BLOCK = 1 << 14  # bytes of a block: a power of two
_SHIFT = 14
_WORDS = BLOCK // 8
_THREADS = 8
_LARGE = 2**20  # bytes from which on an array is hashed by its block sums
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


@subkernel
def _rotated(x: np.uint64, left: int) -> np.uint64:
    return (x << np.uint64(left)) | (x >> np.uint64(64 - left))


@subkernel
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


def digest(*arrays: NDArray[Any], salt: int = 0) -> str:
    """Return sixteen hexadecimal digits over all arrays, which another salt changes."""
    total = hashlib.blake2b(digest_size=8, salt=salt.to_bytes(8, "little"))
    for array in arrays:
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        # A large array is hashed by the sums of its blocks, which is six times as fast.
        total.update(data.data if data.size < _LARGE else b"%d %b" % (data.size, block_sums(data).tobytes()))
    return total.hexdigest()


def outside(array: NDArray[Any], limits: Limits) -> bool:
    """Return whether an array holds a value outside limits."""
    if limits.low > limits.high or not array.size:
        return False
    if array.min() < limits.low or array.max() > limits.high:
        return True
    return limits.ascending and bool((array[1:] < array[:-1]).any())


def _in_threads(parts: int, count: int, work: Callable[[int, int], None]) -> None:
    """Call `work` for the borders of each part of a range; kernels release the interpreter lock."""
    borders = [count * part // parts for part in range(parts + 1)]
    with ThreadPoolExecutor(parts) as pool:
        list(pool.map(work, borders, borders[1:]))


class MappedArray(NDArrayOperatorsMixin):
    """A read-only array over the bytes of a mapped npy file; each block is verified before it is first read.

    Rows that are indexed are verified alone; everything else verifies the whole array first. So does a kernel, which
    gets the plain array (see `readonly`), because it follows ids without checking them. A damaged block raises the
    error that `damage` returns. A verified block is not read again: later changes of the file go unnoticed.
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
            _in_threads(parts, count, lambda first, end: self._verify(np.arange(first, end)))
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


LARGEST = 65_504.0  # the largest number that half precision holds
Singles = NDArray[np.float32]
Halves = NDArray[np.uint16]
HalfMatrix = np.ndarray[tuple[int, int], np.dtype[np.uint16]]

_LANES = 32  # partial sums of a product: the order of additions is the same for all rows
_ROWS = 1_024  # rows that are multiplied by a matrix at a time
_ALONE = 65_536  # rows that a core multiplies in some milliseconds
_CORES = min(4, os.cpu_count() or 1)
_SCALE = np.float32(2.0**112)  # between the exponents of both formats


@subkernel
def _single(bits: np.uint16) -> np.float32:
    """Return the number of 16 bits in half precision: sign, exponent and fraction move to their places in 32 bits."""
    moved = np.uint32(np.int32(np.int16(bits)) << 13) & np.uint32(0x8FFFE000)
    return np.uint32(moved).view(np.float32) * _SCALE


@kernel
def _expand(bits: Halves, out: Singles) -> None:
    for i in range(out.size):
        out[i] = _single(bits[i])


@kernel
def _products(table: HalfMatrix, rows: Ids, query: Singles, sums: Singles, out: Singles) -> None:
    """Write the dot product of each row of a matrix with `query`, added up in one order for all rows."""
    whole = query.size // _LANES * _LANES
    for i in range(rows.size):
        row = table[rows[i]]
        sums[:] = 0
        for j in range(0, whole, _LANES):
            for lane in range(_LANES):
                sums[lane] += _single(row[j + lane]) * query[j + lane]
        for lane in range(query.size - whole):
            sums[lane] += _single(row[whole + lane]) * query[whole + lane]
        width = _LANES // 2
        while width:
            for lane in range(width):
                sums[lane] += sums[lane + width]
            width //= 2
        out[i] = sums[0]


def _all_products(matrix: Halves, query: Singles, out: Singles) -> None:
    """Write the product of each row with `query`; of many rows on several cores, since one waits for memory."""
    rows, parts = readonly(np.arange(len(matrix), dtype=np.int32), np.int32), max(1, min(_CORES, len(matrix) // _ALONE))

    def part(at: int, end: int) -> None:
        _products(matrix, rows[at:end], query, np.empty(_LANES, np.float32), out[at:end])

    if parts == 1:
        part(0, len(rows))
    else:
        _in_threads(parts, len(rows), part)


def to_single(halves: NDArray[np.float16]) -> Singles:
    """Return numbers of half precision as float32, of the same shape."""
    out = np.empty(halves.shape, np.float32)
    _expand(readonly(np.ascontiguousarray(halves).view(np.uint16).reshape(-1), np.uint16), out.reshape(-1))
    return out


def to_half(values: ArrayLike) -> NDArray[np.float16]:
    """Return finite numbers in half precision. Raises ValueError for others, and above 65,504."""
    with np.errstate(over="ignore", invalid="ignore"):
        halves = np.asarray(values, np.float32).astype(np.float16)
    if not np.isfinite(halves).all():
        raise ValueError(f"a number is not finite or above {LARGEST:,.0f}, so half precision cannot hold it.")
    return halves


class HalfArray:
    """A read-only matrix of float32 numbers that is kept in half precision: `halves: float16[rows, columns]`.

    Reading it returns a copy in float32. `halves` may be mapped from a file: see MappedArray.

    >>> table = HalfArray.of([[1, 0], [0, 1], [2, 2]])
    >>> table[[2]].tolist(), (table @ np.float32([0.5, 0.25])).tolist(), table.shape
    ([[2.0, 2.0]], [0.5, 0.25, 1.5], (3, 2))
    """

    dtype = np.dtype(np.float32)
    ndim = 2

    def __init__(self, bits: Halves | MappedArray) -> None:
        self.bits = bits if isinstance(bits, MappedArray) else readonly(bits, np.uint16)
        self.shape: tuple[int, int] = (bits.shape[0], bits.shape[1])

    @classmethod
    def of(cls, values: ArrayLike | HalfArray) -> HalfArray:
        """Return numbers rounded to half precision. Raises ValueError for a number above 65,504."""
        return values if isinstance(values, HalfArray) else cls(to_half(values).view(np.uint16))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> Singles:
        return to_single(np.asarray(self.bits[rows]).view(np.float16))

    def __matmul__(self, other: Singles) -> Singles:
        if np.ndim(other) == 1:
            out, query = np.empty(len(self), np.float32), readonly(other, np.float32)
            if query.shape != self.shape[1:]:
                raise ValueError(f"a matrix of shape {self.shape} cannot be multiplied by one of {query.shape}.")
            _all_products(readonly(self.bits, np.uint16), query, out)
            return out
        columns = [self @ column for column in np.transpose(other)]  # one core; BLAS would keep the others waiting
        return np.stack(columns, axis=1) if columns else np.empty((len(self), 0), np.float32)

    def lengths(self) -> Singles:
        """Return the length of each row."""
        blocks = [np.linalg.norm(self[start : start + _ROWS], axis=1) for start in range(0, len(self), _ROWS)]
        return np.concatenate(blocks) if blocks else np.empty(0, np.float32)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self[:].astype(dtype or np.float32, copy=False)

    def __repr__(self) -> str:
        return f"HalfArray({self.shape[0]} × {self.shape[1]})"


class FarArray(HalfArray):
    """A matrix whose rows are kept elsewhere, where products are computed; reading rows fetches them."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = shape

    def products(self, rows: Ids, query: Singles) -> Singles:
        """Return the dot product of some rows with `query`, as `products` does."""
        raise NotImplementedError

    def reading(self, rows: Positions) -> Reading[Singles]:
        """Read some rows."""
        raise NotImplementedError

    def multiplying(self, query: Singles) -> Reading[Singles]:
        """Read the dot product of each row with `query`."""
        raise NotImplementedError

    def comparing(self, rows: Positions, query: Singles) -> Reading[NDArray[np.float64]]:
        """Read the cosine of some rows with `query`, 0 for a zero row."""
        raise NotImplementedError

    def distances(self, direction: NDArray[np.float64]) -> Positions:
        """Return the cost of each row, as `bubble_kernels.distances` does."""
        raise NotImplementedError


def products(table: ArrayLike | HalfArray, rows: ArrayLike, query: ArrayLike) -> Singles:
    """Return the dot product of each of `rows`, int[m], of `table: float32[n, d]` with `query`: float32[m].

    A row's product does not depend on the other rows, to the last bit. Raises ValueError for a row that the table,
    which may be in half precision, does not have, or a query of another length.
    """
    vector = readonly(query, np.float32)
    if isinstance(table, FarArray):
        return table.products(node_ids(rows, len(table), "rows"), vector)
    matrix = table.bits if isinstance(table, HalfArray) else readonly(table, np.float32)
    if matrix.ndim != 2 or vector.shape != matrix.shape[1:]:
        raise ValueError(f"the table has shape {matrix.shape}, the query {vector.shape}. Pass one number per column.")
    at = node_ids(rows, len(matrix), "rows")
    if matrix.dtype == np.float32:
        single: Singles = np.einsum("ij,j->i", matrix[at], vector)
        return single
    out, wide = np.empty(at.size, np.float32), at.astype(np.int64)
    _products(rows_verified(matrix, wide, wide + 1), at, vector, np.empty(_LANES, np.float32), out)
    return out
