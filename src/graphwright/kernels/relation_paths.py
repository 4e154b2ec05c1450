"""Walks by relations: where a set of nodes leads by each relation in each direction, and all walks by given ones.

A way is a relation with a direction, as one number: 2 · relation + 1 from head to tail, 2 · relation from tail to head.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graphwright.kernels.compiled import Ids, Pointers, kernel, readonly
from graphwright.kernels.workspace import release, workspace

__all__ = ["Front", "Labelled", "leading", "walks_by"]

_ANY = -1
_NODE, _PARENT, _EDGE, _OTHER, _OTHER_EDGE = 0, 1, 2, 3, 4
_FIELDS = 5


class Labelled(NamedTuple):
    """A graph with labelled edges: those that begin and end at each node (CSR, by edge), and of each edge its parts."""

    out_ptr: Pointers
    out: Ids
    into_ptr: Pointers
    into: Ids
    heads: Ids
    tails: Ids
    relation: Ids


class Front(NamedTuple):
    """Nodes that walks by the same ways lead to, each once, and how each was reached from the front before.

    `nodes`; `parents`, `edges`: the first node of the front before that leads to each, by position, and the edge;
    `others`, `other_edges`: a second such node, -1 where there is none. All int32, of equal length.
    """

    nodes: Ids
    parents: Ids
    edges: Ids
    others: Ids
    other_edges: Ids

    @classmethod
    def of(cls, node: int) -> Front:
        """Return the front that a walk begins with."""
        none = readonly([-1], np.int32)
        return cls(readonly([node], np.int32), none, none, none, none)


@kernel
def _reaches(u: int, v: int, source: int, before: int, other: int) -> bool:
    """Say whether a walk may go on from v to u: not to where it began, and not back to all that led to v."""
    return u != v and u != source and (u != before or other >= 0)


@kernel
def _count(
    out_ptr: Pointers, out: Ids, into_ptr: Pointers, into: Ids, heads: Ids, tails: Ids, relation: Ids, nodes: Ids,
    before: Ids, others: Ids, source: int, counts: Pointers,
) -> None:  # fmt: skip
    """Count the steps that lead on by each way."""
    for i in range(nodes.size):
        v = nodes[i]
        for j in range(out_ptr[v], out_ptr[v + 1]):
            if _reaches(tails[out[j]], v, source, before[i], others[i]):
                counts[2 * relation[out[j]] + 1] += 1
        for j in range(into_ptr[v], into_ptr[v + 1]):
            if _reaches(heads[into[j]], v, source, before[i], others[i]):
                counts[2 * relation[into[j]]] += 1


@kernel
def _scatter(
    out_ptr: Pointers, out: Ids, into_ptr: Pointers, into: Ids, heads: Ids, tails: Ids, relation: Ids, nodes: Ids,
    before: Ids, others: Ids, source: int, cursor: Pointers, steps: Ids,
) -> None:  # fmt: skip
    """Write the steps that lead on (node, position that it comes from, edge), grouped by way; -1: not wanted."""
    for i in range(nodes.size):
        v = nodes[i]
        for j in range(out_ptr[v], out_ptr[v + 1]):
            u, way = tails[out[j]], 2 * relation[out[j]] + 1
            if cursor[way] >= 0 and _reaches(u, v, source, before[i], others[i]):
                steps[cursor[way], _NODE] = u
                steps[cursor[way], _PARENT] = i
                steps[cursor[way], _EDGE] = out[j]
                cursor[way] += 1
        for j in range(into_ptr[v], into_ptr[v + 1]):
            u, way = heads[into[j]], 2 * relation[into[j]]
            if cursor[way] >= 0 and _reaches(u, v, source, before[i], others[i]):
                steps[cursor[way], _NODE] = u
                steps[cursor[way], _PARENT] = i
                steps[cursor[way], _EDGE] = into[j]
                cursor[way] += 1


@kernel
def _merge(steps: Ids, starts: Pointers, marks: Ids, ptr: Pointers) -> None:
    """Merge in place the steps of each way that lead to one node; leave `marks` as it was found, zero."""
    size = 0
    for way in range(starts.size - 1):
        ptr[way] = size
        for i in range(starts[way], starts[way + 1]):
            u = steps[i, _NODE]
            at = marks[u, 0] - 1
            if at < 0:
                marks[u, 0] = size + 1
                steps[size, _NODE] = u
                steps[size, _PARENT] = steps[i, _PARENT]
                steps[size, _EDGE] = steps[i, _EDGE]
                steps[size, _OTHER] = -1
                steps[size, _OTHER_EDGE] = -1
                size += 1
            elif steps[at, _OTHER] < 0 and steps[at, _PARENT] != steps[i, _PARENT]:
                steps[at, _OTHER] = steps[i, _PARENT]
                steps[at, _OTHER_EDGE] = steps[i, _EDGE]
        for at in range(ptr[way], size):
            marks[steps[at, _NODE], 0] = 0
    ptr[starts.size - 1] = size


def leading(
    graph: Labelled, relations: int, front: Front, before: Ids, source: int, way: int = _ANY
) -> dict[int, Front]:
    """Return the fronts that one more step leads to, by way; with `way` that one alone, empty where it leads nowhere.

    A walk never returns to `source`, where it began, and never straight back: a step from v to u counts where v was
    reached from another node than u as well. `before`: the node that each node of the front was first reached from, -1
    at the source. So walks of up to three steps are exactly those that hold no node twice. The cost is that of the
    edges at the front, and of one number for each relation.

    >>> import numpy as np; from graphwright.kernels.csr import group
    >>> heads, tails, labels = (np.array(ids, np.int32) for ids in ([0, 0, 1], [1, 2, 3], [0, 0, 1]))
    >>> edges = np.arange(3, dtype=np.int32)
    >>> graph = Labelled(*group(4, heads, edges), *group(4, tails, edges), heads, tails, labels)
    >>> first = leading(graph, 2, Front.of(0), np.array([-1], np.int32), 0)
    >>> {way: front.nodes.tolist() for way, front in first.items()}
    {1: [1, 2]}
    """
    parts = (front.nodes, readonly(before, np.int32), front.others)
    counts = np.zeros(2 * relations, np.int64)
    _count(*graph, *parts, source, counts)
    if way != _ANY:
        counts[np.arange(counts.size) != way] = 0
    used = np.flatnonzero(counts)
    starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts[used])))
    cursor = np.full(counts.size, -1, np.int64)
    cursor[used] = starts[:-1]
    steps = np.empty((starts[-1], _FIELDS), np.int32)
    ptr = np.empty(starts.size, np.int64)
    n = graph.out_ptr.size - 1
    try:
        _scatter(*graph, *parts, source, cursor, steps)
        _merge(steps, readonly(starts, np.int64), workspace(n).marks, ptr)
    except BaseException:
        release()  # an interrupt leaves marks behind
        raise
    return {
        int(at): Front(*(readonly(column, np.int32) for column in steps[begin:end].T))
        for at, begin, end in zip(used, ptr[:-1], ptr[1:], strict=True)
    }


@kernel
def _prolong(
    out_ptr: Pointers, out: Ids, into_ptr: Pointers, into: Ids, heads: Ids, tails: Ids, relation: Ids, way: int,
    nodes: Ids, edges: Ids, parents: Pointers, first: int, last: int, room: int, marks: Ids,
) -> int:  # fmt: skip
    """Write the walks from `first` to `last` behind them, one step of this way longer; return where they end.

    No node twice, and of parallel edges the first. Stops where `room` were written. Leaves `marks` zero.
    """
    size = last
    for at in range(first, last):
        v, begun = nodes[at], size
        forward = way & 1
        ptr = out_ptr if forward else into_ptr
        row = out if forward else into
        far = tails if forward else heads
        for j in range(ptr[v], ptr[v + 1]):
            u = far[row[j]]
            if relation[row[j]] != way >> 1 or marks[u, 0]:
                continue
            up = at
            while up >= 0 and nodes[up] != u:
                up = parents[up]
            if up < 0 and size < last + room:
                marks[u, 0] = 1
                nodes[size], edges[size], parents[size] = u, row[j], at
                size += 1
        for i in range(begun, size):
            marks[nodes[i], 0] = 0
    return size


def walks_by(graph: Labelled, source: int, ways: tuple[int, ...], most: int) -> tuple[Ids, Ids]:
    """Return every walk from a node by these ways that passes no node twice, no more than `most` at any step.

    Returns a row of nodes, int32[walks, steps + 1], and a row of edges, int32[walks, steps], for each. The cost is that
    of the edges at the walks' ends.
    """
    nodes, edges = np.array([source], np.int32), np.array([-1], np.int32)
    parents, first, last = np.array([-1], np.int64), 0, 1
    n = graph.out_ptr.size - 1
    try:
        for way in ways:
            ptr = graph.out_ptr if way & 1 else graph.into_ptr
            ends = nodes[first:last]
            room = min(int((ptr[ends + 1] - ptr[ends]).sum()), most)
            nodes, edges = (np.concatenate((part, np.empty(room, np.int32))) for part in (nodes, edges))
            parents = np.concatenate((parents, np.empty(room, np.int64)))
            size = _prolong(*graph, way, nodes, edges, parents, first, last, room, workspace(n).marks)
            nodes, edges, parents, first, last = nodes[:size], edges[:size], parents[:size], last, size
    except BaseException:
        release()
        raise
    rows, steps = last - first, len(ways)
    along, by = np.empty((rows, steps + 1), np.int32), np.empty((rows, steps), np.int32)
    at = np.arange(first, last)
    for step in range(steps, -1, -1):
        along[:, step] = nodes[at]
        if step:
            by[:, step - 1] = edges[at]
            at = parents[at]
    return along, by
