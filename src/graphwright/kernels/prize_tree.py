"""Prize-collecting Steiner trees: a tree with a high sum of prizes minus edge costs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from graphwright.kernels.compiled import kernel, subkernel
from graphwright.kernels.csr import Floats, Ids, node_ids, readonly, same_length

Part = tuple[list[int], list[int]]
_EPSILON = 1e-9  # rounding error of a used-up prize


@subkernel
def _next_edge(
    heads: Ids, tails: Ids, costs: Floats, open_edges: Ids, count: int, cluster: Ids, room: Floats, depth: Floats
) -> tuple[int, float, int]:
    """Return the edge filled next or -1, the time until then, and the open edges, without those in a cluster."""
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


@subkernel
def _pass(time: float, cluster: Ids, room: Floats, depth: Floats) -> None:
    """Grow all clusters by a time; a cluster stops when its prizes are used up."""
    for v in range(cluster.size):
        if room[cluster[v]] > 0.0:
            depth[v] += time
    for v in range(cluster.size):
        if cluster[v] == v and room[v] > 0.0:
            room[v] = room[v] - time if room[v] - time > _EPSILON else 0.0


@kernel
def _grow(
    heads: Ids, tails: Ids, costs: Floats, room: Floats, depth: Floats, cluster: Ids, open_edges: Ids, chosen: Ids
) -> int:
    """Write the edges that join clusters into `chosen`, in the order filled; return their number.

    A cluster is identified by its smallest node, with the room left for its moat in `room`: initially its prize.
    `depth` is zero at first, `cluster` and `open_edges` number the nodes and the edges.
    """
    size, count = 0, heads.size
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
            for v in range(cluster.size):
                if cluster[v] == b:
                    cluster[v] = a
            chosen[size] = edge
            size += 1


def _best_part(n: int, links: dict[int, list[tuple[int, int]]], costs: list[float], prizes: list[float]) -> Part:
    """Return the nodes and edges of a forest's connected part with the highest worth.

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
    prize until its prize is used up. Where moats fill an edge, their clusters merge and share the unused prizes. Growth
    ends when at most one cluster grows. The strong pruning of Johnson, Minkoff and Phillips (2000) selects the part of
    the highest worth. Equal times by smaller edge, equal worth by smaller node.

    `heads`, `tails`: the ends of each edge, int[m], walked either way; `costs`: float[m], `prizes`: float[n], 0 or
    more. Returns ascending node ids and edge numbers; both empty if no node has a prize. At most O(n (n + m)).
    Raises ValueError for an end that is not a node, lengths that differ, or an invalid amount.

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
    cluster, open_edges = np.arange(n, dtype=np.int32), np.arange(heads.size, dtype=np.int32)
    size = _grow(heads, tails, costs, prizes.copy(), np.zeros(n), cluster, open_edges, forest)
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
