"""PageRank by sweeps over all edges of a component: exact, and where a push would not stay local."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graphwright.kernels.compiled import Floats, Ids, Pointers, kernel, readonly
from graphwright.kernels.csr import induced
from graphwright.kernels.hops import reachable

__all__ = ["Walk", "settled", "swept"]

_TOLERANCE = 1e-8
_SHARE = 0.25


@kernel
def _sweep(
    indptr: Pointers, neighbours: Ids, source: Floats, restart: float, omega: float,
    value: Floats, before: Floats,
) -> float:  # fmt: skip
    """One step for values per degree: before += omega·(step(value) − before); return |residual|₁."""
    error = 0.0
    for v in range(source.size):
        start, end = indptr[v], indptr[v + 1]
        even, odd = 0.0, 0.0  # two sums, or each addition waits for the one before
        for i in range(start, end - 1, 2):
            even += value[np.uint32(neighbours[i])]
            odd += value[np.uint32(neighbours[i + 1])]
        if (end - start) & 1:
            even += value[np.uint32(neighbours[end - 1])]
        degree = end - start
        step = source[v]
        if degree:
            step += (1.0 - restart) * (even + odd) / degree
        error += abs(step - value[v]) * degree
        before[v] += omega * (step - before[v])
    return error


class Walk(NamedTuple):
    """A graph, and a walk on it that begins at `seeds`, with `mass` each."""

    indptr: Pointers
    neighbours: Ids
    seeds: Ids
    mass: Floats
    restart: float


def settled(walk: Walk) -> tuple[Ids, Floats]:
    """Return all nodes that the walk can reach, ascending, and their PageRank, L1 error at most 1e-8."""
    nodes, part = _component(walk)
    degree = np.diff(part.indptr)
    return nodes, _iterate(part, np.full(nodes.size, walk.mass.sum() / degree.sum())) * degree


def swept(walk: Walk, k: int, touched: Ids, scores: Floats) -> tuple[Ids, Floats]:
    """Improve the scores of the touched nodes, the mass they miss being spread over the other nodes.

    Sweeps go on until the bound on the L1 error is a quarter of what the top k would score if all
    scored like the last of it; when k holds all that can be reached, until it is the tolerance.
    """
    nodes, part = _component(walk)
    if nodes.size <= k:
        return settled(walk)
    degree = np.diff(part.indptr)
    place = touched if nodes.size == walk.indptr.size - 1 else np.searchsorted(nodes, touched)
    untouched = max(int(degree.sum() - degree[place].sum()), 1)
    value = np.full(nodes.size, (walk.mass.sum() - scores.sum()) / untouched)
    value[place] = scores / degree[place]
    return nodes, _iterate(part, value, k) * degree


def _component(walk: Walk) -> tuple[Ids, Walk]:
    """Return what the walk can reach, ascending, and the walk on that alone, renumbered."""
    indptr, neighbours, seeds, _, _ = walk
    nodes = reachable(indptr, neighbours, seeds)
    if nodes.size == indptr.size - 1:
        return nodes, walk
    indptr, neighbours = induced(indptr, neighbours, nodes)
    seeds = readonly(np.searchsorted(nodes, seeds), np.int32)
    return nodes, walk._replace(indptr=indptr, neighbours=neighbours, seeds=seeds)


def _iterate(walk: Walk, value: Floats, k: int | None = None) -> Floats:
    """Return PageRank per degree, from a first `value`: to the tolerance, or as far as the top k needs."""
    indptr, neighbours, seeds, mass, restart = walk
    degree, shrink, omega, done = np.diff(indptr), (1 - restart) ** 2, 1.0, 0
    source = np.zeros(value.size)
    source[seeds] = restart * mass / degree[seeds]
    source = readonly(source, np.float64)
    before, enough = value.copy(), _enough(value * degree, k)
    while True:
        error = _sweep(indptr, neighbours, source, restart, omega, value, before) / restart
        if error <= enough:
            enough = _enough(value * degree, k)  # the k-th score has moved since
            if error <= enough:
                return value  # for which this bound holds, and not for the next
        value, before = before, value
        omega = 1 / (1 - shrink / 2) if done == 0 else 1 / (1 - shrink * omega / 4)
        done += 1


def _enough(scores: Floats, k: int | None) -> float:
    """Return the L1 error to stop at: so much of the k-th score for each of k nodes, or the tolerance."""
    if k is None:
        return _TOLERANCE
    bound = np.partition(scores, scores.size - k)[scores.size - k]
    return max(_TOLERANCE, float(_SHARE * k * bound))
