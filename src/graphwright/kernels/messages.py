"""Messages along arcs: smoothing among neighbours (GRanker), and principal neighbourhood aggregation with gradient."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.kernels.compiled import kernel
from graphwright.kernels.csr import Floats, IdMatrix, Ids, Pointers, SingleMatrix, node_ids, readonly, workspace

_EPSILON = np.float32(1e-6)  # added to a variance, so that its root has a gradient everywhere

Numbers = NDArray[np.float32]


class Messages(NamedTuple):
    """The messages of the arcs of a graph: `x[begin] * gates[gate]`; arcs to node v are at `ptr[v] : ptr[v + 1]`."""

    ptr: Pointers
    begin: Pointers
    gate: Pointers
    x: Numbers
    gates: Numbers


class Aggregate(NamedTuple):
    """Statistics of the messages to each node, and the arcs of the maximum and the minimum: `int32[n, 2 · h]`."""

    stats: Numbers
    top: Ids


@kernel
def _aggregate(
    ptr: Pointers, begin: Pointers, gate: Pointers, x: SingleMatrix, gates: SingleMatrix, stats: SingleMatrix,
    top: IdMatrix, sums: SingleMatrix, arcs: IdMatrix,
) -> None:  # fmt: skip
    """Fill `stats[n, 4 · h]` and `top[n, 2 · h]`, initially zero; local rows without branches are vectorised."""
    n, h = x.shape
    mean, spread, maximum, minimum = sums[0], sums[1], sums[2], sums[3]
    highest, lowest = arcs[0], arcs[1]
    for v in range(n):
        first, end = ptr[v], ptr[v + 1]
        if first == end:
            continue
        mean[:], spread[:], maximum[:], minimum[:] = 0, 0, -np.inf, np.inf
        for e in range(first, end):
            u, r, at = begin[e], gate[e], np.int32(e)
            for c in range(h):
                message, above, below = x[u, c] * gates[r, c], maximum[c], minimum[c]
                mean[c] += message
                highest[c] = at if message > above else highest[c]
                lowest[c] = at if message < below else lowest[c]
                maximum[c] = message if message > above else above
                minimum[c] = message if message < below else below
        share = np.float32(1.0) / np.float32(end - first)
        mean *= share
        for e in range(first, end):
            u, r = begin[e], gate[e]
            for c in range(h):
                far = x[u, c] * gates[r, c] - mean[c]
                spread[c] += far * far
        for c in range(h):
            stats[v, c], stats[v, h + c], stats[v, 2 * h + c] = mean[c], maximum[c], minimum[c]
            stats[v, 3 * h + c] = np.sqrt(spread[c] * share + _EPSILON)
            top[v, c], top[v, h + c] = highest[c], lowest[c]


@kernel
def _gradients(
    ptr: Pointers, begin: Pointers, gate: Pointers, x: SingleMatrix, gates: SingleMatrix, stats: SingleMatrix,
    top: IdMatrix, slope: SingleMatrix, to_x: SingleMatrix, to_gates: SingleMatrix, sums: SingleMatrix, arcs: IdMatrix,
) -> None:  # fmt: skip
    n, h = x.shape
    even, by, mean, up, down, slopes = sums[0], sums[1], sums[2], sums[3], sums[4], sums[5]
    highest, lowest, none = arcs[0], arcs[1], np.float32(0)
    for v in range(n):
        first, end = ptr[v], ptr[v + 1]
        share = np.float32(1.0) / np.float32(max(end - first, 1))
        for c in range(h):
            mean[c], highest[c], lowest[c] = stats[v, c], top[v, c], top[v, h + c]
            even[c], up[c], down[c] = share * slope[v, c], slope[v, h + c], slope[v, 2 * h + c]
            by[c] = share * slope[v, 3 * h + c] / max(stats[v, 3 * h + c], _EPSILON)
        for e in range(first, end):
            u, r, at = begin[e], gate[e], np.int32(e)
            for c in range(h):
                total = even[c] + by[c] * (x[u, c] * gates[r, c] - mean[c])
                total += up[c] if highest[c] == at else none
                slopes[c] = total + (down[c] if lowest[c] == at else none)
            for c in range(h):
                to_x[u, c] += slopes[c] * gates[r, c]
            for c in range(h):
                to_gates[r, c] += slopes[c] * x[u, c]


def aggregate(messages: Messages) -> Aggregate:
    """Return mean, maximum, minimum and deviation of the messages to each node, side by side: float32[n, 4 · h].

    All are 0 for a node without messages. The deviation is the root of the variance plus 1e-6, computed from centred
    messages: the mean of squares minus the square of the mean, as in Corso et al. (2020), is noise in float32.
    """
    n, h = messages.x.shape
    out = Aggregate(np.zeros((n, 4 * h), np.float32), np.zeros((n, 2 * h), np.int32))
    _aggregate(*_read(messages), *out, *_scratch(h))
    return out


def gradients(messages: Messages, by: Aggregate, slope: Numbers) -> tuple[Numbers, Numbers]:
    """Return the gradients of `x` and `gates`, given that of the statistics; of equal messages the first counts."""
    arcs = _read(messages)
    to_x, to_gates = np.zeros_like(arcs.x), np.zeros_like(arcs.gates)
    stats, top, outer = readonly(by.stats, np.float32), readonly(by.top, np.int32), readonly(slope, np.float32)
    _gradients(*arcs, stats, top, outer, to_x, to_gates, *_scratch(arcs.x.shape[1]))
    return to_x, to_gates


def _scratch(h: int) -> tuple[SingleMatrix, IdMatrix]:
    return np.empty((6, h), np.float32), np.empty((2, h), np.int32)


def _read(messages: Messages) -> Messages:
    places = [readonly(part, np.int64) for part in messages[:3]]
    return Messages(*places, *(readonly(part, np.float32) for part in messages[3:]))


@kernel
def _smooth(
    indptr: Pointers,
    neighbours: Ids,
    nodes: Ids,
    signal: SingleMatrix,
    alpha: float,
    marks: IdMatrix,
    mean: Floats,
    likely: NDArray[np.bool_],
    out: SingleMatrix,
) -> None:
    """Write (1 - alpha) H + alpha P H, and copy rows without neighbours; `marks` is zero before and after.

    Neighbours are visited by id, so the sums do not depend on the order of `nodes`. `likely`, 4,096 times False,
    becomes a filter by the last bits of an id: most neighbours are not among `nodes`.
    """
    for i in range(nodes.size):
        marks[nodes[i], 0] = i + 1
        likely[nodes[i] & 4095] = True
    for i in range(nodes.size):
        total = 0.0
        mean[:] = 0.0
        for j in range(indptr[nodes[i]], indptr[nodes[i] + 1]):
            u = neighbours[j]
            if likely[u & 4095] and marks[u, 0]:
                weight = 1.0 / (indptr[u + 1] - indptr[u])
                total += weight
                row = signal[marks[u, 0] - 1]
                for column in range(mean.size):
                    mean[column] += weight * row[column]
        share = alpha / total if total else 0.0
        self_share = 1.0 - alpha if total else 1.0
        for column in range(mean.size):
            out[i, column] = self_share * signal[i, column] + share * mean[column]
    for i in range(nodes.size):
        marks[nodes[i], 0] = 0


def smooth(indptr: Pointers, neighbours: Ids, nodes: ArrayLike, signal: ArrayLike, alpha: float) -> Numbers:
    """Smooth the row of each node towards the rows of its neighbours among `nodes`.

    H' = (1 - α) H + α P H, with W_ij = 1/deg(j) where nodes i and j are neighbours, else 0, and P the rows of W divided
    by their sums (FastInsight, Algorithm 2, lines 2 to 6; a gradient step on the Laplacian objective). deg counts all
    neighbours in the graph. A node without a neighbour among `nodes` keeps its row (line 5 would divide by zero).

    `nodes` are distinct, in any order; `signal: float32[len(nodes), h]`; returns the same shape.
    Raises ValueError for an id that is not a node or is repeated, or unless there is one row for each node.

    >>> from graphwright.kernels.csr import undirected
    >>> smooth(*undirected(3, [0], [1]), [1, 0, 2], [[1.0], [0.0], [5.0]], 0.25).tolist()
    [[0.75], [0.25], [5.0]]
    """
    n = indptr.size - 1
    ids, rows = node_ids(nodes, n, "nodes"), readonly(signal, np.float32)
    if rows.ndim != 2 or len(rows) != ids.size:
        raise ValueError(f"Got rows of shape {rows.shape} for {ids.size} nodes. Pass one row per node.")
    if len(set(ids.tolist())) < ids.size:
        raise ValueError(f"nodes holds {ids.size - len(set(ids.tolist()))} repeats. Pass each node once.")
    out, scratch = np.empty_like(rows), workspace(n)
    mean, likely = np.empty(rows.shape[1]), np.zeros(4096, np.bool_)
    with scratch:
        graph = readonly(indptr, np.int64), readonly(neighbours, np.int32)
        _smooth(*graph, ids, rows, float(alpha), scratch.marks, mean, likely, out)
    return out
