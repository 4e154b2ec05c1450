"""Prize-collecting Steiner trees by the growth of Goemans and Williamson and strong pruning."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from graphwright.kernels.csr import Floats, Ids, kernel, node_ids, readonly

__all__ = ["prize_tree"]

_EPSILON = 1e-9  # rounding error of a used-up prize


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


@kernel
def _walk(heads: Ids, tails: Ids, forest: Ids, order: Ids, via: Ids) -> None:
    """Write the nodes of a forest into `order`, each after its parent, and the edge to its parent into `via`."""
    n = order.size
    indptr = np.zeros(n + 2, np.int64)
    for edge in forest:
        indptr[heads[edge] + 2] += 1
        indptr[tails[edge] + 2] += 1
    indptr = np.cumsum(indptr)
    rows = np.empty(2 * forest.size, np.int32)
    for edge in forest:
        for v in (heads[edge], tails[edge]):
            rows[indptr[v + 1]] = edge
            indptr[v + 1] += 1
    seen = np.zeros(n, np.uint8)
    size, head = 0, 0
    for start in range(n):
        if seen[start] == 0:
            seen[start], order[size], via[start] = 1, start, -1
            size += 1
        while head < size:
            v = order[head]
            head += 1
            for edge in rows[indptr[v] : indptr[v + 1]]:
                u = tails[edge] if heads[edge] == v else heads[edge]
                if seen[u] == 0:
                    seen[u], order[size], via[u] = 1, u, edge
                    size += 1


@kernel
def _best_part(heads: Ids, tails: Ids, costs: Floats, prizes: Floats, order: Ids, via: Ids, selected: Ids) -> int:
    """Write 1 into `selected` for the nodes of the connected part of the highest worth; return its top.

    A node's worth is its prize plus the worth of each child beyond the cost of the edge to it.
    """
    worth = prizes.copy()
    for i in range(order.size - 1, -1, -1):
        v = order[i]
        if via[v] >= 0 and worth[v] > costs[via[v]]:
            above = tails[via[v]] if heads[via[v]] == v else heads[via[v]]
            worth[above] += worth[v] - costs[via[v]]
    top = int(np.argmax(worth))
    selected[top] = 1
    for v in order:
        if via[v] >= 0 and worth[v] > costs[via[v]] and v != top:
            selected[v] |= selected[tails[via[v]] if heads[via[v]] == v else heads[via[v]]]
    return top


def prize_tree(n: int, heads: ArrayLike, tails: ArrayLike, costs: ArrayLike, prizes: ArrayLike) -> tuple[Ids, Ids]:
    """Return the nodes and edges of a tree with a high sum of prizes minus edge costs (approximate).

    The growth of Goemans and Williamson (1995), without a root as in G-Retriever: a moat grows around each node with a
    prize, all at the same rate, until its prize is used up; where moats fill an edge, their clusters merge and share
    the unused prizes; growth ends when at most one cluster grows. Of the forest of these edges the connected part of
    the highest worth is selected, by the strong pruning of Johnson, Minkoff and Phillips (2000). Equal times by smaller
    edge, equal worth by smaller node.

    `heads`, `tails`: the ends of each edge, int[m], walked either way; `costs`: float[m], `prizes`: float[n], 0 or
    more. Returns ascending node ids and edge numbers; both empty if no node has a prize. At most O(n (n + m)), meant
    for a neighbourhood: 3 ms for 500 nodes and 3,000 edges.
    Raises ValueError for an end that is not a node, lengths that differ, or an amount that is negative or not finite.

    >>> nodes, edges = prize_tree(4, [0, 1, 2], [1, 2, 3], [0.5, 0.5, 0.5], [3, 0, 2, 0.4])
    >>> nodes.tolist(), edges.tolist()
    ([0, 1, 2], [0, 1])
    """
    heads, tails = node_ids(heads, n, "heads"), node_ids(tails, n, "tails")
    costs, prizes = _amounts(costs, heads.size, "costs"), _amounts(prizes, n, "prizes")
    if heads.size != tails.size:
        raise ValueError(f"heads holds {heads.size} nodes and tails {tails.size}. Pass one of each per edge.")
    if not prizes.any():
        return np.empty(0, np.int32), np.empty(0, np.int32)
    chosen = np.empty(n, np.int32)
    size = _grow(heads, tails, costs, prizes.copy(), chosen)
    order, via, selected = np.empty(n, np.int32), np.empty(n, np.int32), np.zeros(n, np.int32)
    _walk(heads, tails, chosen[:size], order, via)
    top = _best_part(heads, tails, costs, prizes, order, via, selected)
    nodes = np.flatnonzero(selected).astype(np.int32)
    return nodes, np.sort(via[nodes[nodes != top]])


def _amounts(values: ArrayLike, count: int, what: str) -> Floats:
    amounts = readonly(values, np.float64)
    if amounts.shape != (count,):
        raise ValueError(f"{what} has shape {amounts.shape}; pass {count}, one for each.")
    if not (np.isfinite(amounts) & (amounts >= 0)).all():
        raise ValueError(f"{what} has a negative or infinite value (minimum {amounts.min()}). Pass numbers, 0 or more.")
    return amounts
