"""Features of readings, answers, questions and sentences, from which the embedded reader computes probabilities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphwright.models.embedded.cross_encoder import network
from graphwright.models.embedded.encoder import token_set
from graphwright.models.embedded.reader_answers import (
    NO,
    NONE,
    YES,
    Candidate,
    Ints,
    ReaderOutput,
    Scores,
    probabilities,
    title_length,
    whole,
)
from graphwright.models.protocols import PassageText
from graphwright.text.sentences import is_statement

_MIN_LOG = -12.0  # of an answer that no reading proposes

READING_FEATURES = (
    "alone",  # of one passage, not of a pair
    "rank alone",  # of its passage, as a logarithm
    "rank paired",  # of the first passage of a pair
    "second rank",  # of the second
    "answer alone",  # logit that it holds an answer
    "answer paired",
    "covered alone",  # share of the question's tokens, weighted by rarity, in its passage
    "covered paired",  # in the passages of a pair
)
"""Features of a reading, in the order of the mixture's weights."""


def reading_features(question: str, passages: Sequence[PassageText], readings: Sequence[ReaderOutput]) -> Scores:
    """Return the features of each reading: float64[readings, 8]."""
    shares = _Covered(question, passages)
    rows = np.zeros((len(readings), len(READING_FEATURES)))
    for row, reading in zip(rows, readings, strict=True):
        first, last = np.log1p(reading.passages[0]), np.log1p(reading.passages[-1])
        answer, covered = _answer_logit(reading), shares.of(reading.passages)
        single = len(reading.passages) == 1
        row[:] = (1, first, 0, 0, answer, 0, covered, 0) if single else (0, 0, first, last, 0, answer, 0, covered)
    return rows


def _answer_logit(reading: ReaderOutput) -> float:
    """Return the logit of the probability that a reading holds an answer."""
    none = min(float(reading.kind[NONE]), -1e-6)
    return float(np.log(-np.expm1(none)) - none)


class _Covered:
    """The coverage of a question by passages: shares of its tokens, weighted by rarity."""

    def __init__(self, question: str, passages: Sequence[PassageText]) -> None:
        asked, *texts = map(token_set, [question, *map(whole, passages)])
        rarity = network().rarity
        self.weights = {token: float(rarity[token]) for token in asked}
        self.total = sum(self.weights.values()) + 1e-6
        self.texts = [asked & text for text in texts]

    def of(self, passages: Sequence[int]) -> float:
        """Return the share that these passages have together."""
        tokens = set[int]().union(*(self.texts[passage] for passage in passages))
        return sum(self.weights[token] for token in sorted(tokens)) / self.total


CONFIDENCE_FEATURES = (
    "constant",
    "probability",  # of the answer, as a logarithm
    "lead",  # logarithm of its ratio to the next best
    "share",  # logarithm of its share in all answers
    "none",  # logit that there is no answer
    "decided",  # whether it is yes or no
    "deciding",  # logit that the answer is yes or no
    "words",  # logarithm of their number
    "agreed",  # sum of the weights of the readings that rank it first
    "covered",  # the greatest share of the question's tokens that a reading covers
    "surest",  # the greatest weight of a reading
)
"""Features of the best answer, in the order of the weights of its confidence."""


def confidence_features(
    proposed: Sequence[Candidate], readings: Sequence[ReaderOutput], shares: Scores, rows: Scores
) -> Scores:
    """Return the features of the best candidate: float64[11].

    `shares`: the weight of each reading (`mixture`); `rows`: the features of readings.
    """
    table = probabilities(proposed, len(readings))
    total = table @ shares
    best = int(total.argmax())
    second = float(np.sort(total)[-2]) if len(total) > 1 else 0.0
    none, yes, no = (float(shares @ np.exp([reading.kind[kind] for reading in readings])) for kind in (NONE, YES, NO))
    return np.array(
        [
            1,
            np.log(total[best] + 1e-6),
            np.log((total[best] + 1e-6) / (second + 1e-6)),
            np.log((total[best] + 1e-6) / (total.sum() + 1e-6)),
            np.log((none + 1e-6) / (1 - none + 1e-6)),
            proposed[best].decided,
            np.log((yes + no + 1e-6) / (1 - yes - no + 1e-6)),
            np.log(1 + len(proposed[best].text.split())),
            shares[table.argmax(0) == best].sum(),
            rows[:, READING_FEATURES.index("covered alone") :].max(),
            shares.max(),
        ]
    )


SENTENCE_FEATURES = (
    "constant",
    "alone",  # log-probability that its passage, read alone, holds an answer and that it begins in the sentence
    "paired",  # the same over pairs
    "mixed",  # the same over all readings, weighted
    "share",  # of the sentence in the sum of "alone" over all sentences, as a logarithm
    "covered",  # share of the question's tokens, weighted by rarity, in the sentence
    "covered around",  # the same in it and the sentences before and after it
    "covered by passage",  # the same in its passage and title
    "rank",  # of its passage, as a logarithm
    "words",  # logarithm of their number
    "statement",  # whether it is a statement, and no heading or row of a table
)
"""Features of a sentence, in the order of the weights of its score."""


def sentence_features(
    question: str,
    passages: Sequence[PassageText],
    sentences: Sequence[tuple[int, int, int]],
    readings: Sequence[ReaderOutput],
    shares: Scores,
) -> Scores:
    """Return the features of each sentence (passage, first and last character): float64[n, 11]."""
    bounds = np.array(sentences, np.int64).reshape(-1, 3)
    alone, paired, mixed = _begun(passages, bounds, readings, shares)
    texts = [passages[passage].text[begin:end] for passage, begin, end in sentences]
    around = [
        " ".join(texts[at] for at in range(max(0, n - 1), min(len(texts), n + 2)) if bounds[at, 0] == bounds[n, 0])
        for n in range(len(texts))
    ]
    in_sentence = _Covered(question, [PassageText("", text) for text in texts])
    in_around = _Covered(question, [PassageText("", text) for text in around])
    in_passage = _Covered(question, passages)
    columns = [
        np.ones(len(bounds)),
        alone,
        paired,
        mixed,
        alone - np.log(np.exp(alone).sum()),
        [in_sentence.of((n,)) for n in range(len(texts))],
        [in_around.of((n,)) for n in range(len(texts))],
        [in_passage.of((passage,)) for passage, _, _ in sentences],
        np.log1p(bounds[:, 0]),
        [np.log(1 + len(text.split())) for text in texts],
        [is_statement(text) for text in texts],
    ]
    return np.stack([np.asarray(column, np.float64) for column in columns], axis=1)


def _begun(
    passages: Sequence[PassageText], bounds: Ints, readings: Sequence[ReaderOutput], shares: Scores
) -> tuple[Scores, Scores, Scores]:
    """Return the log-probabilities that an answer begins in each sentence: read alone, in pairs, and over all."""
    alone, paired = np.full(len(bounds), _MIN_LOG), np.full(len(bounds), _MIN_LOG)
    mixed = np.zeros(len(bounds))
    for share, reading in zip(shares.tolist(), readings, strict=True):
        answered = -np.expm1(min(float(reading.kind[NONE]), -1e-6))
        for passage in reading.passages:
            rows = np.flatnonzero(bounds[:, 0] == passage)
            chance = answered * _begins_within(reading, passages[passage], passage, bounds[rows])
            mixed[rows] += share * chance
            column = alone if len(reading.passages) == 1 else paired
            column[rows] = np.maximum(column[rows], np.log(chance + 1e-9))
    return alone, np.where(paired == _MIN_LOG, alone, paired), np.maximum(_MIN_LOG, np.log(mixed + 1e-9))


def _begins_within(reading: ReaderOutput, text: PassageText, passage: int, bounds: Ints) -> Scores:
    """Return the probability that an answer begins in each sentence of a passage, by one reading."""
    tokens = np.flatnonzero(reading.places[:, 0] == passage)[:-1]  # without the separator
    at = reading.places[tokens, 1] - title_length(text)
    total = np.concatenate(([0.0], np.cumsum(reading.begins[tokens], dtype=np.float64)))
    first, last = np.searchsorted(at, bounds[:, 1]), np.searchsorted(at, bounds[:, 2])
    result: Scores = np.maximum(total[last] - total[first], 0)
    return result


ANSWER_FEATURES = (
    "constant",
    "sentence",  # logit of the probability of the best sentence
    "mixed",  # logit of an answer over all readings, weighted
    "covered",  # share of the question's tokens, weighted by rarity, in the best sentence
    "covered by all",  # the same in all passages together
)
"""Features of the best sentence of a question, in the order of the weights of answerability."""


def answer_features(
    question: str,
    passages: Sequence[PassageText],
    readings: Sequence[ReaderOutput],
    shares: Scores,
    sentences: Scores,
    scores: Scores,
) -> Scores:
    """Return the features of the best sentence: float64[5].

    `shares`: the weight of each reading; `sentences`: the features of sentences, and `scores` their probabilities.
    """
    best = int(scores.argmax())
    none = float(shares @ np.exp([reading.kind[NONE] for reading in readings]))
    covered = sentences[best, SENTENCE_FEATURES.index("covered")]
    by_all = _Covered(question, passages).of(range(len(passages)))
    return np.array([1, _logit(scores[best]), _logit(1 - none), covered, by_all])


def _logit(probability: float) -> float:
    return float(np.log(probability + 1e-4) - np.log1p(1e-4 - probability))
