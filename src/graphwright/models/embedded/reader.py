"""Reader of six layers that reads a question with one or two passages, from weights in a folder."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache, partial
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.constraints import AtLeast, Checked
from graphwright.errors import ModelError
from graphwright.models.embedded.cross_encoder import network, normalised, whole_words
from graphwright.models.embedded.encoder import loaded, open_graph, side_by_side, tokenise
from graphwright.models.protocols import Floats, PassageText, Span, Usage

__all__ = [
    "ANSWER_FEATURES",
    "FEATURES",
    "Candidate",
    "PairReader",
    "Reading",
    "answer_features",
    "candidates",
    "features",
]

_CLS, _SEP = 101, 102
_MAX_TOKENS, _MAX_QUESTION, _ALONE = 384, 62, 256  # of an input, of a question, of a passage that is read alone
_SPANS = 6  # candidates of one input
_REMEMBERED = 8  # questions
_NONE, _SPAN, _YES, _NO, _SEVERAL = range(5)


class Reading(NamedTuple):
    """What the network finds in one input.

    `passages`: the numbers of the one or two passages; `kind: float32[5]`, log-probabilities of no answer, a span, yes,
    no, and several spans; `spans`: log-probability, passage, and characters of the best spans, best first.
    """

    passages: tuple[int, ...]
    kind: Floats
    spans: list[tuple[float, int, int, int]]


class Candidate(NamedTuple):
    """An answer that some readings propose: its normalised text, its place, and its log-probability by reading.

    `decided`: it is yes or no; its place is then what the surest reading points at.
    """

    text: str
    passage: int
    start: int
    end: int
    scores: dict[int, float]
    decided: bool = False


@dataclass(frozen=True, repr=False)
class PairReader(Checked):
    """Reader of short answers, names, dates, numbers, yes and no, that tells whether passages hold an answer at all.

    `folder`: the weights, which scripts/build_reader.py and scripts/fit_reader.py write; none are shipped yet.
    The passages are read alone, and the first `paired` of them in pairs, so that an answer may take two passages. Each
    candidate's score is the probability that it is right, by a logistic model over `FEATURES`, fitted on questions of
    other sets than those that figures are reported of. `max_spans`: number of spans returned; `max_tokens`: tokens of
    a span. An answer may stand in a title; it is cited where the text begins then.
    """

    folder: str
    max_spans: Annotated[int, AtLeast(1)] = 5
    max_tokens: Annotated[int, AtLeast(1)] = 24
    paired: Annotated[int, AtLeast(0)] = 4

    def __repr__(self) -> str:
        options = [(each.name, getattr(self, each.name), each.default) for each in fields(self)[1:]]
        changed = [f"{name}={value}" for name, value, default in options if value != default]
        return f"PairReader({', '.join([repr(self.folder), *changed])})"

    def read(self, question: str, passages: Sequence[PassageText]) -> list[Span]:
        """Return answers with probabilities, best first, each text once; none where no passage has text."""
        return self.read_metered(question, passages, Usage())

    def read_metered(self, question: str, passages: Sequence[PassageText], usage: Usage) -> list[Span]:
        """Read as `read` does, and add the work to `usage`."""
        readings = self.readings(question, passages, usage)
        proposed = candidates(readings, passages)
        if not proposed:
            return []
        scores = _network(self.folder).probabilities(features(question, proposed, readings), "confidence")
        order = np.argsort(-scores, kind="stable")[: self.max_spans]
        return [_span(proposed[at], float(scores[at]), passages) for at in order.tolist()]

    def answerable(self, question: str, passages: Sequence[PassageText]) -> float:
        """Return the probability that the passages answer a question, at whatever length: 0 to 1."""
        return self.answerable_metered(question, passages, Usage())

    def answerable_metered(self, question: str, passages: Sequence[PassageText], usage: Usage) -> float:
        """Tell as `answerable` does, and add the work to `usage`."""
        if not any(passage.text.strip() for passage in passages):
            return 0.0
        row = answer_features(question, passages, self.readings(question, passages, usage))
        return float(_network(self.folder).probabilities(row, "answerable"))

    def readings(self, question: str, passages: Sequence[PassageText], usage: Usage) -> list[Reading]:
        """Return what the network finds in each passage alone and in pairs of the first.

        Those of the last few questions are remembered, so that several steps may ask without reading again.
        """
        remembered = _network(self.folder).remembered
        key = question, tuple(passages), self.max_tokens, self.paired
        readings = remembered.get(key)
        if readings is None:
            readings = remembered[key] = self._read(question, passages, usage)
            for old in list(remembered)[:-_REMEMBERED]:
                remembered.pop(old, None)
        return readings

    def _read(self, question: str, passages: Sequence[PassageText], usage: Usage) -> list[Reading]:
        tokens = _Tokens.of(question, passages)
        filled = [number for number, passage in enumerate(passages) if passage.text.strip()]
        inputs: list[tuple[int, ...]] = [(number,) for number in filled]
        inputs += combinations(filled[: self.paired], 2)
        started, readings = time.perf_counter(), []
        for members, (size, reading) in side_by_side(
            partial(tokens.read, _network(self.folder), self.max_tokens), inputs
        ):
            now = time.perf_counter()
            usage.add(Usage(calls=1, texts=len(members), tokens=size, seconds=now - started))
            started = now
            readings.append(reading)
        return readings


@dataclass(frozen=True, slots=True)
class _Tokens:
    """The tokens of a question and of passages, with the characters of the passages' tokens in title and text."""

    question: list[int]
    passages: list[tuple[list[int], list[tuple[int, int]]]]
    texts: list[str]

    @classmethod
    def of(cls, question: str, passages: Sequence[PassageText]) -> _Tokens:
        texts = [_whole(passage) for passage in passages]
        asked, *read = tokenise([question, *(text[: 64 * _ALONE] for text in texts)], True)
        return cls(asked.ids[:_MAX_QUESTION], [(each.ids, each.offsets) for each in read], texts)

    def read(self, network: _Network, max_tokens: int, members: tuple[int, ...]) -> tuple[int, Reading]:
        """Return the number of tokens of an input, and its reading."""
        ids, places = [_CLS, *self.question, _SEP], []
        begin = len(ids)
        room = _ALONE if len(members) == 1 else (_MAX_TOKENS - begin) // len(members)
        for number in members:
            tokens, offsets = self.passages[number]
            places += [(number, *offset) for offset in offsets[: room - 1]] + [(number, 0, 0)]
            ids += [*tokens[: room - 1], _SEP]
        types = [0] * begin + [1] * (len(ids) - begin)
        spans, kind = network.run(ids, types)
        best = [
            (score, number, *whole_words(self.texts[number], first, last))
            for score, number, first, last in _best_spans(spans[begin:], places, max_tokens)
        ]
        return len(ids), Reading(members, _log_softmax(kind), best)


def _whole(passage: PassageText) -> str:
    return f"{passage.title}\n{passage.text}" if passage.title else passage.text


def _best_spans(
    logits: Floats, places: Sequence[tuple[int, int, int]], max_tokens: int
) -> list[tuple[float, int, int, int]]:
    """Return the log-probability, passage and characters of the best spans; each lies within one passage."""
    numbers = np.array([number for number, _, _ in places])
    tokens = np.array([end > begin for _, begin, end in places])
    first, last = (_log_softmax(np.where(tokens, logits[:, side], -1e4)) for side in (0, 1))
    scores = first[:, None] + last
    length = np.arange(len(places)) - np.arange(len(places))[:, None]
    scores[(length < 0) | (length >= max_tokens) | (numbers[:, None] != numbers)] = -np.inf
    count = min(_SPANS, scores.size)
    chosen = np.argpartition(-scores, count - 1, axis=None)[:count]
    chosen = chosen[np.lexsort((chosen, -scores.ravel()[chosen]))]
    pairs = [divmod(int(at), len(places)) for at in chosen if scores.ravel()[at] > -1e3]
    return [(float(scores[a, b]), places[a][0], places[a][1], places[b][2]) for a, b in pairs]


def _log_softmax(logits: NDArray[np.floating[Any]]) -> Floats:
    shifted = logits - logits.max()
    result: Floats = (shifted - np.log(np.exp(shifted).sum())).astype(np.float32)
    return result


def candidates(readings: Sequence[Reading], passages: Sequence[PassageText]) -> list[Candidate]:
    """Return the distinct answers of all readings, spans and then yes and no, each with its best place."""
    scores: dict[str, dict[int, float]] = defaultdict(dict)
    best: dict[str, tuple[float, int, int, int]] = {}
    for number, reading in enumerate(readings):
        for score, passage, begin, end in reading.spans:
            score += float(np.logaddexp(reading.kind[_SPAN], reading.kind[_SEVERAL]))
            if text := normalised(_whole(passages[passage])[begin:end]):
                scores[text][number] = max(scores[text].get(number, -np.inf), score)
                best[text] = max(best.get(text, (-np.inf, 0, 0, 0)), (score, -passage, -begin, end))
    spans = [Candidate(t, -best[t][1], -best[t][2], best[t][3], scores[t]) for t in scores]
    return spans + [_decided(readings, kind, text) for kind, text in ((_YES, "yes"), (_NO, "no")) if readings]


def _decided(readings: Sequence[Reading], kind: int, text: str) -> Candidate:
    """Return yes or no as a candidate, placed at the best span of the reading that is surest of it."""
    scores = {number: float(reading.kind[kind]) for number, reading in enumerate(readings)}
    surest = readings[max(scores, key=lambda number: (scores[number], -number))]
    _, passage, begin, end = surest.spans[0] if surest.spans else (0.0, surest.passages[0], 0, 0)
    return Candidate(text, passage, begin, end, scores, decided=True)


FEATURES = (
    "constant",
    "decided",  # yes or no
    "best",  # log-probability of the kind and of the answer, in the best reading
    "alone",  # the same over passages that were read alone
    "paired",  # the same over pairs
    "sum",  # logarithm of the sum over all readings
    "lead",  # by how much its best exceeds that of every other
    "agreed",  # share of the readings that it is the best of
    "none",  # log-probability that its best reading holds no answer
    "least none",  # the least of all readings
    "rank",  # of its passage, as a logarithm
    "words",  # logarithm of their number
    "asked",  # share of its words that the question has
    "number",  # whether it has a digit
)
"""Features of a candidate, in the order of the weights of the logistic model."""

_LEAST = -12.0  # log-probability of what no reading proposes

ANSWER_FEATURES = (
    "constant",
    "alone",  # greatest logit of an answer, over passages that were read alone
    "paired",  # the same over pairs
    "covered",  # share of the question's tokens, weighted by rarity, in the passage that has most of them
    "covered by all",  # the same in all passages together
)
"""Features of a question and its passages, in the order of the weights that tell whether they answer it."""


def answer_features(question: str, passages: Sequence[PassageText], readings: Sequence[Reading]) -> Floats:
    """Return the features of a question and its passages: float32[5]."""
    logits = [float(np.log(-np.expm1(min(r.kind[_NONE], -1e-6))) - r.kind[_NONE]) for r in readings]
    alone = max((logit for logit, r in zip(logits, readings, strict=True) if len(r.passages) == 1), default=_LEAST)
    paired = max((logit for logit, r in zip(logits, readings, strict=True) if len(r.passages) > 1), default=alone)
    asked, *texts = (set(each.ids) for each in tokenise([question, *map(_whole, passages)]))
    rarity = network().rarity
    weight = sum(rarity[token] for token in asked) + 1e-6
    covered = [sum(rarity[token] for token in asked & text) / weight for text in texts]
    everywhere = sum(rarity[token] for token in asked & set().union(*texts)) / weight
    return np.array([1, alone, paired, max(covered), everywhere], np.float32)


def features(question: str, proposed: Sequence[Candidate], readings: Sequence[Reading]) -> Floats:
    """Return the features of each candidate: float32[n, 14]."""
    asked = set(normalised(question).split())
    scores = np.full((len(proposed), len(readings)), _LEAST, np.float32)
    for row, candidate in zip(scores, proposed, strict=True):
        row[list(candidate.scores)] = np.maximum(list(candidate.scores.values()), _LEAST)
    paired = np.array([len(reading.passages) > 1 for reading in readings])
    none = np.maximum([reading.kind[_NONE] for reading in readings], _LEAST)
    best = scores.max(1)
    ranked = np.sort(best)
    second = ranked[-2] if len(ranked) > 1 else _LEAST
    texts = [candidate.text.split() for candidate in proposed]
    columns = [
        np.ones(len(proposed)),
        [candidate.decided for candidate in proposed],
        best,
        scores[:, ~paired].max(1, initial=_LEAST),
        scores[:, paired].max(1, initial=_LEAST),
        np.log(np.exp(scores).sum(1)),
        best - np.where(best == ranked[-1], second, ranked[-1]),
        np.bincount(scores.argmax(0), minlength=len(proposed)) / len(readings),
        none[scores.argmax(1)],
        np.full(len(proposed), none.min()),
        [np.log(1 + candidate.passage) for candidate in proposed],
        [np.log(1 + len(text)) for text in texts],
        [sum(word in asked for word in text) / max(1, len(text)) for text in texts],
        [any(character.isdigit() for character in candidate.text) for candidate in proposed],
    ]
    return np.stack([np.asarray(column, np.float32) for column in columns], axis=1)


def _span(candidate: Candidate, score: float, passages: Sequence[PassageText]) -> Span:
    """Return a candidate as characters of its passage's text, with its own text where it stands elsewhere."""
    passage = passages[candidate.passage]
    shift = len(passage.title) + 1 if passage.title else 0
    inside = candidate.start >= shift
    text = candidate.text if candidate.decided else ""
    if not inside and not text:
        text = _whole(passage)[candidate.start : candidate.end].strip()
    start = candidate.start - shift if inside else 0
    end = candidate.end - shift if inside else min(1, len(passage.text))
    return Span(candidate.passage, start, end, round(score, 4), text)


class _Network:
    """The loaded weights."""

    def __init__(self, folder: str) -> None:
        fitted = json.loads(Path(folder, "model.json").read_text("utf-8"))
        self.session = open_graph(Path(folder, "model.onnx"))
        self.weights = {
            part: np.array([fitted[part][name] for name in names], np.float32)
            for part, names in (("confidence", FEATURES), ("answerable", ANSWER_FEATURES))
        }
        self.remembered: dict[Any, list[Reading]] = {}

    def run(self, ids: Sequence[int], types: Sequence[int]) -> tuple[Floats, Floats]:
        """Return the logits of the first and last token of a span, float32[tokens, 2], and of the kinds, float32[5]."""
        feed = {"input_ids": np.array([ids], np.int32), "type_ids": np.array([types], np.int32)}
        feed["position_ids"] = np.arange(len(ids), dtype=np.int32)
        try:
            spans, kind = self.session.run(None, feed)
        except Exception as exc:  # onnxruntime raises a class of its own for each status
            raise ModelError(f"PairReader: an input of {len(ids)} tokens failed in onnxruntime: {exc}") from exc
        return spans[0], kind[0]

    def probabilities(self, rows: Floats, part: str) -> Floats:
        """Return the probability of each row of features: float32[n]."""
        result: Floats = 1 / (1 + np.exp(-(rows @ self.weights[part])))
        return result


def _network(folder: str) -> _Network:
    return loaded(partial(_load, folder))


@cache
def _load(folder: str) -> _Network:
    try:
        return _Network(folder)
    except (OSError, ValueError, KeyError) as exc:
        remedy = "Write them with scripts/build_reader.py and scripts/fit_reader.py."
        raise ModelError(f"PairReader: the weights in {folder} cannot be read: {exc}. {remedy}") from exc
