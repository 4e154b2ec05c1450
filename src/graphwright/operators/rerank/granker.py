"""Rerank nodes by a cross-encoder smoothed over the graph (FastInsight)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from graphwright.constraints import Between, Has
from graphwright.graph.evidence import Evidence
from graphwright.kernels.messages import smooth
from graphwright.models.protocols import CrossEncoder
from graphwright.operators.rerank.rerank import Reranker
from graphwright.operators.run import Run
from graphwright.operators.state import State


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
