"""Walks by relations: the nodes reached from a set of nodes by each relation, and all walks by a relation sequence.

A way is a relation with a direction, as one number: 2 · relation + 1 from head to tail, 2 · relation from tail to head;
way ^ 1 is the same relation in the other direction.

Valid walks never return to their source, never go straight back by the relation that they came by (from v to u by
way ^ 1 after u to v by way), and have no step from a node to itself. By another relation they may go back: from a
director to a film of theirs, and to its writer, who may be the same person. Of parallel edges of one relation only the
first counts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graphwright.kernels.csr import Ids, Pointers, kernel, readonly, workspace

__all__ = ["Front", "Labelled", "leading", "walks_by"]

_ANY = _NONE = -1
_NODE, _PARENT, _EDGE, _OTHER, _OTHER_EDGE = 0, 1, 2, 3, 4
_FIELDS = 5


class Labelled(NamedTuple):
    """A graph with labelled edges: the edges that begin and end at each node (CSR), and the triple of each edge."""

    out_ptr: Pointers
    out: Ids
    into_ptr: Pointers
    into: Ids
    heads: Ids
    tails: Ids
    relation: Ids


class Front(NamedTuple):
    """Distinct nodes that walks by the same ways lead to, and the step to each from the front before.

    `parents`, `edges`: the first node of the front before that leads to each of `nodes`, by position, and the edge;
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
def _reaches(u: int, v: int, way: int, source: int, came: int, before: int, other: int) -> bool:
    """Return whether a walk that reached v by `came`, from `before` or an `other`, may step to u by `way`."""
    return u != v and u != source and (way != came ^ 1 or u != before or other >= 0)


@kernel
def _count(
    out_ptr: Pointers, out: Ids, into_ptr: Pointers, into: Ids, heads: Ids, tails: Ids, relation: Ids, nodes: Ids,
    before: Ids, others: Ids, source: int, came: int, counts: Pointers,
) -> None:  # fmt: skip
    """Count the valid steps by each way."""
    for i in range(nodes.size):
        v = nodes[i]
        for j in range(out_ptr[v], out_ptr[v + 1]):
            way = 2 * relation[out[j]] + 1
            if _reaches(tails[out[j]], v, way, source, came, before[i], others[i]):
                counts[way] += 1
        for j in range(into_ptr[v], into_ptr[v + 1]):
            way = 2 * relation[into[j]]
            if _reaches(heads[into[j]], v, way, source, came, before[i], others[i]):
                counts[way] += 1


@kernel
def _scatter(
    out_ptr: Pointers, out: Ids, into_ptr: Pointers, into: Ids, heads: Ids, tails: Ids, relation: Ids, nodes: Ids,
    before: Ids, others: Ids, source: int, came: int, cursor: Pointers, steps: Ids,
) -> None:  # fmt: skip
    """Write the valid steps (node, position of its parent, edge), grouped by way; ways with cursor -1 are skipped."""
    for i in range(nodes.size):
        v = nodes[i]
        for j in range(out_ptr[v], out_ptr[v + 1]):
            u, way = tails[out[j]], 2 * relation[out[j]] + 1
            if cursor[way] >= 0 and _reaches(u, v, way, source, came, before[i], others[i]):
                steps[cursor[way], _NODE] = u
                steps[cursor[way], _PARENT] = i
                steps[cursor[way], _EDGE] = out[j]
                cursor[way] += 1
        for j in range(into_ptr[v], into_ptr[v + 1]):
            u, way = heads[into[j]], 2 * relation[into[j]]
            if cursor[way] >= 0 and _reaches(u, v, way, source, came, before[i], others[i]):
                steps[cursor[way], _NODE] = u
                steps[cursor[way], _PARENT] = i
                steps[cursor[way], _EDGE] = into[j]
                cursor[way] += 1


@kernel
def _merge(steps: Ids, starts: Pointers, marks: Ids, ptr: Pointers) -> None:
    """Merge in place the steps of each way that lead to one node; `marks` is zero before and after."""
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
    graph: Labelled, relations: int, front: Front, before: Ids, source: int, came: int = _NONE, way: int = _ANY
) -> dict[int, Front]:
    """Return the fronts after one more step, by way; with `way` only its front, which may be empty.

    These are exactly the ends of the valid walks from `source`, since a step depends only on the one before it: a walk
    may go straight back from v to u where v was also reached from another node than u. `before`: the node that each
    node of the front was first reached from; `came`: the way that they were reached by; both -1 at the source. The cost
    is that of the edges at the front, and of one number for each relation.

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
    _count(*graph, *parts, source, came, counts)
    if way != _ANY:
        counts[np.arange(counts.size) != way] = 0
    used = np.flatnonzero(counts)
    starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts[used])))
    cursor = np.full(counts.size, -1, np.int64)
    cursor[used] = starts[:-1]
    steps = np.empty((starts[-1], _FIELDS), np.int32)
    ptr = np.empty(starts.size, np.int64)
    n = graph.out_ptr.size - 1
    with workspace(n) as scratch:
        _scatter(*graph, *parts, source, came, cursor, steps)
        _merge(steps, readonly(starts, np.int64), scratch.marks, ptr)
    return {
        int(at): Front(*(readonly(column, np.int32) for column in steps[begin:end].T))
        for at, begin, end in zip(used, ptr[:-1], ptr[1:], strict=True)
    }


@kernel
def _extend(
    out_ptr: Pointers, out: Ids, into_ptr: Pointers, into: Ids, heads: Ids, tails: Ids, relation: Ids, way: int,
    came: int, nodes: Ids, edges: Ids, parents: Pointers, first: int, last: int, room: int, marks: Ids,
) -> int:  # fmt: skip
    """Append the walks from `first` to `last`, which ended by `came`, one step longer by `way`; return where they end.

    Of parallel edges the first. Stops after `room` walks. `marks` is zero before and after.
    """
    size = last
    forward = way & 1
    ptr = out_ptr if forward else into_ptr
    row = out if forward else into
    far = tails if forward else heads
    for at in range(first, last):
        v, before, start = nodes[at], nodes[parents[at]], size
        for j in range(ptr[v], ptr[v + 1]):
            u = far[row[j]]
            fits = relation[row[j]] == way >> 1 and not marks[u, 0] and size < last + room
            if fits and _reaches(u, v, way, nodes[0], came, before, -1):
                marks[u, 0] = 1
                nodes[size], edges[size], parents[size] = u, row[j], at
                size += 1
        for i in range(start, size):
            marks[nodes[i], 0] = 0
    return size


def walks_by(graph: Labelled, source: int, ways: tuple[int, ...], max_walks: int) -> tuple[Ids, Ids]:
    """Return every valid walk from a node by these ways, at most `max_walks` at any step.

    Returns a row of nodes, int32[walks, steps + 1], and a row of edges, int32[walks, steps], for each. The cost is that
    of the edges at the ends of walks.
    """
    nodes, edges = np.array([source], np.int32), np.array([-1], np.int32)
    parents, first, last, came = np.zeros(1, np.int64), 0, 1, _NONE
    n = graph.out_ptr.size - 1
    with workspace(n) as scratch:
        for way in ways:
            ptr = graph.out_ptr if way & 1 else graph.into_ptr
            ends = nodes[first:last]
            room = min(int((ptr[ends + 1] - ptr[ends]).sum()), max_walks)
            nodes, edges = (np.concatenate((part, np.empty(room, np.int32))) for part in (nodes, edges))
            parents = np.concatenate((parents, np.empty(room, np.int64)))
            size = _extend(*graph, way, came, nodes, edges, parents, first, last, room, scratch.marks)
            nodes, edges, parents, first, last, came = nodes[:size], edges[:size], parents[:size], last, size, way
    rows, steps = last - first, len(ways)
    along, by = np.empty((rows, steps + 1), np.int32), np.empty((rows, steps), np.int32)
    at = np.arange(first, last)
    for step in range(steps, -1, -1):
        along[:, step] = nodes[at]
        if step:
            by[:, step - 1] = edges[at]
            at = parents[at]
    return along, by
