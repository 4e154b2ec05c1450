"""GRanker: a cross-encoder whose latents are smoothed over the graph (FastInsight)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from graphwright.constraints import Between, Has
from graphwright.graph.evidence import Evidence, Ints
from graphwright.kernels.frontier import smooth
from graphwright.models.protocols import CrossEncoder
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import State

__all__ = ["GRanker", "evidence_nodes"]


@dataclass(frozen=True, repr=False)
class GRanker(Operator):
    """Rerank nodes by a cross-encoder whose latents are smoothed over the graph (FastInsight, Algorithm 2).

        H = latents(q, texts),  W = A D⁻¹,  P = diag(W 1)⁻¹ W,  H' = (1 - α) H + α P H,  S = head(H')

    A joins retrieved nodes that are neighbours; D holds their degrees in the whole snapshot, so that a neighbour with
    many neighbours counts less. A node without a retrieved neighbour keeps its own latent.
    `cross_encoder` gives Encoder(q, n) as `latents` and the MLP as `head`; `alpha` is α, 0 (the cross-encoder
    alone) to 1 (neighbours alone). Ranks the nodes of the evidence, both ends of a triple.

    >>> from graphwright.graph.graph import Graph
    >>> from graphwright.models.fake import OverlapCrossEncoder
    >>> from graphwright.operators.state import start
    >>> graph = Graph.from_triples([("red fox", "r", "den"), ("hen", "r", "barn")])
    >>> state = start("red fox", graph, evidence=Evidence.of_nodes([2, 1, 0]))
    >>> graph.names.take(GRanker(OverlapCrossEncoder())(state).evidence.nodes)
    ['red fox', 'den', 'hen']
    """

    cross_encoder: Annotated[CrossEncoder, Has("a cross-encoder, with latents and head", "latents", "head")]
    alpha: Annotated[float, Between(0, 1)] = 0.2
    needs = ("evidence",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        """Rank the nodes of the evidence."""
        nodes = evidence_nodes(state)
        if not len(nodes):
            return state.with_(evidence=Evidence.of_nodes([], []))
        texts = [state.graph.reading(node) for node in nodes.tolist()]
        latents = run.latents(self.cross_encoder, state.question.text, texts)
        smoothed = smooth(*state.graph.columns.adjacency, nodes, latents, self.alpha)
        return state.with_(evidence=Evidence.of_nodes(nodes, self.cross_encoder.head(smoothed)))


def evidence_nodes(state: State) -> Ints:
    """Return the nodes of the evidence, each once, in its order; for an item without nodes the ends of its edges."""
    evidence = state.evidence
    if evidence is None:
        return np.empty(0, np.int64)
    nodes = evidence.nodes
    if len(evidence.edges):
        nodes = np.concatenate([nodes if len(nodes) else state.graph.ends(edges) for nodes, edges in evidence])
    return np.fromiter(dict.fromkeys(nodes.tolist()), np.int64)
