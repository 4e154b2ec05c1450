"""Bubble expansion (BubbleRAG): candidates where groups of terminals meet; compiled in `kernels.bubble_kernels`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.kernels import bubble_kernels as at
from graphwright.kernels.blocks import FarArray, HalfArray
from graphwright.kernels.bubble_kernels import Costs, Table, Tables
from graphwright.kernels.csr import Ids, Pointers, node_ids, readonly, workspace

_ROOM = 1024  # initial rows of the tables


class Meeting(NamedTuple):
    """A candidate: the origins whose paths it joins, by position, and its walks over local nodes."""

    origins: tuple[int, ...]
    walks: tuple[tuple[int, ...], ...]


def node_costs(query: ArrayLike, vectors: ArrayLike | HalfArray, rows: ArrayLike = (), ids: ArrayLike = ()) -> Costs:
    """Return the costs of nodes by their vectors, float32[r, d] or halves. Raises ValueError for another dimension."""
    direction = np.asarray(query, np.float64)
    direction = readonly(direction / (np.sqrt(direction @ direction) or 1.0), np.float64)
    if isinstance(vectors, FarArray):
        costs = readonly(vectors.distances(direction)[:, None], np.int64)
        return Costs(direction, readonly(ids, np.int64), costs, readonly(rows, np.int32))
    table = readonly(vectors.bits, np.uint16) if isinstance(vectors, HalfArray) else readonly(vectors, np.float32)
    if table.ndim != 2 or table.shape[1] != direction.size:
        raise ValueError(f"vectors have shape {table.shape}, but the query has {direction.size} numbers.")
    return Costs(direction, readonly(ids, np.int64), table, readonly(rows, np.int32))


def distances_of(vectors: HalfArray, direction: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return what each vector costs as the vector of a node; `direction`: the question, of length 1 or zero."""
    costs = np.empty(len(vectors), np.int64)
    at.distances(readonly(vectors.bits, np.uint16), readonly(direction, np.float64), costs)
    return costs


def bubble(
    indptr: Pointers, neighbours: Ids, origins: ArrayLike, costs: Costs, *, hops: int = 6, budget: int = 10
) -> list[Meeting]:
    """Return the candidates where groups of terminals meet as they grow, in the order found (BubbleRAG, Algorithm 1).

    `origins: int[t, 3]`, a row for each terminal: its group (numbered from 0, none empty), its node, and for a terminal
    that represents an edge the node at the other end, which is a terminal of the group too, else -1.

    Dijkstra's search with a state for each (group, node): distance, predecessor, source terminal. Entering a node costs
    `costs`; a terminal of any group costs 0 (Eq. 4). States are settled by distance, then smaller node, then group.
    Candidates are, at each settling of a node after its first, the paths of all groups settled there so far; and for
    each settled neighbour, ascending, that its group reached from another terminal, the paths of both. A path includes
    the other end of its terminal's edge. A candidate is dropped if its nodes contain those of an earlier one of the
    same groups, or are contained in them: near-duplicates would use up the budget. `budget` (B in the paper) of them
    end the search; so do 100 times as many with the near-duplicates, and a state in which no two origins can meet.
    The search is limited to the nodes within `hops` (h) of a terminal of any group, and the edges between them.
    Raises ValueError for an invalid origin, and a negative `hops` or `budget`.

    >>> from graphwright.kernels.csr import undirected
    >>> line = undirected(4, [0, 1, 2], [1, 2, 3])
    >>> costs = node_costs([1.0, 0.0], np.float32([[1, 0], [0, 1], [3, 4], [1, 0]]))
    >>> bubble(*line, [(0, 0, -1), (1, 3, -1)], costs)
    [Meeting(origins=(0, 1), walks=((0, 1, 2, 3),))]
    """
    n = indptr.size - 1
    if hops < 0 or budget < 0:
        raise ValueError(f"hops is {hops} and budget is {budget}. Pass 0 or more.")
    if costs.ids.size not in (0, n):
        raise ValueError(f"costs has ids of {costs.ids.size} nodes, but the graph has {n}. Pass one for each, or none.")
    table, groups = _origins(n, origins)
    if not len(table):
        return []
    graph, scratch = (readonly(indptr, np.int64), readonly(neighbours, np.int32)), workspace(n)
    rows = max(_ROOM, 2 * len(table))
    nodes, labels, heap, events = (
        np.empty(shape, np.int64) for shape in ((rows, 5), (rows * groups, 4), (rows, 2), (min(int(budget), _ROOM), 4))
    )
    tables = Tables(nodes, labels, heap, table, events, np.zeros(9, np.int64), scratch.marks, scratch.queue)
    with scratch:
        at.begin(tables, groups)
        while not at.expand(*graph, costs, tables, groups, min(int(hops), n), int(budget)):
            tables = _grown(tables, groups, int(budget))
        meetings = list(_meetings(tables, groups))
        scratch.marks[tables.nodes[: tables.place[at.COUNT], at.NODE], 0] = 0
        scratch.marks[scratch.queue[: tables.place[at.BALL]], 1] = 0
    return meetings


def _origins(n: int, origins: ArrayLike) -> tuple[Table, int]:
    rows = np.asarray(origins, np.int64).reshape(-1, 3)
    node_ids(rows[:, 1], n, "origins")
    node_ids(rows[rows[:, 2] >= 0, 2], n, "the mates of origins")
    groups = np.unique(rows[:, 0])
    if not np.array_equal(groups, np.arange(groups.size)):
        raise ValueError(f"origins are of groups {groups.tolist()[:8]}. Number groups from 0, and leave none out.")
    if len(np.unique(rows[:, :2], axis=0)) < len(rows):
        raise ValueError("a node is an origin of one group twice. Pass each terminal of a group once.")
    table = np.zeros((len(rows), 6), np.int64)
    table[:, :3], table[:, at.ROOT], table[:, at.SIZE] = rows, np.arange(len(rows)), 1
    return table, groups.size


def _grown(tables: Tables, groups: int, budget: int) -> Tables:
    """Return tables of at least twice the size, with room for the next node."""
    place = tables.place
    rows = 2 * int(max(place[at.COUNT], place[at.WAITING]) + place[at.NEED])
    return tables._replace(
        nodes=_longer(tables.nodes, rows),
        labels=_longer(tables.labels, rows * groups),
        heap=_longer(tables.heap, rows),
        events=_longer(tables.events, min(budget, 2 * int(place[at.EVENTS] + place[at.NEED]))),
    )


def _longer(table: Table, rows: int) -> Table:
    if rows <= len(table):
        return table
    longer = np.empty((rows, table.shape[1]), np.int64)
    longer[: len(table)] = table
    return longer


def _meetings(tables: Tables, groups: int) -> Iterator[Meeting]:
    for label, other, *_ in tables.events[: tables.place[at.EVENTS]].tolist():
        if other >= 0:
            labels = [other, label]
        else:
            group_labels = np.arange(label // groups * groups, (label // groups + 1) * groups)
            serial = tables.labels[group_labels, at.SERIAL]
            labels = group_labels[(serial > 0) & (serial <= tables.labels[label, at.SERIAL])].tolist()
        labels.sort(key=lambda label: int(tables.labels[label, at.ORIGIN]))
        paths = [_path(tables, groups, label) for label in labels]
        proper = {v for path in paths for v in path}
        origins = [int(tables.labels[label, at.ORIGIN]) for label in labels]
        for path, o in zip(paths, origins, strict=True):
            mate = int(tables.origins[o, at.MATE])
            if mate >= 0 and int(tables.nodes[mate, at.NODE]) not in proper:
                path.append(int(tables.nodes[mate, at.NODE]))
        yield Meeting(tuple(origins), _walks(paths))


def _path(tables: Tables, groups: int, label: int) -> list[int]:
    path, slot = [], label // groups
    while slot >= 0:
        path.append(int(tables.nodes[slot, at.NODE]))
        slot = int(tables.labels[slot * groups + label % groups, at.FROM])
    return path


def _walks(paths: Sequence[list[int]]) -> tuple[tuple[int, ...], ...]:
    """Return the first two paths as one walk, from end to end, then the others from where they meet."""
    first, second, *others = paths
    whole = first[::-1] + second[first[0] == second[0] :]
    return tuple(whole), *(tuple(path) for path in others)
