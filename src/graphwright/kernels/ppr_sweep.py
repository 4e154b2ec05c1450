"""Personalised PageRank by sweeps over the graph: conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.kernels.csr import Floats, Ids, Pointers, induced, kernel, readonly
from graphwright.kernels.hops import khop
from graphwright.kernels.ranking import kth

_TOLERANCE = 1e-8
_SHARE = 0.1  # mean error of the top k, as a share of the k-th score, below which their order is settled
_STABLE = 0.99
_SMALLEST = 1e-300


@kernel
def _sweep(indptr: Pointers, neighbours: Ids, restart: float, value: Floats, out: Floats) -> float:
    """Write value − (1 − restart)·(mean over neighbours of value); return ⟨value, out⟩ weighted by degree."""
    product = 0.0
    for v in range(value.size):
        start, end = indptr[v], indptr[v + 1]
        even, odd = 0.0, 0.0  # two sums, so that additions run in parallel
        for i in range(start, end - 1, 2):
            even += value[np.uint32(neighbours[i])]
            odd += value[np.uint32(neighbours[i + 1])]
        if (end - start) & 1:
            even += value[np.uint32(neighbours[end - 1])]
        degree = end - start
        rest = value[v] * degree - (1.0 - restart) * (even + odd)
        product += value[v] * rest
        out[v] = rest / degree if degree else 0.0
    return product


@kernel
def _advance(
    indptr: Pointers, length: float, direction: Floats, image: Floats, value: Floats, residual: Floats
) -> tuple[float, float]:
    """Step by `length` in `direction`; return the residual's squared norm weighted by degree, and its L1 norm."""
    square, error = 0.0, 0.0
    for v in range(value.size):
        degree = indptr[v + 1] - indptr[v]
        value[v] += length * direction[v]
        rest = residual[v] - length * image[v]
        residual[v] = rest
        square += rest * rest * degree
        error += abs(rest) * degree
    return square, error


class Walk(NamedTuple):
    """A random walk with restart on a graph, from `seeds` with probabilities `mass`."""

    indptr: Pointers
    neighbours: Ids
    seeds: Ids
    mass: Floats
    restart: float


def settled(walk: Walk) -> tuple[Ids, Floats]:
    """Return all nodes that the walk can reach, ascending, and their PageRank, with an L1 error of at most 1e-8."""
    nodes, part = _component(walk)
    degree = np.diff(part.indptr)
    value = np.full(nodes.size, walk.mass.sum() / degree.sum())
    while _iterate(part, value, lambda _, error: error <= _TOLERANCE):
        pass  # repeat until the residual, computed from scratch, is small too
    return nodes, np.maximum(value, _SMALLEST) * degree


def swept(walk: Walk, k: int, touched: Ids, scores: Floats) -> tuple[Ids, Floats]:
    """Return the k nodes of highest PageRank, and all that tie with the last.

    Starts from the scores of the nodes `touched`, more than k. Sweeps end when two more leave 99 % of the top k the
    same, or when the bound on the L1 error is a tenth of k times the k-th score, where only near-ties change places.
    """
    degree = np.diff(walk.indptr)
    value = np.zeros(degree.size)  # 0 for nodes that the walk cannot reach
    value[touched] = scores / degree[touched] + (walk.mass.sum() - scores.sum()) / degree[touched].sum()
    before, floor = np.zeros(degree.size, np.bool_), 0.0

    def enough(done: int, error: float) -> bool:
        nonlocal before, floor
        if error <= _TOLERANCE or done % 2 or not done:
            return error <= _TOLERANCE
        now = value * degree
        bound = kth(now, k, floor)
        floor = bound / 2
        leading: NDArray[np.bool_] = now >= bound
        same, before = np.count_nonzero(leading & before), leading
        return bool(same >= _STABLE * k or error <= _SHARE * k * bound)

    _iterate(walk, value, enough)
    ranked = np.maximum(value, _SMALLEST) * degree
    nodes = readonly(np.flatnonzero((value != 0) & (ranked >= kth(ranked, k, floor))), np.int32)
    return nodes, ranked[nodes]


def _component(walk: Walk) -> tuple[Ids, Walk]:
    """Return the nodes that the walk can reach, ascending, and the walk on the graph of these, renumbered."""
    indptr, neighbours, seeds, _, _ = walk
    n = indptr.size - 1
    nodes = np.sort(khop(indptr, neighbours, seeds, n)[0])
    if nodes.size == n:
        return nodes, walk
    indptr, neighbours = induced(indptr, neighbours, nodes)
    seeds = readonly(np.searchsorted(nodes, seeds), np.int32)
    return nodes, walk._replace(indptr=indptr, neighbours=neighbours, seeds=seeds)


def _iterate(walk: Walk, value: Floats, enough: Callable[[int, float], bool]) -> int:
    """Improve `value`, PageRank per degree, until enough(steps, bound on the L1 error); return the number of steps.

    Conjugate gradients (Hestenes and Stiefel, 1952) for (I − (1 − restart)·D⁻¹·A)·value = restart·D⁻¹·s,
    a system that is symmetric and positive definite in the product ⟨x, y⟩ = Σ degree·x·y.
    """
    indptr, neighbours, seeds, mass, restart = walk
    source, image = np.zeros(value.size), np.empty(value.size)
    source[seeds] = restart * mass / (indptr[seeds + 1] - indptr[seeds])
    _sweep(indptr, neighbours, restart, value, image)
    direction, residual = np.zeros(value.size), source
    square, error = _advance(indptr, 1.0, direction, image, value, residual)
    ratio, done = 0.0, 0
    while not enough(done, error / restart):
        direction *= ratio
        direction += residual
        length = square / _sweep(indptr, neighbours, restart, direction, image)
        before = square
        square, error = _advance(indptr, length, direction, image, value, residual)
        ratio = square / before
        done += 1
    return done
