"""Matrices in half precision, which take half the disk space, memory and reading time of float32.

Computations use float32. A number is rounded to eleven significant bits (IEEE 754, binary16), by at most one in 2,048;
a cosine of two vectors of some hundred numbers changes by about 1e-4.

Own code, because numpy converts halves without vector instructions, which takes ten times as long. SimSIMD and numkong
are as fast, but were given the question in half precision too, which changes the order of near-ties.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.kernels.blocks import MappedArray, rows_verified
from graphwright.kernels.csr import Ids, kernel, node_ids, readonly

LARGEST = 65_504.0
"""The largest number that half precision holds."""
Singles = NDArray[np.float32]
Halves = NDArray[np.uint16]

_LANES = 32  # partial sums of a product: the order of additions is the same for all rows
_ROWS = 1_024  # rows that are multiplied by a matrix at a time
_ALONE = 65_536  # rows that a core multiplies in some milliseconds
_CORES = min(4, os.cpu_count() or 1)
_SCALE = np.float32(2.0**112)  # between the exponents of both formats


@kernel
def _single(bits: np.uint16) -> np.float32:
    """Return the number of 16 bits in half precision: sign, exponent and fraction move to their places in 32 bits."""
    moved = np.uint32(np.int32(np.int16(bits)) << 13) & np.uint32(0x8FFFE000)
    return np.uint32(moved).view(np.float32) * _SCALE


@kernel
def _expand(bits: Halves, out: Singles) -> None:
    for i in range(out.size):
        out[i] = _single(bits[i])


@kernel
def _products(table: Halves, rows: Ids, query: Singles, out: Singles) -> None:
    """Write the dot product of each row of a matrix with `query`, added up in one order for all rows."""
    sums = np.empty(_LANES, np.float32)
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
    rows, parts = readonly(np.arange(len(matrix)), np.int32), max(1, min(_CORES, len(matrix) // _ALONE))
    if parts == 1:
        _products(matrix, rows, query, out)
        return
    borders = [len(rows) * part // parts for part in range(parts + 1)]
    with ThreadPoolExecutor(parts) as pool:  # the kernel releases the interpreter lock
        list(pool.map(lambda at, end: _products(matrix, rows[at:end], query, out[at:end]), borders, borders[1:]))


def to_single(halves: NDArray[np.float16]) -> Singles:
    """Return numbers of half precision as float32, of the same shape.

    >>> to_single(np.float16([[0.5, -2]])).tolist()
    [[0.5, -2.0]]
    """
    out = np.empty(halves.shape, np.float32)
    _expand(readonly(np.ascontiguousarray(halves).view(np.uint16).reshape(-1), np.uint16), out.reshape(-1))
    return out


def to_half(values: ArrayLike) -> NDArray[np.float16]:
    """Return finite numbers in half precision. Raises ValueError for others, and above 65,504.

    >>> to_half([0.1, 1.0]).tolist()
    [0.0999755859375, 1.0]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        halves = np.asarray(values, np.float32).astype(np.float16)
    if not np.isfinite(halves).all():
        raise ValueError(f"a number is not finite or above {LARGEST:,.0f}, so half precision cannot hold it.")
    return halves


class HalfArray:
    """A read-only matrix of float32 numbers that is kept in half precision: `halves: float16[rows, columns]`.

    Reading it returns a copy in float32. `halves` may be mapped from a file: blocks are verified before they are
    read (see MappedArray).

    >>> table = HalfArray.of([[1, 0], [0, 1], [2, 2]])
    >>> table[[2]].tolist(), (table @ np.float32([0.5, 0.25])).tolist(), table.shape
    ([[2.0, 2.0]], [0.5, 0.25, 1.5], (3, 2))
    """

    dtype = np.dtype(np.float32)
    ndim = 2

    def __init__(self, bits: Halves | MappedArray) -> None:
        """`bits: uint16[rows, columns]`: the bits of the half-precision numbers."""
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


def matrix_of(table: ArrayLike | HalfArray) -> Any:
    """Return a matrix for kernels: float32 and C-contiguous, or the bits of halves."""
    return readonly(table.bits, np.uint16) if isinstance(table, HalfArray) else readonly(table, np.float32)


def products(table: ArrayLike | HalfArray, rows: ArrayLike, query: ArrayLike) -> Singles:
    """Return the dot product of each of `rows`, int[m], of `table: float32[n, d]` with `query`: float32[m].

    A row's product does not depend on the other rows, to the last bit. Raises ValueError for a row that the table,
    which may be in half precision, does not have, or a query of another length.

    >>> products([[1, 0], [0, 1], [2, 2]], [2, 0], [0.5, 0.25]).tolist()
    [1.5, 0.5]
    """
    matrix = table.bits if isinstance(table, HalfArray) else readonly(table, np.float32)
    vector = readonly(query, np.float32)
    if matrix.ndim != 2 or vector.shape != matrix.shape[1:]:
        raise ValueError(f"the table has shape {matrix.shape}, the query {vector.shape}. Pass one number per column.")
    at = node_ids(rows, len(matrix), "rows")
    if matrix.dtype == np.float32:
        single: Singles = np.einsum("ij,j->i", matrix[at], vector)
        return single
    out, wide = np.empty(at.size, np.float32), at.astype(np.int64)
    _products(rows_verified(matrix, wide, wide + 1), at, vector, out)
    return out
