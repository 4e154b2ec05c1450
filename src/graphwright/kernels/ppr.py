"""Personalised PageRank: forward push from the seeds while that is local, else sweeps over the graph."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.kernels.csr import Floats, Ids, Pointers, readonly, workspace
from graphwright.kernels.hops import seed_weights
from graphwright.kernels.ppr_push import Push, Walk, settled, swept
from graphwright.kernels.ranking import kth

_STABLE = 0.92
_FIRST = 0.2
_QUARTERED = 4  # a threshold 4 times smaller walks about 4 times the edges
_MIN_K = 512  # a small top k is cut among near-ties, and needs a finer threshold


def push_ppr(
    indptr: Pointers, neighbours: Ids, seeds: ArrayLike, weights: ArrayLike | None = None, *, restart: float = 0.15,
    k: int | None = None,
) -> tuple[Ids, Floats]:  # fmt: skip
    """Return the nodes with the highest personalised PageRank, best first, and their scores.

    The walk starts at a seed drawn by weight (uniformly by default); at each step it returns to the seeds with
    probability `restart`, else moves to a neighbour drawn uniformly; a node without neighbours returns its mass to the
    seeds. Only nodes that the walk can reach are returned.

    **With k**, forward push (Andersen, Chung, Lang, 2006): while r(v) ≥ threshold·deg(v), p(v) gains restart·r(v) and
    each neighbour an equal share of the rest. The mass not yet pushed is spread in proportion to degree, the stationary
    distribution of undirected walks: π̂(v) = p(v) + restart·r(v) + (1 − restart)·Σr·deg(v)/vol. The threshold falls
    until the top k is stable. Only nodes that a push has touched are candidates, so a plateau of equal scores is cut
    where the push first met it: benchmarks/kernels.py measures the recall of the exact top k.

    **Without k**, or where k covers all nodes that can be reached, the L1 error is at most 1e-8: sweeps over the
    component by conjugate gradients; the residual's L1 norm over `restart` bounds the error.

    Returns `nodes`, int32, and `scores`, float64; equal scores by smaller id. The scores of all nodes sum to 1. Empty
    without seeds of positive weight. Raises ValueError for an invalid seed, weight, `restart` or k.

    >>> from graphwright.kernels.csr import undirected
    >>> nodes, scores = push_ppr(*undirected(4, [0, 1, 2], [1, 2, 3]), [0])
    >>> nodes.tolist(), scores.round(3).tolist()
    ([1, 0, 2, 3], [0.358, 0.302, 0.238, 0.101])
    """
    if not 0 < restart < 1:
        raise ValueError(f"restart is {restart}. Pass a probability between 0 and 1, both excluded.")
    if k is not None and k < 0:
        raise ValueError(f"k is {k}. Pass a number of nodes, or None for all that are reached.")
    indptr, neighbours = readonly(indptr, np.int64), readonly(neighbours, np.int32)
    ids, mass = _distribution(indptr.size - 1, seeds, weights)
    if k == 0 or not ids.size:
        return np.empty(0, np.int32), np.empty(0)
    # At a node without neighbours the walk restarts, so its score is that of the restart alone.
    linked = indptr[ids + 1] > indptr[ids]
    alone = ids[~linked], restart * mass[~linked]
    mass = mass[linked]
    total = mass.sum() + alone[1].sum()
    first = readonly(ids[linked], np.int32), readonly(mass / total, np.float64)
    walk = Walk(indptr, neighbours, *first, restart)
    nodes, scores = walk.seeds, walk.mass
    if nodes.size:
        nodes, scores = settled(walk) if k is None else _pushed(walk, k)
    return _best(np.concatenate((nodes, alone[0])), np.concatenate((scores, alone[1] / total)), k)


def _distribution(n: int, seeds: ArrayLike, weights: ArrayLike | None) -> tuple[Ids, Floats]:
    """Return the distinct seeds of positive weight, ascending, and their weights, summing to 1."""
    nodes, mass = seed_weights(n, seeds, weights)
    ids, place = np.unique(nodes, return_inverse=True)
    summed = np.bincount(place, mass / max(mass.max(initial=0.0), 1e-300), ids.size)
    used = summed > 0
    return ids[used], summed[used] / max(summed.sum(), 1e-300)


def _best(nodes: Ids, scores: Floats, k: int | None) -> tuple[Ids, Floats]:
    """Return the k best, or all, with a score above 0: higher score first, then smaller id."""
    bound = kth(scores, k) if k is not None and k < scores.size else 0.0
    keep = np.flatnonzero((scores >= bound) & (scores > 0))
    order = keep[np.lexsort((nodes[keep], -scores[keep]))][:k]
    return nodes[order], scores[order]


def _pushed(walk: Walk, k: int) -> tuple[Ids, Floats]:
    """Push until the top k is stable; use sweeps when these are cheaper (see Push.limit), or k covers all nodes."""
    with workspace(walk.indptr.size - 1) as scratch:
        push = Push(walk, max(k, _MIN_K), scratch)
        nodes, scores, stable = _rounds(push, k)
        push.clear()
    if stable:
        return nodes, scores
    return swept(walk, k, nodes, scores) if nodes.size > k else settled(walk)


def _rounds(push: Push, k: int) -> tuple[Ids, Floats, bool]:
    """Return the nodes touched, their scores, and whether these are final and contain the top k.

    The threshold begins at 0.2/(k·mean degree) (k at least 512) and is quartered until 92 % of the top k stay the same:
    errors fall three- to fourfold each time, so 2 or 3 % are then still wrong. Most of these are corrected by one more
    step for nodes near the k-th score: restart·s(v) + (1 − restart)·Σ π̂(u)/deg(u) over the neighbours u, a step of the
    backward push of Lofgren, Banerjee and Goel (2016), at the cost of the few edges of these nodes.
    """
    walk = push.walk
    threshold = _FIRST * (walk.indptr.size - 1) / (max(k, _MIN_K) * walk.neighbours.size)
    before, floor = np.zeros(0, np.bool_), 0.0
    while True:
        spent, done = push.spent, push.until(threshold)
        scores = push.scores()
        if push.size > k:
            bound = kth(scores, k, floor)
            leading: NDArray[np.bool_] = scores >= bound
            same = np.count_nonzero(before & leading[: before.size])
            before, floor = leading, bound / 2
            if done and same >= max(int(_STABLE * k), 1):
                break
        if push.spent + _QUARTERED * (push.spent - spent) > push.limit or (push.size <= k and push.exhausted):
            return push.nodes[: push.size].copy(), scores, False
        threshold /= _QUARTERED
    near = np.flatnonzero((scores >= floor) & (scores < 2 * bound))
    push.refine(readonly(near, np.int32), scores)
    candidates = np.flatnonzero(scores >= floor)
    return push.nodes[candidates], scores[candidates], True
