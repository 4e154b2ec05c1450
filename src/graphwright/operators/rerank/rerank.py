"""Reranking by a model that reads: any evidence by the texts of its pieces."""

from __future__ import annotations

from dataclasses import dataclass

from graphwright.graph.evidence import Evidence
from graphwright.models.protocols import CrossEncoder, Encoder
from graphwright.operators.operator import Ranker
from graphwright.operators.rerank.scorer import Scorer, checked, ranked_by, score_function
from graphwright.operators.run import Run
from graphwright.operators.state import State

__all__ = ["Rerank"]


@dataclass(frozen=True, repr=False)
class Rerank(Ranker):
    """Rank nodes, triples, paths or trees by how well a model finds their texts to fit the question.

    `model`: an Encoder, for the cosine of the vectors of question and text, or a CrossEncoder, for the head of
    its latents; one that is both is used as a CrossEncoder; or a Scorer, such as Composed, which knows the vectors of
    what pieces are made of and reads next to nothing. Model-based search in FastInsight (Definition 4);
    with `% k` the node, edge, triple and path pruning of LEGO-GraphRAG and the triple selection of ReG.
    Pieces of one text have one score, and it is read once.

    >>> from graphwright.operators.state import start; from graphwright.graph.graph import Graph
    >>> from graphwright.models.fake import OverlapCrossEncoder
    >>> graph = Graph.from_triples([("Graz", "lies on", "Mur"), ("Lyon", "lies on", "Rhône")])
    >>> state = start("Where does the Rhône flow?", graph, evidence=Evidence.of_edges([0, 1]))
    >>> (Rerank(OverlapCrossEncoder()) % 1)(state).evidence.texts(graph)
    ['Lyon lies on Rhône']
    """

    model: Encoder | CrossEncoder | Scorer
    needs = ("evidence",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        checked(self.model, "Rerank", (Scorer,))

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Rank the pieces of the evidence."""
        found = state.evidence
        if found is None or not len(found):
            return state.with_(evidence=Evidence.of_nodes([], []))
        return state.with_(evidence=ranked_by(found, score_function(self.model, state, run)(found), k))
