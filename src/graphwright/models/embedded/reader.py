"""Embedded reader: six layers that read a question with one or two passages."""

from __future__ import annotations

import json
import time
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from graphwright.constraints import AtLeast, Checked
from graphwright.errors import ModelError
from graphwright.models.embedded.cross_encoder import network
from graphwright.models.embedded.encoder import REMEDY, WEIGHTS, loaded, open_graph, run_session, side_by_side, tokenise
from graphwright.models.embedded.reader_answers import (
    ANSWER_FEATURES,
    CELL_FEATURES,
    CONFIDENCE_FEATURES,
    READING_FEATURES,
    SENTENCE_FEATURES,
    Candidate,
    Ints,
    ReaderOutput,
    Scores,
    answer_features,
    asking_of,
    asks_yes_or_no,
    candidates,
    cell_features,
    confidence_features,
    log_softmax,
    mixture,
    parts_of,
    probabilities,
    reading_features,
    sentence_features,
    shift_of,
    sides,
    title_length,
    whole,
    whole_words,
)
from graphwright.models.protocols import Floats, PassageText, Span, Usage

_CLS, _SEP = 101, 102
_MAX_TOKENS, _MAX_QUESTION, _ALONE = 384, 62, 256  # of an input, of a question, of a passage that is read alone
_WINDOW, _STEP = 64, 16  # tokens of a passage that are read in pairs, and between the windows that are compared
_SPANS = 6  # candidates of one input
_MAX_REMEMBERED = 8  # questions

PARTS = {  # the features of each part of model.json, in the order of its weights
    "mixture": READING_FEATURES,
    "confidence": CONFIDENCE_FEATURES,
    "answerable": ANSWER_FEATURES,
    "sentence": SENTENCE_FEATURES,
    "cell": CELL_FEATURES,
}


@dataclass(frozen=True, repr=False)
class MiniLMReader(Checked):
    """Reader without download, key or torch: names, dates, numbers, and the probability that there is an answer.

    The passages are read alone, and the first `paired` of them in pairs: of each its title and the 64 tokens that most
    probably answer. The readings are mixed, weighted by the ranks of their passages, the probability of an answer in
    them, and their coverage of the question. The score of the best answer is the probability that it is right; others
    are lower in proportion. A question that asks for yes or no has no other short answer, and these only where it
    compares two passages, by the overlap of their spans.

    `max_spans`: number of answers returned; `max_tokens`: tokens of an answer; `weights`: a folder of other weights.

    >>> graz = PassageText("Graz", "Graz lies on the Mur. Its university was founded in 1585.")
    >>> passages = [graz, PassageText("Mur", "The Mur is 464 km long.")]
    >>> MiniLMReader(max_spans=1).read("When was the university of Graz founded?", passages)
    [Span(passage=0, start=52, end=56, score=..., text='')]
    """

    max_spans: Annotated[int, AtLeast(1)] = 5
    max_tokens: Annotated[int, AtLeast(1)] = 24
    paired: Annotated[int, AtLeast(0)] = 4
    weights: str = ""

    def read(self, question: str, passages: Sequence[PassageText], usage: Usage | None = None) -> list[Span]:
        """Return answers with probabilities, best first, each text once; add the work to `usage`."""
        readings, rows, shares = self._mixed(question, passages, usage)
        proposed = candidates(readings, passages, sides(question, passages, readings))
        if not proposed:
            return []
        bare = asks_yes_or_no(readings, shares)
        total = probabilities(proposed, len(readings)) @ shares
        row = confidence_features(proposed, readings, shares, rows)
        scores = _network(self.weights).probability(row, "confidence") * total / total.max()
        order = [at for at in np.argsort(-scores, kind="stable").tolist() if proposed[at].decided or not bare]
        return [_span(proposed[at], float(scores[at]), passages) for at in order[: self.max_spans]]

    def sentence_scores(
        self,
        question: str,
        passages: Sequence[PassageText],
        sentences: Sequence[tuple[int, int, int]],
        usage: Usage | None = None,
    ) -> Floats:
        """Return a score of each sentence (passage, first and last character): float32[n].

        That of the best is the probability that the best three hold an answer; others are lower in proportion. A
        header of a mail, which its opening stands for, has 0.
        """
        if not sentences:
            return np.zeros(0, np.float32)
        readings, _, shares = self._mixed(question, passages, usage)
        rows = sentence_features(question, passages, sentences, readings, shares)
        scores = _network(self.weights).probability(rows, "sentence")
        row = answer_features(question, passages, readings, shares, rows, scores)
        answered = _network(self.weights).probability(row, "answerable")
        unread = [start < passages[number].begin for number, start, _ in sentences]
        shown: Floats = np.where(unread, 0, answered * scores / scores.max()).astype(np.float32)
        return shown

    def cell_scores(
        self, question: str, rows: Sequence[PassageText], cells: Sequence[tuple[int, int]], probability: float
    ) -> list[float]:
        """Return the probability that a row's cell answers, each row alone; `probability`: of the query for them."""
        read = replace(self, paired=0).readings(question, rows, Usage())
        features = [cell_features(*each, probability) for each in zip(rows, read, cells, strict=True)]
        scores: list[float] = _network(self.weights).probability(np.array(features), "cell").tolist()
        return scores

    def _mixed(
        self, question: str, passages: Sequence[PassageText], usage: Usage | None
    ) -> tuple[list[ReaderOutput], Scores, Scores]:
        readings = self.readings(question, passages, usage or Usage())
        rows = reading_features(question, passages, readings)
        return readings, rows, mixture(rows, _network(self.weights).weights["mixture"])

    def readings(self, question: str, passages: Sequence[PassageText], usage: Usage) -> list[ReaderOutput]:
        """Return readings of passages alone and in pairs; those of recent questions are cached, with their usage."""
        remembered = _network(self.weights).remembered
        key = question, tuple(passages), self.max_tokens, self.paired
        if (cached := remembered.get(key)) is not None:
            readings, cost = cached
            usage.add(cost)
            return readings
        cost = Usage()
        readings = self._read(question, passages, cost)
        usage.add(cost)
        remembered[key] = readings, replace(cost, saved=cost.seconds)
        for old in list(remembered)[:-_MAX_REMEMBERED]:
            remembered.pop(old, None)
        return readings

    def _read(self, question: str, passages: Sequence[PassageText], usage: Usage) -> list[ReaderOutput]:
        tokens = _Tokens.of(question, passages)
        filled = [number for number, passage in enumerate(passages) if passage.text.strip()]
        readings = self._run(tokens, [(number,) for number in filled], usage)
        if not (paired := [*combinations(filled[: self.paired], 2)]):
            return readings
        return readings + self._run(tokens.narrowed(readings[: self.paired]), paired, usage)

    def _run(self, tokens: _Tokens, inputs: Sequence[tuple[int, ...]], usage: Usage) -> list[ReaderOutput]:
        read = partial(tokens.read, _network(self.weights), self.max_tokens)
        started, readings = time.perf_counter(), []
        for members, (size, reading) in side_by_side(read, inputs):
            now = time.perf_counter()
            usage.add(Usage(calls=1, texts=len(members), tokens=size, seconds=now - started))
            started = now
            readings.append(reading)
        return readings


@dataclass(frozen=True, slots=True)
class _Tokens:
    """The tokens of a question and of passages, with the characters of the passages' tokens in title and text.

    `parts`: the characters at which a part of each text begins: every second is a label, in which no answer lies.
    `asking`: the ends of the sentences of each text that ask something.
    """

    question: list[int]
    passages: list[tuple[list[int], list[tuple[int, int]]]]
    texts: list[str]
    parts: list[list[int]]
    asking: list[list[int]]

    @classmethod
    def of(cls, question: str, passages: Sequence[PassageText]) -> _Tokens:
        texts = [whole(passage) for passage in passages]
        first, *others = tokenise([question, *(text[: 64 * _ALONE] for text in texts)], True)
        tokens = [(each.ids, each.offsets) for each in others]
        parts, asking = ([of(passage) for passage in passages] for of in (parts_of, asking_of))
        return cls(first.ids[:_MAX_QUESTION], tokens, texts, parts, asking)

    def narrowed(self, alone: Sequence[ReaderOutput]) -> _Tokens:
        """Return the tokens with the passages that were read `alone` cut to their titles and the best window of each.

        A window is the better, the more probable it is that an answer begins in it, and the more tokens of the
        question it has, weighted by rarity.
        """
        passages, rarity = list(self.passages), network().rarity
        weights = {token: float(rarity[token]) for token in self.question}
        total = sum(weights.values()) + 1e-6
        for reading in alone:
            (number,) = reading.passages
            (ids, offsets), size = passages[number], len(reading.begins) - 1  # without the separator
            title = min(bisect_left(offsets, (self.parts[number][0], 0)), size)
            begun = np.concatenate(([0.0], np.cumsum(reading.begins)))
            starts = range(title, max(size - _WINDOW, title) + _STEP, _STEP)
            windows = [slice(start, min(start + _WINDOW, size)) for start in starts]
            covered = [sum(weights[token] for token in {*ids[w]} & weights.keys()) / total for w in windows]
            worth = [share + begun[w.stop] - begun[w.start] for share, w in zip(covered, windows, strict=True)]
            best = windows[int(np.argmax(worth))]
            passages[number] = [*ids[:title], *ids[best]], [*offsets[:title], *offsets[best]]
        return replace(self, passages=passages)

    def read(self, network: _Network, max_tokens: int, members: tuple[int, ...]) -> tuple[int, ReaderOutput]:
        """Return the number of tokens of an input, and its reading."""
        ids = [_CLS, *self.question, _SEP]
        begin, places = len(ids), list[tuple[int, int, int]]()
        room = _ALONE if len(members) == 1 else (_MAX_TOKENS - begin) // len(members)
        for number in members:
            tokens, offsets = self.passages[number]
            places += [(number, *offset) for offset in offsets[: room - 1]] + [(number, 0, 0)]
            ids += [*tokens[: room - 1], _SEP]
        spans, kind = network.run(ids, [0] * begin + [1] * (len(ids) - begin))
        at = np.array(places)
        within = np.array([bisect_right(self.parts[number], start) for number, start, _ in places])
        may_answer = (at[:, 2] > at[:, 1]) & (within % 2 == 0)
        first, last = (log_softmax(np.where(may_answer, spans[begin:, side], -1e4)) for side in (0, 1))
        asks = np.array([bisect_right(self.asking[number], start) % 2 for number, start, _ in places], bool)
        parts = np.where(asks, -1, within + (within.max() + 1) * at[:, 0])
        best = [
            (score, places[a][0], *whole_words(self.texts[places[a][0]], places[a][1], places[b][2]))
            for score, a, b in _best_spans(first, last, parts, max_tokens)
        ]
        return len(ids), ReaderOutput(members, log_softmax(kind), best, np.exp(first), at[:, :2])


def _best_spans(first: Floats, last: Floats, parts: Ints, max_tokens: int) -> list[tuple[float, int, int]]:
    """Return the log-probability, first and last token of the best spans, each within one part; part -1 has none."""
    begins, lengths = np.arange(len(parts))[:, None], np.arange(min(max_tokens, len(parts)))
    ends = np.minimum(begins + lengths, len(parts) - 1)
    scores = first[:, None] + last[ends]
    scores[(begins + lengths > ends) | (parts[:, None] != parts[ends]) | (parts[:, None] < 0)] = -np.inf
    count = min(_SPANS, scores.size)
    chosen = np.argpartition(-scores, count - 1, axis=None)[:count]
    chosen = chosen[np.lexsort((chosen, -scores.ravel()[chosen]))]
    places = [divmod(int(at), len(lengths)) for at in chosen]
    pairs = [(float(scores[at]), at[0], at[0] + at[1]) for at in places]
    return [pair for pair in pairs if pair[0] > -1e3]


def _span(candidate: Candidate, score: float, passages: Sequence[PassageText]) -> Span:
    """Return a candidate as a span of its passage's text; `text` is set where the span has other words.

    Words of the title are cited from the text of a passage of this title, else at the beginning of the text; those of
    the opening of a mail, else by all of its headers.
    """
    passage, shift = passages[candidate.passage], shift_of(passages[candidate.passage])
    score = round(score, 4)
    if candidate.start >= title_length(passage):
        text = candidate.text if candidate.decided else ""
        return Span(candidate.passage, candidate.start - shift, candidate.end - shift, score, text)
    if candidate.decided:
        return Span(candidate.passage, 0, min(1, len(passage.text)), score, candidate.text)
    text = whole(passage)[candidate.start : candidate.end].strip()
    same = (n for n, other in enumerate(passages) if other.title == passage.title and not passage.opening)
    for number in (candidate.passage, *same):  # an opening is of its own passage alone
        if (at := passages[number].text.find(text)) >= 0:
            return Span(number, at, at + len(text), score, text)
    end = max((last for _, last in passage.headers if last <= passage.begin), default=min(1, len(passage.text)))
    return Span(candidate.passage, 0, end, score, text)


class _Network:
    def __init__(self, folder: str) -> None:
        home = Path(folder) if folder else WEIGHTS / "minilm-reader"
        fitted = json.loads((home / "model.json").read_text("utf-8"))
        self.session = open_graph(home / "model.onnx")
        self.weights = {
            part: np.array([fitted[part][name] for name in names], np.float64) for part, names in PARTS.items()
        }
        self.remembered: dict[Any, tuple[list[ReaderOutput], Usage]] = {}  # with the usage that a repetition adds

    def run(self, ids: Sequence[int], types: Sequence[int]) -> tuple[Floats, Floats]:
        """Return the logits of the first and last token of a span, float32[tokens, 2], and of the kinds, float32[5]."""
        feed = {"input_ids": np.array([ids], np.int32), "type_ids": np.array([types], np.int32)}
        feed["position_ids"] = np.arange(len(ids), dtype=np.int32)
        spans, kind = run_session(self.session, feed, f"MiniLMReader: an input of {len(ids)} tokens")
        return spans[0], kind[0]

    def probability(self, rows: Scores, part: str) -> Scores:
        """Return the probability of each row of features, or of one: float64."""
        return 1 / (1 + np.exp(-(rows @ self.weights[part])))


def _network(folder: str) -> _Network:
    return loaded(partial(_load, folder))


@cache
def _load(folder: str) -> _Network:
    try:
        return _Network(folder)
    except (OSError, ValueError, KeyError) as exc:
        remedy = "Write them with scripts/build_reader.py and scripts/fit_reader.py." if folder else REMEDY
        place = folder or "the package"
        raise ModelError(f"MiniLMReader: the weights in {place} cannot be read: {exc}. {remedy}") from exc
