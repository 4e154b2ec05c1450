"""Ranking: the k best scores, the order of scored lists of ids, and numbering of 64-bit codes by appearance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.kernels.compiled import kernel, subkernel
from graphwright.kernels.csr import Ids, readonly

Array = NDArray[Any]
Positions = NDArray[np.int64]
_BLOCK = 256  # scores of which the best is found first


def rank_items(
    scores: ArrayLike, nodes: ArrayLike, node_ptr: ArrayLike, edges: ArrayLike, edge_ptr: ArrayLike,
    k: int | None = None,
) -> NDArray[np.int64]:  # fmt: skip
    """Return the positions of items by score (higher first), then by their nodes, then by their edges: int64.

    Item i has the nodes `nodes[node_ptr[i] : node_ptr[i + 1]]`, and edges likewise, in lexicographic order. With `k`
    the first k. Raises ValueError for a negative k, or unless there is one score for each item.

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
    """Sort positions in place, stably, by key(positions, 0), ties by key(positions, 1) …; it tells which may differ."""
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
    """Return the distinct values of an array in order, as np.unique does, ten times as fast on a million."""
    ordered = np.sort(np.asarray(values), axis=None)
    distinct: Array = ordered[np.concatenate((np.ones(min(1, ordered.size), bool), ordered[1:] != ordered[:-1]))]
    return distinct


def top(scores: NDArray[np.floating[Any]], k: int) -> NDArray[np.int64]:
    """Return the positions of the k highest `scores`, float[n], all where k is larger: best first, then smaller id.

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


Codes = NDArray[np.uint64]
CodeMatrix = np.ndarray[tuple[int, int], np.dtype[np.uint64]]
_FULL = 0.75  # share of slots in use before the table grows
_FIRST = 1 << 16
_ONE = np.uint64(1)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: spreads close codes


@subkernel
def _slot(slots: CodeMatrix, shift: int, code: np.uint64) -> np.uint64:
    """Return the slot of a code, or a free one: code and number plus 1; `shift` leaves the bits that number slots."""
    last = np.uint64(len(slots) - 1)
    at = (code * _SPREAD) >> np.uint64(shift)
    while slots[at, 1] != 0 and slots[at, 0] != code:
        at = (at + _ONE) & last
    return at


@kernel
def _take(codes: Codes, slots: CodeMatrix, shift: int, size: int, capacity: int, out: Ids) -> tuple[int, int]:
    """Number codes by first appearance up to `capacity`; return how many were read and how many are distinct."""
    for i in range(codes.size):
        at = _slot(slots, shift, codes[i])
        if slots[at, 1] == 0:
            if size == capacity:
                return i, size
            size += 1
            slots[at, 0], slots[at, 1] = codes[i], np.uint64(size)
        out[i] = np.int32(slots[at, 1] - _ONE)
    return codes.size, size


@kernel
def _find(codes: Codes, slots: CodeMatrix, shift: int, out: Ids) -> None:
    for i in range(codes.size):
        out[i] = np.int32(np.int64(slots[_slot(slots, shift, codes[i]), 1]) - 1)


@kernel
def _move(old: CodeMatrix, slots: CodeMatrix, shift: int) -> None:
    for i in range(len(old)):
        if old[i, 1] != 0:
            at = _slot(slots, shift, old[i, 0])
            slots[at, 0], slots[at, 1] = old[i, 0], old[i, 1]


class Numbering:
    """A table from 64-bit codes, such as hashes of names, to numbers from 0 in the order of first appearance.

    Open addressing with linear probing (Knuth, volume 3, 6.4), at most three quarters full: 16 bytes a slot, so
    100 million codes take 2.1 GB. Raises ValueError beyond 2^31 - 2 codes.

    >>> numbering = Numbering()
    >>> numbering.take([7, 9, 7]).tolist(), numbering.take([5, 9]).tolist(), numbering.find([5, 6]).tolist()
    ([0, 1, 0], [2, 1], [2, -1])
    """

    def __init__(self) -> None:
        self._size = 0
        self._slots: CodeMatrix = np.zeros((_FIRST, 2), np.uint64)

    def __len__(self) -> int:
        return self._size

    def take(self, codes: ArrayLike) -> Ids:
        """Return the number of each code, numbering new ones: int32[len(codes)]."""
        remaining, numbers = _codes(codes), []
        while True:
            capacity = min(int(len(self._slots) * _FULL), np.iinfo(np.int32).max - 1)
            out = np.empty(remaining.size, np.int32)
            count, self._size = _take(remaining, self._slots, self._shift, self._size, capacity, out)
            numbers.append(out[:count])
            if count == remaining.size:
                return np.concatenate(numbers)
            if self._size < len(self._slots) * _FULL - 1:
                raise ValueError(f"There are more than {self._size} distinct codes, too many for 31-bit numbers.")
            old, self._slots = self._slots, np.zeros((2 * len(self._slots), 2), np.uint64)
            _move(old, self._slots, self._shift)
            remaining = remaining[count:]

    def find(self, codes: ArrayLike) -> Ids:
        """Return the number of each code, -1 for an unknown one: int32[len(codes)]."""
        values = _codes(codes)
        out = np.empty(values.size, np.int32)
        _find(values, self._slots, self._shift, out)
        return out

    @property
    def _shift(self) -> int:
        return 65 - len(self._slots).bit_length()


def _codes(codes: ArrayLike) -> Codes:
    return readonly(np.asarray(codes, np.uint64).reshape(-1), np.uint64)
