"""Walks of labelled edges: the nodes that each relation leads to, walks by a relation sequence, chains of triples.

A way is a relation with a direction, as one number: 2 · relation + 1 from head to tail, 2 · relation from tail to head;
way ^ 1 is the same relation in the other direction.

Valid walks never return to their source, never go straight back by the relation that they came by (from v to u by
way ^ 1 after u to v by way), and have no step from a node to itself. By another relation they may go back: from a
director to a film of theirs, and to its writer, who may be the same person. Of parallel edges of one relation only the
first counts. *Returning* walks may come back to their source too, as from a person to a spouse, and to the spouse of
that spouse; and they may take an edge from a node to itself, along it.
"""

from __future__ import annotations

from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from graphwright.kernels.compiled import kernel, subkernel
from graphwright.kernels.csr import IdMatrix, Ids, Pointers, node_ids, readonly, row_pointers, same_length, workspace

_ANY = _NONE = _RETURNING = -1
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


@subkernel
def _reaches(u: int, v: int, way: int, source: int, came: int, before: int, other: int) -> bool:
    """Return whether a walk that reached v may step to u by `way`.

    `came`: the way to v; `before`: the node that it came from; `other`: a second such node, -1 for none. `source`: the
    start, to which the walk may not return; -1 for a returning walk.
    """
    inside = u != v or (source < 0 and way & 1 == 1)
    return inside and u != source and (way != came ^ 1 or u != before or other >= 0)


@kernel
def _steps(
    out_ptr: Pointers, out: Ids, into_ptr: Pointers, into: Ids, heads: Ids, tails: Ids, relation: Ids, nodes: Ids,
    before: Ids, others: Ids, source: int, came: int, cursor: Pointers, steps: IdMatrix,
) -> None:  # fmt: skip
    """Advance each way's cursor, unless it is -1, by its valid steps, and write those that lie in `steps`."""
    for forward in range(2):
        ptr, row, far = (out_ptr, out, tails) if forward else (into_ptr, into, heads)
        for i in range(nodes.size):
            v = nodes[i]
            for j in range(ptr[v], ptr[v + 1]):
                u, way = far[row[j]], 2 * relation[row[j]] + forward
                at = cursor[way]
                if at >= 0 and _reaches(u, v, way, source, came, before[i], others[i]):
                    cursor[way] += 1
                    if at < len(steps):
                        steps[at, _NODE], steps[at, _PARENT], steps[at, _EDGE] = u, i, row[j]


@kernel
def _merge(steps: IdMatrix, starts: Pointers, marks: IdMatrix, ptr: Pointers) -> None:
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
    node of the front was first reached from; `came`: the way that they were reached by; both -1 at the source.
    `source`: -1 for returning walks.
    """
    parts = (front.nodes, readonly(before, np.int32), front.others)
    cursor = np.zeros(2 * relations, np.int64)
    if way != _ANY:
        cursor[np.arange(cursor.size) != way] = -1
    _steps(*graph, *parts, source, came, cursor, np.empty((0, _FIELDS), np.int32))  # counts
    used = np.flatnonzero(cursor > 0)
    starts = row_pointers(cursor[used])
    cursor[:] = -1
    cursor[used] = starts[:-1]
    steps = np.empty((starts[-1], _FIELDS), np.int32)
    ptr = np.empty(starts.size, np.int64)
    with workspace(graph.out_ptr.size - 1) as scratch:
        _steps(*graph, *parts, source, came, cursor, steps)
        _merge(steps, readonly(starts, np.int64), scratch.marks, ptr)
    return {
        int(at): Front(*(readonly(column, np.int32) for column in steps[begin:end].T))
        for at, begin, end in zip(used, ptr[:-1], ptr[1:], strict=True)
    }


@kernel
def _extend(
    out_ptr: Pointers, out: Ids, into_ptr: Pointers, into: Ids, heads: Ids, tails: Ids, relation: Ids, way: int,
    came: int, source: int, nodes: Ids, edges: Ids, parents: Pointers, first: int, last: int, room: int,
    marks: IdMatrix,
) -> int:  # fmt: skip
    """Extend the walks `first` to `last`, which ended by `came`, by a step of `way`; return the new number of walks.

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
            if fits and _reaches(u, v, way, source, came, before, -1):
                marks[u, 0] = 1
                nodes[size], edges[size], parents[size] = u, row[j], at
                size += 1
        for i in range(start, size):
            marks[nodes[i], 0] = 0
    return size


def walks_by(
    graph: Labelled, source: int, ways: tuple[int, ...], max_walks: int, returning: bool = False
) -> tuple[Ids, Ids]:
    """Return every valid walk by these ways, at most `max_walks`: nodes, int32[walks, steps + 1], and edges."""
    nodes, edges = np.array([source], np.int32), np.array([-1], np.int32)
    barred = _RETURNING if returning else source
    parents, first, last, came = np.zeros(1, np.int64), 0, 1, _NONE
    with workspace(graph.out_ptr.size - 1) as scratch:
        for way in ways:
            ptr = graph.out_ptr if way & 1 else graph.into_ptr
            ends = nodes[first:last]
            room = min(int((ptr[ends + 1] - ptr[ends]).sum()), max_walks)
            nodes, edges = (np.concatenate((part, np.empty(room, np.int32))) for part in (nodes, edges))
            parents = np.concatenate((parents, np.empty(room, np.int64)))
            size = _extend(*graph, way, came, barred, nodes, edges, parents, first, last, room, scratch.marks)
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


def expand_chains(
    n: int, heads: ArrayLike, tails: ArrayLike, sources: ArrayLike, *, length: int | None = None, inverse: bool = True
) -> tuple[Pointers, Ids, Ids]:
    """Return the chains of the triples heads[i] → tails[i] that start at a source, breadth first in their order.

    ReG, Algorithm 1 (appendix D.4.1): the queue begins with the triples at a source; each chain is extended by every
    triple that begins where the chain ends, unless the chain holds the node it leads to, or a chain from the same
    source was extended to that node before. Chains have at most `length` triples (L in the paper). With `inverse` a
    triple is walked either way; without it, from head to tail only, and chains that end at a source are returned too,
    by the same rules from their end.

    Returns `pointers`, int64[c + 1], `nodes` and `triples`, int32: chain k walks `triples[pointers[k] :
    pointers[k + 1]]`; `nodes` has one more entry for each chain, in walk order. Without `inverse` a chain from one
    source to another may be listed twice. Raises ValueError for an invalid node or `length`.

    >>> pointers, nodes, triples = expand_chains(4, [0, 1, 1], [1, 2, 3], [0])
    >>> pointers.tolist(), nodes.tolist(), triples.tolist()
    ([0, 1, 3, 5], [0, 1, 0, 1, 2, 0, 1, 3], [0, 0, 1, 0, 2])
    """
    if length is not None and length < 1:
        raise ValueError(f"length is {length}. Pass a number of triples, 1 or more, or None for no limit.")
    heads, tails = node_ids(heads, n, "heads"), node_ids(tails, n, "tails")
    same_length("heads", heads.size, "tails", tails.size)
    start_nodes = set(node_ids(sources, n, "sources").tolist())
    ends = np.stack((heads, tails), axis=1).ravel().tolist()  # step 2i leaves the head of triple i, 2i + 1 its tail
    mask = 0 if inverse else 1  # of the bit of a step that must stay the same along a chain
    exits: dict[tuple[int, int], list[tuple[int, int]]] = {}
    queue: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    for step, node in enumerate(ends):
        target = ends[step ^ 1]
        exits.setdefault((node, step & mask), []).append((step, target))
        if node in start_nodes and node != target:
            queue.append(((node, target), (step,)))
    extended: dict[tuple[int, int], set[int]] = {}
    for nodes, steps in queue:  # grows
        if len(steps) == length:
            continue
        direction = steps[0] & mask
        reached = extended.setdefault((nodes[0], direction), set())
        for step, target in exits.get((nodes[-1], direction), ()):
            if target not in reached and target not in nodes:
                reached.add(target)
                queue.append(((*nodes, target), (*steps, step)))
    if not inverse:  # a chain that ends at its source was walked from there
        queue = [(nodes[::-1], steps[::-1]) if steps[0] & 1 else (nodes, steps) for nodes, steps in queue]
    pointers = row_pointers(np.array([len(steps) for _, steps in queue], np.int64))
    all_nodes = np.fromiter(chain.from_iterable(nodes for nodes, _ in queue), np.int32)
    triples = np.fromiter((step >> 1 for _, steps in queue for step in steps), np.int32)
    return readonly(pointers, np.int64), readonly(all_nodes, np.int32), readonly(triples, np.int32)
