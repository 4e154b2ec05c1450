"""Scratch arrays, and adjacency in CSR layout."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.kernels.compiled import kernel

Pointers = NDArray[np.int64]  # row pointers of a CSR array: int64[n + 1]
Ids = NDArray[np.int32]  # local node ids, 0 to n - 1: int32
Floats = NDArray[np.float64]  # weights and scores: float64
IdMatrix = np.ndarray[tuple[int, int], np.dtype[np.int32]]
FloatMatrix = np.ndarray[tuple[int, int], np.dtype[np.float64]]
SingleMatrix = np.ndarray[tuple[int, int], np.dtype[np.float32]]

_MAX_OVERSIZED = 1000  # queries after which an oversized workspace is released


def readonly(array: ArrayLike, dtype: type[np.generic]) -> NDArray[Any]:
    """Return `array` as a C-contiguous, read-only array of `dtype`, copied only where necessary, and verified."""
    plain = np.ascontiguousarray(array, dtype=dtype)
    if plain.flags.writeable:
        plain = plain.view()
        plain.flags.writeable = False
    return plain


def node_ids(ids: ArrayLike, n: int, what: str) -> Ids:
    """Return ids as read-only int32. Raises ValueError for one that is no node: kernels check no bounds."""
    wide = np.atleast_1d(np.asarray(ids))
    if wide.size and not np.issubdtype(wide.dtype, np.integer):
        raise ValueError(f"{what} has dtype {wide.dtype}. Pass node ids as integers.")
    outside = np.flatnonzero((wide < 0) | (wide >= n))
    if outside.size:
        nodes = f"the graph's nodes are 0 to {n - 1}" if n else "the graph has no nodes"
        raise ValueError(f"{what} holds {wide[outside[0]]}, but {nodes}. Pass local ids of this graph.")
    return readonly(wide, np.int32)


def same_length(name: str, size: int, other: str, other_size: int) -> None:
    """Raise ValueError if two arrays differ in length."""
    if size != other_size:
        raise ValueError(f"{name} holds {size} values and {other} {other_size}. Pass arrays of equal length.")


class Workspace:
    """Scratch arrays over the nodes of a graph, for one thread, so that no query clears an array of length n.

    `rows`, half a cache line for each node, and `marks` are all zero between queries: a kernel clears the entries that
    it touched before it returns. `order` and `queue` hold any values. So one workspace serves every graph of at most
    `size` nodes. The system maps a page when it is first written: memory depends on the nodes that queries reach.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.oversized = 0  # queries in a row
        self.rows: FloatMatrix = np.zeros((size, 4))
        self.marks: IdMatrix = np.zeros((size, 2), np.int32)
        self.order: NDArray[np.int32] = np.zeros(size, np.int32)
        self.queue: NDArray[np.int32] = np.zeros(size, np.int32)

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:  # an error or interrupt leaves marks behind
            _local.current = None

    def fits(self, n: int) -> bool:
        """Return whether this is large enough for `n` nodes, and not far too large for many queries in a row."""
        self.oversized = self.oversized + 1 if n * 8 < self.size else 0
        return n <= self.size and self.oversized < _MAX_OVERSIZED


class _PerThread(threading.local):
    current: Workspace | None = None


_local = _PerThread()


def workspace(n: int) -> Workspace:
    """Return the calling thread's workspace, for a graph of `n` nodes.

    It is replaced by a larger one for a larger graph, and by a smaller one after 1,000 queries in a row that needed
    less than an eighth of it. `with workspace(n) as scratch:` drops it after an error, which leaves marks behind.
    """
    scratch = _local.current
    if scratch is None or not scratch.fits(n):
        _local.current = scratch = Workspace(max(n, 1))
    return scratch


@kernel
def _scatter(keys: Ids, values: Ids, cursor: Pointers, out: Ids) -> None:
    for i in range(keys.size):
        key = keys[i]
        out[cursor[key]] = values[i]
        cursor[key] += 1


@kernel
def _transpose(indptr: Pointers, neighbours: Ids, cursor: Pointers, out: Ids) -> None:
    """Write the transpose, rows ascending, without self-loops and repeats; `cursor` ends after each row.

    Nodes are visited in ascending order, so each row is filled in this order, and a repeat follows its equal.
    """
    for v in range(indptr.size - 1):
        for i in range(indptr[v], indptr[v + 1]):
            u = neighbours[i]
            end = cursor[u]
            if u != v and (end == indptr[u] or out[end - 1] != v):
                out[end] = v
                cursor[u] = end + 1


@kernel
def _squeeze(starts: Pointers, ends: Pointers, out: Ids, indptr: Pointers) -> None:
    """Close the gaps between rows, in place."""
    size = 0
    for v in range(ends.size):
        indptr[v] = size
        for i in range(starts[v], ends[v]):
            out[size] = out[i]
            size += 1
    indptr[ends.size] = size


@kernel
def _induce(indptr: Pointers, neighbours: Ids, nodes: Ids, marks: IdMatrix, rows: Pointers, out: Ids) -> None:
    """Write the rows of `nodes` as positions in `nodes`; `marks` is zero before and after."""
    for i in range(nodes.size):
        marks[nodes[i], 0] = i + 1
    size = 0
    for i in range(nodes.size):
        for j in range(indptr[nodes[i]], indptr[nodes[i] + 1]):
            place = marks[neighbours[j], 0]
            if place:
                out[size] = place - 1
                size += 1
        rows[i + 1] = size
    for i in range(nodes.size):
        marks[nodes[i], 0] = 0


def row_pointers(counts: Pointers) -> Pointers:
    """Return the row pointers of rows of these lengths: int64[n + 1]."""
    indptr = np.zeros(counts.size + 1, np.int64)
    np.cumsum(counts, out=indptr[1:])
    return indptr


def row_entries(indptr: Pointers, rows: ArrayLike) -> Pointers:
    """Return the positions of all entries of some rows, one row after the other: int64.

    >>> row_entries(np.array([0, 2, 2, 5]), [2, 0]).tolist()
    [2, 3, 4, 0, 1]
    """
    at = np.asarray(rows, np.int64)
    starts = indptr[at]
    return _entries(starts, indptr[at + 1] - starts)


def _entries(starts: Pointers, sizes: Pointers) -> Pointers:
    at: Pointers = np.repeat(starts + sizes - sizes.cumsum(), sizes)
    at += np.arange(at.size)
    return at


class Csr(NamedTuple):
    """Compressed sparse rows: the values of row i are `values[indptr[i]:indptr[i + 1]]`."""

    indptr: Pointers
    values: Ids

    def row(self, i: int) -> Ids:
        """Return the values of row i."""
        return self.values[self.indptr[i] : self.indptr[i + 1]]

    def rows(self, ids: ArrayLike) -> NDArray[np.int64]:
        """Return the values of all these rows, one after the other."""
        return self.values[row_entries(self.indptr, ids)].astype(np.int64)

    def sizes(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of values of each of these rows."""
        return self.indptr[ids + 1] - self.indptr[ids]

    def expand(
        self, ids: NDArray[np.int64], owners: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the values of these rows, after the owner of each: by default the position of its row in `ids`."""
        owners = np.arange(len(ids)) if owners is None else owners
        starts = self.indptr[ids]
        sizes = self.indptr[ids + 1] - starts
        return np.repeat(owners, sizes), self.values[_entries(starts, sizes)].astype(np.int64)


def undirected(n: int, heads: ArrayLike, tails: ArrayLike) -> Csr:
    """Return the undirected adjacency of `n` nodes joined by the edges heads[i] - tails[i].

    Each distinct neighbour is listed once, ascending; self-loops are left out. O(n + m): a counting sort by one end,
    then a transposition that sorts by the other (Gustavson, 1978). Both arrays are read-only.
    Raises ValueError for an end that is not a node, or arrays of different length.

    >>> indptr, neighbours = undirected(4, [2, 0, 1, 0, 3], [0, 1, 0, 2, 3])
    >>> indptr.tolist(), neighbours.tolist()
    ([0, 2, 3, 4, 4], [1, 2, 0, 0])
    """
    heads, tails = node_ids(heads, n, "heads"), node_ids(tails, n, "tails")
    same_length("heads", heads.size, "tails", tails.size)
    starts = row_pointers(np.bincount(heads, minlength=n) + np.bincount(tails, minlength=n))
    loose = np.empty(starts[-1], np.int32)
    cursor = starts[:-1].copy()
    _scatter(heads, tails, cursor, loose)
    _scatter(tails, heads, cursor, loose)
    cursor[:] = starts[:-1]
    out = np.empty_like(loose)
    frozen = readonly(starts, np.int64)
    _transpose(frozen, readonly(loose, np.int32), cursor, out)
    indptr = np.empty(n + 1, np.int64)
    _squeeze(frozen, cursor, out, indptr)
    out = out if indptr[-1] == out.size else out[: indptr[-1]].copy()
    return Csr(readonly(indptr, np.int64), readonly(out, np.int32))


def group(n: int, keys: ArrayLike, values: ArrayLike) -> Csr:
    """Return `values` grouped by key, each group in the order given: a stable counting sort, O(n + m).

    `keys` are 0 to n - 1; `values` any int32, such as edge or chunk ids. Both arrays are read-only.
    Raises ValueError for a key out of range, or arrays of different length.

    >>> indptr, grouped = group(3, [2, 0, 2], [10, 11, 12])
    >>> indptr.tolist(), grouped.tolist()
    ([0, 1, 1, 3], [11, 10, 12])
    """
    keys, values = node_ids(keys, n, "keys"), readonly(values, np.int32)
    same_length("keys", keys.size, "values", values.size)
    indptr = row_pointers(np.bincount(keys, minlength=n))
    out = np.empty(values.size, np.int32)
    _scatter(keys, values, indptr[:-1].copy(), out)
    return Csr(readonly(indptr, np.int64), readonly(out, np.int32))


def induced(indptr: Pointers, neighbours: Ids, nodes: ArrayLike) -> Csr:
    """Return the adjacency among `nodes` alone, renumbered by position in `nodes`.

    `nodes` are distinct and ascending, so rows stay ascending.
    Raises ValueError for an id that is not a node, or if `nodes` is not strictly ascending.

    >>> path = undirected(4, [0, 1, 2], [1, 2, 3])
    >>> [part.tolist() for part in induced(*path, [0, 2, 3])]
    [[0, 0, 1, 2], [2, 1]]
    """
    n = indptr.size - 1
    nodes = node_ids(nodes, n, "nodes")
    if np.any(np.diff(nodes) <= 0):
        raise ValueError("nodes is not strictly ascending. Pass np.unique(nodes).")
    rows = np.zeros(nodes.size + 1, np.int64)
    out = np.empty(int((indptr[nodes + 1] - indptr[nodes]).sum()), np.int32)
    _induce(readonly(indptr, np.int64), readonly(neighbours, np.int32), nodes, workspace(n).marks, rows, out)
    return Csr(readonly(rows, np.int64), readonly(out[: rows[-1]].copy(), np.int32))
