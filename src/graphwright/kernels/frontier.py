"""Nodes next to a ranked list, scored by similarity and structure (STeX), and smoothing among neighbours (GRanker)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.kernels.csr import Floats, Ids, Pointers, kernel, node_ids, readonly, workspace

__all__ = ["Around", "products", "smooth"]

Singles = NDArray[np.float32]
_SUMS = 64  # a constant, so that loops over it are vectorised


@kernel
def _place(v: int, place_of: Ids, met: Ids, begins: Pointers, size: int) -> int:
    """Return the place of node v in `met[:size]`, adding it at `size` where it is new."""
    at = int(place_of[v])
    if at < size and met[at] == v:  # `place_of` is arbitrary for a new node
        return at
    place_of[v], met[size], begins[size] = size, v, -1
    return size


@kernel
def _meet(
    indptr: Pointers, neighbours: Ids, ranked: Ids, place_of: Ids, met: Ids, begins: Pointers, near: Ids, used: Pointers
) -> None:
    """Add the nodes of `ranked` and their neighbours to `met`, and the places of each node's neighbours to `near`.

    The neighbours of the node at place p begin at `begins[p]`, -1 until it is ranked. `used` holds the lengths of `met`
    and `near`; it is written last, so that an interrupted call leaves no entries.
    """
    size, end = used
    for i in range(ranked.size):
        v = ranked[i]
        p = _place(v, place_of, met, begins, size)
        size = max(size, p + 1)
        if begins[p] < 0:
            begins[p] = end
            for j in range(indptr[v], indptr[v + 1]):
                near[end] = _place(neighbours[j], place_of, met, begins, size)
                size = max(size, near[end] + 1)
                end += 1
    used[0], used[1] = size, end


@kernel
def _keep(scores: Floats, nodes: Ids, size: int, score: float, node: int) -> int:
    """Insert a node into the heap of the best, the worst on top, of fixed capacity; return its size.

    Of equal scores that of the larger id is worse.
    """
    if size < scores.size:
        at = size
        while at > 0:
            above = (at - 1) // 2
            if score > scores[above] or (score == scores[above] and node < nodes[above]):
                break
            scores[at], nodes[at] = scores[above], nodes[above]
            at = above
        scores[at], nodes[at] = score, node
        return size + 1
    at = 0
    while 2 * at + 1 < size:
        worst = 2 * at + 1
        other = min(worst + 1, size - 1)
        if scores[other] < scores[worst] or (scores[other] == scores[worst] and nodes[other] > nodes[worst]):
            worst = other
        if score < scores[worst] or (score == scores[worst] and node > nodes[worst]):
            break
        scores[at], nodes[at] = scores[worst], nodes[worst]
        at = worst
    scores[at], nodes[at] = score, node
    return size


@kernel
def _score(
    indptr: Pointers,
    ranked: Ids,
    place_of: Ids,
    met: Ids,
    begins: Pointers,
    near: Ids,
    similar: Floats,
    beta: float,
    nodes: Ids,
) -> Floats:
    """Write the best nodes next to `ranked`, not in it and not NaN in `similar`, to `nodes`; return their scores.

    The list is visited in rank order, so the first rank that reaches a node is its best. A node next to one node of
    the list needs no degree: there |A(n)| - 1 is 0.
    """
    best, counts = np.zeros(similar.size, np.int32), np.zeros(similar.size, np.int32)
    for i in range(ranked.size):
        p = place_of[ranked[i]]
        for j in range(begins[p], begins[p] + indptr[ranked[i] + 1] - indptr[ranked[i]]):
            if best[near[j]] == 0:
                best[near[j]] = i + 1
            counts[near[j]] += 1
    for i in range(ranked.size):
        best[place_of[ranked[i]]] = 0
    size, scores = 0, np.empty(nodes.size)
    for p in range(similar.size):
        if best[p] == 0 or np.isnan(similar[p]) or nodes.size == 0:
            continue
        structure = 0.0
        if ranked.size > 1:
            structure = 1.0 - (best[p] - 1.0) / (ranked.size - 1.0)
        if counts[p] > 1:
            degree = indptr[met[p] + 1] - indptr[met[p]]
            structure += (counts[p] - 1.0) / (min(degree, ranked.size) - 1.0)
        score = similar[p] + beta * structure
        if size < nodes.size or score > scores[0] or (score == scores[0] and met[p] < nodes[0]):
            size = _keep(scores, nodes, size, score, met[p])
    return scores[:size]


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
    4 bytes a node of the graph (mapped when touched), 20 for each node met and 4 for each edge of the ranked nodes, up
    to twice that as it grows. For one thread.

    >>> from graphwright.kernels.csr import undirected
    >>> around = Around(*undirected(5, [0, 1, 2, 3, 0], [1, 2, 3, 4, 3]))
    >>> [part.tolist() for part in around.scores([2, 0], lambda nodes: nodes / 8)]
    [[1, 3], [2.125, 2.375]]
    """

    def __init__(self, indptr: Pointers, neighbours: Ids) -> None:
        self._indptr, self._neighbours = readonly(indptr, np.int64), readonly(neighbours, np.int32)
        self._place_of: Ids = np.zeros(indptr.size - 1, np.int32)
        self._met: Ids = np.empty(0, np.int32)
        self._begins: Pointers = np.empty(0, np.int64)
        self._near: Ids = np.empty(0, np.int32)
        self._used: Pointers = np.zeros(2, np.int64)
        self._similar: Floats = np.empty(0)
        self._known = 0  # number of nodes of `_met` with an entry in `_similar`

    def forget(self) -> None:
        """Clear the caches, for another similarity."""
        self._used[:], self._known = 0, 0

    def scores(
        self,
        ranked: ArrayLike,
        similarity: Callable[[NDArray[np.int64]], ArrayLike],
        beta: float = 1.0,
        k: int | None = None,
    ) -> tuple[Ids, Floats]:
        """Return the k best (all, if None) of the nodes that are next to a list and not in it, and their scores.

        S(n) = similarity + β I(n), where I(n) = 1 - (best - 1)/(R - 1) if R > 1, plus (c - 1)/(C - 1) if C > 1: the
        list has R distinct nodes, c of them next to n, the best of those at rank `best` from 1, and C = min(deg(n), R)
        (FastInsight, Algorithm 3). The nodes are int32, each once, unsorted, the scores float64; of equal scores that
        of the smaller id is better.
        `similarity` maps nodes, int64[m], to float64[m], NaN to leave a node out; it is called for new nodes only.
        The cost is that of the new nodes, and little for each edge of `ranked` and each node met.
        Raises ValueError for an id that is not a node.
        """
        ids = node_ids(ranked, self._place_of.size, "ranked")
        size = self._meet(ids)
        self._compare(similarity, size)
        similar = readonly(self._similar[:size], np.float64)
        nodes = np.empty(size if k is None else min(size, max(k, 0)), np.int32)
        scores = _score(
            self._indptr, ids, self._place_of, self._met, self._begins, self._near, similar, float(beta), nodes
        )  # fmt: skip
        return nodes[: scores.size], scores

    def _compare(self, similarity: Callable[[NDArray[np.int64]], ArrayLike], size: int) -> None:
        new = self._met[self._known : size].astype(np.int64)
        if new.size:
            values = np.asarray(similarity(new), np.float64)
            if values.shape != new.shape:
                raise ValueError(
                    f"similarity gave shape {values.shape} for {new.size} nodes. Return one number for each."
                )
            self._similar = _room(self._similar, size)
            self._similar[self._known : size] = values
            self._known = size

    def _meet(self, ids: Ids) -> int:
        size, end = self._used.tolist()
        degrees = int((self._indptr[ids + 1] - self._indptr[ids]).sum())
        self._met = _room(self._met, size + degrees + ids.size)
        self._begins = _room(self._begins, size + degrees + ids.size)
        self._near = _room(self._near, end + degrees)
        _meet(
            self._indptr, self._neighbours, ids, self._place_of, self._met, self._begins, self._near, self._used
        )  # fmt: skip
        return int(self._used[0])


def _room(array: NDArray[Any], size: int) -> NDArray[Any]:
    """Return the array, or a copy of at least twice its length where it is shorter than `size`."""
    if len(array) >= size:
        return array
    longer = np.empty(max(size, 2 * len(array)), array.dtype)
    longer[: len(array)] = array
    return longer


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
