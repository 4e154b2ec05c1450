"""The embedded cross-encoder and reader: one small network that reads a question together with a text.

Question and text go through the first layers of all-MiniLM-L6-v2 apart, and through layers of their own together
(the split of PreTTR: MacAvaney et al., 2020). The first part is the work of embedding the text, does not depend on
the question, and is remembered; the second gives a latent per pair, and for each token how well an answer would
begin and end there. Trained by `scripts/train_reading.py`, made small by `scripts/build_reading.py`; data, figures
and limits are in `weights/minilm-reading/CARD.md`.
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
from graphwright.models.base import Floats, spend
from graphwright.models.matching import Match, Tokens
from graphwright.models.minilm import open_graph, side_by_side
from graphwright.models.states import AGAIN, tokens, weights_file

__all__ = ["MiniLMCrossEncoder", "Reading", "joined", "network", "read_pairs"]

_LONGEST_QUESTION = 128  # tokens: of a question and the names that ReadOn adds; it was trained on up to 64


@dataclass(frozen=True)
class MiniLMCrossEncoder:
    """Cross-encoder that needs no download, no key and no torch: scores how well a text serves a question.

    A text of several lines begins with its title, as passages are shown to models. Texts are cut at 256 tokens,
    questions at 128. Weights are loaded at the first use, once for the process; threads may share an object.
    A latent holds 384 numbers of the network and 14 of how the words of both match (see `Match`); `head` has two
    layers, tanh between them, and a linear way past both.

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
        """Return one latent per text: float32, shape (len(texts), 398). Raises ModelError if the model fails."""
        if isinstance(texts, str):
            raise OptionError(f"latents takes a sequence of texts, not one text: [{texts[:40]!r}].")
        latents = np.zeros((len(texts), network().width), np.float32)
        for at, reading in read_pairs(query, texts):
            latents[at] = reading.latent
        return latents

    def head(self, latents: Floats) -> Floats:
        """Return one score per latent: float32, shape (n,); higher serves the question better."""
        return network().head(latents)


class Reading(NamedTuple):
    """What the network makes of a pair.

    `begin` and `end: float32[tokens]`: how well an answer begins and ends with each token; `kind: float32[3]`: how well
    a stretch of the text, yes, or no answers; `spans`: the characters of the tokens.
    """

    latent: Floats
    begin: Floats
    end: Floats
    kind: Floats
    spans: list[tuple[int, int]]


def read_pairs(question: str, texts: Sequence[str]) -> Iterator[tuple[int, Reading]]:
    """Yield the place of each text and what the network reads in it, in the order in which they are done."""
    loaded, started = network(), time.perf_counter()
    asked, *states = tokens([question, *texts])
    asked = asked.cut(_LONGEST_QUESTION)
    for at, found in side_by_side(lambda at: loaded.read(asked, states[at]), range(len(texts))):
        now = time.perf_counter()
        spend(texts=1, tokens=len(asked.ids) + len(states[at].ids), seconds=now - started)
        started = now
        yield at, found


def joined(match: Match, weights: Mapping[str, Floats]) -> Floats:
    """Return what the joint layers are given: float32[q + t, 384], the states of both, marked by side and by match."""
    asked, held = match.marks()
    question = match.question.states + weights["parts"][0] + asked @ weights["asked"]
    text = match.text.states + weights["parts"][1] + held @ weights["held"]
    return np.concatenate((question, text), dtype=np.float32)


class _Network:
    """The loaded weights."""

    def __init__(self) -> None:
        self.join = open_graph(weights_file("join.onnx"))
        with np.load(weights_file("head.npz"), allow_pickle=False) as held:
            self.weights = {name: held[name] for name in held.files}
        self.rarity = self.weights["rarity"].astype(np.float32) / 255
        self.width = len(self.weights["w1"])

    def read(self, question: Tokens, text: Tokens) -> Reading:
        """Read a text with a question."""
        match = Match.of(question, text, self.rarity)
        first, spans, kind = self.join.run(None, {"states": joined(match, self.weights)[None]})
        matched = (match.numbers() - self.weights["mean"]) / self.weights["deviation"]
        latent = np.concatenate((first[0], matched), dtype=np.float32)
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
        raise ModelError(f"MiniLMCrossEncoder: the weights cannot be read: {exc}. {AGAIN}") from exc


@cache
def _checksum() -> str:
    """Return the checksum of the weights as the build wrote it down."""
    try:
        checksum: str = json.loads(weights_file("model.json").read_text("utf-8"))["sha256"]
    except (ValueError, KeyError) as exc:
        raise ModelError(f"MiniLMCrossEncoder: model.json cannot be read: {exc!r}. {AGAIN}") from exc
    return checksum
