"""Compilation of kernels, the array layout that all of them take, and scratch memory for each thread.

numba compiles a function again for each combination of dtype, layout and writability. So every input of a kernel
passes through `readonly`, and every output is scratch or a new array: each kernel is compiled exactly once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

__all__ = ["Floats", "Ids", "Pointers", "Workspace", "kernel", "node_ids", "readonly", "workspace"]

Pointers = NDArray[np.int64]
"""Row pointers of a CSR array: int64[n + 1]."""
Ids = NDArray[np.int32]
"""Local node ids, 0 to n - 1: int32."""
Floats = NDArray[np.float64]
"""Weights and scores: float64."""

_PATIENCE = 1000  # queries that a workspace may be far too large for before it is released

Compiled = TypeVar("Compiled", bound=Callable[..., Any])


def kernel(function: Compiled) -> Compiled:
    """Compile `function` on its first call, cached on disk, releasing the interpreter lock.

    Never `fastmath` (sums keep their order, and infinities are used) and never `parallel` (queries run in parallel).
    A kernel calls only kernels of its own file, because numba's cache watches only that file.
    """
    return cast(Compiled, njit(cache=True, nogil=True)(function))


def readonly(array: ArrayLike, dtype: type[np.generic]) -> NDArray[Any]:
    """Return `array` as a C-contiguous, read-only array of `dtype`, copied only where necessary.

    >>> readonly([1, 2], np.int32).flags.writeable
    False
    """
    view = np.ascontiguousarray(array, dtype=dtype).view()
    view.flags.writeable = False
    return view


def node_ids(ids: ArrayLike, n: int, what: str) -> Ids:
    """Check that each of `ids` is a node of a graph of `n` nodes, and return them as read-only int32.

    Raises ValueError for the first id that is not: kernels do not check bounds.

    >>> node_ids([0, 7], 5, "seeds")
    Traceback (most recent call last):
    ValueError: seeds holds 7, but the graph's nodes are 0 to 4. Pass local ids of this graph.
    """
    wide = np.atleast_1d(np.asarray(ids))
    if wide.size and not np.issubdtype(wide.dtype, np.integer):
        raise ValueError(f"{what} has dtype {wide.dtype}. Pass node ids as integers.")
    outside = np.flatnonzero((wide < 0) | (wide >= n))
    if outside.size:
        nodes = f"the graph's nodes are 0 to {n - 1}" if n else "the graph has no nodes"
        raise ValueError(f"{what} holds {wide[outside[0]]}, but {nodes}. Pass local ids of this graph.")
    return readonly(wide, np.int32)


class Workspace:
    """Scratch arrays over the nodes of a graph, for one thread, so that no query clears an array of length n.

    `rows` and `marks` are all zero between queries: a kernel clears what it touched before it returns. `order` and
    `queue` hold any values. So one workspace serves every graph of at most `size` nodes. The system maps a page when
    it is first written: on a large graph the memory used depends on the nodes that queries reach, not on n.

    - `rows`: float64[size, 4], half a cache line for each node
    - `marks`: int32[size, 2], or one uint64 for each node
    - `order`, `queue`: int32[size]
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.oversized = 0  # queries in a row
        self.rows: Floats = np.zeros((size, 4))
        self.marks: Ids = np.zeros((size, 2), np.int32)
        self.order: NDArray[np.int32] = np.zeros(size, np.int32)
        self.queue: NDArray[np.int32] = np.zeros(size, np.int32)

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:  # an error or interrupt leaves marks behind
            _local.current = None

    def fits(self, n: int) -> bool:
        """Return whether this is large enough for `n` nodes, and not far too large for many queries in a row."""
        self.oversized = self.oversized + 1 if n * 8 < self.size else 0
        return n <= self.size and self.oversized < _PATIENCE


class _PerThread(threading.local):
    current: Workspace | None = None


_local = _PerThread()


def workspace(n: int) -> Workspace:
    """Return the calling thread's workspace, for a graph of `n` nodes.

    A thread has one, as large as the largest graph that it has queried (at most 56 bytes a node, mapped when touched).
    It is replaced by a larger one for a larger graph, and by a smaller one after 1,000 queries in a row that needed
    less than an eighth of it. `with workspace(n) as scratch:` drops it after an error, which leaves marks behind.

    >>> workspace(10) is workspace(5)
    True
    """
    scratch = _local.current
    if scratch is None or not scratch.fits(n):
        _local.current = scratch = Workspace(max(n, 1))
    return scratch
