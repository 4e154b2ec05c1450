"""Rerank items by a model's score of their texts, smoothed over the graph, or by a threshold of their scores."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from graphwright.constraints import Between, Has
from graphwright.graph.evidence import Evidence
from graphwright.kernels.messages import smooth
from graphwright.models.protocols import CrossEncoder, Encoder
from graphwright.operators.operator import Operator, Ranker
from graphwright.operators.rerank.scorer import ModelOf, Scorer, ranked_by, score_function
from graphwright.operators.run import Run
from graphwright.operators.state import State

SCORES_ITEMS = ModelOf(Encoder, CrossEncoder, Scorer)


def best_by(ranker: Operator, items: Evidence, state: State, run: Run, k: int) -> Evidence:
    """Return the k best items by an operator that ranks evidence, scored; its notes become those of the run."""
    after = ranker.execute(state.with_(evidence=items, trace=()), run, k)
    run.notes += [note for step in after.trace for note in step.notes]
    best = (after.evidence or Evidence.of_nodes([], [])).top(k)
    return best.take(range(len(best)), best.ranked_scores) if best.scores is None else best


class Reranker(Ranker):
    """Base of operators that make evidence of the items of the evidence; without items the result is empty."""

    needs = ("evidence",)
    gives = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Rank the items of the evidence."""
        items = state.items
        ranking = self.rerank(items, state, run, k) if len(items) else Evidence.of_nodes([], [])
        return state.with_(evidence=ranking.top(k))

    @abstractmethod
    def rerank(self, items: Evidence, state: State, run: Run, k: int | None) -> Evidence:
        """Return the new items in order, at least the k best (all, if None)."""


@dataclass(frozen=True, repr=False)
class Rerank(Reranker):
    """Rank nodes, triples, paths or trees by a model's score of their texts (FastInsight, Definition 4).

    `model`: an Encoder, for the cosine of the vectors of question and text; a CrossEncoder, for the head of its
    latents; or a Scorer. A model that is both encoder and cross-encoder is used as a CrossEncoder. With `% k` this is
    the node, edge, triple and path pruning of LEGO-GraphRAG and the triple selection of ReG. Items with equal texts
    have the same score, and the text is read once.

    >>> from graphwright import Graph, start; from graphwright.models import OverlapCrossEncoder
    >>> graph = Graph.from_triples([("Graz", "lies on", "Mur"), ("Lyon", "lies on", "Rhône")])
    >>> state = start("Where does the Rhône flow?", graph, evidence=Evidence.of_edges([0, 1]))
    >>> (Rerank(OverlapCrossEncoder()) % 1)(state).evidence.texts(graph)
    ['Lyon lies on Rhône']
    """

    model: Annotated[Encoder | CrossEncoder | Scorer, SCORES_ITEMS]

    def rerank(self, items: Evidence, state: State, run: Run, k: int | None) -> Evidence:
        return ranked_by(items, score_function(self.model, state, run)(items), k)


@dataclass(frozen=True, repr=False)
class GRanker(Reranker):
    """Rerank nodes by a cross-encoder whose latents are smoothed over the graph (FastInsight, Algorithm 2).

        H = latents(q, texts),  W = A D⁻¹,  P = diag(W 1)⁻¹ W,  H' = (1 - α) H + α P H,  S = head(H')

    A joins retrieved nodes that are neighbours; D holds their degrees in the whole snapshot, so that a neighbour with
    many neighbours counts less. A node without a retrieved neighbour keeps its own latent.
    `cross_encoder` gives Encoder(q, n) as `latents` and the MLP as `head`; `alpha` is α, 0 (the cross-encoder
    alone) to 1 (neighbours alone). Ranks the nodes of the evidence, both ends of a triple.

    >>> from graphwright import Graph, start; from graphwright.models import OverlapCrossEncoder
    >>> graph = Graph.from_triples([("red fox", "r", "den"), ("hen", "r", "barn")])
    >>> state = start("red fox", graph, evidence=Evidence.of_nodes([2, 1, 0]))
    >>> graph.names.take(GRanker(OverlapCrossEncoder())(state).evidence.nodes)
    ['red fox', 'den', 'hen']
    """

    cross_encoder: Annotated[CrossEncoder, Has("a cross-encoder, with latents and head", "latents", "head")]
    alpha: Annotated[float, Between(0, 1)] = 0.2

    def rerank(self, items: Evidence, state: State, run: Run, k: int | None) -> Evidence:
        nodes = np.array(list(state.node_scores()), np.int64)
        texts = [state.graph.reading(node) for node in nodes.tolist()]
        latents = run.latents(self.cross_encoder, state.question.text, texts)
        smoothed = smooth(*state.graph.columns.adjacency, nodes, latents, self.alpha)
        return Evidence.of_nodes(nodes, self.cross_encoder.head(smoothed), items.steps_to(nodes))
