"""Scratch of one thread, reused from query to query, so that no query clears an array of length n."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from graphwright.kernels.compiled import Floats, Ids

__all__ = ["Workspace", "release", "workspace"]

_PATIENCE = 1000


class Workspace:
    """Arrays over the nodes of a graph, for one thread.

    `rows` and `marks` are all zero between queries: a kernel clears, before it returns, what it touched.
    `order` and `queue` hold anything. Because of this one workspace serves every graph of at most
    `size` nodes. Memory is asked for zeroed and unwritten, so the system maps a page when it is first
    touched: on a large graph it costs what queries reach, not n.

    - `rows`: float64[size, 4], half a cache line for each node
    - `marks`: int32[size, 2], or one uint64 for each node
    - `order`, `queue`: int32[size]
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.unneeded = 0
        self.rows: Floats = np.zeros((size, 4))
        self.marks: Ids = np.zeros((size, 2), np.int32)
        self.order: NDArray[np.int32] = np.zeros(size, np.int32)
        self.queue: NDArray[np.int32] = np.zeros(size, np.int32)

    def fits(self, n: int) -> bool:
        """Say whether this serves a graph of `n` nodes, and is not far too large time after time."""
        self.unneeded = self.unneeded + 1 if n * 8 < self.size else 0
        return n <= self.size and self.unneeded < _PATIENCE


class _PerThread(threading.local):
    held: Workspace | None = None


_local = _PerThread()


def workspace(n: int) -> Workspace:
    """Return the calling thread's workspace, for a graph of `n` nodes.

    A thread has one, as large as the largest graph it has worked on (56 bytes a node at most, counted
    when touched). It grows when a larger graph comes, is given up for a smaller one after 1,000
    queries in a row that needed less than an eighth of it, and goes when the thread ends.

    >>> workspace(10) is workspace(5)
    True
    """
    held = _local.held
    if held is None or not held.fits(n):
        _local.held = held = Workspace(max(n, 1))
    return held


def release() -> None:
    """Give the calling thread's workspace back; the next query makes a new one."""
    _local.held = None
