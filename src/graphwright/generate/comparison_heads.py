"""Trained heads over a question: whether it compares values of two things, which two, and which way round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from graphwright.models.embedded.cross_encoder import tokens_of
from graphwright.models.embedded.encoder import WEIGHTS, MiniLM, arrays_of
from graphwright.models.protocols import Floats
from graphwright.operators.query.logistic import logistic
from graphwright.operators.run import Run
from graphwright.text.values import Value
from graphwright.text.words import word_spans

OTHER, WHICH, TRUE, SAME, DIFFERENCE = range(5)  # none; which of two; whether one exceeds; equality; difference
DATE, TIME = "date", "time"  # the larger may be the lesser: a date of birth ("older"), a duration ("faster")
_WORDS = 3  # of a question with two sides, at least


class Side(NamedTuple):
    """First and last character of a side of a question."""

    start: int
    end: int


class Tagged(NamedTuple):
    """The two sides of a question, in its order, and the mean of the log-odds of their words."""

    sides: tuple[Side, Side]
    score: float


class Asked(NamedTuple):
    """Features of a question: its vector, the score of its sides and 1; and the states of its tokens."""

    row: Floats
    states: Floats


@dataclass(frozen=True, eq=False)
class ComparisonHeads:
    """Logistic regressions; the last feature of each is 1.

    `signs`: the attention to each token, then whether the larger value is asked for, of any values, and what dates add.
    """

    sides: Floats  # float32[words]: whether a word belongs to a side
    kinds: Floats  # float32[question, 5]
    signs: Floats  # float32[4, 385]
    durations: Floats  # float32[385]: whether a unit is one of time
    values: Floats  # whether a pair of values is the one that is asked for; the last is that of none

    def tagged(self, question: str) -> Tagged | None:
        """Return the sides of a question; None for one of fewer than three words."""
        spans, rows = word_rows(question)
        return None if len(spans) < _WORDS else best_sides(spans, rows @ self.sides)

    def kind(self, asked: Asked) -> tuple[int, float]:
        """Return the most probable kind of a question, and its probability."""
        scores = asked.row @ self.kinds
        weights = np.exp(scores - scores.max())
        return int(scores.argmax()), float(weights.max() / weights.sum())

    def pair_shares(self, rows: Floats) -> Floats:
        """Return the probability of each pair of values, given its features; what they lack to 1 is that of none."""
        scores = rows @ self.values[:-1]
        most = max(float(scores.max()), float(self.values[-1]))
        weights = np.exp(scores - most)
        shares: Floats = weights / (weights.sum() + np.exp(self.values[-1] - most))
        return shares

    def form(self, value: Value, run: Run) -> str:
        """Return the form of a value: a date, a duration, or "" for another number."""
        if value.kind == DATE or not value.unit:
            return DATE if value.kind == DATE else ""
        return TIME if run.encode(MiniLM(), [value.unit])[0] @ self.durations[:-1] + self.durations[-1] > 0 else ""

    def larger(self, asked: Asked, form: str) -> float:
        """Return the probability that a question asks for the larger value; `form`: of the values compared."""
        attention = asked.states @ self.signs[0, :-1]
        attention = np.exp(attention - attention.max())
        weights = self.signs[1] + self.signs[2] * (form == DATE) + self.signs[3] * (form == TIME)
        return logistic(weights, attention / attention.sum() @ asked.states)


@cache
def comparison_heads() -> ComparisonHeads:
    """Return the heads of the package, which scripts/fit_comparisons.py wrote."""
    return ComparisonHeads(**arrays_of(WEIGHTS / "comparisons" / "model.npz"))


def word_rows(question: str) -> tuple[list[tuple[int, int]], Floats]:
    """Return the characters of each word of a question, and its features: states of it and its neighbours, and 1."""
    (read,) = tokens_of([question])
    states = read.states.astype(np.float32)
    words, rows = [], list[Floats]()
    for start, end in word_spans(question):
        tokens = [at + 1 for at, (first, last) in enumerate(read.spans) if first < end and start < last]
        if tokens:
            words.append((start, end))
            before, after = states[tokens[0] - 1], states[tokens[-1] + 1]
            text = question[start:end]
            shape = (text[:1].isupper(), any(map(str.isdigit, text)), not rows, 1.0)
            rows.append(np.concatenate((states[tokens].mean(0), before, after, shape)))
    return words, np.array(rows, np.float32)


def best_sides(spans: Sequence[tuple[int, int]], scores: Floats) -> Tagged:
    """Return the two runs of words, one word or more apart, with the greatest sum of scores."""
    # States: before, in the first side, between, in the second side, after.
    table, moves = np.full((len(scores), 5), -np.inf), np.zeros((len(scores), 5), np.int64)
    table[0, :2] = 0.0, scores[0]
    for at in range(1, len(scores)):
        for state in range(5):
            gain = scores[at] if state in (1, 3) else 0.0
            previous = max((state, state - 1), key=lambda s: table[at - 1, s] if s >= 0 else -np.inf)
            table[at, state], moves[at, state] = table[at - 1, previous] + gain, previous
    states = [3 if table[-1, 3] > table[-1, 4] else 4]
    for at in range(len(scores) - 1, 0, -1):
        states.append(int(moves[at, states[-1]]))
    states.reverse()
    members = [[at for at, state in enumerate(states) if state == side] for side in (1, 3)]
    first, second = (Side(spans[m[0]][0], spans[m[-1]][1]) for m in members)
    return Tagged((first, second), float(np.mean(scores[members[0] + members[1]])))


def masked(question: str, tagged: Tagged) -> str:
    """Return a question with X and Y in place of its sides."""
    first, second = tagged.sides
    return f"{question[: first.start]}X{question[first.end : second.start]}Y{question[second.end :]}"


def asked_of(question: str, tagged: Tagged) -> Asked:
    """Return the features of a question with X and Y in place of its sides."""
    (read,) = tokens_of([masked(question, tagged)])
    row = np.concatenate((read.vector, [np.clip(tagged.score / 4, -2, 2), 1.0])).astype(np.float32)
    return Asked(row, read.states[1:-1].astype(np.float32))
