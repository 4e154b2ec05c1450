"""Top k against a full sort, and the order of items against that of Python's lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphwright.kernels.ranking import kth, rank_items, top


@given(st.lists(st.sampled_from([-1.5, 0.0, 0.25, 3.0, float("inf")]), max_size=30), st.integers(0, 35))
def test_top_is_the_head_of_a_full_sort(values, k):
    expected = sorted(range(len(values)), key=lambda i: (-values[i], i))[:k]
    for dtype in (np.float32, np.float64):
        assert top(np.array(values, dtype), k).tolist() == expected


def test_what_has_no_rank_is_refused():
    for scores in (np.array([1.0, np.nan, 0.5]), np.zeros((2, 2))):
        with pytest.raises(ValueError):
            top(scores, 2)
    with pytest.raises(ValueError, match="k is -1"):
        top(np.zeros(2), -1)


ids = st.lists(st.integers(0, 3), max_size=4)
pieces = st.lists(st.tuples(st.sampled_from([-np.inf, -0.5, 0.0, 0.25, 1.0]), ids, ids), max_size=40)


def ragged(rows: list[list[int]]) -> tuple[list[int], list[int]]:
    return [v for row in rows for v in row], np.cumsum([0, *map(len, rows)]).tolist()


@settings(deadline=None, max_examples=200)
@given(pieces, st.none() | st.integers(0, 45))
def test_the_order_is_that_of_sorted_lists(rows: list[tuple[float, list[int], list[int]]], k: int | None) -> None:
    expected = sorted(range(len(rows)), key=lambda i: (-rows[i][0], rows[i][1], rows[i][2]))[:k]
    scores = np.array([row[0] for row in rows], np.float64)
    result = rank_items(scores, *ragged([n for _, n, _ in rows]), *ragged([e for *_, e in rows]), k)
    assert result.tolist() == expected


def test_many_that_tie_are_ordered_by_their_ids() -> None:
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 50, (5000, 3))
    ptr = np.arange(5001) * 3
    result = rank_items(np.zeros(5000), rows.ravel(), ptr, [], np.zeros(5001, np.int64), 4000)
    assert result.tolist() == sorted(range(5000), key=lambda i: rows[i].tolist())[:4000]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="one score for each"):
        rank_items([1.0], [0, 1], [0, 1, 2], [], [0, 0, 0])
    with pytest.raises(ValueError, match="k is -1"):
        rank_items([1.0], [0], [0, 1], [], [0, 0], -1)


def test_kth():
    scores = np.array([3.0, 1.0, 2.0])
    for floor in (0.0, 1.5, 9.0):
        assert [kth(scores, k, floor) for k in (1, 2, 3)] == [3.0, 2.0, 1.0]
