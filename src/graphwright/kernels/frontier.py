"""Around a ranked list of nodes: who is next to it, how near in meaning, and what neighbours say of each other."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.kernels.compiled import Floats, Ids, Pointers, kernel, node_ids, readonly
from graphwright.kernels.workspace import release, workspace

__all__ = ["Products", "frontier", "smooth", "structure"]

Singles = NDArray[np.float32]


@kernel
def _reach(indptr: Pointers, neighbours: Ids, ranked: Ids, marks: Ids, queue: Ids) -> int:
    """Write the nodes next to `ranked` into `queue`; mark each with its best rank and with how many it is next to.

    Ranks are met in order, so the first that reaches a node is its best. `ranked` itself is marked -1.
    """
    for i in range(ranked.size):
        marks[ranked[i], 0] = -1
    size = 0
    for i in range(ranked.size):
        v = ranked[i]
        for j in range(indptr[v], indptr[v + 1]):
            u = neighbours[j]
            if marks[u, 0] == 0:
                marks[u, 0] = i + 1
                queue[size] = u
                size += 1
            marks[u, 1] += 1
    for i in range(ranked.size):
        marks[ranked[i], 0] = 0
        marks[ranked[i], 1] = 0
    return size


@kernel
def _structure(indptr: Pointers, nodes: Ids, best: Ids, held: Ids, count: int, out: Floats) -> None:
    """Write each node's I_Struct."""
    for i in range(nodes.size):
        score = 0.0
        if count > 1:
            score = 1.0 - (best[i] - 1.0) / (count - 1.0)
        most = min(indptr[nodes[i] + 1] - indptr[nodes[i]], count)
        if most > 1:
            score += (held[i] - 1.0) / (most - 1.0)
        out[i] = score


@kernel
def _new(rows: Ids, seen: Ids, tick: int, out: Ids) -> int:
    """Write those of `rows` that were not seen at this tick, each once, and mark them; return how many."""
    size = 0
    for i in range(rows.size):
        if seen[rows[i]] != tick:
            seen[rows[i]] = tick
            out[size] = rows[i]
            size += 1
    return size


@kernel
def _dot_rows(table: Singles, rows: Ids, query: Singles, out: Singles) -> None:
    """Write each row's product to `out`, by row.

    Four rows side by side, since far rows are slow to come, and four sums for each. The order of additions is the
    same for each row, so its product has the same bits whichever rows come with it.
    """
    width = query.size
    whole = width - width % 4
    for i in range(0, rows.size, 4):
        last = rows.size - 1
        r, s, t, u = rows[i], rows[min(i + 1, last)], rows[min(i + 2, last)], rows[min(i + 3, last)]
        p0 = p1 = p2 = p3 = q0 = q1 = q2 = q3 = np.float32(0.0)
        v0 = v1 = v2 = v3 = w0 = w1 = w2 = w3 = np.float32(0.0)
        for j in range(0, whole, 4):
            a, b, c, d = query[j], query[j + 1], query[j + 2], query[j + 3]
            p0, p1 = p0 + table[r, j] * a, p1 + table[r, j + 1] * b
            p2, p3 = p2 + table[r, j + 2] * c, p3 + table[r, j + 3] * d
            q0, q1 = q0 + table[s, j] * a, q1 + table[s, j + 1] * b
            q2, q3 = q2 + table[s, j + 2] * c, q3 + table[s, j + 3] * d
            v0, v1 = v0 + table[t, j] * a, v1 + table[t, j + 1] * b
            v2, v3 = v2 + table[t, j + 2] * c, v3 + table[t, j + 3] * d
            w0, w1 = w0 + table[u, j] * a, w1 + table[u, j + 1] * b
            w2, w3 = w2 + table[u, j + 2] * c, w3 + table[u, j + 3] * d
        for j in range(whole, width):
            a = query[j]
            p0, q0 = p0 + table[r, j] * a, q0 + table[s, j] * a
            v0, w0 = v0 + table[t, j] * a, w0 + table[u, j] * a
        out[r], out[s] = (p0 + p1) + (p2 + p3), (q0 + q1) + (q2 + q3)
        out[t], out[u] = (v0 + v1) + (v2 + v3), (w0 + w1) + (w2 + w3)


@kernel
def _smooth(
    indptr: Pointers, neighbours: Ids, nodes: Ids, signal: Singles, alpha: float, marks: Ids, out: Singles
) -> None:
    """Write (1 - alpha) H + alpha P H, a row without neighbours as it is; leave `marks` as it was found, zero.

    Neighbours come by id, so that the sums do not depend on the order of `nodes`.
    """
    mean = np.empty(signal.shape[1], np.float64)
    for i in range(nodes.size):
        marks[nodes[i], 0] = i + 1
    for i in range(nodes.size):
        total = 0.0
        mean[:] = 0.0
        for j in range(indptr[nodes[i]], indptr[nodes[i] + 1]):
            u = neighbours[j]
            place = marks[u, 0]
            if place:
                weight = 1.0 / (indptr[u + 1] - indptr[u])
                total += weight
                row = signal[place - 1]
                for column in range(mean.size):
                    mean[column] += weight * row[column]
        share = alpha / total if total else 0.0
        kept = 1.0 - alpha if total else 1.0
        for column in range(mean.size):
            out[i, column] = kept * signal[i, column] + share * mean[column]
    for i in range(nodes.size):
        marks[nodes[i], 0] = 0


def frontier(indptr: Pointers, neighbours: Ids, ranked: ArrayLike) -> tuple[Ids, Ids, Ids]:
    """Return the nodes that are next to a list of distinct nodes and not in it.

    Returns `nodes`, each once, in the order in which they are met; `best`, the rank (from 1) of the first node of
    the list that each is next to; and `held`, how many of the list each is next to: three of int32, equally long.
    The cost is proportional to the edges of `ranked`.
    Raises ValueError for an id that is no node.

    >>> from graphwright.kernels.csr import undirected
    >>> [part.tolist() for part in frontier(*undirected(5, [0, 1, 2, 3, 0], [1, 2, 3, 4, 3]), [2, 0])]
    [[1, 3], [1, 1], [2, 2]]
    """
    n = indptr.size - 1
    ids, scratch = node_ids(ranked, n, "ranked"), workspace(n)
    try:
        size = _reach(readonly(indptr, np.int64), readonly(neighbours, np.int32), ids, scratch.marks, scratch.queue)
        nodes = scratch.queue[:size].copy()
        best, held = scratch.marks[nodes, 0], scratch.marks[nodes, 1]
        scratch.marks[nodes] = 0
    except BaseException:
        release()  # an interrupt leaves marks behind
        raise
    return nodes, best, held


def structure(indptr: Pointers, nodes: Ids, best: Ids, held: Ids, count: int) -> Floats:
    """Return how well each node that `frontier` found is placed: float64, from 0 to 2.

    I(n) = 1 - (best - 1)/(R - 1) if R > 1, plus (held - 1)/(C - 1) if C > 1, where R = `count` is how many nodes were
    listed and C = min(deg(n), R): near to the best, and between many (FastInsight, Algorithm 3, lines 3 to 12).

    >>> from graphwright.kernels.csr import undirected
    >>> square = undirected(5, [0, 1, 2, 3, 0], [1, 2, 3, 4, 3])
    >>> structure(square[0], *frontier(*square, [2, 0]), 2).tolist()
    [2.0, 2.0]
    """
    out = np.empty(nodes.size)
    ids, ranks, shares = (readonly(part, np.int32) for part in (nodes, best, held))
    _structure(readonly(indptr, np.int64), ids, ranks, shares, count, out)
    return out


class Products(threading.local):
    """Dot products of the rows of one table with a query, each worked out once while the query stays the same.

    For a few thousand rows of a large memory-mapped table, asked for again and again as a search grows: a call costs
    what it touches for the first time. A row's product has the same bits whatever else is asked for, and when.
    Each thread has its own, of 8 bytes a row at most, counted when touched.

    >>> products = Products()
    >>> products.of([[1, 0], [0, 1], [2, 2]], [2, 0], [0.5, 0.25]).tolist()
    [1.5, 0.5]
    """

    def __init__(self) -> None:
        self.table: Singles = np.empty((0, 0), np.float32)
        self.query: Singles = np.empty(0, np.float32)
        self.tick = 0
        self.seen: NDArray[np.int32] = np.empty(0, np.int32)
        self.known: Singles = np.empty(0, np.float32)

    def of(self, table: ArrayLike, rows: ArrayLike, query: ArrayLike) -> Singles:
        """Return the products of `rows`, int, with `query`, float32[d]: float32, one for each row.

        `table: float32[n, d]`. Raises ValueError for a row that it does not have, or a query of another length.
        """
        held, asked = readonly(table, np.float32), readonly(query, np.float32)
        if held.ndim != 2 or asked.shape != held.shape[1:]:
            raise ValueError(f"the table has shape {held.shape}, the query {asked.shape}. Pass one number per column.")
        wanted = node_ids(rows, len(held), "rows")
        self._begin(held, asked)
        new = np.empty(wanted.size, np.int32)
        tick, self.tick = self.tick, 0  # should this be interrupted, nothing is taken for known
        size = _new(wanted, self.seen, tick, new)
        _dot_rows(held, readonly(new[:size], np.int32), asked, self.known)
        self.tick = tick
        return self.known[wanted]

    def _begin(self, table: Singles, query: Singles) -> None:
        """Forget, where the table or the query is another one."""
        same = self.table.shape == table.shape and self.table.ctypes.data == table.ctypes.data
        if not same or self.tick in (0, 2**31 - 1):
            self.seen, self.known, self.tick = np.zeros(len(table), np.int32), np.empty(len(table), np.float32), 1
        elif self.query.tobytes() != query.tobytes():
            self.tick += 1
        self.table, self.query = table, query.copy()


def smooth(indptr: Pointers, neighbours: Ids, nodes: ArrayLike, signal: ArrayLike, alpha: float) -> Singles:
    """Return rows of numbers, each drawn towards those of the node's neighbours among `nodes`.

    H' = (1 - α) H + α P H, with W_ij = 1/deg(j) where nodes i and j are neighbours, else 0, and P the rows of W
    divided by their sums (FastInsight, Algorithm 2, lines 2 to 6; one gradient step on the Laplacian-regularised
    objective). deg counts all neighbours in the graph, whether among `nodes` or not. A node without a neighbour
    among them keeps its row, for which line 5 would divide by zero.

    `nodes` are distinct, in any order; `signal: float32[len(nodes), h]`; returns the same shape.
    Raises ValueError for an id that is no node or repeated, or where nodes and rows are not equally many.

    >>> from graphwright.kernels.csr import undirected
    >>> smooth(*undirected(3, [0], [1]), [1, 0, 2], [[1.0], [0.0], [5.0]], 0.25).tolist()
    [[0.75], [0.25], [5.0]]
    """
    n = indptr.size - 1
    ids, rows = node_ids(nodes, n, "nodes"), readonly(signal, np.float32)
    if rows.ndim != 2 or len(rows) != ids.size:
        raise ValueError(f"there are {ids.size} nodes and rows of shape {rows.shape}. Pass one row per node.")
    if len(set(ids.tolist())) < ids.size:
        raise ValueError(f"nodes holds {ids.size - len(set(ids.tolist()))} repeats. Pass each node once.")
    out, scratch = np.empty(rows.shape, np.float32), workspace(n)
    try:
        _smooth(readonly(indptr, np.int64), readonly(neighbours, np.int32), ids, rows, float(alpha), scratch.marks, out)
    except BaseException:
        release()
        raise
    return out
