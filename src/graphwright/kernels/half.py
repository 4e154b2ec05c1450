"""Matrices in half precision: half the disk, memory and reading of float32, with float32 in all that is computed.

A number is rounded to eleven significant bits (IEEE 754, binary16), by at most one in 2,048; a cosine of two vectors of
some hundred numbers changes by about 1e-4.
"""

# mypy: allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic, overload
from numpy.typing import ArrayLike, NDArray

from graphwright.kernels.blocks import MappedArray
from graphwright.kernels.csr import Ids, kernel, node_ids, readonly

LARGEST = 65_504.0
"""The largest number that half precision holds."""
Singles = NDArray[np.float32]
Halves = NDArray[np.uint16]

_TOGETHER = 8  # rows that are fetched together
_LINE = 16  # numbers of a cache line, at least
_ROWS = 1_024  # rows that are multiplied by a matrix at a time
_ALONE = 65_536  # rows that a core multiplies in some milliseconds
_CORES = min(4, os.cpu_count() or 1)
_SCALE = np.float32(2.0**112)  # between the exponents of both formats
_DOWN = np.float32(2.0**-112)


def _reinterpreted(source: Any, target: Any, kind: Any) -> Callable[[Any], Any]:
    """Return a function for kernels that takes the bits of a number for one of another type."""

    def typed(context: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], kind)

        return target(source), generate

    return cast(Callable[[Any], Any], intrinsic(typed))


_as_float = _reinterpreted(types.uint32, types.float32, ir.FloatType())
_as_bits = _reinterpreted(types.float32, types.uint32, ir.IntType(32))


def single(value: Any) -> Any:
    """Return a number of a matrix in a kernel, as float32: of its 16 bits in half precision, or as it is."""
    raise NotImplementedError("for kernels only")


@overload(single, inline="always")
def _single(value: Any) -> Any:
    if value == types.uint16:

        def of_bits(value: Any) -> Any:
            bits = np.uint32(value)
            size = _as_float((bits & np.uint32(0x7FFF)) << np.uint32(13)) * _SCALE
            return _as_float(_as_bits(size) | (bits & np.uint32(0x8000)) << np.uint32(16))

        return of_bits

    def unchanged(value: Any) -> Any:
        return value

    return unchanged


@kernel
def _expand(bits: Halves, out: Singles) -> None:
    for i in range(out.size):
        out[i] = single(bits[i])


@kernel
def _shorten(values: Singles, out: Halves) -> int:
    """Write the nearest half of each value, of two equally near ones the even one; return how many are too large."""
    large = 0
    for i in range(values.size):
        bits = _as_bits(values[i])
        size = bits & np.uint32(0x7FFFFFFF)
        small = _as_bits(_as_float(size) * _DOWN)
        small = (small + np.uint32(0xFFF) + ((small >> np.uint32(13)) & np.uint32(1))) >> np.uint32(13)
        large += small > np.uint32(0x7BFF)
        out[i] = np.uint16(small | (bits >> np.uint32(16) & np.uint32(0x8000)))
    return large


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _products(table: Any, rows: Ids, query: Singles, out: Singles) -> None:
    """Write the dot product of each row of a matrix, float32 or halves, with `query`.

    The compiler chooses one order of additions for all rows, so a product does not depend on the other rows.
    """
    for first in range(0, rows.size, _TOGETHER):
        last = min(first + _TOGETHER, rows.size)
        # Touch each cache line of the next rows first, so that they are fetched in parallel.
        touched = np.float32(0.0)
        for i in range(first, last):
            for j in range(0, query.size, _LINE):
                touched += single(table[rows[i], j])
        out[first] = touched  # keeps the loop from being removed
        for i in range(first, last):
            row, total = table[rows[i]], np.float32(0.0)
            for j in range(query.size):
                total += single(row[j]) * query[j]
            out[i] = total


def _all_products(matrix: Halves, query: Singles, out: Singles) -> None:
    """Write the product of each row with `query`; of many rows on several cores, since one waits for memory."""
    rows, parts = np.arange(len(matrix), dtype=np.int32), max(1, min(_CORES, len(matrix) // _ALONE))
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
    _expand(np.ascontiguousarray(halves).view(np.uint16).reshape(-1), out.reshape(-1))
    return out


def to_half(values: ArrayLike) -> NDArray[np.float16]:
    """Return finite numbers in half precision. Raises ValueError for others, and above 65,504.

    >>> to_half([0.1, 1.0]).tolist()
    [0.0999755859375, 1.0]
    """
    array = np.ascontiguousarray(values, np.float32)
    out = np.empty(array.shape, np.uint16)
    if _shorten(array.reshape(-1), out.reshape(-1)):
        raise ValueError(f"a number is not finite or above {LARGEST:,.0f}, and half precision does not hold it.")
    return out.view(np.float16)


class HalfArray:
    """A read-only matrix of float32 numbers that is kept in half precision: `halves: float16[rows, columns]`.

    What is read of it is a copy in float32. `halves` may be mapped from a file: blocks are verified before they are
    read (see MappedArray).

    >>> table = HalfArray.of([[1, 0], [0, 1], [2, 2]])
    >>> table[[2]].tolist(), (table @ np.float32([0.5, 0.25])).tolist(), table.shape
    ([[2.0, 2.0]], [0.5, 0.25, 1.5], (3, 2))
    """

    dtype = np.dtype(np.float32)
    ndim = 2

    def __init__(self, bits: Halves | MappedArray) -> None:
        """`bits: uint16[rows, columns]`, those of the halves."""
        self._bits = bits
        self.shape: tuple[int, int] = (bits.shape[0], bits.shape[1])

    @classmethod
    def of(cls, values: ArrayLike | HalfArray) -> HalfArray:
        """Return numbers rounded to half precision. Raises ValueError for one above 65,504."""
        return values if isinstance(values, HalfArray) else cls(to_half(values).view(np.uint16))

    @property
    def bits(self) -> Halves | MappedArray:
        """The halves for kernels, as uint16: `single` of one is its number."""
        return self._bits.verified if isinstance(self._bits, MappedArray) else self._bits

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> Singles:
        return to_single(np.asarray(self._bits[rows]).view(np.float16))

    def __matmul__(self, other: Singles) -> Singles:
        if np.ndim(other) == 1:
            out, query = np.empty(len(self), np.float32), np.ascontiguousarray(other, np.float32)
            if query.shape != self.shape[1:]:
                raise ValueError(f"a matrix of shape {self.shape} cannot be multiplied by one of {query.shape}.")
            _all_products(self.whole(), query, out)
            return out
        blocks = [self[start : start + _ROWS] @ other for start in range(0, len(self), _ROWS)]
        return np.concatenate(blocks) if blocks else np.empty((0, *np.shape(other)[1:]), np.float32)

    def whole(self) -> Halves:
        """Return all halves, as uint16, verified if they are mapped."""
        return self._bits.whole() if isinstance(self._bits, MappedArray) else self._bits

    def lengths(self) -> Singles:
        """Return the length of each row."""
        blocks = [np.linalg.norm(self[start : start + _ROWS], axis=1) for start in range(0, len(self), _ROWS)]
        return np.concatenate(blocks) if blocks else np.empty(0, np.float32)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self[:].astype(dtype or np.float32, copy=False)

    def __repr__(self) -> str:
        return f"HalfArray({self.shape[0]} × {self.shape[1]})"


def matrix_of(table: ArrayLike | HalfArray) -> Any:
    """Return a matrix for kernels: float32 and C-contiguous, or the bits of halves, of which `single` is a number."""
    return table.bits if isinstance(table, HalfArray) else readonly(table, np.float32)


def products(table: ArrayLike | HalfArray, rows: ArrayLike, query: ArrayLike) -> Singles:
    """Return the dot product of each of `rows`, int[m], of `table: float32[n, d]` with `query`: float32[m].

    A row's product does not depend on the other rows, to the last bit. Raises ValueError for a row that the table,
    which may be in half precision, does not have, or a query of another length.

    >>> products([[1, 0], [0, 1], [2, 2]], [2, 0], [0.5, 0.25]).tolist()
    [1.5, 0.5]
    """
    matrix, vector = matrix_of(table), readonly(query, np.float32)
    if matrix.ndim != 2 or vector.shape != matrix.shape[1:]:
        raise ValueError(f"the table has shape {matrix.shape}, the query {vector.shape}. Pass one number per column.")
    at = node_ids(rows, len(matrix), "rows")
    out = np.empty(at.size, np.float32)
    _products(matrix, at, vector, out)
    return out
