"""Ranking: the k best scores, and the order of scored items that are lists of ids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]
Positions = NDArray[np.int64]
_BLOCK = 256  # scores of which the best is found first


def rank_items(
    scores: ArrayLike, nodes: ArrayLike, node_ptr: ArrayLike, edges: ArrayLike, edge_ptr: ArrayLike,
    k: int | None = None,
) -> NDArray[np.int64]:  # fmt: skip
    """Return the positions of items by score (higher first), then by their nodes, then by their edges: int64.

    Item i has the nodes `nodes[node_ptr[i] : node_ptr[i + 1]]`, and edges likewise, in lexicographic order. With `k`
    the first k: one partition, then a sort of the s items that score no less than the k-th; O(n + s log s).
    Raises ValueError for a negative k, or unless there is one score for each item.

    >>> rank_items([0.5, 0.9, 0.5], [3, 4, 1, 1], [0, 2, 3, 4], [], [0, 0, 0, 0]).tolist()
    [1, 2, 0]
    """
    values = np.asarray(scores, np.float64)
    parts = [np.asarray(part) for part in (nodes, node_ptr, edges, edge_ptr)]
    _check(k)
    if values.ndim != 1 or any(len(ptr) != len(values) + 1 for ptr in parts[1::2]):
        raise ValueError(f"Got scores of shape {values.shape} for {len(parts[1]) - 1} items. Pass one score for each.")
    order = np.arange(len(values))
    if k is not None and 0 < k < len(values):
        order = np.flatnonzero(values >= kth(values, k))
    sort_by(order, lambda rows, depth: _ids_at(rows, depth - 1, *parts) if depth else (-values[rows], rows >= 0))
    return order[:k]


def _ids_at(
    rows: Positions, depth: int, nodes: Array, node_ptr: Array, edges: Array, edge_ptr: Array
) -> tuple[Array, NDArray[np.bool_]]:
    """Return the value at `depth` of each item and whether the item goes on. An item reads: nodes, -1, edges, -1."""
    at = depth - (node_ptr[rows + 1] - node_ptr[rows])  # below 0: among the nodes; above 0: among the edges
    edge_count = edge_ptr[rows + 1] - edge_ptr[rows]
    in_nodes, in_edges = at < 0, (at > 0) & (at <= edge_count)
    ids = np.full(rows.size, -1)
    ids[in_nodes] = nodes[(node_ptr[rows + 1] + at)[in_nodes]]
    ids[in_edges] = edges[(edge_ptr[rows] + at - 1)[in_edges]]
    return ids, at <= edge_count


def sort_by(order: Positions, key: Callable[[Positions, int], tuple[Array, NDArray[np.bool_]]]) -> None:
    """Sort positions in place by key(positions, 0), those that tie by key(positions, 1), and so on; stable.

    `key` returns an array, and whether a further key of each position may differ.
    """
    rows, group = np.arange(order.size), np.zeros(order.size, np.int64)  # places of ties, and the run of each
    depth = 0
    while rows.size:
        keys, more = key(order[rows], depth)
        by_key = np.lexsort((keys, group)) if depth else np.argsort(keys, kind="stable")
        order[rows], keys, more = order[rows][by_key], keys[by_key], more[by_key]
        same = (keys[1:] == keys[:-1]) & (group[1:] == group[:-1]) & more[1:]
        tied = np.append(same, False) | np.append(False, same)
        rows, group = rows[tied], np.cumsum(np.append(True, ~same))[tied]
        depth += 1


def sorted_distinct(values: ArrayLike) -> Array:
    """Return the distinct values of an array in order, as np.unique does, which takes ten times as long on a million.

    >>> sorted_distinct([3, 1, 3]).tolist(), sorted_distinct([]).size
    ([1, 3], 0)
    """
    ordered = np.sort(np.asarray(values), axis=None)
    distinct: Array = ordered[np.concatenate((np.ones(min(1, ordered.size), bool), ordered[1:] != ordered[:-1]))]
    return distinct


def top(scores: NDArray[np.floating[Any]], k: int) -> NDArray[np.int64]:
    """Return the positions of the k highest `scores`, float[n], all where k is larger: best first, then smaller id.

    One partition in O(n), then a sort of the k.
    Raises ValueError for a negative k, scores that are not one-dimensional, or a score that is NaN.

    >>> top(np.array([0.1, 0.9, 0.5, 0.9]), 3).tolist()
    [1, 3, 2]
    """
    _check(k)
    if scores.ndim != 1:
        raise ValueError(f"scores has {scores.ndim} dimensions. Pass one row at a time.")
    if k == 0 or not scores.size:
        return np.empty(0, np.int64)
    k = min(k, scores.size)
    best = _leading(scores, k)
    best = np.partition(best, best.size - k)[best.size - k :]
    if np.isnan(best).any():  # NaN sorts last, so `best` holds one if there is any
        raise ValueError(f"scores holds {np.isnan(scores).sum()} NaN, which have no rank. Replace them.")
    candidates = np.flatnonzero(scores >= best[0])
    return candidates[np.argsort(-scores[candidates], kind="stable")][:k]


def _leading(scores: NDArray[np.floating[Any]], k: int) -> NDArray[np.floating[Any]]:
    """Return the k best scores with some more: of many, those that reach the k-th best of the best of each block."""
    blocks = scores.size // _BLOCK
    if blocks < 2 * k:
        return scores
    best = np.append(scores[: blocks * _BLOCK].reshape(blocks, _BLOCK).max(axis=1), scores[blocks * _BLOCK :])
    floor = np.partition(best, best.size - k)[best.size - k]
    return scores if np.isnan(best).any() else scores[scores >= floor]


def kth(scores: NDArray[np.float64], k: int, floor: float = 0.0) -> float:
    """Return the k-th best of at least k scores; faster with a `floor` that few more than k scores reach."""
    above = scores[scores >= floor]
    chosen = above if above.size >= k else scores
    return float(np.partition(chosen, chosen.size - k)[chosen.size - k])


def _check(k: int | None) -> None:
    if k is not None and k < 0:
        raise ValueError(f"k is {k}. Pass how many to keep, 0 or more.")
