"""Trees: bubble expansion (BubbleRAG), compiled in `kernels.expansion`, and prize-collecting Steiner trees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.kernels import expansion as at
from graphwright.kernels.csr import Floats, Ids, Pointers, Workspace, kernel, node_ids, readonly, same_length, workspace
from graphwright.kernels.expansion import Costs, Tables
from graphwright.kernels.half import HalfArray, matrix_of

Table = NDArray[np.int64]

_ROOM = 1024  # initial rows of the tables
Part = tuple[list[int], list[int]]
_EPSILON = 1e-9  # rounding error of a used-up prize


class Meeting(NamedTuple):
    """A candidate: the origins whose paths it joins, by position, and its walks over local nodes."""

    origins: tuple[int, ...]
    walks: tuple[tuple[int, ...], ...]


def node_costs(
    query: ArrayLike,
    vectors: ArrayLike | HalfArray,
    rows: ArrayLike = (),
    more: ArrayLike | HalfArray | None = None,
    more_rows: ArrayLike = (),
    ids: ArrayLike = (),
) -> Costs:
    """Return the costs of nodes by their vectors (see Costs); each is computed when its node is touched.

    `query` may have any length. `vectors` and `more`: float32[r, d], not copied where they are C-contiguous, or in half
    precision.
    Raises ValueError for vectors that are not of the query's dimension.
    """
    direction = np.asarray(query, np.float64)
    length = np.sqrt(direction @ direction)
    direction = readonly(direction / length if length else direction, np.float64)
    tables = [matrix_of(np.empty((0, direction.size)) if t is None else t) for t in (vectors, more)]
    for table in tables:
        if table.ndim != 2 or table.shape[1] != direction.size:
            raise ValueError(f"vectors have shape {table.shape}, but the query has {direction.size} numbers.")
    first_rows, second_rows = (readonly(r, np.int32) for r in (rows, more_rows))
    return Costs(direction, readonly(ids, np.int64), tables[0], first_rows, tables[1], second_rows)


def bubble(
    indptr: Pointers, neighbours: Ids, origins: ArrayLike, costs: Costs, *, hops: int = 6, budget: int = 10
) -> list[Meeting]:
    """Return the candidates where groups of terminals meet as they grow, in the order found (BubbleRAG, Algorithm 1).

    `origins: int[t, 3]`, a row for each terminal: its group (numbered from 0, none empty), its node, and for a terminal
    that represents an edge the node at the other end, which is a terminal of the group too, else -1.

    Dijkstra's search with a state for each (group, node): distance, predecessor, source terminal. Entering a node costs
    `costs`; a terminal of any group costs 0 (Eq. 4). States are settled by distance, then smaller node, then group.
    Candidates are

    - at each settling of a node after its first, the paths of all groups settled there so far;
    - for each settled neighbour, ascending, that its group reached from another terminal, the paths of both.

    A path includes the other end of its terminal's edge. A candidate with the nodes of an earlier one is dropped, and
    `budget` (B in the paper) of them end the search. All have nodes of two groups, or two nodes.

    The search is limited to the nodes within `hops` (h) of a terminal of any group, and the edges between them. Each
    node touched carries the number of steps in which it was reached, an upper bound of its distance in hops: while that
    is at most `hops`, the node is inside. Where the search would go beyond, the nodes inside are marked, once and
    exactly, breadth first, and only marked nodes are entered. The search also ends when no two origins can meet any
    more.

    Cost: a vector read for each node touched, (groups · edges touched) · log, nothing of length n.
    Raises ValueError for an origin that is not a node, is repeated or has no group, and a negative `hops` or `budget`.

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
    tables = _tables(table, groups, int(budget), scratch)
    with scratch:
        at.begin(tables, groups)
        while not at.expand(*graph, costs, tables, groups, min(int(hops), n), int(budget)):
            tables = _grown(tables, groups, int(budget))
        meetings = list(_meetings(tables, groups))
        scratch.marks[tables.nodes[: tables.place[at.COUNT], at.NODE], 0] = 0
        scratch.marks[scratch.queue[: tables.place[at.BALL]], 1] = 0
    return meetings


def _tables(origins: Table, groups: int, budget: int, scratch: Workspace) -> Tables:
    """Return tables for the first nodes touched."""
    rows = max(_ROOM, 2 * len(origins))
    return Tables(
        nodes=np.empty((rows, 4), np.int64),
        labels=np.empty((rows * groups, 4), np.int64),
        heap=np.empty((rows, 2), np.int64),
        origins=origins,
        events=np.empty((min(budget, _ROOM), 3), np.int64),
        place=np.zeros(8, np.int64),
        marks=scratch.marks,
        queue=scratch.queue,
    )


def _origins(n: int, origins: ArrayLike) -> tuple[Table, int]:
    """Return Tables.origins and the number of groups."""
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
    """Yield the candidate of each event."""
    for label, other, _ in tables.events[: tables.place[at.EVENTS]].tolist():
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
    """Return the nodes from a label back to its terminal."""
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


@kernel
def _next_edge(
    heads: Ids, tails: Ids, costs: Floats, open_edges: Ids, count: int, cluster: Ids, room: Floats, depth: Floats
) -> tuple[int, float, int]:
    """Return the open edge that is filled first (-1 for none), the time until then, and the number of open edges.

    Edges inside one cluster are removed.
    """
    best, wait, size = -1, np.inf, 0
    for i in range(count):
        edge = open_edges[i]
        u, v = heads[edge], tails[edge]
        a, b = cluster[u], cluster[v]
        if a == b:
            continue
        open_edges[size] = edge
        size += 1
        growing = (room[a] > 0.0) + (room[b] > 0.0)
        if growing:
            left = max(costs[edge] - depth[u] - depth[v], 0.0) / growing
            if left < wait:
                best, wait = edge, left
    return best, wait, size


@kernel
def _pass(time: float, cluster: Ids, room: Floats, depth: Floats) -> None:
    """Let every growing cluster grow; one whose prizes are used up stops."""
    for v in range(cluster.size):
        if room[cluster[v]] > 0.0:
            depth[v] += time
    for v in range(cluster.size):
        if cluster[v] == v and room[v] > 0.0:
            room[v] = room[v] - time if room[v] - time > _EPSILON else 0.0


@kernel
def _grow(heads: Ids, tails: Ids, costs: Floats, room: Floats, chosen: Ids) -> int:
    """Write the edges that join clusters into `chosen`, in the order filled; return their number.

    A cluster is identified by its smallest node, with the room left for its moat in `room`: initially its prize.
    """
    size, count = 0, heads.size
    cluster = np.arange(room.size).astype(np.int32)
    open_edges = np.arange(heads.size).astype(np.int32)
    depth = np.zeros(room.size)
    while True:
        growing, smallest = 0, np.inf
        for v in range(room.size):
            if cluster[v] == v and room[v] > 0.0:
                growing += 1
                smallest = min(smallest, room[v])
        edge, wait, count = _next_edge(heads, tails, costs, open_edges, count, cluster, room, depth)
        if growing < 2 or edge < 0:
            return size
        _pass(min(wait, smallest), cluster, room, depth)
        if wait <= smallest:
            a, b = cluster[heads[edge]], cluster[tails[edge]]
            a, b = min(a, b), max(a, b)
            room[a] += room[b]
            cluster[cluster == b] = a
            chosen[size] = edge
            size += 1


def _best_part(n: int, links: dict[int, list[tuple[int, int]]], costs: list[float], prizes: list[float]) -> Part:
    """Return the nodes and edges of the connected part of a forest of the highest worth.

    A node's worth is its prize plus the worth of each child beyond the cost of the edge to it. `links`: the neighbours
    of each node that has any, and the edges to them.
    """
    above, worth = dict[int, tuple[int, int]](), prizes.copy()
    order = list[int]()
    for root in range(n):
        if root in above:
            continue
        above[root] = -1, -1
        tree = [root]
        for v in tree:  # grows
            for u, edge in links.get(v, ()):
                if u not in above:
                    above[u] = v, edge
                    tree.append(u)
        order += tree
    for v in reversed(order):
        parent, edge = above[v]
        if edge >= 0 and worth[v] > costs[edge]:
            worth[parent] += worth[v] - costs[edge]
    top = worth.index(max(worth))
    nodes, edges = {top}, list[int]()
    for v in order:
        parent, edge = above[v]
        if parent in nodes and worth[v] > costs[edge] and v != top:
            nodes.add(v)
            edges.append(edge)
    return sorted(nodes), sorted(edges)


def prize_tree(n: int, heads: ArrayLike, tails: ArrayLike, costs: ArrayLike, prizes: ArrayLike) -> tuple[Ids, Ids]:
    """Return the nodes and edges of a tree with a high sum of prizes minus edge costs (approximate).

    The growth of Goemans and Williamson (1995), without a root as in G-Retriever: a moat grows around each node with a
    prize, all at the same rate, until its prize is used up; where moats fill an edge, their clusters merge and share
    the unused prizes; growth ends when at most one cluster grows. Of the forest of these edges the connected part of
    the highest worth is selected, by the strong pruning of Johnson, Minkoff and Phillips (2000). Equal times by smaller
    edge, equal worth by smaller node.

    `heads`, `tails`: the ends of each edge, int[m], walked either way; `costs`: float[m], `prizes`: float[n], 0 or
    more. Returns ascending node ids and edge numbers; both empty if no node has a prize. At most O(n (n + m)), meant
    for a neighbourhood: about 4 ms for 500 nodes and 3,000 edges.
    Raises ValueError for an end that is not a node, lengths that differ, or an amount that is negative or not finite.

    >>> nodes, edges = prize_tree(4, [0, 1, 2], [1, 2, 3], [0.5, 0.5, 0.5], [3, 0, 2, 0.4])
    >>> nodes.tolist(), edges.tolist()
    ([0, 1, 2], [0, 1])
    """
    heads, tails = node_ids(heads, n, "heads"), node_ids(tails, n, "tails")
    costs, prizes = _amounts(costs, heads.size, "costs"), _amounts(prizes, n, "prizes")
    same_length("heads", heads.size, "tails", tails.size)
    if not prizes.any():
        return np.empty(0, np.int32), np.empty(0, np.int32)
    links: dict[int, list[tuple[int, int]]] = {}
    forest = np.empty(n, np.int32)
    size = _grow(heads, tails, costs, prizes.copy(), forest)
    for edge in forest[:size].tolist():
        head, tail = int(heads[edge]), int(tails[edge])
        links.setdefault(head, []).append((tail, edge))
        links.setdefault(tail, []).append((head, edge))
    nodes, edges = _best_part(n, links, costs.tolist(), prizes.tolist())
    return np.array(nodes, np.int32), np.array(edges, np.int32)


def _amounts(values: ArrayLike, count: int, what: str) -> Floats:
    amounts = readonly(values, np.float64)
    if amounts.shape != (count,):
        raise ValueError(f"{what} has shape {amounts.shape}; pass {count}, one for each.")
    if not (np.isfinite(amounts) & (amounts >= 0)).all():
        raise ValueError(f"{what} has a negative or infinite value (minimum {amounts.min()}). Pass numbers, 0 or more.")
    return amounts
