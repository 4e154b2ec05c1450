"""Neighbourhoods: nodes within some hops, components, nodes that random walks visit, nodes next to a ranked list."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.kernels.compiled import kernel, subkernel
from graphwright.kernels.csr import Floats, IdMatrix, Ids, Pointers, node_ids, readonly, same_length, workspace
from graphwright.kernels.ranking import kth

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST_MIX = np.uint64(0xBF58476D1CE4E5B9)
_LAST_MIX = np.uint64(0x94D049BB133111EB)
_UNIT = 2.0**-53


@kernel
def _spread(indptr: Pointers, neighbours: Ids, seeds: Ids, hops: int, marks: IdMatrix, queue: Ids) -> int:
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


@subkernel
def _draw(state: NDArray[np.uint64]) -> float:
    """Return the next number in [0, 1) of splitmix64 (Steele, Lea, Flood, 2014)."""
    state[0] += _GOLDEN
    x = state[0]
    x = (x ^ (x >> np.uint64(30))) * _FIRST_MIX
    x = (x ^ (x >> np.uint64(27))) * _LAST_MIX
    return np.float64((x ^ (x >> np.uint64(31))) >> np.uint64(11)) * _UNIT


@subkernel
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
    state: NDArray[np.uint64], marks: IdMatrix, queue: Ids,
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

    Returns `nodes` and `distance`, both int32. Raises ValueError for a seed that is not a node, or negative `hops`.

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


def random_walk(
    indptr: Pointers, neighbours: Ids, seeds: ArrayLike, weights: ArrayLike | None = None, *, walks: int = 100,
    steps: int = 10, restart: float = 0.15, seed: int = 0,
) -> tuple[Ids, Ids]:  # fmt: skip
    """Return the nodes that `walks` random walks of `steps` steps visit, most visited first.

    Each walk starts at a seed drawn by weight (uniformly by default). A step returns to a seed, drawn again, with
    probability `restart` or where there is no neighbour; otherwise it moves to a neighbour drawn uniformly. The start
    counts as a visit, so the counts sum to walks·(steps + 1).
    Returns `nodes` and `visits`, both int32; equal counts by smaller id. The same `seed` gives the same walks on every
    machine. Empty without a seed of positive weight. Raises ValueError for an invalid seed, weight or option.

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
    ids, mass = seed_weights(n, seeds, weights)
    ids, sums = ids[mass > 0], np.cumsum(mass[mass > 0])
    if not ids.size:
        return np.empty(0, np.int32), np.empty(0, np.int32)
    ids, sums = readonly(ids, np.int32), readonly(sums / sums[-1], np.float64)
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


def seed_weights(n: int, seeds: ArrayLike, weights: ArrayLike | None) -> tuple[Ids, Floats]:
    """Return seeds and their weights (1 by default). Raises ValueError where one is invalid or missing."""
    nodes = node_ids(seeds, n, "seeds")
    mass = np.ones(nodes.size) if weights is None else np.asarray(weights, np.float64).reshape(-1)
    same_length("seeds", nodes.size, "weights", mass.size)
    if mass.size and not (np.isfinite(mass).all() and mass.min() >= 0):
        raise ValueError(f"weights range from {mass.min()} to {mass.max()}. Pass finite weights, 0 or more.")
    return nodes, mass


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

    Components are numbered from 0 by their smallest node. `neighbours` lists every edge at both its ends. O(n + m).

    >>> from graphwright.kernels.csr import undirected
    >>> components(*undirected(5, [3, 0], [4, 2])).tolist()
    [0, 1, 0, 2, 2]
    """
    labels = np.full(indptr.size - 1, -1, np.int32)
    _label(readonly(indptr, np.int64), readonly(neighbours, np.int32), labels, np.empty_like(labels))
    return labels


class Around:
    """The nodes next to a growing ranked list, with neighbours and similarities cached between calls.

    A growing list holds the earlier nodes in another order. Results do not depend on earlier calls. For one thread.

    >>> from graphwright.kernels.csr import undirected
    >>> around = Around(*undirected(5, [0, 1, 2, 3, 0], [1, 2, 3, 4, 3]))
    >>> [part.tolist() for part in around.scores([2, 0], lambda nodes: nodes / 8)]
    [[3, 1], [2.375, 2.125]]
    """

    def __init__(self, indptr: Pointers, neighbours: Ids) -> None:
        self._indptr, self._neighbours = indptr, neighbours
        self._place_of: Ids = np.zeros(indptr.size - 1, np.int32)  # 1 + the place of a node in `_met`, 0 for none
        self._met = np.empty(0, np.int64)  # the neighbours of ranked nodes, in the order met
        self._similar: Floats = np.empty(0)  # of the nodes met, shorter after an interrupted call
        self._near: dict[int, NDArray[np.int64]] = {}  # places of the neighbours of each node ranked so far

    def scores(
        self,
        ranked: ArrayLike,
        similarity: Callable[[NDArray[np.int64]], ArrayLike],
        beta: float = 1.0,
        k: int | None = None,
    ) -> tuple[NDArray[np.int64], Floats]:
        """Return the k best (all, if None) of the nodes that are next to a list and not in it, and their scores.

        S(n) = similarity + β I(n), where I(n) = 1 - (best - 1)/(R - 1) if R > 1, plus (c - 1)/(C - 1) if C > 1: the
        list has R distinct nodes, c of them next to n, the best of those at rank `best` from 1, and C = min(deg(n), R)
        (FastInsight, Algorithm 3). Returns nodes, int64, and scores, float64, higher score first, then smaller id.
        `similarity` maps nodes, int64[m], to float64[m], NaN to leave a node out; it is called for new nodes only.
        Raises ValueError for an id that is not a node.
        """
        ids = node_ids(ranked, self._place_of.size, "ranked")
        for node in ids.tolist():
            if node not in self._near:
                self._near[node] = self._meet(node)
        near = [self._near[node] for node in ids.tolist()]
        self._compare(similarity)
        places = np.concatenate([np.empty(0, np.int64), *near])
        ranks = np.repeat(np.arange(ids.size), [*map(len, near)])
        best = np.empty(self._met.size, np.int64)
        best[places[::-1]] = ranks[::-1]  # the last entry written counts: the best rank
        counts = np.bincount(places, minlength=self._met.size)
        counts[self._place_of[ids[self._place_of[ids] > 0]] - 1] = 0  # nodes of the list
        new = np.flatnonzero((counts > 0) & ~np.isnan(self._similar))
        nodes, count = self._met[new], counts[new]
        structure = 1.0 - best[new] / (ids.size - 1.0) if ids.size > 1 else np.zeros(new.size)
        several = count > 1  # a node next to one node of the list needs no degree
        degree = np.minimum(self._indptr[nodes + 1] - self._indptr[nodes], ids.size)[several]
        structure[several] += (count[several] - 1.0) / (degree - 1.0)
        scores = self._similar[new] + beta * structure
        if k is not None and 0 < k < scores.size:
            leading = scores >= kth(scores, k)
            nodes, scores = nodes[leading], scores[leading]
        order = np.lexsort((nodes, -scores))[:k]
        return nodes[order], scores[order]

    def _meet(self, node: int) -> NDArray[np.int64]:
        """Return the places of a node's neighbours, adding the new ones to those met."""
        row = self._neighbours[self._indptr[node] : self._indptr[node + 1]]
        new = row[self._place_of[row] == 0]
        self._place_of[new] = np.arange(self._met.size, self._met.size + new.size) + 1
        self._met = np.concatenate((self._met, new))
        return self._place_of[row].astype(np.int64) - 1

    def _compare(self, similarity: Callable[[NDArray[np.int64]], ArrayLike]) -> None:
        new = self._met[self._similar.size :]
        if new.size:
            values = np.asarray(similarity(new), np.float64)
            if values.shape != new.shape:
                raise ValueError(f"similarity gave shape {values.shape} for {new.size} nodes. Return one number each.")
            self._similar = np.concatenate((self._similar, values))
