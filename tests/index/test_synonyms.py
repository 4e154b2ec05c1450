"""Near pairs of names, against all pairs."""

import numpy as np
import pytest

from graphwright.index.merge import near_pairs, synonyms


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


@pytest.mark.parametrize("n", [0, 1, 5, 200, 3000])
def test_pairs_are_right_and_nearly_all(n: int) -> None:
    rows = clustered(n, seed=n) if n > 1 else np.ones((n, 32), np.float32)
    found = {tuple(pair) for pair in near_pairs(rows, 0.9).tolist()}
    exact = all_pairs(rows, 0.9) if n > 1 else set()
    assert found <= exact
    assert len(found) >= 0.97 * len(exact)
    assert len(exact) > 100 or n < 3000


def test_the_same_pairs_every_time() -> None:
    rows = clustered(1000, 1)
    assert near_pairs(rows, 0.9).tolist() == near_pairs(rows.copy(), 0.9).tolist()


def test_names_that_differ_in_a_number_are_no_synonyms() -> None:
    vectors = np.ones((4, 8), np.float32)
    assert synonyms(["May 1963", "in May 1963", "May 1964", "May"], vectors, 0.9).tolist() == [[0, 1]]
