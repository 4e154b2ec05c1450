"""The order of pieces that are lists of ids: the higher score first, then the smaller ids."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from graphwright.kernels.compiled import Floats, Pointers, kernel, readonly

__all__ = ["rank_pieces"]


@kernel
def _compare(flat: Pointers, ptr: Pointers, i: int, j: int) -> int:
    """Return -1, 0 or 1 as row i comes before row j, is the same or comes after; a beginning comes before the whole."""
    a, b = ptr[i], ptr[j]
    while a < ptr[i + 1] and b < ptr[j + 1]:
        if flat[a] != flat[b]:
            return -1 if flat[a] < flat[b] else 1
        a += 1
        b += 1
    return int(b == ptr[j + 1]) - int(a == ptr[i + 1])


@kernel
def _merge(
    scores: Floats, nodes: Pointers, node_ptr: Pointers, edges: Pointers, edge_ptr: Pointers, order: Pointers,
    scratch: Pointers,
) -> None:  # fmt: skip
    """Sort `order` bottom up by merging runs; stable, so that pieces that are the same keep their order."""
    size = 1
    while size < order.size:
        for first in range(0, order.size, 2 * size):
            middle, last = min(first + size, order.size), min(first + 2 * size, order.size)
            a, b = first, middle
            for at in range(first, last):
                left = b == last
                if a < middle and not left:
                    i, j = order[a], order[b]
                    left = scores[i] > scores[j]
                    if scores[i] == scores[j]:
                        sign = _compare(nodes, node_ptr, i, j)
                        left = (sign if sign else _compare(edges, edge_ptr, i, j)) <= 0
                if left:
                    scratch[at] = order[a]
                    a += 1
                else:
                    scratch[at] = order[b]
                    b += 1
        order[:] = scratch
        size *= 2


def rank_pieces(
    scores: ArrayLike, nodes: ArrayLike, node_ptr: ArrayLike, edges: ArrayLike, edge_ptr: ArrayLike,
    k: int | None = None,
) -> Pointers:  # fmt: skip
    """Return the positions of pieces by score, the higher first, then by their nodes, then by their edges: int64.

    Piece i has `nodes[node_ptr[i] : node_ptr[i + 1]]` and such edges, compared as lists are: the first difference
    decides, and a list comes before those that it begins. With `k` the first k: one partition, then a sort of what
    scores no less than the k-th; O(n + s log s) comparisons for the s that do.
    Raises ValueError for a negative k, or where there is not one score for each piece.

    >>> rank_pieces([0.5, 0.9, 0.5], [3, 4, 1, 1], [0, 2, 3, 4], [], [0, 0, 0, 0]).tolist()
    [1, 2, 0]
    """
    values = readonly(scores, np.float64)
    parts = [readonly(part, np.int64) for part in (nodes, node_ptr, edges, edge_ptr)]
    if k is not None and k < 0:
        raise ValueError(f"k is {k}. Pass how many to keep, 0 or more.")
    if values.ndim != 1 or any(len(ptr) != len(values) + 1 for ptr in parts[1::2]):
        raise ValueError(f"{len(parts[1]) - 1} pieces and scores of shape {values.shape}. Pass one score for each.")
    order = np.arange(len(values))
    if k is not None and 0 < k < len(values):
        order = np.flatnonzero(values >= np.partition(values, len(values) - k)[len(values) - k])
    _merge(values, parts[0], parts[1], parts[2], parts[3], order, np.empty_like(order))
    return order[:k]
