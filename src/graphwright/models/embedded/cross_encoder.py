"""Embedded cross-encoder: a small network that reads a question together with a text, from their token states."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from graphwright.constraints import Checked
from graphwright.errors import ModelError
from graphwright.models.embedded.encoder import (
    READING,
    REMEDY,
    add_work,
    arrays_of,
    checksum,
    encoded,
    loaded,
    open_graph,
    run_session,
    side_by_side,
    token_ids,
    weights_file,
)
from graphwright.models.protocols import Floats, Usage, refuse_text

_TOKENS_WITH_STATES = 256  # of a text, as the encoder cuts it
_MAX_REMEMBERED = 1 << 17  # tokens of texts whose states are kept: 100 MB


@dataclass(frozen=True, slots=True)
class Tokens:
    """A text as input of the networks, with the two special tokens first and last.

    `ids: int32[n]`; `states: float[n, 384]`; `vector: float32[384]`, of length 1, of the whole text; `title`: number of
    tokens after the first that are its title; `spans`: the characters of the tokens, without the special ones.
    """

    ids: NDArray[np.int32]
    states: NDArray[np.floating]
    vector: Floats
    title: int
    spans: list[tuple[int, int]]

    def cut(self, max_tokens: int) -> Tokens:
        """Return the first `max_tokens` tokens, the last of them special."""
        if len(self.ids) <= max_tokens:
            return self
        positions = np.r_[: max_tokens - 1, len(self.ids) - 1]
        return replace(self, ids=self.ids[positions], states=self.states[positions], spans=self.spans[: max_tokens - 2])


def tokens_of(texts: Sequence[str]) -> list[Tokens]:
    """Return the tokens of texts with their states, cut at 256; the states of recent texts are reused."""
    return loaded(_load_states).of(texts)


class TokenStates:
    """Cache of token states: those of the most recent `max_remembered` tokens."""

    def __init__(self, max_remembered: int = _MAX_REMEMBERED) -> None:
        self.max_remembered = max_remembered
        self.recent: OrderedDict[str, Tokens] = OrderedDict()
        self.size = 0  # tokens of recent texts
        self.lock = threading.Lock()

    def of(self, texts: Sequence[str]) -> list[Tokens]:
        """Return the tokens of texts."""
        with self.lock:
            known = {text: self.recent[text] for text in texts if text in self.recent}
            for text in known:
                self.recent.move_to_end(text)
        new = [text for text in dict.fromkeys(texts) if text not in known]
        computed = dict(zip(new, self._computed(new), strict=True))
        with self.lock:
            for text, tokens in computed.items():
                if text not in self.recent:
                    self.size += len(tokens.ids)
                self.recent[text] = tokens
            while self.size > self.max_remembered:
                self.size -= len(self.recent.popitem(last=False)[1].ids)
        known |= computed
        return [known[text] for text in texts]

    def _computed(self, texts: list[str]) -> list[Tokens]:
        ids, spans = zip(*token_ids(texts, _TOKENS_WITH_STATES, spans=True), strict=True) if texts else ((), ())
        computed: dict[int, Tokens] = {}
        for positions, (vectors, states) in encoded(ids):
            for position, vector, rows in zip(positions, vectors, states, strict=True):
                line, _, rest = texts[position].partition("\n")
                title = sum(end <= len(line) for _, end in spans[position]) if rest.strip() else 0
                tokens = np.array(ids[position], np.int32)
                computed[position] = Tokens(tokens, rows.astype(np.float16), vector, title, spans[position])
        return [computed[position] for position in range(len(texts))]


@cache
def _load_states() -> TokenStates:
    return TokenStates()


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
        """Return 14 features of the match: float32[14]. Words are weighted by rarity.

        Equal words: 0, cosine of both vectors; 1 and 2, share of the question's words in the text and in its title; 3,
        share of the title's words in the question; 4, share of the question's word pairs in the text; 5, length.
        Near words, by the cosine of each question word with its nearest word in the text: 6, mean; over rare words 7,
        least, 8, mean of the three least, 9, mean of the four greatest; 10, mean against the title; 11, mean of the
        title against the question; 12, mean against the best window of 40 tokens; 13, share of words with a near word.
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
        rarity where the other side has the word, else 0 (Chen et al., 2017). Special tokens have zeros.
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
    """Return the best mean over the windows of the text; words of the title count as 0."""
    body = near.copy()
    body[:, :title] = 0  # a window within the title scores 0
    starts = range(0, body.shape[1], _STEP)
    return max(float(share @ np.maximum(body[:, start : start + _WINDOW].max(1), -1)) for start in starts)


def _unit(states: NDArray[np.floating]) -> Floats:
    rows = states.astype(np.float32)
    unit: Floats = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6)
    return unit


_MAX_QUESTION = 128  # tokens: of a question and the names that MultiHopRerank adds; it was trained on up to 64


@dataclass(frozen=True, repr=False)
class MiniLMCrossEncoder(Checked):
    """Cross-encoder that needs no download, no key and no torch: scores how well a text answers a question.

    A text of several lines begins with its title. Texts are cut at 256 tokens, questions at 128. A latent holds 384
    numbers of the network and 14 features of `Match`; `head` has two layers, tanh between them, and a linear bypass.

    >>> model = MiniLMCrossEncoder()
    >>> texts = ["Mur\\nThe Mur flows through Graz.", "Graz\\nGraz is the seat of a university founded in 1585."]
    >>> latents = model.latents("When was the university of Graz founded?", texts)
    >>> latents.shape, int(model.head(latents).argmax())
    ((2, 398), 1)
    """

    weights: str = READING  # folder; others rank queries over a graph

    @property
    def id(self) -> str:
        """Name of the model and checksum of its weights."""
        return f"{self.weights}:{checksum(self.weights)[:12]}"

    def latents(self, query: str, texts: Sequence[str], usage: Usage | None = None) -> Floats:
        """Return one latent per text: float32, shape (len(texts), 398); add the work to `usage`. Raises ModelError."""
        refuse_text(texts, "latents")
        model, started = network(self.weights), time.perf_counter()
        question, *documents = tokens_of([query, *texts])
        question, latents = question.cut(_MAX_QUESTION), list[Floats]()
        for document, latent in side_by_side(partial(model.latent, question), documents):
            if usage is not None:
                started = add_work(usage, [(*question.ids, *document.ids)], started)
            latents.append(latent)
        return np.array(latents, np.float32).reshape(len(texts), model.width)

    def head(self, latents: Floats) -> Floats:
        """Return one score per latent: float32, shape (n,); higher answers the question better."""
        return network(self.weights).head(latents)


def joint_input(match: Match, weights: Mapping[str, Floats]) -> Floats:
    """Return the input of the joint layers: float32[q + t, 384], the states of both, marked by side and by match."""
    question_marks, text_marks = match.marks()
    question = match.question.states + weights["parts"][0] + question_marks @ weights["asked"]
    text = match.text.states + weights["parts"][1] + text_marks @ weights["held"]
    return np.concatenate((question, text), dtype=np.float32)


class _Network:
    def __init__(self, weights: str) -> None:
        self.join = open_graph(weights_file("join.onnx", weights))
        self.weights = arrays_of(weights_file("head.npz", weights))
        self.rarity: Floats = self.weights["rarity"] / np.float32(255)
        self.width = len(self.weights["w1"])

    def latent(self, question: Tokens, text: Tokens) -> Floats:
        match = Match.of(question, text, self.rarity)
        feed = {"states": joint_input(match, self.weights)[None]}
        [first] = run_session(self.join, feed, "MiniLMCrossEncoder: a text", ["first"])
        features = (match.features() - self.weights["mean"]) / self.weights["deviation"]
        return np.concatenate((first[0], features), dtype=np.float32)

    def head(self, latents: Floats) -> Floats:
        w = self.weights
        hidden = np.tanh(latents @ w["w1"] + w["b1"])
        scores: Floats = hidden @ w["w2"] + latents[:, -len(w["mean"]) :] @ w["past"] + w["b2"]
        return scores.astype(np.float32)


def network(weights: str = READING) -> _Network:
    """Return the network of this process with weights of a folder."""
    return loaded(partial(_load, weights))


@cache
def _load(weights: str) -> _Network:
    try:
        return _Network(weights)
    except (OSError, ValueError, KeyError) as exc:
        raise ModelError(f"MiniLMCrossEncoder: the weights cannot be read: {exc}. {REMEDY}") from exc
