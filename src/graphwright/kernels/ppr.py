"""Personalised PageRank: pushed from the seeds while that is local, swept over the graph when it is not."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.kernels.compiled import Floats, Ids, Pointers, kernel, node_ids, readonly
from graphwright.kernels.sweep import Walk, settled, swept
from graphwright.kernels.workspace import Workspace, release, workspace

__all__ = ["push_ppr"]

_STABLE = 0.97
_FIRST = 0.2
_LEAST_K = 256  # a small top k is cut among near-ties, and needs the finer threshold
_WIDE = 8  # a push that has touched one node in so many is local no more
_LOCAL = 2  # sweeps' worth of edges that a local push may walk; one that is not, a quarter
_GROWTH = 4  # a fourfold smaller threshold walks about four times the edges
_RESIDUAL, _ESTIMATE, _DEGREE, _INVERSE = 0, 1, 2, 3  # columns of Workspace.rows


@kernel
def _push(
    indptr: Pointers, neighbours: Ids, restart: float, threshold: float, budget: int, size: int,
    rows: Floats, order: Ids, queue: Ids,
) -> tuple[int, int, float]:  # fmt: skip
    """Push, first in first out, until every residual is below `threshold` times its degree.

    Stops early after `budget` edges. Nodes touched are order[:size]; returns how many there are now,
    the edges walked, and the mass settled. A node enters the queue when its residual crosses the
    threshold from below, so it is in there at most once, without a flag.
    """
    waiting, work, pushed = 0, 0, 0.0
    for i in range(size):
        if rows[order[i], _RESIDUAL] * rows[order[i], _INVERSE] >= threshold:
            queue[waiting] = order[i]
            waiting += 1
    head, tail = 0, waiting % queue.size
    while waiting and work < budget:
        v = queue[head]
        head = head + 1 if head + 1 < queue.size else 0
        waiting -= 1
        mass = rows[v, _RESIDUAL]
        rows[v, _RESIDUAL] = 0.0
        rows[v, _ESTIMATE] += restart * mass
        pushed += restart * mass
        share = (1.0 - restart) * mass * rows[v, _INVERSE]
        work += indptr[v + 1] - indptr[v]
        for i in range(indptr[v], indptr[v + 1]):
            u = np.uint32(neighbours[i])  # unsigned: spares the test for a negative index
            if rows[u, _DEGREE] == 0.0:
                rows[u, _DEGREE] = indptr[u + np.uint32(1)] - indptr[u]
                rows[u, _INVERSE] = 1.0 / rows[u, _DEGREE]
                order[size] = u
                size += 1
            before = rows[u, _RESIDUAL]
            after = before + share
            rows[u, _RESIDUAL] = after
            if after * rows[u, _INVERSE] >= threshold and before * rows[u, _INVERSE] < threshold:
                queue[tail] = u
                tail = tail + 1 if tail + 1 < queue.size else 0
                waiting += 1
    return size, work, pushed


@kernel
def _estimate(restart: float, spread: float, nodes: Ids, rows: Floats, scores: Floats) -> float:
    """Write p + restart·r + spread·degree of each node; return the degrees of those never pushed."""
    unpushed = 0.0
    for i in range(nodes.size):
        v = np.uint32(nodes[i])
        scores[i] = rows[v, _ESTIMATE] + restart * rows[v, _RESIDUAL] + spread * rows[v, _DEGREE]
        if rows[v, _ESTIMATE] == 0.0:
            unpushed += rows[v, _DEGREE]
    return unpushed


def push_ppr(
    indptr: Pointers,
    neighbours: Ids,
    seeds: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    restart: float = 0.15,
    k: int | None = None,
) -> tuple[Ids, Floats]:
    """Return the nodes that a walk from `seeds` is most often found at, best first, and how often.

    The walk starts at a seed drawn by weight (all alike by default); at each step it returns to the
    seeds with probability `restart`, else moves to a neighbour drawn uniformly; a node without
    neighbours gives its mass back to the seeds. Only nodes that it can reach are returned.

    **With k**, forward push (Andersen, Chung, Lang, 2006): p gathers restart·r(v) and each neighbour
    gets an equal share of the rest, while r(v) ≥ threshold·deg(v). The threshold begins at
    0.2/(k·mean degree) and is quartered until 97 % of the top k (all but one of a small k) stay the
    same. The mass not yet pushed is spread in proportion to degree, where undirected walks end:
    π̂(v) = p(v) + restart·r(v) + (1 − restart)·Σr·deg(v)/vol. Only nodes that a push has touched are
    candidates, so a plateau of equal scores is cut where the push first met it. Cost depends on k,
    not on n. Where it would come to more than a quarter of the edges (two times all, while it stays
    among an eighth of the nodes), as on small and dense graphs, a few sweeps as below go on from π̂
    instead, until the bound on the L1 error is a quarter of k times the k-th score. benchmarks/ppr.py
    measures the recall of the exact top k: 0.96 to 1 on average.

    **Without k**, or when k holds all that can be reached, the L1 error is at most 1e-8: sweeps over
    the component, x ← restart·s + (1 − restart)·P·x, with Chebyshev acceleration (Golub and Varga,
    1961). P of an undirected graph is similar to a symmetric matrix, so errors shrink by 0.557 a
    sweep at restart 0.15 instead of 0.85; the residual's L1 norm over `restart` bounds the error.

    Returns `nodes`, int32, and `scores`, float64, of equal length; equal scores by smaller id. The
    scores of all nodes sum to 1. Empty when there are no seeds, or none of positive weight.
    Raises ValueError for a seed that is no node, a weight that is negative or not finite, a `restart`
    outside (0, 1), or a negative k.

    >>> from graphwright.kernels.csr import undirected
    >>> nodes, scores = push_ppr(*undirected(4, [0, 1, 2], [1, 2, 3]), [0])
    >>> nodes.tolist(), scores.round(3).tolist()
    ([1, 0, 2, 3], [0.358, 0.302, 0.238, 0.101])
    """
    if not 0 < restart < 1:
        raise ValueError(f"restart is {restart}, and is a probability between 0 and 1, both excluded.")
    if k is not None and k < 0:
        raise ValueError(f"k is {k}. Pass how many nodes to return, or None for all that are reached.")
    indptr, neighbours = readonly(indptr, np.int64), readonly(neighbours, np.int32)
    ids, mass = _distribution(indptr.size - 1, seeds, weights)
    if k == 0 or not ids.size:
        return np.empty(0, np.int32), np.empty(0)
    # Where the walk finds no neighbour it starts anew: its time there is that of the restart alone.
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
    given = node_ids(seeds, n, "seeds")
    mass = np.ones(given.size) if weights is None else np.asarray(weights, np.float64).reshape(-1)
    if mass.size != given.size:
        raise ValueError(f"seeds holds {given.size} nodes and weights {mass.size}. Pass one weight per seed.")
    if mass.size and not (np.isfinite(mass).all() and mass.min() >= 0):
        raise ValueError(f"weights range from {mass.min()} to {mass.max()}. Pass finite weights, 0 or more.")
    ids, place = np.unique(given, return_inverse=True)
    summed = np.bincount(place, mass / max(mass.max(initial=0.0), 1e-300), ids.size)
    used = summed > 0
    return ids[used], summed[used] / max(summed.sum(), 1e-300)


def _best(nodes: Ids, scores: Floats, k: int | None) -> tuple[Ids, Floats]:
    """Return the k best, or all, with a score above 0: higher score first, then smaller id."""
    keep = np.flatnonzero(scores > 0 if k is None else _top(scores, k))
    order = keep[np.lexsort((nodes[keep], -scores[keep]))][:k]
    return nodes[order], scores[order]


def _top(scores: Floats, k: int) -> NDArray[np.bool_]:
    """Mark the scores that are above 0 and not below the k-th best."""
    if k >= scores.size:
        return scores > 0
    bound = np.partition(scores, scores.size - k)[scores.size - k]
    marked: NDArray[np.bool_] = (scores >= bound) & (scores > 0)
    return marked


def _stable(before: NDArray[np.bool_], now: NDArray[np.bool_], k: int) -> bool:
    same = np.count_nonzero(before & now[: before.size])
    return bool(same >= max(1, min(_STABLE * k, k - 1)))


def _pushed(walk: Walk, k: int) -> tuple[Ids, Floats]:
    """Push until the top k is stable; go over to sweeps when these are cheaper, or k holds all."""
    scratch = workspace(walk.indptr.size - 1)
    try:
        outcome, touched = _rounds(walk, k, scratch)
        scratch.rows[touched] = 0.0
    except BaseException:
        release()  # an interrupt leaves the rows half used
        raise
    if outcome is None:
        return settled(walk)
    scores, stable = outcome
    return (touched, scores) if stable else swept(walk, k, touched, scores)


def _rounds(walk: Walk, k: int, scratch: Workspace) -> tuple[tuple[Floats, bool] | None, Ids]:
    """Return the scores of the touched nodes and whether they are final; no scores when k holds all."""
    indptr, neighbours, seeds, mass, restart = walk
    rows, order = scratch.rows, scratch.order
    n, volume = indptr.size - 1, neighbours.size
    threshold, sweep, spent = _FIRST * n / (max(k, _LEAST_K) * volume), n + volume, 0
    degree = indptr[seeds + 1] - indptr[seeds]
    rows[seeds] = np.column_stack((mass, np.zeros(seeds.size), degree, 1 / degree))
    order[: seeds.size] = seeds
    size, left, before = seeds.size, float(mass.sum()), np.zeros(0, np.bool_)
    while True:
        size, work, pushed = _push(indptr, neighbours, restart, threshold, sweep // 4, size, rows, order, scratch.queue)
        left -= pushed
        spent += work
        limit = _LOCAL * sweep if _WIDE * size <= n else sweep // 4
        if sweep // 4 <= work and spent < limit:
            continue  # stopped half-way, and still local
        touched = order[:size].copy()
        view, scores = readonly(touched, np.int32), np.empty(size)
        unpushed = _estimate(restart, (1 - restart) * left / volume, view, rows, scores)
        if size <= k and not unpushed:
            return None, touched  # all that can be reached is touched, and wanted
        now = _top(scores, k)
        stable = size > k and spent < limit and _stable(before, now, k)
        if stable or spent + _GROWTH * work > limit:
            return (scores, stable), touched
        before = now
        threshold /= 4
