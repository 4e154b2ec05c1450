"""Compilation of kernels: ahead, into a library that an installation has, or by numba in a clone.

A kernel of the library is called with the address of 64-bit words: for each argument a number, or the address and the
shape of an array; then room for the results. `interfaces` derives them from the annotations, for the calls as for the
build (`hatch_build.py`).
"""

from __future__ import annotations

import ctypes
import struct
import types
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

LIBRARY = "library.bin"  # name of the library's file, beside this one, on every platform
KERNELS: list[Callable[..., Any]] = []  # the kernels of all modules imported so far
_NUMBERS = {int: "q", bool: "q", float: "d", np.uint64: "Q"}  # as the struct module writes them


class ArrayType(NamedTuple):
    """The type of an array, which is contiguous."""

    dtype: np.dtype[Any]
    dimensions: int

    @property
    def words(self) -> str:
        """The address and the shape, as the struct module writes them."""
        return "Q" + "q" * self.dimensions

    def __str__(self) -> str:
        return f"{self.dtype.str}[{self.dimensions}]"


class Interface(NamedTuple):
    """The types of a kernel's arguments, those of a NamedTuple one by one, and of its results."""

    arguments: tuple[type | ArrayType, ...]
    results: tuple[type, ...]

    @property
    def arrays(self) -> str:
        """The types of all arrays."""
        return " ".join(str(part) for part in self.arguments if isinstance(part, ArrayType))


def interfaces(function: Callable[..., Any]) -> list[Interface]:
    """Return the interfaces of a kernel by its annotations: NDArray is one dimension, ndarray[tuple[...]] more."""
    hints = get_type_hints(function)
    result = hints.pop("return")
    results = () if result is type(None) else get_args(result) or (result,)
    fields = [field for hint in hints.values() for field in _fields(hint)]
    return [Interface(arguments, results) for arguments in product(*map(_alternatives, fields))]


def _fields(hint: Any) -> list[Any]:
    return list(get_type_hints(hint).values()) if isinstance(hint, type) and issubclass(hint, tuple) else [hint]


def _alternatives(hint: Any) -> list[Any]:
    if get_origin(hint) in (Union, types.UnionType):
        return [part for other in get_args(hint) for part in _alternatives(other)]
    if get_origin(hint) is not np.ndarray:
        return [hint]
    shape, dtype = get_args(hint)
    sizes = get_args(shape)
    return [ArrayType(np.dtype(get_args(dtype)[0]), 1 if not sizes or Ellipsis in sizes else len(sizes))]


def symbol(function: Callable[..., Any], interface: int) -> str:
    """Return the name in the library of a kernel with one of its interfaces."""
    return f"{function.__module__.rpartition('.')[2]}_{function.__name__}_{interface}"


@cache
def library() -> ctypes.CDLL | None:
    """Return the library of compiled kernels, or None if this installation has none."""
    path = Path(__file__).with_name(LIBRARY)
    return ctypes.CDLL(str(path)) if path.exists() else None


class _Entry(NamedTuple):
    call: Callable[..., int]
    words: struct.Struct
    results: struct.Struct


class CompiledKernel:
    """A kernel of the library."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.py_func = function
        self._entries: dict[str, _Entry] = {}

    def __call__(self, *args: Any) -> Any:
        """Run the kernel, without the interpreter lock. Raises TypeError for arrays of other types or layouts."""
        words: list[Any] = []
        arrays: list[str] = []
        for value in _flat(args):
            if isinstance(value, np.ndarray):
                if not value.flags.c_contiguous:
                    raise TypeError(f"{self.py_func.__name__} got an array that is not contiguous. Pass a copy.")
                arrays.append(f"{value.dtype.str}[{value.ndim}]")
                words += (value.ctypes.data, *value.shape)
            else:
                words.append(value)
        entry = self._entry(" ".join(arrays))
        size = entry.words.size
        block = ctypes.create_string_buffer(entry.words.pack(*words), size + entry.results.size)
        if entry.call(ctypes.c_void_p(), ctypes.c_void_p(), ctypes.addressof(block)):
            raise ArithmeticError(f"{self.py_func.__name__} failed.")
        results = entry.results.unpack_from(block, size)
        return results if len(results) > 1 else results[0] if results else None

    def _entry(self, arrays: str) -> _Entry:
        if arrays not in self._entries:
            every = interfaces(self.py_func)
            at = next((at for at, interface in enumerate(every) if interface.arrays == arrays), None)
            if at is None:
                known = " or ".join(interface.arrays for interface in every)
                raise TypeError(f"{self.py_func.__name__} got the arrays {arrays}. Pass {known}.")
            call = getattr(library(), symbol(self.py_func, at))
            call.argtypes = [ctypes.POINTER(ctypes.c_void_p)] * 2 + [ctypes.c_int64]  # numba's calling convention
            words = [part.words if isinstance(part, ArrayType) else _NUMBERS[part] for part in every[at].arguments]
            results = [_NUMBERS[part] for part in every[at].results]
            self._entries[arrays] = _Entry(call, *(struct.Struct("=" + "".join(part)) for part in (words, results)))
        return self._entries[arrays]


def _flat(args: tuple[Any, ...]) -> Iterator[Any]:
    for value in args:
        if isinstance(value, tuple):
            yield from value
        else:
            yield value


def kernel(function: Kernel) -> Kernel:
    """Compile a function that Python calls; it releases the interpreter lock.

    Where there is no library numba does so on the first call, cached on disk. Never `fastmath` (sums keep their order,
    and infinities are used), never `parallel` (queries run in parallel), and no arrays of its own: a kernel is given
    its scratch. It calls only kernels of its own file, because numba's cache watches only that file.
    """
    KERNELS.append(CompiledKernel(function) if library() else subkernel(function))
    return cast(Kernel, KERNELS[-1])


def subkernel(function: Kernel) -> Kernel:
    """Compile a function that only kernels call: in the library it is a part of them."""
    if library():
        return function
    try:
        from numba import njit
    except ImportError as error:
        raise ImportError(
            "This copy of graphwright has no compiled kernels, and numba is not installed. Run: pip install numba"
        ) from error
    options: dict[str, Any] = {"cache": True, "nogil": True, "_nrt": False}
    return cast(Kernel, njit(**options)(function))
