"""Mapped arrays in kernels: their type, and the verification of each block before a kernel reads it."""

# mypy: allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import carray, njit  # type: ignore[attr-defined]
from numba.core import cgutils, types
from numba.extending import (
    NativeValue,
    intrinsic,
    make_attribute_wrapper,
    models,
    overload,
    overload_attribute,
    register_model,
    unbox,
)
from numpy.typing import NDArray

from graphwright.errors import StoreError

BLOCK = 1 << 14
"""Bytes of a block: a power of two."""
SHIFT = 14
_WORDS = BLOCK // 8
_REPAIR = "'graphwright verify' names it, and 'verify --repair' rebuilds it from stored documents."
_A, _B, _C = np.uint64(0x9E3779B185EBCA87), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9)
_D = np.uint64(0x85EBCA77C2B2AE63)

Words = NDArray[np.uint64]


@njit(cache=True, nogil=True)
def _rotated(x: np.uint64, left: int) -> np.uint64:
    return (x << np.uint64(left)) | (x >> np.uint64(64 - left))


@njit(cache=True, nogil=True)
def _block_sum(words: Any, first: int) -> np.uint64:
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


@njit(cache=True, nogil=True)
def sum_blocks(words: Words, out: Words) -> None:
    """Write the checksum of each block."""
    for block in range(out.size):
        out[block] = _block_sum(words, block * _WORDS)


@njit(cache=True, nogil=True)
def _fits(values: Any, start: int, end: int, low: Any, high: Any, ascending: int) -> bool:
    """Return whether values[start:end] are within limits; the first is compared with the value before it."""
    outside = 0
    for i in range(start, end):
        outside |= (values[i] < low) | (values[i] > high)
    if ascending:
        for i in range(max(start, 1), end):
            outside |= values[i] < values[i - 1]
    return outside == 0


@njit(cache=True, nogil=True)
def _verified(array: Any, block: int) -> bool:
    """Return whether a block is as it was written and its values are within limits; if so, note it."""
    last = block == array.blocks - 1
    total = _block_sum(array.tail, 0) if last else _block_sum(array.words, block * _WORDS)
    if total != array.sums[block]:
        return False
    if array.low <= array.high:
        start = max(block * BLOCK - array.header, 0) // array.itemsize
        end = min(((block + 1) * BLOCK - array.header) // array.itemsize, array.length * array.columns)
        if not _fits(array.values, start, end, array.low, array.high, array.ascending):
            return False
    array.state[block] = 1
    return True


@njit(cache=True, nogil=True)
def verify(array: Any, first: int, last: int) -> int:
    """Verify blocks first to last − 1 that are not yet; return the first that is damaged, else -1."""
    for block in range(first, last):
        if not array.state[block] and not _verified(array, block):
            return block
    return -1


@njit(cache=True, nogil=True)
def verify_some(array: Any, blocks: NDArray[np.int64]) -> int:
    """Verify blocks that are not yet; return the first that is damaged, else -1."""
    for block in blocks:
        if not array.state[block] and not _verified(array, block):
            return int(block)
    return -1


_POINTERS = ("values", "words", "tail", "sums", "state")
_NUMBERS = ("length", "columns", "itemsize", "header", "blocks", "low", "high", "ascending")


class MappedType(types.Type):
    """The type of mapped arrays in kernels: addresses and numbers, so that no reference is counted."""

    def __init__(self, dtype: types.Type, ndim: int) -> None:
        self.dtype, self.ndim = dtype, ndim
        super().__init__(f"MappedArray({dtype}, {ndim})")

    @property
    def members(self) -> list[tuple[str, types.Type]]:
        """The attributes that kernels have, and their types."""
        pointed = (self.dtype, types.uint64, types.uint64, types.uint64, types.uint8)
        pointers = [(name, types.CPointer(kind)) for name, kind in zip(_POINTERS, pointed, strict=True)]
        return [*pointers, *((name, types.int64) for name in _NUMBERS)]


@register_model(MappedType)
class _MappedModel(models.StructModel):
    def __init__(self, manager: Any, kind: MappedType) -> None:
        super().__init__(manager, kind, kind.members)


@unbox(MappedType)
def _unbox(kind: MappedType, array: Any, context: Any) -> NativeValue:
    builder, layout = context.builder, context.pyapi.object_getattr_string(array, "layout")
    numbers = context.unbox(types.UniTuple(types.int64, len(kind.members)), layout)
    context.pyapi.decref(layout)
    native = cgutils.create_struct_proxy(kind)(context.context, builder)
    for place, (name, member) in enumerate(kind.members):
        value = builder.extract_value(numbers.value, place)
        if name in _POINTERS:
            value = builder.inttoptr(value, context.context.get_value_type(member))
        setattr(native, name, value)
    return NativeValue(native._getvalue(), is_error=numbers.is_error)


for _name in _POINTERS + _NUMBERS:
    make_attribute_wrapper(MappedType, _name, _name)


@overload_attribute(MappedType, "size")
def _size(array: Any) -> Any:
    def size(array: Any) -> Any:
        return array.length * array.columns

    return size


@overload_attribute(MappedType, "shape")
def _shape(array: Any) -> Any:
    def vector(array: Any) -> Any:
        return (array.length,)

    def matrix(array: Any) -> Any:
        return (array.length, array.columns)

    return vector if array.ndim == 1 else matrix


@overload(operator.getitem)
def _getitem(array: Any, at: Any) -> Any:
    if isinstance(array, MappedType):
        if isinstance(at, types.Integer):
            return _value_of(array) if array.ndim == 1 else _row_of
        if isinstance(at, types.BaseTuple) and len(at) == array.ndim == 2:
            return _cell_of
    return None


def _value_of(array: MappedType) -> Any:
    itemsize = array.dtype.bitwidth // 8  # type: ignore[attr-defined]

    def value(array: Any, at: Any) -> Any:
        place = np.int64(at)
        block = (array.header + place * itemsize) >> SHIFT
        if np.uint64(place) >= np.uint64(array.length) or array.state[block] == 0:
            _reach(array, place)
        return array.values[place]

    return value


def _row_of(array: Any, at: Any) -> Any:
    _reach(array, np.int64(at))
    return carray(_moved(array.values, np.int64(at) * array.columns), (array.columns,))


def _cell_of(array: Any, at: Any) -> Any:
    _reach(array, np.int64(at[0]))
    return array.values[np.int64(at[0]) * array.columns + np.int64(at[1])]


@njit(cache=True, nogil=True)
def _reach(array: Any, at: Any) -> None:
    """Verify the blocks of a row."""
    if at < 0 or at >= array.length:
        raise StoreError("A file of the snapshot leads outside another one. " + _REPAIR)
    row = array.columns * array.itemsize
    first, last = array.header + at * row, array.header + (at + 1) * row - 1
    if verify(array, first >> SHIFT, (last >> SHIFT) + 1) >= 0:
        raise StoreError("A file of the snapshot is damaged. " + _REPAIR)


def _moved_pointer(context: Any, pointer: Any, by: Any) -> Any:
    """Return a pointer moved by a number of values."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.gep(arguments[0], [arguments[1]])

    return pointer(pointer, by), generate


_moved = cast(Callable[[Any, Any], Any], intrinsic(_moved_pointer))


def _prefetch(context: Any, array: Any, index: Any) -> Any:
    """Prefetch array[index] into the cache."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        if isinstance(kind, MappedType):
            data = cgutils.create_struct_proxy(kind)(context, builder, value=arguments[0]).values
        else:
            data = context.make_array(kind)(context, builder, arguments[0]).data
        place = builder.bitcast(builder.gep(data, [arguments[1]]), cgutils.voidptr_t)
        number = ir.IntType(32)
        signature_ = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
        intrinsic_ = builder.module.declare_intrinsic("llvm.prefetch", [cgutils.voidptr_t], signature_)
        builder.call(intrinsic_, [place, number(0), number(3), number(1)])  # for reading, to all caches, data
        return context.get_dummy_value()

    return types.void(array, index), generate


prefetch = cast(Callable[[Any, Any], None], intrinsic(_prefetch))
