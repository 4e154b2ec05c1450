"""Around a ranked list of nodes: who is next to it, how near in meaning, and what neighbours say of each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.kernels.compiled import Floats, Ids, Pointers, kernel, node_ids, readonly, workspace

__all__ = ["Around", "frontier", "products", "smooth"]

Singles = NDArray[np.float32]
_SUMS = 64  # a constant, or loops over it are compiled to slower code


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
def _place(v: int, place_of: Ids, met: Ids, begins: Pointers, size: int) -> int:
    """Return where node v stands in `met[:size]`; where it does not, put it at `size`."""
    at = int(place_of[v])
    if at < size and met[at] == v:  # of a node that was not met, `place_of` says anything
        return at
    place_of[v], met[size], begins[size] = size, v, -1
    return size


@kernel
def _meet(
    indptr: Pointers, neighbours: Ids, ranked: Ids, place_of: Ids, met: Ids, begins: Pointers, near: Ids, used: Pointers
) -> None:
    """Add to `met` the nodes of `ranked` and those next to them, and to `near` the places of each one's neighbours.

    Those of the node at place p begin at `begins[p]`, -1 until it is ranked. `used` are the lengths of `met` and
    `near`: written last, so that what an earlier call wrote beyond them does not count.
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
    """Put a node among the best, a heap with the worst on top, of as many as there is room; return how many there are.

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
    """Write the best nodes next to `ranked`, not in it and not NaN in `similar` to `nodes`; return their scores.

    Ranks are met in order, so the first that reaches a node is its best. A node next to one of the list only needs no
    degree: there |A(n)| - 1 is 0.
    """
    best, held = np.zeros(similar.size, np.int32), np.zeros(similar.size, np.int32)
    for i in range(ranked.size):
        p = place_of[ranked[i]]
        for j in range(begins[p], begins[p] + indptr[ranked[i] + 1] - indptr[ranked[i]]):
            if best[near[j]] == 0:
                best[near[j]] = i + 1
            held[near[j]] += 1
    for i in range(ranked.size):
        best[place_of[ranked[i]]] = 0
    size, scores = 0, np.empty(nodes.size)
    for p in range(similar.size):
        if best[p] == 0 or np.isnan(similar[p]) or nodes.size == 0:
            continue
        structure = 0.0
        if ranked.size > 1:
            structure = 1.0 - (best[p] - 1.0) / (ranked.size - 1.0)
        if held[p] > 1:
            degree = indptr[met[p] + 1] - indptr[met[p]]
            structure += (held[p] - 1.0) / (min(degree, ranked.size) - 1.0)
        score = similar[p] + beta * structure
        if size < nodes.size or score > scores[0] or (score == scores[0] and met[p] < nodes[0]):
            size = _keep(scores, nodes, size, score, met[p])
    return scores[:size]


@kernel
def _products(table: Singles, rows: Ids, query: Singles, out: Singles) -> None:
    """Write each row's product.

    The sums of a row are added up in one order, so its product has the same bits whichever rows come with it.
    """
    sums = np.empty(_SUMS, np.float32)
    whole = query.size - query.size % _SUMS
    for first in range(0, rows.size, 8):
        last = min(first + 8, rows.size)
        # Far rows are slow to come: a number of each cache line is asked for, so that all are on their way at once.
        asked = np.float32(0.0)
        for i in range(first, last):
            for j in range(0, query.size, 16):
                asked += table[rows[i], j]
        out[first] = asked
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
    """Write (1 - alpha) H + alpha P H, a row without neighbours as it is; leave `marks` as it was found, zero.

    Neighbours come by id, so that the sums do not depend on the order of `nodes`.
    """
    mean = np.empty(signal.shape[1], np.float64)
    likely = np.zeros(4096, np.bool_)  # by the last bits of an id: most neighbours are not among `nodes`, nor look it
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
    with scratch:
        size = _reach(readonly(indptr, np.int64), readonly(neighbours, np.int32), ids, scratch.marks, scratch.queue)
        nodes = scratch.queue[:size].copy()
        best, held = scratch.marks[nodes, 0], scratch.marks[nodes, 1]
        scratch.marks[nodes] = 0
    return nodes, best, held


class Around:
    """The nodes around those that a search retrieves: what one call finds out, the next need not.

    As a search grows, its list holds the nodes that it held before, in another order, and more. The neighbours of each
    are fetched once, and each of them is asked once how similar it is. What is found does not depend on what was asked
    before. Takes 4 bytes a node of the graph (counted when touched), 20 for each node that is met and 4 for each edge
    of those that were ranked, up to twice that as it grows. For one thread.

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
        self._told = 0  # how many of `_met` are in `_similar`

    def forget(self) -> None:
        """Begin anew, as with another similarity; costs nothing."""
        self._used[:], self._told = 0, 0

    def scores(
        self,
        ranked: ArrayLike,
        similarity: Callable[[NDArray[np.int64]], ArrayLike],
        beta: float = 1.0,
        k: int | None = None,
    ) -> tuple[Ids, Floats]:
        """Return the k best (all, if None) of the nodes that are next to a list and not in it, and their scores.

        S(n) = similarity + β I(n), where I(n) = 1 - (best - 1)/(R - 1) if R > 1, plus (held - 1)/(C - 1) if C > 1: the
        list has R distinct nodes, `held` of them next to n, the best of those at rank `best` from 1, and
        C = min(deg(n), R) (FastInsight, Algorithm 3). The nodes are int32, each once, in no order, the scores float64;
        of equal scores that of the smaller id is better.
        `similarity` gives each of some nodes, int64[m], a number, float64[m], NaN to leave it out; it is asked for
        those that were not met before.
        Costs what is met for the first time, and little for each edge of `ranked` and each node met.
        Raises ValueError for an id that is no node.
        """
        ids = node_ids(ranked, self._place_of.size, "ranked")
        size = self._meet(ids)
        self._tell(similarity, size)
        similar = readonly(self._similar[:size], np.float64)
        nodes = np.empty(size if k is None else min(size, max(k, 0)), np.int32)
        scores = _score(
            self._indptr, ids, self._place_of, self._met, self._begins, self._near, similar, float(beta), nodes
        )  # fmt: skip
        return nodes[: scores.size], scores

    def _tell(self, similarity: Callable[[NDArray[np.int64]], ArrayLike], size: int) -> None:
        new = self._met[self._told : size].astype(np.int64)
        if new.size:
            told = np.asarray(similarity(new), np.float64)
            if told.shape != new.shape:
                raise ValueError(f"similarity gave numbers of shape {told.shape} for {new.size} nodes. Give one each.")
            self._similar = _room(self._similar, size)
            self._similar[self._told : size] = told
            self._told = size

    def _meet(self, ids: Ids) -> int:
        size, end = self._used.tolist()
        most = int((self._indptr[ids + 1] - self._indptr[ids]).sum())
        self._met = _room(self._met, size + most + ids.size)
        self._begins = _room(self._begins, size + most + ids.size)
        self._near = _room(self._near, end + most)
        _meet(
            self._indptr, self._neighbours, ids, self._place_of, self._met, self._begins, self._near, self._used
        )  # fmt: skip
        return int(self._used[0])


def _room(array: NDArray[Any], size: int) -> NDArray[Any]:
    """Return the array, or a copy of at least twice its length where it has not `size` entries."""
    if len(array) >= size:
        return array
    longer = np.empty(max(size, 2 * len(array)), array.dtype)
    longer[: len(array)] = array
    return longer


def products(table: ArrayLike, rows: ArrayLike, query: ArrayLike) -> Singles:
    """Return the dot product of each of `rows`, int[m], of `table: float32[n, d]` with `query`: float32[m].

    For a few thousand rows of a large table. A row's product has the same bits whatever else is asked for.
    Raises ValueError for a row that the table does not have, or a query of another length.

    >>> products([[1, 0], [0, 1], [2, 2]], [2, 0], [0.5, 0.25]).tolist()
    [1.5, 0.5]
    """
    held, asked = readonly(table, np.float32), readonly(query, np.float32)
    if held.ndim != 2 or asked.shape != held.shape[1:]:
        raise ValueError(f"the table has shape {held.shape}, the query {asked.shape}. Pass one number per column.")
    wanted = node_ids(rows, len(held), "rows")
    out = np.empty(wanted.size, np.float32)
    _products(held, wanted, asked, out)
    return out


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
    with scratch:
        _smooth(readonly(indptr, np.int64), readonly(neighbours, np.int32), ids, rows, float(alpha), scratch.marks, out)
    return out
