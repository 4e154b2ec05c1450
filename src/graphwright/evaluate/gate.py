"""Fit the gate of the scorer of passages to the questions of an index, and refuse a fit that helps by chance.

The gate is the probability that a question needs several passages, by which the scorer weighs its scores of connected
passages against those of a passage alone (`PassageScorer`). Only its constant is fitted, because an index seldom has
more than some dozen questions with right passages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphwright.errors import DataError, counted
from graphwright.evaluate.metrics import ndcg_at_k
from graphwright.evaluate.statistics import Values, paired_test
from graphwright.methods.house import POOL, scored, walk
from graphwright.operators import Reword, Run, start
from graphwright.search import Snapshot

MIN_QUESTIONS = 20  # the least questions whose right passages are found
GATES = (0.0, -0.5, 0.5, -1.0, 1.0, -2.0, 2.0, -4.0, 4.0)  # log odds that are tried; of equal ones the first is taken
_K, _FOLDS, _SIGNIFICANT = 10, 10, 0.05


@dataclass(frozen=True)
class JudgedQuestion:
    """A question, and quotes of the passages that hold its answer: documents with texts of them."""

    question: str
    quotes: Sequence[tuple[str, str]]

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> JudgedQuestion:
        """Return the question of a line that `graphwright feedback export` prints.

        >>> row = {"question": "Who?", "passages": [{"document": "a.md", "quote": "Ida did."}]}
        >>> JudgedQuestion.of_row(row)
        JudgedQuestion(question='Who?', quotes=[('a.md', 'Ida did.')])
        """
        return cls(row["question"], [(passage["document"], passage["quote"]) for passage in row["passages"]])


@dataclass(frozen=True)
class GateFit:
    """A fitted gate, with the mean nDCG@10 of right passages before and after.

    `after` is cross-validated: each tenth of the questions is ranked by the gate that is best for the others (Stone,
    1974). `p`: of the paired permutation test of the two.
    """

    gate: float
    questions: int
    before: float
    after: float
    p: float

    @property
    def words(self) -> str:
        """The fit in words.

        >>> GateFit(2.0, 24, 0.5, 0.75, 0.01).words[:72]
        'gate +2: nDCG@10 of the right passages of 24 questions is 0.500 without '
        """
        return (
            f"gate {self.gate:+g}: nDCG@{_K} of the right passages of {counted(self.questions, 'question')} is "
            f"{self.before:.3f} without it, and {self.after:.3f} with one that is fitted to the other questions "
            f"(p = {self.p:.3f})"
        )


def fit_gate(snapshot: Snapshot, questions: Iterable[JudgedQuestion]) -> GateFit:
    """Return the gate whose rankings have the right passages highest.

    Raises DataError for fewer than `MIN_QUESTIONS` questions whose right passages are in the snapshot, and where the
    cross-validated gain is none or may be chance (p above 0.05); OptionError without scipy.
    """
    quality = qualities(snapshot, questions)
    if len(quality) < MIN_QUESTIONS:
        raise DataError(
            f"{counted(len(quality), 'question')} with right passages that the index has; a gate is fitted to "
            f"{MIN_QUESTIONS} at least. Collect more feedback."
        )
    return fitted(quality)


def fitted(quality: Values) -> GateFit:
    """Return the fit to the quality of each question (row) with each of `GATES` (column). Raises DataError as above."""
    folds, held_out = np.arange(len(quality)) % _FOLDS, np.zeros(len(quality))
    for fold in range(_FOLDS):
        held_out[folds == fold] = quality[folds == fold, _best(quality[folds != fold])]
    fit = GateFit(
        gate=GATES[_best(quality)],
        questions=len(quality),
        before=float(quality[:, 0].mean()),
        after=float(held_out.mean()),
        p=paired_test(held_out, quality[:, 0]),
    )
    if not fit.gate or fit.after <= fit.before or fit.p > _SIGNIFICANT:
        raise DataError(
            f"No gate ranks the right passages of {fit.questions} questions surely better: nDCG@{_K} is "
            f"{fit.before:.3f}, and {fit.after:.3f} with a gate that is fitted to the other questions "
            f"(p = {fit.p:.2f}). Nothing was changed."
        )
    return fit


def _best(quality: Values) -> int:
    return int(np.round(quality.sum(axis=0), 9).argmax())  # sums that differ by rounding are equal


def qualities(snapshot: Snapshot, questions: Iterable[JudgedQuestion]) -> Values:
    """Return nDCG@10 of each question that has right passages (row) with each of `GATES` (column)."""
    search, score = Reword(snapshot.words) >> walk(snapshot, POOL), scored(snapshot)
    rankers = [replace(score, gate=gate) for gate in GATES]
    rows = []
    for judged in questions:
        if gold := _gold(snapshot, judged.quotes):
            run = Run()
            state = search(start(judged.question, snapshot.graph), run)
            features = score.features(state, run)
            orders = (ranker.order(features, _K)[0] for ranker in rankers)
            rows.append([ndcg_at_k(features.nodes[order].tolist(), gold, _K) for order in orders])
    return np.array(rows, np.float64).reshape(-1, len(GATES))


def _gold(snapshot: Snapshot, quotes: Iterable[tuple[str, str]]) -> set[int]:
    """Return the nodes of the passages that have the quotes."""
    passages, graph = snapshot.graph.passages, snapshot.graph
    if passages is None:
        return set()
    found = set[int]()
    for document, quote in quotes:
        nodes = passages.nodes[passages.rows_of_document.get(document, [])].tolist()
        found.update(node for node in nodes if quote in graph.passage(node))
    return found
