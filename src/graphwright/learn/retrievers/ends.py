"""What a piece leads to, as a trained retriever sees it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence, Scores
from graphwright.learn.retrievers.retriever import Retriever
from graphwright.operators.rerank.scorer import Judge, Scorer
from graphwright.operators.state import State

__all__ = ["Ends"]


@dataclass(frozen=True, repr=False)
class Ends(Scorer):
    """Scores a piece by its last node alone, as a retriever scores nodes: what GNN-RAG ranks shortest paths by.

    GNN-RAG (Mavromatis and Karypis, 2024) has a graph network say which nodes are answers, and gives the shortest paths
    to them. A piece without nodes, as a triple is, counts by its tail.
    """

    retriever: Retriever

    def __post_init__(self) -> None:
        if not isinstance(self.retriever, Retriever):
            raise OptionError(f"Ends({self.retriever!r}): a trained retriever is needed, as load_retriever gives.")

    def judge(self, state: State) -> Judge:
        """Return the scores of last nodes."""
        score, graph = self.retriever.judge(state), state.graph

        def scores(pieces: Evidence) -> Scores:
            last = [
                int(nodes[-1]) if len(nodes) else int(graph.columns.tails[edges[-1]]) if len(edges) else -1
                for nodes, edges in pieces
            ]
            known = np.unique([node for node in last if node >= 0])
            found = score(Evidence.of_nodes(known)) if len(known) else np.zeros(1)
            at = np.minimum(np.searchsorted(known, last), max(len(known) - 1, 0))
            return np.where(np.array(last) >= 0, found[at], -np.inf)

        return scores
