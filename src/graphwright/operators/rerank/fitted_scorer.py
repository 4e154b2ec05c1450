"""The fitted scorer of passages: a linear model of passages and connected pairs, then regression trees and coverage."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from graphwright.constraints import AtLeast, Between, Checked
from graphwright.errors import DataError
from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.graph.items import Steps, steps_between
from graphwright.kernels.regression_trees import RegressionTrees
from graphwright.models.protocols import Floats, NamedEncoder
from graphwright.operators.operator import Ranker
from graphwright.operators.rerank.passage_features import ALONE, PAIR, PassageFeatures
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.search.bm25_postings import WordIndex
from graphwright.search.vector_index import VectorIndex


@dataclass(frozen=True)
class Cover(Checked):
    """Choose passages greedily: each time the passage with the largest gain over the chosen passages C.

        gain(t) = a(t) + max(0, max_{s in C} p(s, t), open · max_s p(s, t))
                  - g · overlap · Σ_w min(share_w(t), max_{s in C} share_w(s))

    a, p and g are those of `PassageScorer`; share_w is the idf share of a question's word in a passage. `open`: the
    share of a pair's score that counts before its source is chosen; `overlap`: the cost of words that C covers. Scores
    are gains, each less than the last.
    """

    open: Annotated[float, Between(0, 1)]
    overlap: Annotated[float, AtLeast(0)]

    def __call__(
        self, features: PassageFeatures, alone: Scores, pairs: Scores, several: float, k: int
    ) -> tuple[Ints, Scores]:
        borders = np.searchsorted(features.source, np.arange(len(features.nodes) + 1))
        best = self.open * features.best_pair(pairs)
        covered, cost = np.zeros(features.words.shape[1], np.float32), np.zeros(len(alone))
        values = alone.copy()  # minus infinity once chosen
        chosen: list[int] = []
        scores: list[float] = []
        while len(chosen) < min(k, len(values)):
            gains = values + best - cost
            at = int(gains.argmax())
            gain = float(gains[at])
            chosen.append(at)
            scores.append(gain if not scores or gain < scores[-1] else float(np.nextafter(scores[-1], -np.inf)))
            pair = slice(borders[at], borders[at + 1])
            np.maximum.at(best, features.target[pair], pairs[pair])
            if (features.words[at] > covered).any():
                covered = np.maximum(covered, features.words[at])
                cost = several * self.overlap * np.minimum(features.words, covered).sum(axis=1, dtype=np.float64)
            values[at] = -np.inf
        return np.array(chosen, np.int64), np.array(scores)


MAX_GATE = 20.0  # the most that is added to the log odds of a question, or taken from them
_ROUNDS = 2  # for chains of three passages: the second pair uses the score of the first
_SEVERAL = 386  # 384 weights of the vector, that of a topic, and the constant
_TREE_FEATURES = len(ALONE) + len(PAIR) + 5  # of a passage
_SCORES = ("source_score", "target_score")
_NAMES = {"alone": ALONE, "single": ALONE, "pair": (*PAIR, *_SCORES)}  # the features of each part of weights


@dataclass(frozen=True)
class PassageScorer:
    """Score passages by their features, alone and in their best connected pair: linearly, then by trees.

        score(t) = g · (a(t) + b(t) - max b) + (1 - g) · o(t) + g · max(0, max_s p(s, t))
        a(t) = Σ_i alone_i · x_i(t)        o(t) = Σ_i single_i · x_i(t)
        p(s, t) = bias + Σ_j pair_j · z_j(s, t) + pair_source · score'(s) + pair_target · a(t)

    score' is a in the first of two rounds and the linear score of the first in the second, so that a passage may be
    reached over another. g is the probability that the question needs several passages, by logistic regression on its
    vector and on whether it names a topic (`several`). b is the sum of regression trees (LambdaMART; Burges, 2010) over
    what `seen_by_trees` gives, 0 without `trees`. `alone`, `single` and `pair` are weights by the names of the features
    (see `PassageFeatures`).
    """

    alone: Mapping[str, float]
    single: Mapping[str, float]
    pair: Mapping[str, float]
    bias: float
    several: tuple[float, ...]
    cover: Cover
    trees: RegressionTrees | None = None

    @classmethod
    def read(cls, file: Path) -> PassageScorer:
        """Read the weights that `scripts/fit_scorer.py` wrote. Raises DataError for another file."""
        try:
            record: dict[str, Any] = json.loads(file.read_text("utf-8"))
            weights = {part: {k: float(v) for k, v in dict(record[part]).items()} for part in _NAMES}
            bias, several = float(record["bias"]), tuple(map(float, record["several"]))
            cover = Cover(**record["cover"])
            if len(several) != _SEVERAL:
                raise ValueError(f"several has {len(several)} numbers, not {_SEVERAL}")
            trees = RegressionTrees(**record["trees"]) if record.get("trees") else None
        except (OSError, ValueError, KeyError, TypeError) as exc:
            raise DataError(f"{file} is not a passage scorer: {exc!r}. Fit it with scripts/fit_scorer.py.") from exc
        for part, names in _NAMES.items():
            if differing := set(weights[part]) ^ set(names):
                differ = ", ".join(sorted(differing))
                raise DataError(f"{file}: its features differ from those of this version: {differ}. Fit it again.")
        if trees is not None and trees.features > _TREE_FEATURES:
            raise DataError(f"{file}: its trees use feature {trees.features} of {_TREE_FEATURES}. Fit it again.")
        return cls(**weights, bias=bias, several=several, cover=cover, trees=trees)

    def __hash__(self) -> int:
        weights = (*self.alone.items(), *self.single.items(), *self.pair.items())
        return hash((*weights, self.bias, self.several, self.cover, self.trees))

    def __repr__(self) -> str:
        return "fitted_scorer()" if self == fitted_scorer() else f"PassageScorer(bias={self.bias:.3f}, …)"

    def __call__(self, features: PassageFeatures) -> tuple[Scores, Scores]:
        """Return the score of each passage alone: float64[p], and of each pair, added if above 0: float64[c]."""
        alone, pairs = self.linear(features)
        several, values = self.needs_several(features), alone
        if self.trees is not None and len(alone):
            boost = self.trees(self.seen_by_trees(features, alone, pairs))
            values = alone + boost - boost.max()
        return several * values + (1 - several) * (features.alone.astype(np.float64) @ self._single), pairs

    def linear(self, features: PassageFeatures) -> tuple[Scores, Scores]:
        """Return the linear scores of passages, a(t): float64[p], and of pairs, g · p(s, t): float64[c]."""
        of_alone, of_pair, _ = self._weights
        alone = features.alone.astype(np.float64) @ of_alone
        fixed = self.bias + features.pair.astype(np.float64) @ of_pair
        fixed += self.pair["target_score"] * alone[features.target]
        several, scores, pairs = self.needs_several(features), alone, fixed
        for _ in range(_ROUNDS):
            pairs = several * (fixed + self.pair["source_score"] * scores[features.source])
            scores = alone + features.best_pair(pairs)
        return alone, pairs

    def seen_by_trees(self, features: PassageFeatures, alone: Scores, pairs: Scores) -> Floats:
        """Return the features of each passage for the trees: float32[p, 32]; `alone`, `pairs`: from `linear`.

        These are its own features, those of its best pair (0 without a pair), and five values: a, the score of the best
        pair, their sum less the best sum of all passages, the rank by this sum, and g.
        """
        best, largest = np.full(len(alone), -1), np.full(len(alone), -np.inf)
        np.maximum.at(largest, features.target, pairs)
        leading = np.flatnonzero(pairs == largest[features.target])
        best[features.target[leading]] = leading  # the last of several
        of_pair = np.zeros((len(alone), len(PAIR)), np.float32)
        of_pair[best >= 0] = features.pair[best[best >= 0]]
        added = features.best_pair(pairs)
        total = alone + added
        rank = np.argsort(np.argsort(-total, kind="stable"), kind="stable")
        several = np.full(len(alone), self.needs_several(features))
        values = np.stack((alone, added, total - total.max(initial=-np.inf), rank, several), axis=1)
        return np.concatenate((features.alone, of_pair, values), axis=1).astype(np.float32)

    def chosen(self, features: PassageFeatures, alone: Scores, pairs: Scores, k: int) -> tuple[Ints, Scores]:
        """Return the positions of the k passages that greedy coverage chooses, and their scores."""
        return self.cover(features, alone, pairs, self.needs_several(features), k)

    def shifted(self, gate: float) -> PassageScorer:
        """Return the scorer with `gate` added to the log odds that a question needs several passages.

        This corrects the constant of the logistic regression for another share of such questions (prior correction;
        King and Zeng, 2001), and leaves its weights.
        """
        if not gate:
            return self
        return replace(self, several=(*self.several[:-1], self.several[-1] + gate))

    @cached_property
    def _weights(self) -> tuple[Scores, Scores, Scores]:
        alone, pair = [self.alone[name] for name in ALONE], [self.pair[name] for name in PAIR]
        return np.array(alone), np.array(pair), np.array(self.several[:-2])

    @cached_property
    def _single(self) -> Scores:
        return np.array([self.single[name] for name in ALONE])

    def needs_several(self, features: PassageFeatures) -> float:
        """Return the probability that the question needs several passages."""
        topic, constant = self.several[-2:]
        logit = float(features.question @ self._weights[2]) + topic * features.names_topic + constant
        return 1 / (1 + math.exp(-logit))


@cache
def fitted_scorer() -> PassageScorer:
    """Return the scorer that is part of this package, fitted on all development sets (see its CARD.md)."""
    return PassageScorer.read(Path(__file__).parents[2] / "models" / "weights" / "passage-scorer" / "model.json")


@dataclass(frozen=True, repr=False)
class ScorePassages(Ranker):
    """Rank the passages of the evidence, and the `pool` best by cosine and BM25, by a fitted scorer and by coverage.

    The scores of the evidence count as a feature (PageRank, in the method `multihop`). `passages`, `triples`: vectors
    (without those of triples a passage's cosine replaces those of its statements); `words`: the word index; `encoder`:
    the scorer's encoder; `scorer`: by default that of the package; `gate`: see `PassageScorer.shifted`. The steps to a
    passage begin at the earlier passage that raises its score most, if an edge or a name connects the two.
    """

    passages: VectorIndex
    words: WordIndex
    encoder: NamedEncoder
    triples: VectorIndex | None = None
    pool: Annotated[int, AtLeast(1)] = 60
    scorer: PassageScorer | None = None
    gate: Annotated[float, Between(-MAX_GATE, MAX_GATE)] = 0.0
    scale = "what a passage adds to those above it by the fitted scorer; only their differences mean something"

    def features(self, state: State, run: Run) -> PassageFeatures:
        """Return the features of the passages that are ranked."""
        return PassageFeatures.of(state, run, self.passages, self.words, self.encoder, self.triples, self.pool)

    @cached_property
    def _fitted(self) -> PassageScorer:
        return (self.scorer or fitted_scorer()).shifted(self.gate)

    def order(self, features: PassageFeatures, k: int | None) -> tuple[Ints, Scores, Scores]:
        """Return the positions of the k best passages (all, if None) and their scores, and those of all pairs."""
        alone, pairs = self._fitted(features)
        order, scores = self._fitted.chosen(features, alone, pairs, len(features.nodes) if k is None else k)
        return order, scores, pairs

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        features = self.features(state, run)
        order, scores, pairs = self.order(features, k)
        nodes, sources = features.nodes[order], features.best_source(pairs, order)
        reached = np.flatnonzero(sources >= 0)
        steps = steps_between(state.graph, features.nodes[sources[reached]], nodes[reached])
        place = np.full(len(nodes), len(reached))  # of those that have no source, the empty walk at the end
        place[reached] = np.arange(len(reached))
        return state.with_(evidence=Evidence.of_nodes(nodes, scores, steps.joined(Steps.none(1)).take(place)))
