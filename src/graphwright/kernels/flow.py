"""Paths between nodes, ranked by the resource that flows along them (PathRAG)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.kernels.compiled import kernel, subkernel
from graphwright.kernels.csr import (
    FloatMatrix,
    Floats,
    IdMatrix,
    Ids,
    Pointers,
    Workspace,
    node_ids,
    readonly,
    workspace,
)

# Scores are rounded to multiples of this, so that mathematically equal scores tie in any order of sums.
_GRAIN = 2.0**-40

MAX_EDGES = 1_000_000  # edges looked at from one node for paths of more than three hops: about 50 milliseconds
_HOPS = 3  # up to three hops no edge is looked at twice
_ALL = np.iinfo(np.int64).max

Table = NDArray[np.int32]
PathTable = np.ndarray[tuple[int, int, int], np.dtype[np.int32]]


class FlowPathTable(NamedTuple):
    """Paths, best first: `nodes: int32[m, hops + 1]`, padded with -1; `scores: float64[m]`; `touched`: edges looked at.

    `shortened`: number of ends whose paths were not extended to `hops`, because of `max_edges`.
    """

    nodes: Table
    scores: Floats
    touched: int
    shortened: int = 0


@kernel
def _border(indptr: Pointers, neighbours: Ids, ends: Ids, marks: IdMatrix, starts: Pointers, adjacent: Ids) -> int:
    """Number the nodes adjacent to an end from 1, in `marks[:, 1]`; return how many there are.

    The node numbered i is adjacent to the ends `adjacent[starts[i - 1] : starts[i]]`, as ascending positions in `ends`.
    """
    count = 0
    for j in range(ends.size):
        for i in range(indptr[ends[j]], indptr[ends[j] + 1]):
            u = neighbours[i]
            if marks[u, 1] == 0:
                count += 1
                marks[u, 1] = count
            starts[marks[u, 1] + 1] += 1
    for i in range(2, count + 2):
        starts[i] += starts[i - 1]
    for j in range(ends.size):
        for i in range(indptr[ends[j]], indptr[ends[j] + 1]):
            slot = marks[neighbours[i], 1]
            adjacent[starts[slot]] = j
            starts[slot] += 1
    return count


@kernel
def _spread(
    indptr: Pointers, neighbours: Ids, start: int, decay: float, threshold: float, layers: int,
    resource: Floats, marks: IdMatrix, order: Ids,
) -> tuple[int, int, int]:  # fmt: skip
    """Spread the resource of `start` over `layers` layers after its own (Eq. 2), into the places of `order`.

    `marks[v, 0]` is the place from 1, negative where the node fails Eq. 3, and in the last layer also where no end is
    adjacent to it. Returns where the last layer begins and ends, and how many edges were looked at.
    """
    order[0], resource[0], marks[start, 0] = start, 1.0, 1
    first, last, size, touched = 0, 1, 1, 0
    for layer in range(layers + 1):
        for j in range(first, last):
            v = order[j]
            if layer == layers and marks[v, 1] == 0:
                marks[v, 0] = -j - 1
                continue
            degree = indptr[v + 1] - indptr[v]
            if degree == 0 or resource[j] / degree < threshold:
                marks[v, 0] = -j - 1
            elif layer < layers:
                share = decay * resource[j] / degree
                touched += degree
                for i in range(indptr[v], indptr[v + 1]):
                    place = marks[neighbours[i], 0]
                    if place == 0:
                        order[size], resource[size] = neighbours[i], share
                        size += 1
                        marks[neighbours[i], 0] = size
                    elif place > last:
                        resource[place - 1] += share
        if layer < layers:
            first, last = last, size
    return first, last, touched


@kernel
def _arrive(
    indptr: Pointers, ends: Ids, decay: float, starts: Pointers, adjacent: Ids, first: int, last: int,
    resource: Floats, marks: IdMatrix, order: Ids, arrived: Floats,
) -> None:  # fmt: skip
    """Write the resource of each end into `arrived`: its own if a layer has it, else the flow from the last layer."""
    for j in range(ends.size):
        place = abs(marks[ends[j], 0])
        arrived[j] = resource[place - 1] if place else 0.0
    for j in range(first, last):
        v = order[j]
        slot = marks[v, 1]
        if slot and marks[v, 0] > 0:
            share = decay * resource[j] / (indptr[v + 1] - indptr[v])
            for i in range(starts[slot - 1], starts[slot]):
                if marks[ends[adjacent[i]], 0] == 0:
                    arrived[adjacent[i]] += share


@subkernel
def _offer(
    end: int, score: float, path: Ids, depth: int, last: int, counts: Ids, best: FloatMatrix, paths: PathTable
) -> None:
    """Insert a path among the best to this end: higher score first, then smaller nodes in order."""
    at, room = counts[end], best.shape[1]
    while at > 0 and best[end, at - 1] <= score:
        if best[end, at - 1] == score:
            sign = 0
            for i in range(1, depth + 2):
                sign = (path[i] if i <= depth else last) - paths[end, at - 1, i]
                if sign != 0:
                    break
            if sign > 0:
                break
        at -= 1
    if at == room:
        return
    for i in range(min(counts[end], room - 1), at, -1):
        best[end, i] = best[end, i - 1]
        for step in range(paths.shape[2]):
            paths[end, i, step] = paths[end, i - 1, step]
    counts[end] = min(counts[end] + 1, room)
    best[end, at] = score
    for step in range(paths.shape[2]):
        paths[end, at, step] = path[step] if step <= depth else -1
    paths[end, at, depth + 1] = last


@subkernel
def _close(
    path: Ids, depth: int, total: float, ends: Ids, starts: Pointers, adjacent: Ids, marks: IdMatrix, arrived: Floats,
    counts: Ids, best: FloatMatrix, paths: PathTable, joined: Ids, count: int,
) -> int:  # fmt: skip
    """Offer the path to every end adjacent to its last node (Eq. 4); return the number of ends joined so far."""
    slot = marks[path[depth], 1]
    for i in range(starts[slot - 1], starts[slot]) if slot else range(0):
        j = adjacent[i]
        score = np.rint((total + arrived[j]) / (depth + 1) / _GRAIN) * _GRAIN
        if counts[j] == best.shape[1] and score < best[j, -1]:
            continue
        inside = False
        for d in range(depth + 1):
            inside |= path[d] == ends[j]
        if not inside:
            if counts[j] == 0:
                joined[count] = j
                count += 1
            _offer(j, score, path, depth, ends[j], counts, best, paths)
    return count


@kernel
def _extend(
    indptr: Pointers, neighbours: Ids, hops: int, ends: Ids, starts: Pointers, adjacent: Ids, resource: Floats,
    marks: IdMatrix, arrived: Floats, path: Ids, cursor: Pointers, total: Floats, counts: Ids,
    best: FloatMatrix, paths: PathTable, joined: Ids, max_edges: int,
) -> tuple[int, int]:  # fmt: skip
    """Walk all simple paths from `path[0]` whose nodes pass Eq. 3, depth first, and join those next to an end.

    The last edge needs no search: the ends adjacent to a node are known. Returns how many ends are joined, and how many
    edges were looked at; stops when these exceed `max_edges`.
    """
    depth, count, touched = 0, 0, 0
    cursor[0], total[0] = indptr[path[0]], 1.0
    if marks[path[0], 0] > 0:
        count = _close(path, 0, 1.0, ends, starts, adjacent, marks, arrived, counts, best, paths, joined, 0)
    else:
        depth = -1
    while depth >= 0 and touched <= max_edges:
        if depth == hops - 1 or cursor[depth] == indptr[path[depth] + 1]:
            depth -= 1
            continue
        u = neighbours[cursor[depth]]
        cursor[depth] += 1
        touched += 1
        # The last node before an end must be adjacent to it.
        if marks[u, 0] <= 0 or (depth + 2 == hops and marks[u, 1] == 0):
            continue
        inside = False
        for d in range(depth + 1):
            inside |= path[d] == u
        if not inside:
            depth += 1
            path[depth], cursor[depth] = u, indptr[u]
            total[depth] = total[depth - 1] + resource[marks[u, 0] - 1]
            count = _close(
                path, depth, total[depth], ends, starts, adjacent, marks, arrived, counts, best, paths, joined, count
            )
    return count, touched


def flow_paths(
    indptr: Pointers, neighbours: Ids, ends: ArrayLike, *, decay: float, threshold: float, hops: int = 3,
    per_pair: int = 3, max_edges: int = MAX_EDGES,
) -> FlowPathTable:  # fmt: skip
    """Return the most reliable paths between any two of `ends` (PathRAG, section "Path Retrieval").

    From each end in turn, v0, resource spreads in breadth-first layers: S(v0) = 1, and a node of the next layer gets

        S(v) = Σ decay · S(u) / deg(u)    (Eq. 2)

    over its neighbours u in the layer before, and nothing later. A node with S(u) / deg(u) < threshold (Eq. 3)
    passes nothing on. The candidates are the simple paths of at most `hops` edges to another end, along which every
    node before the last passed Eq. 3; other ends may lie on them. A path of nodes v0 … vl is as reliable as

        S(v0 … vl) = (S(v0) + … + S(vl)) / l    (Eq. 4)

    A path and its reverse are one item, with the better score and the nodes in that order. Each pair keeps its
    `per_pair` best; higher score first, then smaller nodes in order. Scores are rounded to 2**-40.

    With more than three hops paths multiply: they are extended hop by hop, and those from an end only while that looks
    at no more than `max_edges` edges. `shortened` counts the ends that this cut.
    Raises ValueError for an end that is not a node, or an option out of its range.

    >>> from graphwright.kernels.csr import undirected
    >>> square = undirected(4, [0, 0, 1, 2], [1, 2, 3, 3])
    >>> table = flow_paths(*square, [0, 3], decay=0.7, threshold=0.1)
    >>> table.nodes.tolist(), table.scores.round(4).tolist()
    ([[0, 1, 3, -1], [0, 2, 3, -1]], [0.7975, 0.7975])
    """
    if not 0 <= decay <= 1:
        raise ValueError(f"decay is {decay}. Pass a share from 0 to 1.")
    if hops < 1 or per_pair < 1 or max_edges < 1:
        raise ValueError(f"hops is {hops}, per_pair is {per_pair} and max_edges is {max_edges}. Pass 1 or more.")
    n = indptr.size - 1
    ids = readonly(np.unique(node_ids(ends, n, "ends")), np.int32)
    graph = readonly(indptr, np.int64), readonly(neighbours, np.int32)
    scratch = workspace(n)
    with scratch:
        table = _from_each(graph, ids, float(decay), float(threshold), hops, per_pair, max_edges, scratch)
    nodes, scores = _best_of_pairs(table.nodes, table.scores, per_pair)
    return FlowPathTable(nodes, scores, table.touched, table.shortened)


def _from_each(
    graph: tuple[Pointers, Ids], ends: Ids, decay: float, threshold: float, hops: int, per_pair: int, max_edges: int,
    scratch: Workspace,
) -> FlowPathTable:  # fmt: skip
    """Return the best paths from each end to each other, in both directions, unsorted."""
    around = int((graph[0][ends + 1] - graph[0][ends]).sum())
    starts, adjacent = np.zeros(around + 2, np.int64), np.empty(around, np.int32)
    resource, marks, order = scratch.rows.reshape(-1), scratch.marks, scratch.order
    _border(*graph, ends, marks, starts, adjacent)
    border = starts, adjacent
    arrived, counts = np.empty(ends.size), np.zeros(ends.size, np.int32)
    best = np.empty((ends.size, per_pair))
    paths = np.empty((ends.size, per_pair, hops + 1), np.int32)
    path, cursor, total = np.empty(hops + 1, np.int32), np.empty(hops, np.int64), np.empty(hops)
    joined = np.empty(ends.size, np.int32)
    tables, scores = [np.empty((0, hops + 1), np.int32)], [np.empty(0)]
    touched, shortened = around, 0
    for start in ends.tolist():
        path[0] = start
        for length in range(min(hops, _HOPS), hops + 1):
            first, last, spread = _spread(*graph, start, decay, threshold, length - 1, resource, marks, order)
            _arrive(graph[0], ends, decay, *border, first, last, resource, marks, order, arrived)
            limit = max_edges if length > _HOPS else _ALL
            count, walked = _extend(
                *graph, length, ends, *border, resource, marks, arrived, path, cursor, total, counts, best, paths,
                joined, limit,
            )  # fmt: skip
            marks[order[:last], 0], resource[:last] = 0, 0.0
            touched += spread + walked
            at = joined[:count]
            if walked <= limit:
                filled = np.arange(per_pair) < counts[at, None]
                longest = paths[at][filled], best[at][filled]
            counts[at] = 0
            if walked > limit:
                shortened += 1
                break
        tables.append(longest[0])
        scores.append(longest[1])
    for end in ends.tolist():
        marks[graph[1][graph[0][end] : graph[0][end + 1]], 1] = 0
    return FlowPathTable(np.concatenate(tables), np.concatenate(scores), touched, shortened)


def _best_of_pairs(nodes: Table, scores: Floats, per_pair: int) -> tuple[Table, Floats]:
    """Merge each path with its reverse, keep the best of each pair, and rank them."""
    columns = np.arange(nodes.shape[1])
    length = (nodes >= 0).sum(axis=1) - 1
    last = nodes[np.arange(len(nodes)), length]
    reversed_ = nodes[:, 0] > last
    back = np.where(reversed_[:, None] & (columns <= length[:, None]), length[:, None] - columns, columns)
    canonical = np.take_along_axis(nodes, back, axis=1)
    # Of equal scores the direction from the smaller end counts.
    order = np.lexsort((reversed_, -scores, *canonical.T[::-1]))
    first = np.ones(len(order), bool)
    first[1:] = (canonical[order[1:]] != canonical[order[:-1]]).any(axis=1)
    chosen = order[first]
    chosen = chosen[np.lexsort((*nodes[chosen].T[::-1], -scores[chosen]))]
    ends = np.sort((nodes[chosen, 0], last[chosen]), axis=0).astype(np.int64)
    pair = ends[0] << 32 | ends[1]
    by_pair = np.argsort(pair, kind="stable")
    begins = np.flatnonzero(np.concatenate(([True], pair[by_pair[1:]] != pair[by_pair[:-1]]))[: len(chosen)])
    rank = np.empty(len(chosen), np.int64)
    rank[by_pair] = np.arange(len(chosen)) - np.repeat(begins, np.diff(np.append(begins, len(chosen))))
    chosen = chosen[rank < per_pair]
    return nodes[chosen], scores[chosen]
