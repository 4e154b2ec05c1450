"""How a kernel is compiled, and the one array layout that all of them take.

numba compiles a function anew for each combination of dtype, layout and writability. Everything that
comes into a kernel therefore passes through `readonly`, and everything that it writes is scratch or a
fresh array, so each kernel is compiled exactly once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

__all__ = ["Floats", "Ids", "Pointers", "kernel", "node_ids", "readonly"]

Pointers = NDArray[np.int64]
"""Row pointers of a CSR array: int64[n + 1]."""
Ids = NDArray[np.int32]
"""Local node ids, 0 to n - 1: int32."""
Floats = NDArray[np.float64]
"""Weights and scores: float64."""

Compiled = TypeVar("Compiled", bound=Callable[..., Any])


def kernel(function: Compiled) -> Compiled:
    """Compile `function` on its first call, cached on disk and without the interpreter's lock.

    Never `fastmath` (order of sums and infinities must hold) and never `parallel` (parallelism is over
    queries). A kernel calls only kernels of its own file: numba's cache watches just that file.
    """
    return cast(Compiled, njit(cache=True, nogil=True)(function))


def readonly(array: ArrayLike, dtype: type[np.generic]) -> NDArray[Any]:
    """Return `array` as a C-contiguous, read-only array of `dtype`; copied only where it is not one.

    >>> readonly([1, 2], np.int32).flags.writeable
    False
    """
    view = np.ascontiguousarray(array, dtype=dtype).view()
    view.flags.writeable = False
    return view


def node_ids(ids: ArrayLike, n: int, what: str) -> Ids:
    """Return `ids` as read-only int32, having checked that each is a node of a graph of `n` nodes.

    Raises ValueError with the first id that is none: a kernel does not check bounds, and would read or
    write elsewhere in memory.

    >>> node_ids([0, 7], 5, "seeds")
    Traceback (most recent call last):
    ValueError: seeds holds 7, and the graph's nodes are 0 to 4. Pass local ids of this graph.
    """
    wide = np.atleast_1d(np.asarray(ids))
    if wide.size and not np.issubdtype(wide.dtype, np.integer):
        raise ValueError(f"{what} has dtype {wide.dtype}, and node ids are integers. Pass integers.")
    outside = np.flatnonzero((wide < 0) | (wide >= n))
    if outside.size:
        bounds = f"are 0 to {n - 1}" if n else "are none"
        raise ValueError(
            f"{what} holds {wide[outside[0]]}, and the graph's nodes {bounds}. Pass local ids of this graph."
        )
    return readonly(wide, np.int32)
