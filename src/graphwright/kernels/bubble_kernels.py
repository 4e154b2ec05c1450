"""Compiled part of bubble expansion; `kernels.bubble` documents the algorithm.

A label is the state of one group at one node. Nodes touched have rows in the order in which they were reached, each
with a label for every group, so label = row · groups + group.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.kernels.compiled import kernel, subkernel
from graphwright.kernels.csr import Floats, IdMatrix, Ids, Pointers

Table = np.ndarray[tuple[int, int], np.dtype[np.int64]]
Row32 = NDArray[np.float32] | NDArray[np.uint16]
Halves = np.ndarray[tuple[int, int], np.dtype[np.uint16]]
Rows = np.ndarray[tuple[int, int], np.dtype[np.float32]] | Halves | Table

_SCALE = np.float32(2.0**112)  # between the exponents of half precision and float32
_UNIT = 2.0**32  # costs are whole multiples of 2^-32: sums are exact, and ties do not depend on their order
_KNOWN = 8  # bytes of a cost that is given in place of a vector
NODE, COST, HOPS, STAMP, EARLIER = 0, 1, 2, 3, 4  # columns of Tables.nodes, a row for each node touched
DISTANCE, FROM, ORIGIN, SERIAL = 0, 1, 2, 3  # of Tables.labels, a row for each group at each node touched
GROUP, TERMINAL, MATE, ROOT, OPEN, SIZE = 0, 1, 2, 3, 4, 5  # of Tables.origins, a row for each terminal
LABEL, OTHER, WIDTH, COVERED = 0, 1, 2, 3  # of Tables.events, a row for each candidate
COUNT, WAITING, SETTLED, EVENTS, STAMPS, BALL, ALIVE, NEED, MET = 0, 1, 2, 3, 4, 5, 6, 7, 8  # places in Tables.place
MEETINGS = 100  # times the budget: the most candidates that are compared, near-duplicates included


class Costs(NamedTuple):
    """Vectors that give the cost of a node: 1 - cos of its vector and `query`, at least 0; 1 without a vector.

    `query: float64[d]`, of length 1 or zero. `ids`: of local nodes, empty where they are equal. `vectors: float32[r,
    d]`, bits of halves, or `int64[r, 1]`, the costs themselves. `rows`: the row of each id, -1 for none;
    empty where row i is that of id i.
    """

    query: Floats
    ids: Pointers
    vectors: Rows
    rows: Ids


class Tables(NamedTuple):
    """Scratch of one expansion; `marks` and `queue` are the workspace's, the others grow with the nodes touched."""

    nodes: Table
    labels: Table
    heap: Table
    origins: Table
    events: Table
    place: Pointers
    marks: IdMatrix
    queue: Ids


@subkernel
def _push(heap: Table, size: int, distance: int, code: int) -> None:
    """Add to a binary heap ordered by distance, then code."""
    at = size
    while at:
        up = (at - 1) >> 1
        if heap[up, 0] < distance or (heap[up, 0] == distance and heap[up, 1] <= code):
            break
        heap[at, 0], heap[at, 1] = heap[up, 0], heap[up, 1]
        at = up
    heap[at, 0], heap[at, 1] = distance, code


@subkernel
def _pop(heap: Table, size: int) -> None:
    distance, code = heap[size - 1, 0], heap[size - 1, 1]
    at, down = 0, 1
    while down < size - 1:
        a, b = heap[down, 0], heap[down + 1, 0]
        if down + 1 < size - 1 and (b < a or (b == a and heap[down + 1, 1] < heap[down, 1])):
            down += 1
        if heap[down, 0] > distance or (heap[down, 0] == distance and heap[down, 1] >= code):
            break
        heap[at, 0], heap[at, 1] = heap[down, 0], heap[down, 1]
        at, down = down, 2 * down + 1
    heap[at, 0], heap[at, 1] = distance, code


@subkernel
def _number(value: float, is_half: bool) -> np.float64:
    """Return a number of a vector; a half is given by its bits, as in `half.HalfArray`."""
    if not is_half:
        return np.float64(value)
    moved = np.uint32(np.int32(np.int16(value)) << 13) & np.uint32(0x8FFFE000)
    return np.float64(np.uint32(moved).view(np.float32) * _SCALE)


@subkernel
def _distance(vector: Row32, query: NDArray[np.float64]) -> int:
    """Return 1 - cos, at least 0, in units; four partial sums, so that additions run in parallel."""
    d0 = d1 = d2 = d3 = s0 = s1 = s2 = s3 = 0.0
    whole, is_half = vector.size & ~3, vector.itemsize == 2
    for i in range(0, whole, 4):
        a, b = _number(vector[i], is_half), _number(vector[i + 1], is_half)
        c, d = _number(vector[i + 2], is_half), _number(vector[i + 3], is_half)
        d0, d1, d2, d3 = d0 + a * query[i], d1 + b * query[i + 1], d2 + c * query[i + 2], d3 + d * query[i + 3]
        s0, s1, s2, s3 = s0 + a * a, s1 + b * b, s2 + c * c, s3 + d * d
    for i in range(whole, vector.size):
        a = _number(vector[i], is_half)
        d0, s0 = d0 + a * query[i], s0 + a * a
    length = (s0 + s1) + (s2 + s3)
    if length == 0.0:
        return int(_UNIT)
    return int(max(0.0, 1.0 - ((d0 + d1) + (d2 + d3)) / np.sqrt(length)) * _UNIT + 0.5)


@subkernel
def _cost(costs: Costs, v: int) -> int:
    row = int(costs.ids[v] if costs.ids.size else v)
    if costs.rows.size:
        row = int(costs.rows[row]) if row < costs.rows.size else -1
    if not 0 <= row < costs.vectors.shape[0]:
        return int(_UNIT)
    if costs.vectors.itemsize == _KNOWN:
        return int(costs.vectors[row, 0])
    return _distance(costs.vectors[row], costs.query)


@kernel
def distances(vectors: Halves, query: NDArray[np.float64], out: NDArray[np.int64]) -> None:
    """Write the cost of each row of a matrix of halves: 1 - cos, at least 0, in units of 2^-32."""
    for row in range(out.size):
        out[row] = _distance(vectors[row], query)


@subkernel
def _root(origins: Table, o: int) -> int:
    while origins[o, ROOT] != o:
        origins[o, ROOT] = origins[origins[o, ROOT], ROOT]
        o = origins[o, ROOT]
    return o


@subkernel
def _join(origins: Table, a: int, b: int) -> None:
    """Merge the components of two origins (union-find)."""
    a, b = _root(origins, a), _root(origins, b)
    if a != b:
        origins[b, ROOT] = a
        origins[a, OPEN] += origins[b, OPEN]
        origins[a, SIZE] += origins[b, SIZE]


@subkernel
def _can_meet(origins: Table) -> int:
    """Return 1 while two origins can still meet: an open component with two origins, or two open components.

    A component with one origin alone is not explored: another origin in it would have come through all of it.
    """
    alive = 0
    for o in range(origins.shape[0]):
        if origins[o, ROOT] == o and origins[o, OPEN] > 0:
            alive += 1 if origins[o, SIZE] == 1 else 2
    return 1 if alive > 1 else 0


@subkernel
def _enter(tables: Tables, groups: int, v: int, cost: int, hops: int) -> int:
    """Add a row for a node, without labels; return it."""
    slot = int(tables.place[COUNT])
    tables.place[COUNT] = slot + 1
    tables.marks[v, 0] = slot + 1
    tables.nodes[slot, NODE], tables.nodes[slot, COST] = v, cost
    tables.nodes[slot, HOPS], tables.nodes[slot, STAMP], tables.nodes[slot, EARLIER] = hops, 0, 0
    for label in range(slot * groups, (slot + 1) * groups):
        tables.labels[label, ORIGIN], tables.labels[label, SERIAL] = -1, 0
    return slot


@subkernel
def _open(tables: Tables, groups: int, slot: int, label: int, origin: int) -> None:
    """Count a new open label; all origins with a label at one node lie in one component."""
    tables.origins[_root(tables.origins, origin), OPEN] += 1
    for other in range(slot * groups, (slot + 1) * groups):
        if other != label and tables.labels[other, ORIGIN] >= 0:
            _join(tables.origins, origin, tables.labels[other, ORIGIN])


@subkernel
def _label(tables: Tables, groups: int, label: int, distance: int, parent: int, origin: int) -> None:
    tables.labels[label, DISTANCE], tables.labels[label, FROM] = distance, parent
    tables.labels[label, ORIGIN] = origin
    slot = label // groups
    _push(tables.heap, tables.place[WAITING], distance, tables.nodes[slot, NODE] * groups + label % groups)
    tables.place[WAITING] += 1


@kernel
def begin(tables: Tables, groups: int) -> None:
    """Label the terminals, and replace the ids of their mates by rows."""
    for o in range(tables.origins.shape[0]):
        v = tables.origins[o, TERMINAL]
        slot = tables.marks[v, 0] - 1
        if slot < 0:
            slot = _enter(tables, groups, v, 0, 0)
        label = slot * groups + tables.origins[o, GROUP]
        _open(tables, groups, slot, label, o)
        _label(tables, groups, label, 0, -1, o)
    for o in range(tables.origins.shape[0]):
        if tables.origins[o, MATE] >= 0:
            tables.origins[o, MATE] = tables.marks[tables.origins[o, MATE], 0] - 1
    tables.place[ALIVE] = _can_meet(tables.origins)


@subkernel
def _stamp_node(tables: Tables, slot: int, column: int, stamp: int, also: int) -> int:
    """Stamp a node in a column; return 1 if it was not stamped yet and has the stamp `also` in STAMP, where not 0."""
    if tables.nodes[slot, column] == stamp:
        return 0
    tables.nodes[slot, column] = stamp
    return int(also == 0 or tables.nodes[slot, STAMP] == also)


@subkernel
def _stamp_path(tables: Tables, groups: int, label: int, column: int, stamp: int, also: int) -> int:
    """Stamp the nodes on the path of a label; return how many are new, as `_stamp_node` counts them."""
    new, slot = 0, int(label // groups)
    mate = tables.origins[tables.labels[label, ORIGIN], MATE]
    group = label % groups
    while slot >= 0:
        new += _stamp_node(tables, slot, column, stamp, also)
        slot = tables.labels[slot * groups + group, FROM]
    if mate >= 0:
        new += _stamp_node(tables, mate, column, stamp, also)
    return new


@subkernel
def _stamp_all(tables: Tables, groups: int, label: int, other: int, column: int, stamp: int, also: int) -> int:
    """Stamp the nodes of a candidate; return their number, with `also` of those that have that stamp in STAMP."""
    new = _stamp_path(tables, groups, other, column, stamp, also) if other >= 0 else 0
    first, serial = label // groups * groups, tables.labels[label, SERIAL]
    for at in range(first, first + groups):
        if at == label or (other < 0 and 0 < tables.labels[at, SERIAL] <= serial):
            new += _stamp_path(tables, groups, at, column, stamp, also)
    return new


@subkernel
def _covered(tables: Tables, stamp: int) -> int:
    """Return as bits, modulo 62, the groups with a terminal, or both ends of its edge, among the stamped nodes."""
    bits, origins = 0, tables.origins
    for o in range(origins.shape[0]):
        slot, mate = tables.marks[origins[o, TERMINAL], 0] - 1, origins[o, MATE]
        if tables.nodes[slot, STAMP] == stamp and (mate < 0 or tables.nodes[mate, STAMP] == stamp):
            bits |= 1 << (origins[o, GROUP] % 62)
    return bits


@subkernel
def _offer(tables: Tables, groups: int, label: int, other: int) -> None:
    """Add a candidate, all groups at a node or two neighbouring labels, unless it is a near-duplicate (see bubble)."""
    place, events = tables.place, tables.events
    place[MET] += 1
    place[STAMPS] += 1
    stamp = place[STAMPS]
    width = _stamp_all(tables, groups, label, other, STAMP, stamp, 0)
    covered = _covered(tables, stamp)
    for event in range(place[EVENTS]):
        if events[event, COVERED] == covered:
            place[STAMPS] += 1
            shared = _stamp_all(
                tables, groups, events[event, LABEL], events[event, OTHER], EARLIER, place[STAMPS], stamp
            )
            if shared == min(width, events[event, WIDTH]):
                return
    event = place[EVENTS]
    events[event, LABEL], events[event, OTHER], events[event, WIDTH] = label, other, width
    events[event, COVERED] = covered
    place[EVENTS] += 1


@subkernel
def _inside(indptr: Pointers, neighbours: Ids, tables: Tables, v: int, hops: int) -> bool:
    """Return whether a node lies within `hops` of a terminal; the first call marks all that do."""
    marks, queue = tables.marks, tables.queue
    if tables.place[BALL] == 0:
        size, head = 0, 0
        for o in range(tables.origins.shape[0]):
            t = tables.origins[o, TERMINAL]
            if marks[t, 1] == 0:
                marks[t, 1] = 1
                queue[size] = t
                size += 1
        while head < size and marks[queue[head], 1] <= hops:
            t = queue[head]
            head += 1
            for i in range(indptr[t], indptr[t + 1]):
                if marks[neighbours[i], 1] == 0:
                    marks[neighbours[i], 1] = marks[t, 1] + 1
                    queue[size] = neighbours[i]
                    size += 1
        tables.place[BALL] = size
    return bool(marks[v, 1] != 0)


@subkernel
def _relax(tables: Tables, groups: int, label: int, neighbour: int) -> None:
    slot, near = label // groups, neighbour // groups
    origin, known = tables.labels[label, ORIGIN], tables.labels[neighbour, ORIGIN]
    distance = tables.labels[label, DISTANCE] + tables.nodes[near, COST]
    if known < 0:
        _open(tables, groups, near, neighbour, origin)
    elif known != origin:
        _join(tables.origins, origin, known)
    if known < 0 or distance < tables.labels[neighbour, DISTANCE]:
        _label(tables, groups, neighbour, distance, slot, origin)


@subkernel
def _scan(
    indptr: Pointers, neighbours: Ids, costs: Costs, tables: Tables, groups: int, hops: int, budget: int, label: int
) -> None:
    """Visit the neighbours of a settled label; settled ones of its group and another origin are candidates with it."""
    slot, group = label // groups, label % groups
    v, beyond = tables.nodes[slot, NODE], tables.nodes[slot, HOPS] + 1
    for i in range(indptr[v], indptr[v + 1]):
        u = neighbours[i]
        near = int(tables.marks[u, 0]) - 1
        if near < 0:
            if beyond > hops and not _inside(indptr, neighbours, tables, u, hops):
                continue
            near = _enter(tables, groups, u, _cost(costs, u), beyond)
        elif beyond < tables.nodes[near, HOPS]:
            tables.nodes[near, HOPS] = beyond
        neighbour = near * groups + group
        if not tables.labels[neighbour, SERIAL]:
            _relax(tables, groups, label, neighbour)
        elif tables.labels[neighbour, ORIGIN] != tables.labels[label, ORIGIN]:
            _offer(tables, groups, label, neighbour)
            if tables.place[EVENTS] >= budget:
                return


@subkernel
def _settle(tables: Tables, groups: int, slot: int, label: int) -> None:
    """Settle a label; after the node's first, the paths of all groups settled there are a candidate."""
    tables.place[SETTLED] += 1
    tables.labels[label, SERIAL] = tables.place[SETTLED]
    for other in range(slot * groups, (slot + 1) * groups):
        if other != label and tables.labels[other, SERIAL]:
            _offer(tables, groups, label, -1)
            break


@kernel
def expand(
    indptr: Pointers, neighbours: Ids, costs: Costs, tables: Tables, groups: int, hops: int, budget: int
) -> bool:
    """Settle labels by distance, then node, then group; return False where the tables are too small to continue."""
    place, heap, labels = tables.place, tables.heap, tables.labels
    while place[WAITING] and place[ALIVE] and place[EVENTS] < budget and place[MET] < MEETINGS * budget:
        v, group = heap[0, 1] // groups, heap[0, 1] % groups
        degree = indptr[v + 1] - indptr[v]
        place[NEED] = degree + 1
        rows = min(budget, place[EVENTS] + degree + 1)
        if max(place[COUNT] + degree, place[WAITING] + degree) > tables.nodes.shape[0] or rows > tables.events.shape[0]:
            return False
        _pop(heap, place[WAITING])
        place[WAITING] -= 1
        slot = int(tables.marks[v, 0]) - 1
        label = slot * groups + group
        if labels[label, SERIAL]:
            continue  # superseded by a shorter one
        _settle(tables, groups, slot, label)
        if place[EVENTS] < budget:
            _scan(indptr, neighbours, costs, tables, groups, hops, budget, label)
        root = _root(tables.origins, labels[label, ORIGIN])
        tables.origins[root, OPEN] -= 1
        if tables.origins[root, OPEN] == 0:
            place[ALIVE] = _can_meet(tables.origins)
    return True
