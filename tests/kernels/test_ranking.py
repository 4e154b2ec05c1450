"""Top k against a full sort, and the order of items against that of Python's lists.

Numbering of codes by first appearance, compared with a dictionary.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.kernels import ranking as module
from graphwright.kernels.ranking import Numbering, kth, rank_items, sorted_distinct, top


@given(st.lists(st.sampled_from([-1.5, 0.0, 0.25, 3.0, float("inf")]), max_size=30), st.integers(0, 35))
def test_top_equals_head_of_full_sort(values, k):
    expected = sorted(range(len(values)), key=lambda i: (-values[i], i))[:k]
    for dtype in (np.float32, np.float64):
        assert top(np.array(values, dtype), k).tolist() == expected


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(2_000, 6_000), st.integers(1, 1_000))
def test_top_of_many_scores_equals_head_of_full_sort(seed: int, k: int, size: int, values: int) -> None:
    scores = np.random.default_rng(seed).integers(0, values, size).astype(np.float32)
    assert top(scores, k).tolist() == np.argsort(-scores, kind="stable")[:k].tolist()


@pytest.mark.parametrize("at", [0, 700, -1])
def test_top_nan_among_many_raises_value_error(at: int) -> None:
    scores = np.arange(3_000, dtype=np.float32)
    scores[at] = np.nan
    with pytest.raises(ValueError, match="1 NaN"):
        top(scores, 2)


@given(st.lists(st.integers(-5, 5)))
def test_sorted_distinct_equals_numpy_unique(values: list[int]) -> None:
    assert sorted_distinct(np.array(values, np.int64)).tolist() == np.unique(np.array(values, np.int64)).tolist()


def test_top_with_nan_raises():
    for scores in (np.array([1.0, np.nan, 0.5]), np.zeros((2, 2))):
        with pytest.raises(ValueError):
            top(scores, 2)
    with pytest.raises(ValueError, match="k is -1"):
        top(np.zeros(2), -1)


ids = st.lists(st.integers(0, 3), max_size=4)
pieces = st.lists(st.tuples(st.sampled_from([-np.inf, -0.5, 0.0, 0.25, 1.0]), ids, ids), max_size=40)


def ragged(rows: list[list[int]]) -> tuple[list[int], list[int]]:
    return [v for row in rows for v in row], np.cumsum([0, *map(len, rows)]).tolist()


@given(pieces, st.none() | st.integers(0, 45))
def test_rank_items_equals_sorted_lists(rows: list[tuple[float, list[int], list[int]]], k: int | None) -> None:
    expected = sorted(range(len(rows)), key=lambda i: (-rows[i][0], rows[i][1], rows[i][2]))[:k]
    scores = np.array([row[0] for row in rows], np.float64)
    result = rank_items(scores, *ragged([n for _, n, _ in rows]), *ragged([e for *_, e in rows]), k)
    assert result.tolist() == expected


def test_rank_items_with_wrong_sizes_raises() -> None:
    with pytest.raises(ValueError, match="one score for each"):
        rank_items([1.0], [0, 1], [0, 1, 2], [], [0, 0, 0])
    with pytest.raises(ValueError, match="k is -1"):
        rank_items([1.0], [0], [0, 1], [], [0, 0], -1)


def test_kth_equals_sorted_value():
    scores = np.array([3.0, 1.0, 2.0])
    for floor in (0.0, 1.5, 9.0):
        assert [kth(scores, k, floor) for k in (1, 2, 3)] == [3.0, 2.0, 1.0]


codes = st.lists(st.one_of(st.integers(0, 20), st.integers(0, 2**64 - 1)), max_size=200)


@given(st.lists(codes, max_size=5))
def test_numbering_equals_dictionary_by_first_appearance(batches):
    numbering, known = Numbering(), {}
    for batch in batches:
        wanted = [known.setdefault(code, len(known)) for code in batch]
        assert numbering.take(np.array(batch, np.uint64)).tolist() == wanted
    assert len(numbering) == len(known)
    assert numbering.find(np.array([*known, 2**63 + 5], np.uint64)).tolist() == [
        *range(len(known)),
        known.get(2**63 + 5, -1),
    ]


@pytest.mark.parametrize("spread", [1, 2**40])
def test_numbering_keeps_numbers_as_it_grows(monkeypatch, spread):
    monkeypatch.setattr(module, "_FIRST", 4)
    numbering = Numbering()
    drawn = np.random.default_rng(0).integers(0, 5_000, 50_000).astype(np.uint64) * np.uint64(spread)
    first = {}
    wanted = [first.setdefault(code, len(first)) for code in drawn.tolist()]
    assert numbering.take(drawn).tolist() == wanted
    assert numbering.find(drawn).tolist() == wanted
