"""The gate of the scorer is fitted to questions with right passages, and only where this surely helps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graphwright import Index
from graphwright.errors import DataError, OptionError
from graphwright.evaluate import JudgedQuestion, fit_gate
from graphwright.evaluate.gate import GATES, MIN_QUESTIONS, fitted
from graphwright.operators.rerank import fitted_scorer

NAMES = "Ada Bela Cora Dora Edda Fina Gala Hedi Inga Jana Kara Lola Mona Nora Olga Pina Rosa Sara Tina Ursa Vera Wilma"
TOWNS = (
    "Graz Linz Wels Steyr Lienz Hall Bregenz Krems Baden Enns Melk Ried Traun Zwettl Retz Horn Tulln Weiz Murau Leoben "
    "Bruck Liezen"
)


@pytest.fixture(scope="module")
def painters(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[JudgedQuestion]]:
    """An index of painters, teachers and towns, and questions that two documents answer together."""
    documents, questions, names = [], [], NAMES.split()
    for at, (name, town) in enumerate(zip(names, TOWNS.split(), strict=True)):
        painter, teacher = f"{name} Moser", f"{names[at - 7]} Huber"
        texts = {
            painter: f"{painter} is a painter. Her teacher was {teacher}.",
            teacher: f"{teacher} taught drawing. She lived in {town} all her life.",
            town: f"{town} is a town on a river. Many painters and teachers of painters lived here.",
        }
        documents += [{"id": title, "title": title, "text": text} for title, text in texts.items()]
        quotes = [(title, texts[title].partition(".")[0]) for title in (painter, teacher)]
        questions.append(JudgedQuestion(f"{painter} teacher town", quotes))
    folder = tmp_path_factory.mktemp("gate") / "painters"
    with Index.create(folder) as index:
        index.add(documents)
    return folder, questions


def quality(gate: float, gain: float, noise: float = 0.0, questions: int = MIN_QUESTIONS) -> np.ndarray:
    """Return qualities in which one gate is better than the others."""
    values = np.random.default_rng(0).normal(0.5, noise, (questions, len(GATES)))
    values[:, GATES.index(gate)] += gain
    return values


def test_fitted_takes_better_gate_with_held_out_gain() -> None:
    fit = fitted(quality(-2.0, 0.2, noise=0.05))
    assert fit.gate == -2.0 and fit.questions == MIN_QUESTIONS
    assert fit.after - fit.before == pytest.approx(0.2, abs=0.05) and fit.p < 0.01


@pytest.mark.parametrize(
    "values",
    [quality(2.0, 0.0), quality(2.0, 0.0, noise=0.2), quality(0.0, 0.2, noise=0.05), quality(1.0, 0.02, noise=0.2)],
    ids=["equal", "chance", "package's is best", "too little"],
)
def test_fitted_without_sure_gain_is_refused(values: np.ndarray) -> None:
    with pytest.raises(DataError, match="Nothing was changed"):
        fitted(values)


def test_fit_gate_of_few_questions_is_refused(painters: tuple[Path, list[JudgedQuestion]]) -> None:
    folder, questions = painters
    gone = JudgedQuestion("Who?", [("Ada Moser", "is a sculptor"), ("nobody", "")])
    with Index.open(folder) as index, pytest.raises(DataError, match=f"3 questions .* {MIN_QUESTIONS} at least"):
        fit_gate(index.snapshot, [*questions[:3], gone])


def test_fit_gate_mends_wrong_gate(
    painters: tuple[Path, list[JudgedQuestion]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, questions = painters
    wrong = fitted_scorer.fitted_scorer().shifted(-9)
    monkeypatch.setattr(fitted_scorer, "fitted_scorer", lambda: wrong)
    with Index.open(folder) as index:
        fit = fit_gate(index.snapshot, questions)
        assert fit.gate > 0 and fit.after > fit.before


def test_set_gate_changes_ranking_until_it_is_undone(painters: tuple[Path, list[JudgedQuestion]]) -> None:
    folder, questions = painters
    with Index.open(folder) as index, Index.open(folder) as other:
        question = questions[0].question

        def scores(asked: Index, **options: object) -> list[float]:
            passages = asked.retrieve(question, **options).passages
            assert passages is not None and passages.scores is not None
            return passages.scores.tolist()

        before = scores(index)
        whole = scores(index, filter={"documents": ["Ada Moser"]})
        index.set_gate(-9)
        assert other.gate == other.info()["gate"] == -9 and "gate=-9.0" in repr(other.method("multihop"))
        assert scores(other) == scores(index) != before
        assert scores(other, filter={"documents": ["Ada Moser"]}) != whole
        assert scores(other, method="multihop", scorer=fitted_scorer.fitted_scorer()) == before
        index.set_gate(0)
        assert scores(other) == before
        with pytest.raises(OptionError, match="from -20 to 20"):
            index.set_gate(float("nan"))
