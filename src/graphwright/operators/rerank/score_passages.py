"""Rank passages by the fitted scorer, and choose a list of them by greedy coverage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast
from graphwright.graph.evidence import Evidence
from graphwright.graph.items import Steps, steps_between
from graphwright.models.protocols import NamedEncoder
from graphwright.operators.operator import Ranker
from graphwright.operators.rerank.fitted_scorer import PassageScorer, fitted_scorer
from graphwright.operators.rerank.passage_features import PassageFeatures
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.search.bm25_postings import WordIndex
from graphwright.search.vector_index import VectorIndex


@dataclass(frozen=True, repr=False)
class ScorePassages(Ranker):
    """Rank the passages of the evidence, and the `pool` best by cosine and BM25, by a fitted scorer.

    The scores of the evidence count as a feature (PageRank, in the method `multihop`). `passages`, `triples`: vectors
    (without those of triples a passage's cosine replaces those of its statements); `words`: the word index; `encoder`:
    the scorer's encoder, for the probability that the question needs several passages; `scorer`: by default that of the
    package; `cover`: choose a list by greedy coverage; else passages are ranked by their scores. The steps to a passage
    begin at the earlier passage that raises its score most, if an edge or a name connects the two.
    """

    passages: VectorIndex
    words: WordIndex
    encoder: NamedEncoder
    triples: VectorIndex | None = None
    pool: Annotated[int, AtLeast(1)] = 60
    scorer: PassageScorer | None = None
    cover: bool = True
    gives = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        features = PassageFeatures.of(state, run, self.passages, self.words, self.encoder, self.triples, self.pool)
        scorer = self.scorer or fitted_scorer()
        alone, pairs = scorer(features)
        if self.cover:
            order, scores = scorer.chosen(features, alone, pairs, len(features.nodes) if k is None else k)
        else:
            total = alone + features.best_pair(pairs)
            order = np.argsort(-total, kind="stable")[:k]
            scores = total[order]
        sources = features.best_source(pairs, order).tolist()
        nodes = features.nodes[order]
        walks = (
            () if at < 0 else steps_between(state.graph, int(features.nodes[at]), node)
            for at, node in zip(sources, nodes.tolist(), strict=True)
        )
        return state.with_(evidence=Evidence.of_nodes(nodes, scores, Steps.of(walks)))
