"""Embedded cross-encoder and reader: a small network that reads a question together with a text."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache, partial
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.constraints import AtLeast, Checked
from graphwright.errors import ModelError
from graphwright.models.embedded.encoder import (
    REMEDY,
    Tokens,
    checksum,
    loaded,
    open_graph,
    side_by_side,
    tokens_of,
    weights_file,
)
from graphwright.models.protocols import Floats, PassageText, Span, Usage, refuse_text

__all__ = ["MATCHES", "Match", "MiniLMCrossEncoder", "MiniLMReader", "joint_input", "normalised", "whole_words"]

MATCHES = 14  # features of a match
_WINDOW, _STEP = 40, 20  # tokens: about two sentences
_RARE = 0.25  # rarity from which a word of the question must match
_NEAR = 0.75  # cosine from which a word counts as matched
_LENGTH_SCALE = 5.0  # the logarithm of a text's length is divided by this


@dataclass(frozen=True, slots=True)
class Match:
    """The words of a question against the words of a text, without special tokens.

    `weight: float32[q]`, the rarity of the question's words; `same: bool[q, t]`, whether two words are equal; `near:
    float32[q, t]`, the cosine of their states.
    """

    question: Tokens
    text: Tokens
    rarity: Floats
    weight: Floats
    same: NDArray[np.bool_]
    near: Floats

    @classmethod
    def of(cls, question: Tokens, text: Tokens, rarity: Floats) -> Match:
        """Compare all words; `rarity: float32[vocabulary]`, the rarity of each token, 0 to 1."""
        question_ids, text_ids = question.ids[1:-1], text.ids[1:-1]
        near = _unit(question.states[1:-1]) @ _unit(text.states[1:-1]).T
        return cls(question, text, rarity, rarity[question_ids], question_ids[:, None] == text_ids, near)

    def features(self) -> Floats:
        """Return 14 features of the match: float32[14].

        A question's words count by their rarity. In order: the cosine of both vectors; the share of the question's
        words in the text; in its title; the share of the title's words in the question; of the question's pairs of
        neighbouring words in the text; the text's length; then by the cosines of states: the mean over the question's
        words of the nearest word in the text, the least and the mean of the three least of its rare words, the mean of
        the four greatest of these, the mean against the title alone, the mean of the title against the question, the
        mean against the best window of 40 tokens, the share of words with a near one.
        """
        features = np.zeros(MATCHES, np.float32)
        features[0] = self.question.vector @ self.text.vector
        features[5] = np.log(self.same.shape[1] + 1) / _LENGTH_SCALE
        if not self.same.size:
            return features
        weight, same, near, title = self.weight, self.same, self.near, self.text.title
        share = weight / (weight.sum() + 1e-6)
        title_rarity = self.rarity[self.text.ids[1 : 1 + title]]
        title_share = title_rarity / (title_rarity.sum() + 1e-6)
        features[1], features[2] = share @ same.any(1), share @ same[:, :title].any(1)
        features[3] = title_share @ same[:, :title].any(0)
        pairs = weight[:-1] + weight[1:]
        features[4] = pairs @ (same[:-1, :-1] & same[1:, 1:]).any(1) / (pairs.sum() + 1e-6)
        nearest = near.max(1)
        rare = weight > _RARE
        least = np.sort(nearest[rare] if rare.any() else nearest)
        features[6:10] = share @ nearest, least[0], least[:3].mean(), least[-4:].mean()
        if title:
            features[10], features[11] = share @ near[:, :title].max(1), title_share @ near[:, :title].max(0)
        features[12] = _best_window(share, near, title)
        features[13] = share @ (nearest > _NEAR)
        return features

    def marks(self) -> tuple[Floats, Floats]:
        """Return three features for each token of the question and of the text: float32[q + 2, 3], float32[t + 2, 3].

        The cosine of the nearest word on the other side, the same times the rarity of the question's word, and that
        rarity where the other side has the same word, else 0: aligned and exact matches (Chen et al., 2017). Special
        tokens have zeros.
        """
        of_question = np.zeros((len(self.question.ids), 3), np.float32)
        of_text = np.zeros((len(self.text.ids), 3), np.float32)
        if self.same.size:
            weighted, exact = self.near * self.weight[:, None], self.same * self.weight[:, None]
            of_text[1:-1] = np.stack((self.near.max(0), weighted.max(0), exact.max(0)), axis=1)
            nearest = self.near.max(1)
            of_question[1:-1] = np.stack((nearest, nearest * self.weight, exact.max(1)), axis=1)
        return of_question, of_text


def _best_window(share: Floats, near: Floats, title: int) -> float:
    """Return the best mean over windows on a grid over the whole text; the title in them does not count."""
    body = near.copy()
    body[:, :title] = 0  # a window within the title scores 0
    starts = range(0, body.shape[1], _STEP)
    return max(float(share @ np.maximum(body[:, start : start + _WINDOW].max(1), -1)) for start in starts)


def _unit(states: NDArray[np.floating]) -> Floats:
    rows = states.astype(np.float32)
    unit: Floats = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6)
    return unit


_MAX_QUESTION = 128  # tokens: of a question and the names that MultiHopRerank adds; it was trained on up to 64


@dataclass(frozen=True)
class MiniLMCrossEncoder:
    """Cross-encoder that needs no download, no key and no torch: scores how well a text answers a question.

    A text of several lines begins with its title. Texts are cut at 256 tokens, questions at 128. Weights are loaded at
    the first use, once per process; threads may share an object. A latent holds 384 numbers of the network and 14
    features of the match of words (see `Match`); `head` has two layers, tanh between them, and a linear bypass.

    >>> model = MiniLMCrossEncoder()
    >>> texts = ["Mur\\nThe Mur flows through Graz.", "Graz\\nGraz is the seat of a university founded in 1585."]
    >>> latents = model.latents("When was the university of Graz founded?", texts)
    >>> latents.shape, int(model.head(latents).argmax())
    ((2, 398), 1)
    """

    @property
    def id(self) -> str:
        """Name of the model and checksum of its weights."""
        return f"minilm-reading:{checksum()[:12]}"

    def latents(self, query: str, texts: Sequence[str]) -> Floats:
        """Return one latent per text: float32, shape (len(texts), 398). Raises ModelError where the model fails."""
        return self.latents_metered(query, texts, Usage())

    def latents_metered(self, query: str, texts: Sequence[str], usage: Usage) -> Floats:
        """Return the latents as `latents` does, and add the work to `usage`."""
        refuse_text(texts, "latents")
        latents = [reading.latent for reading in _read_pairs(query, texts, usage)]
        return np.array(latents, np.float32).reshape(len(texts), network().width)

    def head(self, latents: Floats) -> Floats:
        """Return one score per latent: float32, shape (n,); higher answers the question better."""
        return network().head(latents)


class Reading(NamedTuple):
    """Outputs of the network for a pair.

    `begin` and `end: float32[tokens]`: logits of an answer that begins and ends with each token; `kind: float32[3]`:
    logits of a span, yes, and no as the answer; `spans`: the characters of the tokens.
    """

    latent: Floats
    begin: Floats
    end: Floats
    kind: Floats
    spans: list[tuple[int, int]]


def _read_pairs(question: str, texts: Sequence[str], usage: Usage) -> Iterator[Reading]:
    """Yield the reading of each text, and add the work to `usage`."""
    read, started = network().read, time.perf_counter()
    query, *documents = tokens_of([question, *texts])
    query = query.cut(_MAX_QUESTION)
    for document, reading in side_by_side(partial(read, query), documents):
        now = time.perf_counter()
        usage.add(Usage(calls=1, texts=1, tokens=len(query.ids) + len(document.ids), seconds=now - started))
        started = now
        yield reading


def joint_input(match: Match, weights: Mapping[str, Floats]) -> Floats:
    """Return the input of the joint layers: float32[q + t, 384], the states of both, marked by side and by match."""
    question_marks, text_marks = match.marks()
    question = match.question.states + weights["parts"][0] + question_marks @ weights["asked"]
    text = match.text.states + weights["parts"][1] + text_marks @ weights["held"]
    return np.concatenate((question, text), dtype=np.float32)


class _Network:
    """The loaded weights."""

    def __init__(self) -> None:
        self.join = open_graph(weights_file("join.onnx"))
        with np.load(weights_file("head.npz"), allow_pickle=False) as file:
            self.weights = {name: file[name] for name in file.files}
        self.rarity = self.weights["rarity"].astype(np.float32) / 255
        self.width = len(self.weights["w1"])

    def read(self, question: Tokens, text: Tokens) -> Reading:
        """Read a text with a question."""
        match = Match.of(question, text, self.rarity)
        first, spans, kind = self.join.run(None, {"states": joint_input(match, self.weights)[None]})
        features = (match.features() - self.weights["mean"]) / self.weights["deviation"]
        latent = np.concatenate((first[0], features), dtype=np.float32)
        inside = spans[0, len(question.ids) + 1 : -1]
        return Reading(latent, inside[:, 0], inside[:, 1], kind[0], text.spans)

    def head(self, latents: Floats) -> Floats:
        """Return the scores of latents."""
        w = self.weights
        hidden = np.tanh(latents @ w["w1"] + w["b1"])
        scores: Floats = hidden @ w["w2"] + latents[:, -len(w["mean"]) :] @ w["past"] + w["b2"]
        return scores.astype(np.float32)


def network() -> _Network:
    """Return the network of this process."""
    return loaded(_load)


@cache
def _load() -> _Network:
    try:
        return _Network()
    except (OSError, ValueError, KeyError) as exc:
        raise ModelError(f"MiniLMCrossEncoder: the weights cannot be read: {exc}. {REMEDY}") from exc


_SPANS_PER_PASSAGE = 8
_RELEVANCE = 0.25  # weight of a passage's score, relative to the logits of its spans
_UNSPACED = "\u0e00"  # scripts from here on put no space between words, Thai the first
_SHARPNESS = 0.7  # factor of the logits before the softmax


class _Candidate(NamedTuple):
    logit: float
    passage: int
    begin: int
    end: int


@dataclass(frozen=True, repr=False)
class MiniLMReader(Checked):
    """Reader that needs no download, no key and no torch: finds short answers, such as names, dates and numbers.

    Spans of all passages compete: a score is the share of the probability of a span and of those with the same text
    elsewhere (Clark and Gardner, 2018). The passage's score by MiniLMCrossEncoder counts too. A span begins and ends
    with whole words. `max_spans`: number of spans returned; `max_tokens`: tokens of a span. Titles are read, but not
    quoted.

    >>> graz = PassageText("Graz", "Graz lies on the Mur. Its university was founded in 1585.")
    >>> passages = [graz, PassageText("Mur", "The Mur is 464 km long.")]
    >>> MiniLMReader(max_spans=1).read("When was the university of Graz founded?", passages)
    [Span(passage=0, start=52, end=56, score=..., text='')]
    """

    max_spans: Annotated[int, AtLeast(1)] = 5
    max_tokens: Annotated[int, AtLeast(1)] = 24

    def __repr__(self) -> str:
        options = [(each.name, getattr(self, each.name), each.default) for each in fields(self)]
        return f"MiniLMReader({', '.join(f'{name}={value}' for name, value, default in options if value != default)})"

    def read(self, question: str, passages: Sequence[PassageText]) -> list[Span]:
        """Return spans with probabilities, best first, one for each distinct text; none where no passage has text."""
        return self.read_metered(question, passages, Usage())

    def read_metered(self, question: str, passages: Sequence[PassageText], usage: Usage) -> list[Span]:
        """Read as `read` does, and add the work to `usage`."""
        texts = [f"{passage.title}\n{passage.text}" if passage.title else passage.text for passage in passages]
        readings = list(_read_pairs(question, texts, usage))
        if not readings:
            return []
        scores = MiniLMCrossEncoder().head(np.stack([reading.latent for reading in readings]))
        candidates = [
            _Candidate(logit + _RELEVANCE * score, number, *whole_words(passages[number].text, begin, end))
            for number, (reading, score) in enumerate(zip(readings, scores.tolist(), strict=True))
            for logit, begin, end in self._best(reading, len(texts[number]) - len(passages[number].text))
        ]
        return self._ranked(candidates, passages)

    def _best(self, reading: Reading, offset: int) -> list[tuple[float, int, int]]:
        """Return the logits of a passage's best spans, and their characters; its text begins at `offset`."""
        in_text = np.array([begin >= offset for begin, _ in reading.spans], bool)
        if not in_text.any():
            return []
        first = int(in_text.argmax())
        logits = _span_logits(reading.begin[first:], reading.end[first:], self.max_tokens)
        order = np.argsort(-logits, axis=None, kind="stable")[:_SPANS_PER_PASSAGE]
        pairs = [divmod(int(position), logits.shape[1]) for position in order]
        return [
            (float(logits[a, b]), reading.spans[first + a][0] - offset, reading.spans[first + b][1] - offset)
            for a, b in pairs
            if np.isfinite(logits[a, b])
        ]

    def _ranked(self, candidates: Sequence[_Candidate], passages: Sequence[PassageText]) -> list[Span]:
        """Return the best spans with their probabilities."""
        if not candidates:
            return []
        logits = _SHARPNESS * np.array([candidate.logit for candidate in candidates])
        shares = np.exp(logits - logits.max())
        shares /= shares.sum()
        totals: dict[str, float] = {}
        best: dict[str, tuple[float, int, int, int]] = {}
        for share, (_, passage, begin, end) in zip(shares.tolist(), candidates, strict=True):
            answer = normalised(passages[passage].text[begin:end])
            totals[answer] = totals.get(answer, 0.0) + share
            best[answer] = max(best.get(answer, (-1.0, 0, 0, 0)), (share, -passage, -begin, end))
        ranked = sorted(totals, key=lambda answer: (-totals[answer], -best[answer][1], -best[answer][2]))
        return [
            Span(-best[answer][1], -best[answer][2], best[answer][3], round(totals[answer], 4))
            for answer in ranked[: self.max_spans]
        ]


def _span_logits(begin: Floats, end: Floats, max_tokens: int) -> NDArray[np.float32]:
    """Return begin + end of every span of at most `max_tokens` tokens, -inf for the others: float32[n, n]."""
    logits: NDArray[np.float32] = begin[:, None] + end
    positions = np.arange(len(begin))
    length = positions - positions[:, None]
    logits[(length < 0) | (length >= max_tokens)] = -np.inf
    return logits


def whole_words(text: str, begin: int, end: int) -> tuple[int, int]:
    """Return a span extended to whole words, where words are separated by spaces."""
    while begin > 0 and text[begin - 1].isalnum() and text[begin].isalnum() and text[begin - 1] < _UNSPACED:
        begin -= 1
    while end < len(text) and text[end].isalnum() and text[end - 1].isalnum() and text[end] < _UNSPACED:
        end += 1
    return begin, end


def normalised(text: str) -> str:
    """Return the letters and digits of a span, lower case, without a leading article."""
    words = re.findall(r"\w+", text.lower())
    return " ".join(words[1:] if words[:1] in (["the"], ["a"], ["an"]) and len(words) > 1 else words)
