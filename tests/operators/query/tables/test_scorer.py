"""The scorer: its formula, and the evidence for a result."""

import math
from pathlib import Path

import numpy as np
import pytest

from graphwright.errors import ModelError
from graphwright.operators.query.tables.features import MOST_PARTS, Features
from graphwright.operators.query.tables.scorer import TableScorer, evidence_of


def test_evidence_of_two_equal_results_is_even() -> None:
    evidence = evidence_of(np.array([0.5, 0.5]), 0, 0.25, 3.0, np.arange(20.0), 10)
    odds, share, rival, entropy, count, score = evidence[:6].tolist()
    assert (odds, share, rival, score) == (pytest.approx(0, abs=1e-5), 0.5, 0.5, 3.0)
    assert (entropy, count) == (pytest.approx(math.log(2)), pytest.approx(math.log(10)))
    assert evidence[6:].tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 14, 19]


def test_probability_of_shipped_weights_is_between_0_and_1() -> None:
    scorer = TableScorer.load()
    evidence = np.random.default_rng(0).normal(0, 100, (20, 16)).astype(np.float32)
    assert all(0 < scorer.probability(row) < 1 for row in evidence)


def test_scores_of_shipped_weights_are_their_members_mean() -> None:
    scorer = TableScorer.load()
    draw = np.random.default_rng(0)
    dense = draw.normal(size=(5, len(scorer.arrays["mean"]))).astype(np.float32)
    parts = draw.integers(0, 4096, (5, MOST_PARTS)).astype(np.int16)
    headers, rest = np.array([[0, -1, 1]] * 5, np.int16), draw.normal(size=384).astype(np.float32)
    features = Features(dense, parts, np.array([7, 99], np.int32), headers, rest)
    question, vectors = draw.normal(size=384).astype(np.float32), draw.normal(size=(3, 384)).astype(np.float32)
    members = sorted({name.split("/")[0] for name in scorer.arrays if "/" in name})
    shared = {name: array for name, array in scorer.arrays.items() if "/" not in name}
    alone = [
        TableScorer(shared | {name.replace(f"{m}/", "0/"): a for name, a in scorer.arrays.items() if f"{m}/" in name})
        for m in members
    ]
    expected = np.mean([each.scores(features, question, vectors) for each in alone], axis=0)
    np.testing.assert_allclose(scorer.scores(features, question, vectors), expected, rtol=1e-5)


def test_load_missing_file_is_a_model_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="missing"):
        TableScorer.load(tmp_path / "missing.npz")
