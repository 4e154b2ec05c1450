"""A shortest path, found from both ends: how a passage was reached."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from graphwright.kernels.compiled import Ids, Pointers, kernel, node_ids, readonly
from graphwright.kernels.workspace import release, workspace

__all__ = ["nearest_path"]


@kernel
def _expand(
    indptr: Pointers, neighbours: Ids, side: int, first: int, last: int, marks: Ids, order: Ids
) -> tuple[int, int]:
    """Mark the next whole level of one side; return where it ends, and the edges to leave it by."""
    size, edges = last, 0
    for j in range(first, last):
        v = order[j]
        for i in range(indptr[v], indptr[v + 1]):
            u = neighbours[i]
            if marks[u, side] == 0:
                marks[u, side] = marks[v, side] + 1
                order[size] = u
                size += 1
                edges += indptr[u + 1] - indptr[u]
    return size, edges


@kernel
def _meet(first: int, last: int, side: int, marks: Ids, order: Ids, meeting: Ids) -> int:
    """Write those of the newest level that the other side has marked too; return how many."""
    size = 0
    for j in range(first, last):
        if marks[order[j], 1 - side]:
            meeting[size] = order[j]
            size += 1
    return size


@kernel
def _label(indptr: Pointers, neighbours: Ids, marks: Ids, meeting: Ids, size: int) -> int:
    """Carry distances to the target back from the meeting nodes to the sources, along shortest paths.

    Return the smallest source on one. `meeting` grows by the nodes labelled, as a queue.
    """
    best = -1
    head = 0
    while head < size:
        v = meeting[head]
        head += 1
        if marks[v, 0] == 1 and (best < 0 or v < best):
            best = v
        for i in range(indptr[v], indptr[v + 1]):
            u = neighbours[i]
            if marks[u, 0] == marks[v, 0] - 1 and marks[u, 0] and marks[u, 1] == 0:
                marks[u, 1] = marks[v, 1] + 1
                meeting[size] = u
                size += 1
    return best


@kernel
def _descend(indptr: Pointers, neighbours: Ids, marks: Ids, path: Ids) -> None:
    """From path[0], go to the smallest neighbour that is one nearer to the target, until there."""
    for j in range(path.size - 1):
        v = path[j]
        for i in range(indptr[v], indptr[v + 1]):
            if marks[neighbours[i], 1] == path.size - 1 - j:
                path[j + 1] = neighbours[i]
                break


def nearest_path(indptr: Pointers, neighbours: Ids, sources: ArrayLike, target: int, limit: int) -> Ids:
    """Return one path of fewest edges from any of `sources` to `target`, both ends included.

    Of several, the one whose nodes, read from its source, are smallest first: by the source, then by
    each next node. Breadth first from both ends, a whole level at a time on the side with fewer edges
    to walk, so the cost is that of two balls of half the length.

    Returns int32[edges + 1]; only the target where it is a source; empty when there is no path of at
    most `limit` edges.
    Raises ValueError for a source or target that is no node, or a negative `limit`.

    >>> from graphwright.kernels.csr import undirected
    >>> square = undirected(5, [0, 0, 1, 2, 3], [1, 2, 3, 3, 4])
    >>> nearest_path(*square, [0], 4, 3).tolist(), nearest_path(*square, [0], 4, 2).tolist()
    ([0, 1, 3, 4], [])
    """
    n = indptr.size - 1
    if limit < 0:
        raise ValueError(f"limit is {limit}. Pass how many edges a path may have, 0 or more.")
    ids, end = np.unique(node_ids(sources, n, "sources")), node_ids([target], n, "target")
    graph = readonly(indptr, np.int64), readonly(neighbours, np.int32)
    scratch = workspace(n)
    orders, sizes = (scratch.order, scratch.queue), [ids.size, 1]
    try:
        for side, begin in enumerate((ids, end)):
            orders[side][: begin.size] = begin
            scratch.marks[begin, side] = 1
        path = _search(*graph, limit, scratch.marks, orders, sizes)
        for order, size in zip(orders, sizes, strict=True):
            scratch.marks[order[:size]] = 0
    except BaseException:
        release()  # an interrupt leaves marks behind
        raise
    return path


def _search(
    indptr: Pointers, neighbours: Ids, limit: int, marks: Ids, orders: tuple[Ids, Ids], sizes: list[int]
) -> Ids:
    """Grow both sides until they meet; `sizes` tells afterwards how many nodes each has marked."""
    starts = [0, 0]
    work = [int((indptr[o[:s] + 1] - indptr[o[:s]]).sum()) for o, s in zip(orders, sizes, strict=True)]
    meeting = np.empty(1, np.int32)
    met = _meet(0, 1, 1, marks, orders[1], meeting)
    length = 0
    while not met and length < limit and all(work):
        side = int(work[1] < work[0])
        first, last = starts[side], sizes[side]
        sizes[side], work[side] = _expand(indptr, neighbours, side, first, last, marks, orders[side])
        starts[side], length = last, length + 1
        meeting = np.empty(sizes[0] + sizes[1], np.int32)
        met = _meet(last, sizes[side], side, marks, orders[side], meeting)
    if not met:
        return np.empty(0, np.int32)
    path = np.empty(length + 1, np.int32)
    path[0] = _label(indptr, neighbours, marks, meeting, met)
    _descend(indptr, neighbours, marks, path)
    return path
