"""Candidate answers of the embedded reader, and the features from which it computes their probabilities."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.models.embedded.cross_encoder import network
from graphwright.models.embedded.encoder import token_set
from graphwright.models.protocols import Floats, PassageText
from graphwright.text.sentences import ASKS, is_statement, sentence_spans

Ints = NDArray[np.int64]
Scores = NDArray[np.float64]

NONE, SPAN, YES, NO, SEVERAL = range(5)  # kinds of answers, in the order of the network's outputs


class ReaderOutput(NamedTuple):
    """Output of the network for one input."""

    passages: tuple[int, ...]  # the one or two of the input
    kind: Floats  # float32[5]: log-probabilities of no answer, a span, yes, no, and several spans
    spans: list[tuple[float, int, int, int]]  # log-probability, passage, characters; best first
    begins: Floats  # float32[tokens]: the probability that an answer begins at each
    places: Ints  # int64[tokens, 2]: passage and first character of each


class Candidate(NamedTuple):
    """An answer that some readings propose: its normalised text, its place, and its log-probability by reading.

    `decided`: the answer is yes or no; its place is the best span of the first side.
    """

    text: str
    passage: int
    start: int
    end: int
    scores: dict[int, float]
    decided: bool = False


def whole(passage: PassageText) -> str:
    """Return the input text of a passage: title and text, each on a line; of a mail its opening and its body.

    >>> whole(PassageText("Boiler", "To: Otto\\nI have called him.", (), (), ((0, 8),), opening="Boiler. Ines wrote"))
    'Boiler. Ines wrote\\nI have called him.'
    """
    title, text = passage.opening or passage.title, passage.text[passage.begin :]
    return f"{title}\n{text}" if title else text


def title_length(passage: PassageText) -> int:
    """Return the number of characters of a passage's title or opening and the line break after it."""
    title = passage.opening or passage.title
    return len(title) + 1 if title else 0


def shift_of(passage: PassageText) -> int:
    """Return what is added to a place in the text to have the place in the input text."""
    return len(whole(passage)) - len(passage.text)


_EMPTY_LINE = re.compile(r"\n[^\S\n]*\n")


def parts_of(passage: PassageText) -> list[int]:
    """Return where the parts after the title begin, which no answer crosses: text and labels, some empty, by turns."""
    text, shift, end = passage.text, shift_of(passage), passage.begin
    breaks = {end, *passage.cuts, *(match.end() for match in _EMPTY_LINE.finditer(text))}
    breaks |= {at - shift for at in asking_of(passage)}
    parts: list[int] = []
    for start, last in sorted((*passage.labels, *((at, at) for at in breaks))):
        if last >= end:
            parts += [shift + max(start, end), shift + last]
            end = last
    return parts


def asking_of(passage: PassageText) -> list[int]:
    """Return the first and last character of each sentence that asks something itself, in which no answer lies."""
    text, shift = passage.text, shift_of(passage)
    spans = (span for span in sentence_spans(text) if span[0] >= passage.begin)
    return [shift + at for span in spans if text.endswith(ASKS, *span) for at in span]


def log_softmax(logits: NDArray[np.floating[Any]]) -> Floats:
    """Return logarithms of probabilities: float32."""
    shifted = logits - logits.max()
    result: Floats = (shifted - np.log(np.exp(shifted).sum())).astype(np.float32)
    return result


def normalised(text: str) -> str:
    """Return the letters and digits of a span, lower case, without a leading article."""
    words = re.findall(r"\w+", text.lower())
    return " ".join(words[1:] if words[:1] in (["the"], ["a"], ["an"]) and len(words) > 1 else words)


def candidates(
    readings: Sequence[ReaderOutput], passages: Sequence[PassageText], sides: Sides | None = None
) -> list[Candidate]:
    """Return the distinct answers of all readings, each with its best place; yes and no where there are two sides."""
    scores: dict[str, dict[int, float]] = defaultdict(dict)
    best: dict[str, tuple[float, int, int, int]] = {}
    for number, reading in enumerate(readings):
        for score, passage, begin, end in reading.spans:
            score += float(np.logaddexp(reading.kind[SPAN], reading.kind[SEVERAL]))
            if text := normalised(whole(passages[passage])[begin:end]):
                scores[text][number] = max(scores[text].get(number, -np.inf), score)
                best[text] = max(best.get(text, (-np.inf, 0, 0, 0)), (score, -passage, -begin, end))
    spans = [Candidate(t, -best[t][1], -best[t][2], best[t][3], scores[t]) for t in scores]
    if sides is None:
        return spans
    mass = {number: float(np.logaddexp(r.kind[YES], r.kind[NO])) for number, r in enumerate(readings)}
    return spans + [
        Candidate(text, *sides.place, {number: log + float(np.log(chance)) for number, log in mass.items()}, True)
        for text, chance in (("yes", sides.alike), ("no", 1 - sides.alike))
    ]


_DECIDES = 0.2  # probability of yes or no, in proportion to that of any answer; few plain questions have 0.05


def asks_yes_or_no(readings: Sequence[ReaderOutput], shares: Scores) -> bool:
    """Return whether a question asks for yes or no, by the kinds of answer of its readings and their weights."""
    kinds = shares @ np.exp([reading.kind for reading in readings])
    return bool(kinds[YES] + kinds[NO] > _DECIDES * (1 - kinds[NONE]))


class Sides(NamedTuple):
    """Comparison of the answers in two passages whose titles the question names."""

    place: tuple[int, int, int]  # passage and characters of the first side
    alike: float  # probability of yes, 0.1 to 0.9, by the greatest share of words that answers of both sides share


_MIN_TITLE_SHARE = 0.5  # of a title's tokens, weighted by rarity, in a question that names the title


def sides(question: str, passages: Sequence[PassageText], readings: Sequence[ReaderOutput]) -> Sides | None:
    """Return the two sides of a question that compares the subjects of two passages; None for other questions.

    The network alone cannot distinguish yes from no, but the overlap of its answers in both sides can.
    """
    asked, *titles = map(token_set, [question, *(passage.title or "" for passage in passages)])
    rarity = network().rarity
    named = {
        number
        for number, title in enumerate(titles)
        if title and sum(rarity[t] for t in title & asked) >= _MIN_TITLE_SHARE * sum(rarity[t] for t in title)
    }
    pairs = [r for r in readings if len(r.passages) == 2 and named.issuperset(r.passages)]
    surest = max(pairs, key=lambda r: float(np.logaddexp(r.kind[YES], r.kind[NO])), default=None)
    if surest is None:
        return None
    alone = {r.passages[0]: _in_text(r, passages[r.passages[0]]) for r in readings if len(r.passages) == 1}
    first, second = (alone[passage] for passage in surest.passages)
    if not first or not second:
        return None
    texts = [{normalised(whole(passages[at])[b:e]) for at, b, e in side} for side in (first, second)]
    overlap = max(_word_overlap(a, b) for a in texts[0] for b in texts[1])
    return Sides(first[0], 0.1 + 0.8 * overlap)


def _in_text(reading: ReaderOutput, passage: PassageText) -> list[tuple[int, int, int]]:
    """Return passage and characters of the three best spans of a reading that do not lie in the title."""
    return [(at, b, e) for _, at, b, e in reading.spans if b >= title_length(passage)][:3]


def _word_overlap(a: str, b: str) -> float:
    first, second = set(a.split()), set(b.split())
    return len(first & second) / max(1, len(first | second))


def probabilities(proposed: Sequence[Candidate], readings: int) -> Scores:
    """Return the probability of each candidate in each reading, 0 where it is not proposed: float64[n, readings]."""
    table = np.zeros((len(proposed), readings))
    for row, candidate in zip(table, proposed, strict=True):
        row[list(candidate.scores)] = np.exp(list(candidate.scores.values()))
    return table


def mixture(rows: Scores, weights: Scores) -> Scores:
    """Return the weight of each reading, from its features: float64[readings], summing to 1."""
    logits = rows @ weights
    shares = np.exp(logits - logits.max(initial=-np.inf))
    result: Scores = shares / shares.sum()
    return result


_UNSPACED = "\u0e00"  # the first character (Thai) of the scripts without spaces between words

_ADDRESS = re.compile(r"[\w.+-]{1,64}+@[\w-]{1,64}+(?:\.[\w-]{1,64}+)+|https?://[^\s<>\"']{0,200}[^\s<>\"'.,;:!?)]")
_LONGEST_ADDRESS = 200  # characters


def whole_words(text: str, begin: int, end: int) -> tuple[int, int]:
    """Return a span extended to whole words, where words are separated by spaces, and to whole addresses.

    >>> text = "Write to pavel.dvorak@tesline.example."
    >>> text[slice(*whole_words(text, 9, 28))]
    'pavel.dvorak@tesline.example'
    """
    while begin > 0 and text[begin - 1].isalnum() and text[begin].isalnum() and text[begin - 1] < _UNSPACED:
        begin -= 1
    while end < len(text) and text[end].isalnum() and text[end - 1].isalnum() and text[end] < _UNSPACED:
        end += 1
    around = max(begin - _LONGEST_ADDRESS, 0)
    for match in _ADDRESS.finditer(text, around, min(end + _LONGEST_ADDRESS, len(text))):
        if match.start() < end and begin < match.end():
            begin, end = min(begin, match.start()), max(end, match.end())
    return begin, end


_MIN_LOG = -12.0  # of an answer that no reading proposes

READING_FEATURES = (  # features of a reading, in the order of the mixture's weights
    "alone",  # of one passage, not of a pair
    "rank alone",  # of its passage, as a logarithm
    "rank paired",  # of the first passage of a pair
    "second rank",  # of the second
    "answer alone",  # logit that it holds an answer
    "answer paired",
    "covered alone",  # share of the question's tokens, weighted by rarity, in its passage
    "covered paired",  # in the passages of a pair
)


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


CONFIDENCE_FEATURES = (  # features of the best answer, in the order of the weights of its confidence
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


def confidence_features(
    proposed: Sequence[Candidate], readings: Sequence[ReaderOutput], shares: Scores, rows: Scores
) -> Scores:
    """Return the features of the best candidate: float64[11], given the weights of readings and their features."""
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


SENTENCE_FEATURES = (  # features of a sentence, in the order of the weights of its score
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
        [at for at in range(max(0, n - 1), min(len(texts), n + 2)) if bounds[at, 0] == bounds[n, 0]]
        for n in range(len(texts))
    ]
    in_sentence = _Covered(question, [PassageText("", text) for text in texts])
    in_passage = _Covered(question, passages)
    columns = [
        np.ones(len(bounds)),
        alone,
        paired,
        mixed,
        alone - np.log(np.exp(alone).sum()),
        [in_sentence.of((n,)) for n in range(len(texts))],
        [in_sentence.of(near) for near in around],
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
    """Return the probability that an answer begins in each sentence; in the opening of a mail, in that after it."""
    tokens = np.flatnonzero(reading.places[:, 0] == passage)[:-1]  # without the separator
    at = reading.places[tokens, 1] - shift_of(text)
    total = np.concatenate(([0.0], np.cumsum(reading.begins[tokens], dtype=np.float64)))
    first, last = np.searchsorted(at, bounds[:, 1]), np.searchsorted(at, bounds[:, 2])
    result: Scores = np.maximum(total[last] - total[first], 0)
    if text.opening and len(body := np.flatnonzero(bounds[:, 1] >= text.begin)):
        result[body[np.argmin(bounds[body, 1])]] += total[np.searchsorted(at, text.begin)]
    return result


ANSWER_FEATURES = (  # features of the best sentence of a question, in the order of the weights of answerability
    "constant",
    "sentence",  # logit of the probability of the best sentence
    "mixed",  # logit of an answer over all readings, weighted
    "covered",  # share of the question's tokens, weighted by rarity, in the best sentence
    "covered by all",  # the same in all passages together
)


def answer_features(
    question: str,
    passages: Sequence[PassageText],
    readings: Sequence[ReaderOutput],
    shares: Scores,
    sentences: Scores,
    scores: Scores,
) -> Scores:
    """Return the features of the best sentence: float64[5]; `sentences`, `scores`: features and scores of all."""
    best = int(scores.argmax())
    none = float(shares @ np.exp([reading.kind[NONE] for reading in readings]))
    covered = sentences[best, SENTENCE_FEATURES.index("covered")]
    by_all = _Covered(question, passages).of(range(len(passages)))
    return np.array([1, _logit(scores[best]), _logit(1 - none), covered, by_all])


CELL_FEATURES = (  # features of a cell of a row that is read alone, in the order of their weights
    "constant",
    "query",  # logit of the probability of the query that looks it up
    "answer",  # logit that its row holds an answer
    "begins",  # log-probability that the answer begins in it
)


def cell_features(row: PassageText, reading: ReaderOutput, cell: tuple[int, int], probability: float) -> Scores:
    """Return the features of a cell, given the probability of the query that looks it up: float64[4]."""
    (begins,) = _begins_within(reading, row, reading.passages[0], np.array([(0, *cell)]))
    return np.array([1, _logit(probability), _answer_logit(reading), max(_MIN_LOG, np.log(begins + 1e-9))])


def _logit(probability: float) -> float:
    return float(np.log(probability + 1e-4) - np.log1p(1e-4 - probability))
