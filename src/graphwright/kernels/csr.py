"""Compressed sparse rows: adjacency from edges, values grouped by key, and induced subgraphs.

Adjacency in all kernels: `indptr` int64[n + 1] and `neighbours` int32[m], read-only, undirected, each distinct
neighbour once, ascending, without self-loops. Node ids are local, 0 to n - 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from graphwright.kernels.compiled import Ids, Pointers, kernel, node_ids, readonly, workspace

__all__ = ["group", "induced", "undirected"]


@kernel
def _scatter(keys: Ids, values: Ids, cursor: Pointers, out: Ids) -> None:
    """Write each value at its key's cursor, in the order given."""
    for i in range(keys.size):
        key = keys[i]
        out[cursor[key]] = values[i]
        cursor[key] += 1


@kernel
def _transpose(indptr: Pointers, neighbours: Ids, cursor: Pointers, out: Ids) -> None:
    """Write the transpose, rows ascending, without self-loops and repeats; `cursor` ends after each row.

    Nodes are visited in ascending order, so each row of the transpose is filled in ascending order, and a repeat
    equals the entry before it: a sort in linear time.
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
def _induce(indptr: Pointers, neighbours: Ids, nodes: Ids, marks: Ids, rows: Pointers, out: Ids) -> None:
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


def _starts(counts: Pointers) -> Pointers:
    indptr = np.zeros(counts.size + 1, np.int64)
    np.cumsum(counts, out=indptr[1:])
    return indptr


def undirected(n: int, heads: ArrayLike, tails: ArrayLike) -> tuple[Pointers, Ids]:
    """Return the undirected adjacency of `n` nodes joined by the edges heads[i] - tails[i].

    Each distinct neighbour is listed once, ascending; self-loops are left out. O(n + m): a counting sort by one end,
    then a transposition that sorts by the other (Gustavson, 1978).

    Returns `indptr`, int64[n + 1], and `neighbours`, int32[m], both read-only.
    Raises ValueError for an end that is not a node, or if the two arrays differ in length.

    >>> indptr, neighbours = undirected(4, [2, 0, 1, 0, 3], [0, 1, 0, 2, 3])
    >>> indptr.tolist(), neighbours.tolist()
    ([0, 2, 3, 4, 4], [1, 2, 0, 0])
    """
    heads, tails = node_ids(heads, n, "heads"), node_ids(tails, n, "tails")
    _same_length("heads", heads.size, "tails", tails.size)
    starts = _starts(np.bincount(heads, minlength=n) + np.bincount(tails, minlength=n))
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
    if indptr[-1] < out.size:
        out = out[: indptr[-1]].copy()
    return readonly(indptr, np.int64), readonly(out, np.int32)


def group(n: int, keys: ArrayLike, values: ArrayLike) -> tuple[Pointers, Ids]:
    """Return `values` grouped by key, each group in the order given: a stable counting sort, O(n + m).

    `keys` are 0 to n - 1; `values` any int32, such as edge or chunk ids. Returns `indptr`, int64[n + 1], and `grouped`,
    int32[m], both read-only; group v is `grouped[indptr[v] : indptr[v + 1]]`.
    Raises ValueError for a key out of range, or if the two arrays differ in length.

    >>> indptr, grouped = group(3, [2, 0, 2], [10, 11, 12])
    >>> indptr.tolist(), grouped.tolist()
    ([0, 1, 1, 3], [11, 10, 12])
    """
    keys, values = node_ids(keys, n, "keys"), readonly(values, np.int32)
    _same_length("keys", keys.size, "values", values.size)
    indptr = _starts(np.bincount(keys, minlength=n))
    out = np.empty(values.size, np.int32)
    _scatter(keys, values, indptr[:-1].copy(), out)
    return readonly(indptr, np.int64), readonly(out, np.int32)


def induced(indptr: Pointers, neighbours: Ids, nodes: ArrayLike) -> tuple[Pointers, Ids]:
    """Return the adjacency among `nodes` alone, renumbered by position in `nodes`.

    `nodes` are distinct and ascending, so rows stay ascending. The cost is proportional to the edges of `nodes`. Both
    arrays returned are read-only.
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
    return readonly(rows, np.int64), readonly(out[: rows[-1]].copy(), np.int32)


def _same_length(name: str, size: int, other: str, other_size: int) -> None:
    if size != other_size:
        raise ValueError(f"{name} holds {size} values and {other} {other_size}. Pass arrays of equal length.")
