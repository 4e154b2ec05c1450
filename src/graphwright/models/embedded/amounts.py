"""Trained heads that tell what a question wants of amounts and names, from the states of its tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphwright.models.embedded.cross_encoder import Tokens, tokens_of
from graphwright.models.embedded.encoder import WEIGHTS, arrays_of
from graphwright.models.protocols import RELATIONS, Floats
from graphwright.text.words import hashed

AMOUNTS, NAMES = (WEIGHTS / "query-parser" / file for file in ("amounts.npz", "names.npz"))
WIDEST = 10  # tokens before and after an amount whose distance counts
NEAR, BUCKETS = 4, 2048  # words around an amount that count as they are, and numbers that stand for them


@dataclass(frozen=True)
class MiniLMAmounts:
    """Tell what a question wants of its amounts and names, without a download, key or torch.

    >>> from graphwright.models.protocols import RELATIONS
    >>> (chances,) = MiniLMAmounts().relations("Which boats cost at most 400 euros?", [(24, 27)])
    >>> RELATIONS[int(chances.argmax())]
    '<='
    """

    def relations(self, question: str, spans: Sequence[tuple[int, int]]) -> Floats:
        """Return the log-probability of each of RELATIONS to the amounts at these characters: float32[n, 7]."""
        return self._relations(AMOUNTS, question, spans)

    def polarity(self, question: str, spans: Sequence[tuple[int, int]]) -> Floats:
        """Return the log-probabilities that names are asked for, and that they are ruled out: float32[n, 2]."""
        both = self._relations(NAMES, question, spans)[:, [RELATIONS.index("="), RELATIONS.index("!=")]]
        result: Floats = both - np.logaddexp.reduce(both, axis=1, keepdims=True)
        return result

    def _relations(self, weights: Path, question: str, spans: Sequence[tuple[int, int]]) -> Floats:
        (read,), head = tokens_of([question]), _head(weights)
        result: Floats = np.array([head(question, read, *span) for span in spans], np.float32)
        return result.reshape(-1, len(RELATIONS))


@dataclass(frozen=True, eq=False)
class AmountHead:
    """A softmax over the states of a question's tokens (`scripts/fit_amounts.py`).

    `attention: float32[384]` and `distance: float32[2 * WIDEST + 1]`: the attention to each token, by its state and its
    place before or after the amount; `pooled`, `own: float32[7, 384]`, `bias: float32[7]`: the weights of the mean by
    it, and of that over the amount, for each relation; `words: float32[BUCKETS, 7]`: those of the words around it.
    """

    attention: Floats
    distance: Floats
    pooled: Floats
    own: Floats
    bias: Floats
    words: Floats

    def __call__(self, question: str, read: Tokens, start: int, end: int) -> Floats:
        """Return the log-probability of each relation to the amount at these characters: float32[7]."""
        states, places, inside = states_around(read, start, end)
        weights = states @ self.attention + self.distance[places]
        weights = np.exp(weights - weights.max())
        scores = weights / weights.sum() @ states @ self.pooled.T + states[inside].mean(0) @ self.own.T + self.bias
        scores = scores + self.words[words_around(question, start, end)].sum(0)
        result: Floats = scores - np.logaddexp.reduce(scores)
        return result


def states_around(read: Tokens, start: int, end: int) -> tuple[Floats, NDArray[np.int64], NDArray[np.bool_]]:
    """Return the states of a question's tokens, their places seen from an amount, and which are the amount's."""
    states = read.states[1:-1].astype(np.float32)
    spans = np.array(read.spans[: len(states)])
    inside = (spans[:, 0] < end) & (spans[:, 1] > start)
    if not inside.any():
        inside[-1] = True
    own, at = np.flatnonzero(inside), np.arange(len(states))
    places = np.where(at < own[0], at - own[0], np.maximum(at - own[-1], 0))
    return states, np.clip(places, -WIDEST, WIDEST) + WIDEST, inside


def words_around(question: str, start: int, end: int) -> list[int]:
    """Return what stands before and after an amount, as numbers below BUCKETS: words, their ends, pairs and runs."""
    found = []
    for side, text in (("b", question[:start]), ("a", question[end:])):
        marks = re.findall(r"\w+|[^\w\s]", text.lower())
        words = marks[-NEAR:][::-1] if side == "b" else marks[:NEAR]
        for at, word in enumerate(words):
            found += [f"{side}:{word}", f"{side}{min(at, 2)}:{word}", f"{side}^{word[:5]}", f"{side}${word[-3:]}"]
        found += [f"{side}:{' '.join(words[at : at + size])}" for size in (2, 3) for at in range(len(words) - size + 1)]
        found += [f"{side}~{one}~{two}" for one, two in combinations(words, 2)]
    return [hashed(text, BUCKETS) for text in dict.fromkeys(found)]


@cache
def _head(weights: Path) -> AmountHead:
    """Return a head of the package, which scripts/fit_amounts.py wrote."""
    return AmountHead(**arrays_of(weights))
