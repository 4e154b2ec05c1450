"""The scorer: its formula, and the evidence for a result.

Queries that choose texts by their words, and questions about texts.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from graphwright.errors import ModelError
from graphwright.models import MiniLM, MiniLMAmounts
from graphwright.operators.query.notation import notation
from graphwright.operators.query.tables.features import MOST_PARTS, PARTS, Features
from graphwright.operators.query.tables.parser import TableQueryParser
from graphwright.operators.query.tables.scorer import TableScorer, evidence_of, probability_about_texts
from graphwright.search.facts import Facts


def test_evidence_of_two_equal_results_is_even() -> None:
    evidence = evidence_of(np.array([0.5, 0.5]), 0, 0.25, 3.0, np.arange(20.0), 10)
    odds, share, rival, entropy, count, score = evidence[:6].tolist()
    assert (odds, share, rival, score) == (pytest.approx(0, abs=1e-5), 0.5, 0.5, 3.0)
    assert (entropy, count) == (pytest.approx(math.log(2)), pytest.approx(math.log(10)))
    assert evidence[6:].tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 14]


def test_probability_of_shipped_weights_is_between_0_and_1() -> None:
    scorer = TableScorer.load()
    evidence = np.random.default_rng(0).normal(0, 100, (20, 15)).astype(np.float32)
    assert all(0 < scorer.probability(row) < 1 for row in evidence)


def test_scores_of_shipped_weights_are_their_members_mean() -> None:
    scorer = TableScorer.load()
    draw = np.random.default_rng(0)
    dense = draw.normal(size=(5, len(scorer.arrays["mean"]))).astype(np.float32)
    parts = draw.integers(0, PARTS, (5, MOST_PARTS)).astype(np.int16)
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


@pytest.mark.parametrize(
    ("question", "is_about_texts"),
    [
        ("Which mails speak of the harvest?", True),
        ("Who wrote about the tractor?", True),
        ("How many messages mention the vet?", True),
        ("When is the harvest?", False),
        ("When was the tractor bought?", False),
        ("What does the vet charge?", False),
    ],
)
def test_probability_about_texts_is_high_for_questions_about_mentions(question: str, is_about_texts: bool) -> None:
    assert (probability_about_texts(MiniLM().encode([question])[0]) >= 0.4) == is_about_texts


@pytest.mark.parametrize(("question", "is_lower"), [("When is the fair?", True), ("Who wrote about Ida?", False)])
def test_parser_query_by_words_of_texts_is_less_probable_for_what_they_say(
    question: str, is_lower: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    days = {"Ida": "2025-05-02", "Bo": "2025-05-03", "Eva": "2025-05-06"}
    facts = Facts.of_rows(
        [
            {"from": name, "date": day, "text": f"The fair is on {day[-1]} June, says {name}."}
            for name, day in days.items()
        ],
        "mail",
    )
    parser = TableQueryParser(MiniLM(), MiniLMAmounts())
    with_texts = {notation(found.query): found.probability for found in parser.parse(question, facts)}
    monkeypatch.setattr("graphwright.operators.query.tables.parser.probability_about_texts", lambda vector: 0.5)
    alone = {notation(found.query): found.probability for found in parser.parse(question, facts)}
    lower = {query for query, probability in with_texts.items() if probability < alone[query]}
    assert lower == {query for query in alone if is_lower and "text contains" in query}
