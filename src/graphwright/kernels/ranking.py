"""Ranking: the k best scores, and the order of scored items that are lists of ids."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.kernels.csr import Floats, Pointers, kernel, readonly

__all__ = ["rank_items", "top"]


@kernel
def _compare(flat: Pointers, ptr: Pointers, i: int, j: int) -> int:
    """Return -1, 0 or 1: row i comes before row j, is equal or comes after, in lexicographic order."""
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
    """Sort `order` by a bottom-up merge sort; stable, so that equal items keep their order."""
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


def rank_items(
    scores: ArrayLike, nodes: ArrayLike, node_ptr: ArrayLike, edges: ArrayLike, edge_ptr: ArrayLike,
    k: int | None = None,
) -> Pointers:  # fmt: skip
    """Return the positions of items by score (higher first), then by their nodes, then by their edges: int64.

    Item i has the nodes `nodes[node_ptr[i] : node_ptr[i + 1]]`, and edges likewise, in lexicographic order. With `k`
    the first k: one partition, then a sort of the s items that score no less than the k-th; O(n + s log s).
    Raises ValueError for a negative k, or unless there is one score for each item.

    >>> rank_items([0.5, 0.9, 0.5], [3, 4, 1, 1], [0, 2, 3, 4], [], [0, 0, 0, 0]).tolist()
    [1, 2, 0]
    """
    values = readonly(scores, np.float64)
    parts = [readonly(part, np.int64) for part in (nodes, node_ptr, edges, edge_ptr)]
    if k is not None and k < 0:
        raise ValueError(f"k is {k}. Pass how many to keep, 0 or more.")
    if values.ndim != 1 or any(len(ptr) != len(values) + 1 for ptr in parts[1::2]):
        raise ValueError(f"Got scores of shape {values.shape} for {len(parts[1]) - 1} items. Pass one score for each.")
    order = np.arange(len(values))
    if k is not None and 0 < k < len(values):
        order = np.flatnonzero(values >= np.partition(values, len(values) - k)[len(values) - k])
    _merge(values, parts[0], parts[1], parts[2], parts[3], order, np.empty_like(order))
    return order[:k]


def top(scores: NDArray[np.floating[Any]], k: int) -> NDArray[np.int64]:
    """Return the positions of the k highest `scores`, float[n], all where k is larger: best first, then smaller id.

    One partition in O(n), then a sort of the k.
    Raises ValueError for a negative k, scores that are not one-dimensional, or a score that is NaN.

    >>> top(np.array([0.1, 0.9, 0.5, 0.9]), 3).tolist()
    [1, 3, 2]
    """
    if k < 0:
        raise ValueError(f"k is {k}. Pass how many to keep, 0 or more.")
    if scores.ndim != 1:
        raise ValueError(f"scores has {scores.ndim} dimensions. Pass one row at a time.")
    if k == 0 or not scores.size:
        return np.empty(0, np.int64)
    k = min(k, scores.size)
    best = np.partition(scores, scores.size - k)[scores.size - k :]
    if np.isnan(best).any():  # NaN sorts last, so `best` holds one if there is any
        raise ValueError(f"scores holds {np.isnan(scores).sum()} NaN, which have no rank. Replace them.")
    candidates = np.flatnonzero(scores >= best[0])
    return candidates[np.lexsort((candidates, -scores[candidates]))][:k]
