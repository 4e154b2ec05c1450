"""Nodes next to a ranked list, scored by similarity and structure (STeX), and smoothing among neighbours (GRanker)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.kernels.csr import Floats, Ids, Pointers, kernel, node_ids, readonly, workspace
from graphwright.kernels.ranking import kth

__all__ = ["Around", "products", "smooth"]

Singles = NDArray[np.float32]
_SUMS = 64  # a constant, so that loops over it are vectorised


@kernel
def _products(table: Singles, rows: Ids, query: Singles, out: Singles) -> None:
    """Write the dot product of each row with `query`.

    The terms of a row are added in one order, so its product does not depend on the other rows.
    """
    sums = np.empty(_SUMS, np.float32)
    whole = query.size - query.size % _SUMS
    for first in range(0, rows.size, 8):
        last = min(first + 8, rows.size)
        # Touch each cache line of the next rows first, so that they are fetched in parallel.
        touched = np.float32(0.0)
        for i in range(first, last):
            for j in range(0, query.size, 16):
                touched += table[rows[i], j]
        out[first] = touched  # keeps the loop from being removed
        for i in range(first, last):
            row = table[rows[i]]
            sums[:] = 0.0
            for j in range(0, whole, _SUMS):
                for lane in range(_SUMS):
                    sums[lane] += row[j + lane] * query[j + lane]
            for j in range(whole, query.size):
                sums[j - whole] += row[j] * query[j]
            total = np.float32(0.0)
            for lane in range(_SUMS):
                total += sums[lane]
            out[i] = total


@kernel
def _smooth(
    indptr: Pointers, neighbours: Ids, nodes: Ids, signal: Singles, alpha: float, marks: Ids, out: Singles
) -> None:
    """Write (1 - alpha) H + alpha P H, and copy rows without neighbours; `marks` is zero before and after.

    Neighbours are visited by id, so the sums do not depend on the order of `nodes`.
    """
    mean = np.empty(signal.shape[1], np.float64)
    likely = np.zeros(4096, np.bool_)  # a filter by the last bits of an id: most neighbours are not among `nodes`
    for i in range(nodes.size):
        marks[nodes[i], 0] = i + 1
        likely[nodes[i] & 4095] = True
    for i in range(nodes.size):
        total = 0.0
        mean[:] = 0.0
        for j in range(indptr[nodes[i]], indptr[nodes[i] + 1]):
            u = neighbours[j]
            if likely[u & 4095] and marks[u, 0]:
                weight = 1.0 / (indptr[u + 1] - indptr[u])
                total += weight
                row = signal[marks[u, 0] - 1]
                for column in range(mean.size):
                    mean[column] += weight * row[column]
        share = alpha / total if total else 0.0
        own = 1.0 - alpha if total else 1.0
        for column in range(mean.size):
            out[i, column] = own * signal[i, column] + share * mean[column]
    for i in range(nodes.size):
        marks[nodes[i], 0] = 0


class Around:
    """The nodes next to a growing ranked list, with neighbours and similarities cached between calls.

    As a search grows, its list holds the earlier nodes in another order, and more. The neighbours of each node are
    fetched once, and the similarity of each neighbour is computed once. Results do not depend on earlier calls. Takes
    4 bytes a node of the graph (mapped when touched), 12 for each node met and 8 for each edge of the ranked nodes. For
    one thread.

    >>> from graphwright.kernels.csr import undirected
    >>> around = Around(*undirected(5, [0, 1, 2, 3, 0], [1, 2, 3, 4, 3]))
    >>> [part.tolist() for part in around.scores([2, 0], lambda nodes: nodes / 8)]
    [[3, 1], [2.375, 2.125]]
    """

    def __init__(self, indptr: Pointers, neighbours: Ids) -> None:
        self._indptr, self._neighbours = indptr, neighbours
        self._place_of: Ids = np.zeros(indptr.size - 1, np.int32)  # 1 + the place of a node in `_met`, 0 for none
        self._met = np.empty(0, np.int64)  # the neighbours of ranked nodes, in the order met
        self._similar: Floats = np.empty(0)  # of the nodes met, shorter after an interrupted call
        self._near: dict[int, NDArray[np.int64]] = {}  # places of the neighbours of each node ranked so far

    def scores(
        self,
        ranked: ArrayLike,
        similarity: Callable[[NDArray[np.int64]], ArrayLike],
        beta: float = 1.0,
        k: int | None = None,
    ) -> tuple[NDArray[np.int64], Floats]:
        """Return the k best (all, if None) of the nodes that are next to a list and not in it, and their scores.

        S(n) = similarity + β I(n), where I(n) = 1 - (best - 1)/(R - 1) if R > 1, plus (c - 1)/(C - 1) if C > 1: the
        list has R distinct nodes, c of them next to n, the best of those at rank `best` from 1, and C = min(deg(n), R)
        (FastInsight, Algorithm 3). Returns nodes, int64, and scores, float64, higher score first, then smaller id.
        `similarity` maps nodes, int64[m], to float64[m], NaN to leave a node out; it is called for new nodes only.
        The cost is that of the new nodes, and little for each edge of `ranked` and each node met.
        Raises ValueError for an id that is not a node.
        """
        ids = node_ids(ranked, self._place_of.size, "ranked")
        near = [self._neighbours_of(node) for node in ids.tolist()]
        self._compare(similarity)
        places, ranks = (
            np.concatenate([np.empty(0, np.int64), *near]),
            np.repeat(np.arange(ids.size), [*map(len, near)]),
        )
        best = np.empty(self._met.size, np.int64)
        best[places[::-1]] = ranks[::-1]  # the last entry written counts: the best rank
        counts = np.bincount(places, minlength=self._met.size)
        counts[self._place_of[ids[self._place_of[ids] > 0]] - 1] = 0  # nodes of the list
        new = np.flatnonzero((counts > 0) & ~np.isnan(self._similar))
        nodes, count = self._met[new], counts[new]
        structure = 1.0 - best[new] / (ids.size - 1.0) if ids.size > 1 else np.zeros(new.size)
        several = count > 1  # a node next to one node of the list needs no degree
        degree = np.minimum(self._indptr[nodes + 1] - self._indptr[nodes], ids.size)[several]
        structure[several] += (count[several] - 1.0) / (degree - 1.0)
        scores = self._similar[new] + beta * structure
        if k is not None and 0 < k < scores.size:
            leading = scores >= kth(scores, k)
            nodes, scores = nodes[leading], scores[leading]
        order = np.lexsort((nodes, -scores))[:k]
        return nodes[order], scores[order]

    def _neighbours_of(self, node: int) -> NDArray[np.int64]:
        """Return the places of a node's neighbours, adding the new ones to those met."""
        if node not in self._near:
            row = self._neighbours[self._indptr[node] : self._indptr[node + 1]]
            new = row[self._place_of[row] == 0]
            self._place_of[new] = np.arange(self._met.size, self._met.size + new.size) + 1
            self._met = np.concatenate((self._met, new))
            self._near[node] = self._place_of[row].astype(np.int64) - 1
        return self._near[node]

    def _compare(self, similarity: Callable[[NDArray[np.int64]], ArrayLike]) -> None:
        new = self._met[self._similar.size :]
        if new.size:
            values = np.asarray(similarity(new), np.float64)
            if values.shape != new.shape:
                raise ValueError(
                    f"similarity gave shape {values.shape} for {new.size} nodes. Return one number for each."
                )
            self._similar = np.concatenate((self._similar, values))


def products(table: ArrayLike, rows: ArrayLike, query: ArrayLike) -> Singles:
    """Return the dot product of each of `rows`, int[m], of `table: float32[n, d]` with `query`: float32[m].

    For a few thousand rows of a large table. A row's product does not depend on the other rows, to the last bit.
    Raises ValueError for a row that the table does not have, or a query of another length.

    >>> products([[1, 0], [0, 1], [2, 2]], [2, 0], [0.5, 0.25]).tolist()
    [1.5, 0.5]
    """
    matrix, vector = readonly(table, np.float32), readonly(query, np.float32)
    if matrix.ndim != 2 or vector.shape != matrix.shape[1:]:
        raise ValueError(f"the table has shape {matrix.shape}, the query {vector.shape}. Pass one number per column.")
    at = node_ids(rows, len(matrix), "rows")
    out = np.empty(at.size, np.float32)
    _products(matrix, at, vector, out)
    return out


def smooth(indptr: Pointers, neighbours: Ids, nodes: ArrayLike, signal: ArrayLike, alpha: float) -> Singles:
    """Smooth the row of each node towards the rows of its neighbours among `nodes`.

    H' = (1 - α) H + α P H, with W_ij = 1/deg(j) where nodes i and j are neighbours, else 0, and P the rows of W
    divided by their sums (FastInsight, Algorithm 2, lines 2 to 6; one gradient step on the Laplacian-regularised
    objective). deg counts all neighbours in the graph. A node without a neighbour among `nodes` keeps its row (line 5
    would divide by zero).

    `nodes` are distinct, in any order; `signal: float32[len(nodes), h]`; returns the same shape.
    Raises ValueError for an id that is not a node or is repeated, or unless there is one row for each node.

    >>> from graphwright.kernels.csr import undirected
    >>> smooth(*undirected(3, [0], [1]), [1, 0, 2], [[1.0], [0.0], [5.0]], 0.25).tolist()
    [[0.75], [0.25], [5.0]]
    """
    n = indptr.size - 1
    ids, rows = node_ids(nodes, n, "nodes"), readonly(signal, np.float32)
    if rows.ndim != 2 or len(rows) != ids.size:
        raise ValueError(f"Got rows of shape {rows.shape} for {ids.size} nodes. Pass one row per node.")
    if len(set(ids.tolist())) < ids.size:
        raise ValueError(f"nodes holds {ids.size - len(set(ids.tolist()))} repeats. Pass each node once.")
    out, scratch = np.empty(rows.shape, np.float32), workspace(n)
    with scratch:
        _smooth(readonly(indptr, np.int64), readonly(neighbours, np.int32), ids, rows, float(alpha), scratch.marks, out)
    return out
