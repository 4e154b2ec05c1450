"""Neighbourhoods: nodes within some hops, connected components, and the nodes that random walks visit."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.kernels.csr import Floats, Ids, Pointers, kernel, node_ids, readonly, workspace

__all__ = ["components", "khop", "random_walk", "reachable"]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST_MIX = np.uint64(0xBF58476D1CE4E5B9)
_LAST_MIX = np.uint64(0x94D049BB133111EB)
_UNIT = 2.0**-53


@kernel
def _spread(indptr: Pointers, neighbours: Ids, seeds: Ids, hops: int, marks: Ids, queue: Ids) -> int:
    """Write the nodes within `hops` of `seeds` into `queue`, nearest first, and 1 + distance into `marks`."""
    size = 0
    for i in range(seeds.size):
        if marks[seeds[i], 0] == 0:
            marks[seeds[i], 0] = 1
            queue[size] = seeds[i]
            size += 1
    head = 0
    while head < size and marks[queue[head], 0] <= hops:
        v = queue[head]
        head += 1
        for i in range(indptr[v], indptr[v + 1]):
            u = neighbours[i]
            if marks[u, 0] == 0:
                marks[u, 0] = marks[v, 0] + 1
                queue[size] = u
                size += 1
    return size


@kernel
def _draw(state: NDArray[np.uint64]) -> float:
    """Return the next number in [0, 1) of splitmix64 (Steele, Lea, Flood, 2014)."""
    state[0] += _GOLDEN
    x = state[0]
    x = (x ^ (x >> np.uint64(30))) * _FIRST_MIX
    x = (x ^ (x >> np.uint64(27))) * _LAST_MIX
    return np.float64((x ^ (x >> np.uint64(31))) >> np.uint64(11)) * _UNIT


@kernel
def _start(seeds: Ids, sums: Floats, state: NDArray[np.uint64]) -> int:
    """Return a seed drawn by weight; `sums` holds the running sums of the weights, ending in 1."""
    x = _draw(state)
    low, high = 0, seeds.size - 1
    while low < high:
        middle = (low + high) // 2
        if sums[middle] > x:
            high = middle
        else:
            low = middle + 1
    seed: int = seeds[low]
    return seed


@kernel
def _walk(
    indptr: Pointers, neighbours: Ids, seeds: Ids, sums: Floats, walks: int, steps: int, restart: float,
    state: NDArray[np.uint64], marks: Ids, queue: Ids,
) -> int:  # fmt: skip
    """Count visits in `marks`, write the nodes visited into `queue`, and return their number."""
    size = 0
    for _ in range(walks):
        v = _start(seeds, sums, state)
        for step in range(steps + 1):
            if step:
                degree = indptr[v + 1] - indptr[v]
                if degree == 0 or _draw(state) < restart:
                    v = _start(seeds, sums, state)
                else:
                    v = neighbours[indptr[v] + np.int64(_draw(state) * degree)]
            if marks[v, 0] == 0:
                queue[size] = v
                size += 1
            marks[v, 0] += 1
    return size


def khop(indptr: Pointers, neighbours: Ids, seeds: ArrayLike, hops: int) -> tuple[Ids, Ids]:
    """Return the nodes within `hops` edges of any seed, nearest first, then smaller id.

    Returns `nodes` and `distance`, both int32, of equal length; the seeds have distance 0. The cost is proportional to
    the edges of the nodes nearer than `hops`.
    Raises ValueError for a seed that is not a node, or negative `hops`.

    >>> from graphwright.kernels.csr import undirected
    >>> nodes, distance = khop(*undirected(5, [0, 1, 2, 3], [1, 2, 3, 4]), [2], 1)
    >>> nodes.tolist(), distance.tolist()
    ([2, 1, 3], [0, 1, 1])
    """
    n = indptr.size - 1
    if hops < 0:
        raise ValueError(f"hops is {hops}. Pass a number of edges, 0 or more.")
    ids, scratch = node_ids(seeds, n, "seeds"), workspace(n)
    graph = readonly(indptr, np.int64), readonly(neighbours, np.int32)
    with scratch:
        size = _spread(*graph, ids, min(int(hops), n), scratch.marks, scratch.queue)
        nodes = scratch.queue[:size].copy()
        distance = scratch.marks[nodes, 0]
        scratch.marks[nodes] = 0
    keys = np.sort(distance.astype(np.int64) << 32 | nodes)
    return (keys & 0xFFFFFFFF).astype(np.int32), (keys >> 32).astype(np.int32) - np.int32(1)


def reachable(indptr: Pointers, neighbours: Ids, seeds: ArrayLike) -> Ids:
    """Return all nodes of the connected components of the seeds, int32, ascending.

    Raises ValueError for a seed that is not a node.

    >>> from graphwright.kernels.csr import undirected
    >>> reachable(*undirected(5, [3, 0], [2, 1]), [3]).tolist()
    [2, 3]
    """
    n = indptr.size - 1
    ids, scratch = node_ids(seeds, n, "seeds"), workspace(n)
    with scratch:
        size = _spread(readonly(indptr, np.int64), readonly(neighbours, np.int32), ids, n, scratch.marks, scratch.queue)
        if size == n:  # the common case needs no sort
            nodes = np.arange(n, dtype=np.int32)
            scratch.marks[:n] = 0
        else:
            nodes = np.sort(scratch.queue[:size])
            scratch.marks[nodes] = 0
    return nodes


def random_walk(
    indptr: Pointers,
    neighbours: Ids,
    seeds: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    walks: int = 100,
    steps: int = 10,
    restart: float = 0.15,
    seed: int = 0,
) -> tuple[Ids, Ids]:
    """Return the nodes that `walks` random walks of `steps` steps visit, most visited first.

    Each walk starts at a seed drawn by weight (uniformly by default). A step returns to a seed, drawn again, with
    probability `restart` or where there is no neighbour; otherwise it moves to a neighbour drawn uniformly. The start
    counts as a visit, so the counts sum to walks·(steps + 1).

    Returns `nodes` and `visits`, both int32, of equal length; equal counts by smaller id. The same `seed` gives the
    same walks on every machine. Empty when there is no seed of positive weight.
    Raises ValueError for a seed that is not a node, weights that are negative or not finite, a `restart` outside 0 to
    1, or negative `walks` or `steps`.

    >>> from graphwright.kernels.csr import undirected
    >>> nodes, visits = random_walk(*undirected(3, [0], [1]), [0], walks=5, steps=1, restart=0.0)
    >>> nodes.tolist(), visits.tolist()
    ([0, 1], [5, 5])
    """
    if not 0 <= restart <= 1:
        raise ValueError(f"restart is {restart}. Pass a probability from 0 to 1.")
    if walks < 0 or steps < 0 or walks * (steps + 1) >= 2**31:
        raise ValueError(f"walks is {walks} and steps is {steps}. Pass 0 or more, fewer than 2**31 visits in total.")
    n = indptr.size - 1
    ids, sums = _running(node_ids(seeds, n, "seeds"), weights)
    if not ids.size:
        return np.empty(0, np.int32), np.empty(0, np.int32)
    scratch = workspace(n)
    graph = readonly(indptr, np.int64), readonly(neighbours, np.int32)
    state = np.array([seed % 2**64], np.uint64)
    with scratch:
        size = _walk(*graph, ids, sums, walks, steps, float(restart), state, scratch.marks, scratch.queue)
        nodes = scratch.queue[:size].copy()
        visits = scratch.marks[nodes, 0]
        scratch.marks[nodes] = 0
    order = np.lexsort((nodes, -visits))
    return nodes[order], visits[order]


def _running(seeds: Ids, weights: ArrayLike | None) -> tuple[Ids, Floats]:
    """Return the seeds of positive weight and the running sums of their weights, ending in 1."""
    mass = np.ones(seeds.size) if weights is None else np.asarray(weights, np.float64).reshape(-1)
    if mass.size != seeds.size:
        raise ValueError(f"seeds holds {seeds.size} nodes and weights {mass.size}. Pass one weight per seed.")
    if mass.size and not (np.isfinite(mass).all() and mass.min() >= 0):
        raise ValueError(f"weights range from {mass.min()} to {mass.max()}. Pass finite weights, 0 or more.")
    used = mass > 0
    sums = np.cumsum(mass[used])
    return readonly(seeds[used], np.int32), readonly(sums / sums[-1] if sums.size else sums, np.float64)


@kernel
def _label(indptr: Pointers, neighbours: Ids, labels: Ids, queue: Ids) -> int:
    """Write the component of every node into `labels`, initially -1; return the number of components."""
    count = 0
    for root in range(labels.size):
        if labels[root] >= 0:
            continue
        labels[root] = count
        queue[0] = root
        head, size = 0, 1
        while head < size:
            v = queue[head]
            head += 1
            for i in range(indptr[v], indptr[v + 1]):
                u = neighbours[i]
                if labels[u] < 0:
                    labels[u] = count
                    queue[size] = u
                    size += 1
        count += 1
    return count


def components(indptr: Pointers, neighbours: Ids) -> Ids:
    """Return the number of each node's connected component: int32[n].

    Components are numbered from 0 by their smallest node. `neighbours` lists every edge at both its ends, so for a
    directed graph these are the weakly connected components. O(n + m).

    >>> from graphwright.kernels.csr import undirected
    >>> components(*undirected(5, [3, 0], [4, 2])).tolist()
    [0, 1, 0, 2, 2]
    """
    labels = np.full(indptr.size - 1, -1, np.int32)
    _label(readonly(indptr, np.int64), readonly(neighbours, np.int32), labels, np.empty_like(labels))
    return labels
