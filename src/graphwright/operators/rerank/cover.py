"""Greedy coverage: choose passages one after the other, each by its gain over those chosen before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast, Between, Checked
from graphwright.graph.evidence import Ints, Scores
from graphwright.operators.rerank.passage_features import PassageFeatures


@dataclass(frozen=True)
class Cover(Checked):
    """Choose passages greedily: each time the passage with the largest gain over the chosen passages C.

        gain(t) = a(t) + max(0, max_{s in C} p(s, t), open · max_s p(s, t))
                  - g · overlap · Σ_w min(share_w(t), max_{s in C} share_w(s))

    a and p are the scores of `PassageScorer`, p with its factor g (`several`), the probability that the question needs
    several passages; share_w is the idf share of a question's word in a passage. `open`: the share of a pair's score
    that counts before its source is chosen; `overlap`: the cost of words of the question that C covers. Both are fitted
    with the scorer. Scores are gains, each less than the last.
    """

    open: Annotated[float, Between(0, 1)]
    overlap: Annotated[float, AtLeast(0)]

    def __call__(
        self, features: PassageFeatures, alone: Scores, pairs: Scores, several: float, k: int
    ) -> tuple[Ints, Scores]:
        """Return the positions of the k passages that are chosen, and their scores."""
        borders = np.searchsorted(features.source, np.arange(len(features.nodes) + 1))
        best = self.open * features.best_pair(pairs)
        covered = np.zeros(features.words.shape[1], np.float32)
        values = alone.copy()  # minus infinity once chosen
        chosen: list[int] = []
        scores: list[float] = []
        while len(chosen) < min(k, len(values)):
            repeated = np.minimum(features.words, covered).sum(axis=1, dtype=np.float64)
            gains = values + best - several * self.overlap * repeated
            at = int(gains.argmax())
            gain = float(gains[at])
            chosen.append(at)
            scores.append(gain if not scores or gain < scores[-1] else float(np.nextafter(scores[-1], -np.inf)))
            pair = slice(borders[at], borders[at + 1])
            np.maximum.at(best, features.target[pair], pairs[pair])
            covered = np.maximum(covered, features.words[at])
            values[at] = -np.inf
        return np.array(chosen, np.int64), np.array(scores)
