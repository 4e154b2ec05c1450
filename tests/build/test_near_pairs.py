"""Near pairs against all pairs, and updated ones against those from scratch."""

from __future__ import annotations

import numpy as np
import pytest

from graphwright.build import near_pairs as module
from graphwright.build.near_pairs import KnownPairs, near_pairs, synonyms
from graphwright.graph.columns import TextColumn
from graphwright.search.vector_pages import row_sums


def clustered(n: int, seed: int) -> np.ndarray:
    """Rows in tight groups of one to four, as names that mean the same are."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((n // 2, 32))
    rows = centres[rng.integers(0, len(centres), n)] + 0.12 * rng.standard_normal((n, 32))
    return rows.astype(np.float32)


def all_pairs(rows: np.ndarray, threshold: float) -> set[tuple[int, int]]:
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = unit @ unit.T
    return {(i, j) for i, j in zip(*np.nonzero(cosines >= threshold), strict=True) if i < j}


def compared_with_pivots(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Record how many rows are compared with all pivots."""
    nearest, sizes = module._nearest, []
    monkeypatch.setattr(module, "_nearest", lambda rows, pivots: sizes.append(len(rows)) or nearest(rows, pivots))
    return sizes


@pytest.mark.parametrize("n", [0, 1, 5, 200, 3000])
def test_near_pairs_are_correct_and_nearly_complete(n: int) -> None:
    rows = clustered(n, seed=n) if n > 1 else np.ones((n, 32), np.float32)
    result = {tuple(pair) for pair in near_pairs(rows, 0.9).pairs.tolist()}
    exact = all_pairs(rows, 0.9) if n > 1 else set()
    assert result <= exact
    assert len(result) >= 0.97 * len(exact)
    assert len(exact) > 100 or n < 3000


def test_near_pairs_depend_on_set_of_rows() -> None:
    rows = clustered(1000, 1)
    order = np.random.default_rng(2).permutation(1000)
    shuffled = np.sort(order[near_pairs(rows[order], 0.9).pairs], axis=1)
    assert sorted(shuffled.tolist()) == near_pairs(rows, 0.9).pairs.tolist()


@pytest.mark.parametrize("seed", range(8))
def test_updated_near_pairs_equal_rebuilt_pairs(seed: int) -> None:
    rng, every = np.random.default_rng(seed), clustered(1100, seed)
    before, after = (np.sort(rng.choice(1100, size, replace=False)) for size in (1040, 1050))
    row = np.searchsorted(after, before)
    row = np.where(after[np.minimum(row, len(after) - 1)] == before, row, -1)
    known = KnownPairs(near_pairs(every[before], 0.9), row_sums(every[before]), row)
    updated, wanted = near_pairs(every[after], 0.9, known), near_pairs(every[after], 0.9)
    assert updated.pairs.tolist() == wanted.pairs.tolist()
    assert np.array_equal(np.sort(updated.nearest, axis=1), np.sort(wanted.nearest, axis=1))


def test_new_rows_compare_few_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = clustered(1000, 3)
    last = int(np.setdiff1d(np.arange(1000), module._pivots(row_sums(rows)))[-1])
    order = np.append(np.delete(np.arange(1000), last), last)
    rows = rows[order]
    known = KnownPairs(near_pairs(rows[:-1], 0.9), row_sums(rows[:-1]), np.arange(999))
    wanted = near_pairs(rows, 0.9).pairs.tolist()
    compared = compared_with_pivots(monkeypatch)
    assert near_pairs(rows, 0.9, known).pairs.tolist() == wanted
    assert compared == [1]


@pytest.mark.parametrize("seed", range(8))
def test_changed_pivots_change_their_groups_only(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, every = np.random.default_rng(seed), clustered(1100, seed)
    pivots = module._pivots(row_sums(every))
    gone, new = pivots[:2], pivots[2:4]
    before = np.setdiff1d(np.arange(1100), [*new, *rng.choice(1100, 5)])
    after = np.setdiff1d(np.arange(1100), [*gone, *rng.choice(1100, 5)])
    row = np.searchsorted(after, before)
    row = np.where(after[np.minimum(row, len(after) - 1)] == before, row, -1)
    known = KnownPairs(near_pairs(every[before], 0.9), row_sums(every[before]), row)
    wanted = near_pairs(every[after], 0.9).pairs.tolist()
    assert len(np.setdiff1d(module._pivots(row_sums(every[after])), row[module._pivots(row_sums(every[before]))])) >= 2
    compared = compared_with_pivots(monkeypatch)
    assert near_pairs(every[after], 0.9, known).pairs.tolist() == wanted
    assert len(compared) == 1 and compared[0] < len(after) / 2


def test_names_differing_in_number_are_not_synonyms() -> None:
    vectors = np.ones((4, 8), np.float32)
    assert synonyms(TextColumn.of(["May 1963", "in May 1963", "May 1964", "May"]), vectors, 0.9).pairs.tolist() == [
        [0, 1]
    ]
