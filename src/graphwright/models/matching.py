"""How the words of a question and of a text match, from their tokens and from the states of these.

Late interaction (ColBERT: Khattab and Zaharia, 2020) beside exact matches: what a small network that saw few questions
does not have to learn. The same function serves training and use.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graphwright.models.protocols import Floats

__all__ = ["MATCHES", "Match", "Tokens"]

MATCHES = 14  # numbers of a match
_WINDOW, _STEP = 40, 20  # tokens: about two sentences
_HEAVY = 0.25  # rarity from which a word of the question has to be found
_NEAR = 0.75  # cosine from which a word counts as found
_MANY = 5.0  # the logarithm of a text's length is divided by this


@dataclass(frozen=True, slots=True)
class Tokens:
    """A text as the network has it, with the two special tokens first and last.

    `ids: int32[n]`; `states: float[n, 384]`; `vector: float32[384]`, of length 1, of the whole text; `title`: how many
    tokens after the first are its title; `spans`: the characters of the tokens, without the special ones.
    """

    ids: NDArray[np.int32]
    states: NDArray[np.floating]
    vector: Floats
    title: int
    spans: list[tuple[int, int]]

    def cut(self, longest: int) -> Tokens:
        """Return the first `longest` tokens, the last of them special."""
        if len(self.ids) <= longest:
            return self
        kept = np.r_[: longest - 1, len(self.ids) - 1]
        return replace(self, ids=self.ids[kept], states=self.states[kept], spans=self.spans[: longest - 2])


@dataclass(frozen=True, slots=True)
class Match:
    """The words of a question against the words of a text, special tokens left out.

    `weight: float32[q]`, how rare the question's words are; `same: bool[q, t]`, which are the same; `near:
    float32[q, t]`, the cosines of their states.
    """

    question: Tokens
    text: Tokens
    rarity: Floats
    weight: Floats
    same: NDArray[np.bool_]
    near: Floats

    @classmethod
    def of(cls, question: Tokens, text: Tokens, rarity: Floats) -> Match:
        """Compare all words; `rarity: float32[vocabulary]`, how rare each token is, 0 to 1."""
        asked, held = question.ids[1:-1], text.ids[1:-1]
        near = _unit(question.states[1:-1]) @ _unit(text.states[1:-1]).T
        return cls(question, text, rarity, rarity[asked], asked[:, None] == held, near)

    def numbers(self) -> Floats:
        """Return 14 numbers on how well the text matches: float32[14].

        A question's words count by their rarity. In order: the cosine of both vectors; the share of the question's
        words in the text; in its title; the share of the title's words in the question; of the question's pairs of
        neighbouring words in the text; the text's length; then by the cosines of states: the mean over the question's
        words of the nearest word in the text, the least and the mean of the three least of its rare words, the mean of
        the four greatest of these, the mean against the title alone, the mean of the title against the question, the
        mean against the best window of 40 tokens, the share of words with a near one.
        """
        found = np.zeros(MATCHES, np.float32)
        found[0] = self.question.vector @ self.text.vector
        found[5] = np.log(self.same.shape[1] + 1) / _MANY
        if not self.same.size:
            return found
        weight, same, near, title = self.weight, self.same, self.near, self.text.title
        share = weight / (weight.sum() + 1e-6)
        named = self.rarity[self.text.ids[1 : 1 + title]]
        named_share = named / (named.sum() + 1e-6)
        found[1], found[2] = share @ same.any(1), share @ same[:, :title].any(1)
        found[3] = named_share @ same[:, :title].any(0)
        pairs = weight[:-1] + weight[1:]
        found[4] = pairs @ (same[:-1, :-1] & same[1:, 1:]).any(1) / (pairs.sum() + 1e-6)
        most = near.max(1)
        heavy = weight > _HEAVY
        least = np.sort(most[heavy] if heavy.any() else most)
        found[6:10] = share @ most, least[0], least[:3].mean(), least[-4:].mean()
        if title:
            found[10], found[11] = share @ near[:, :title].max(1), named_share @ near[:, :title].max(0)
        found[12] = _best_window(share, near, title)
        found[13] = share @ (most > _NEAR)
        return found

    def marks(self) -> tuple[Floats, Floats]:
        """Return three numbers for each token of the question and of the text: float32[q + 2, 3], float32[t + 2, 3].

        The cosine of the nearest word on the other side, the same times the rarity of the question's word, and that
        rarity where the other side holds the very word, else 0: aligned and exact matches (Chen et al., 2017).
        Special tokens have zeros.
        """
        asked = np.zeros((len(self.question.ids), 3), np.float32)
        held = np.zeros((len(self.text.ids), 3), np.float32)
        if self.same.size:
            weighed, exact = self.near * self.weight[:, None], self.same * self.weight[:, None]
            held[1:-1] = np.stack((self.near.max(0), weighed.max(0), exact.max(0)), axis=1)
            nearest = self.near.max(1)
            asked[1:-1] = np.stack((nearest, nearest * self.weight, exact.max(1)), axis=1)
        return asked, held


def _best_window(share: Floats, near: Floats, title: int) -> float:
    """Return the best mean over windows that lie on a grid over the whole text; titles in them do not count."""
    body = near.copy()
    body[:, :title] = 0  # a window of nothing but the title is worth nothing
    starts = range(0, body.shape[1], _STEP)
    return max(float(share @ np.maximum(body[:, at : at + _WINDOW].max(1), -1)) for at in starts)


def _unit(states: NDArray[np.floating]) -> Floats:
    rows = states.astype(np.float32)
    unit: Floats = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6)
    return unit
