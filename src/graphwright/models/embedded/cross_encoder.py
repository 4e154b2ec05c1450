"""The embedded cross-encoder: one small network that reads a question together with a text, for ranking and reading.

Question and text pass the first layers of all-MiniLM-L6-v2 apart, and layers of their own together (the split of
PreTTR: MacAvaney et al., 2020). The first part does not depend on the question, and is remembered; the second gives a
latent per pair, and the logits of an answer's begin and end at each token. Trained by `scripts/train_reading.py`,
quantised by `scripts/build_reading.py`; data, figures and limits are in `weights/minilm-reading/CARD.md`.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from graphwright.errors import ModelError, OptionError
from graphwright.models.embedded.encoder import open_graph, side_by_side
from graphwright.models.embedded.matching import Match
from graphwright.models.embedded.tokens import REMEDY, Tokens, tokens_of, weights_file
from graphwright.models.protocols import Floats, Usage

__all__ = ["MiniLMCrossEncoder", "Reading", "joint_input", "network", "read_pairs"]

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
        return f"minilm-reading:{_checksum()[:12]}"

    def latents(self, query: str, texts: Sequence[str]) -> Floats:
        """Return one latent per text: float32, shape (len(texts), 398). Raises ModelError where the model fails."""
        return self.latents_metered(query, texts, Usage())

    def latents_metered(self, query: str, texts: Sequence[str], usage: Usage) -> Floats:
        """Return the latents as `latents` does, and add the work to `usage`."""
        if isinstance(texts, str):
            raise OptionError(f"latents takes a sequence of texts, not one text: [{texts[:40]!r}].")
        latents = np.zeros((len(texts), network().width), np.float32)
        for position, reading in read_pairs(query, texts, usage):
            latents[position] = reading.latent
        return latents

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


def read_pairs(question: str, texts: Sequence[str], usage: Usage) -> Iterator[tuple[int, Reading]]:
    """Yield the position of each text and its reading, in the order in which they are done."""
    loaded, started = network(), time.perf_counter()
    query, *documents = tokens_of([question, *texts])
    query = query.cut(_MAX_QUESTION)
    for position, reading in side_by_side(lambda i: loaded.read(query, documents[i]), range(len(texts))):
        now = time.perf_counter()
        tokens = len(query.ids) + len(documents[position].ids)
        usage.add(Usage(calls=1, texts=1, tokens=tokens, seconds=now - started))
        started = now
        yield position, reading


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


_loading = threading.Lock()


def network() -> _Network:
    """Return the network of this process."""
    with _loading:
        return _load()


@cache
def _load() -> _Network:
    try:
        return _Network()
    except (OSError, ValueError, KeyError) as exc:
        raise ModelError(f"MiniLMCrossEncoder: the weights cannot be read: {exc}. {REMEDY}") from exc


@cache
def _checksum() -> str:
    """Return the checksum of the weights that the build wrote."""
    try:
        checksum: str = json.loads(weights_file("model.json").read_text("utf-8"))["sha256"]
    except (ValueError, KeyError) as exc:
        raise ModelError(f"MiniLMCrossEncoder: model.json cannot be read: {exc!r}. {REMEDY}") from exc
    return checksum
