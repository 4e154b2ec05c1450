"""Search by the weights of a sparse encoder, such as SPLADE."""

from __future__ import annotations

from dataclasses import dataclass

from graphwright.graph.evidence import Evidence
from graphwright.index.sparse_index import SparseIndex
from graphwright.kernels.ranking import top
from graphwright.operators.operator import Ranker
from graphwright.operators.run import Run
from graphwright.operators.state import State

__all__ = ["SparseSearch"]


@dataclass(frozen=True, repr=False)
class SparseSearch(Ranker):
    """Passages by the dot product of their sparse weights with the question's (SPLADE: Formal et al., 2021).

    Those that share no column with the question are left out.

    >>> from graphwright.graph.graph import Graph; from graphwright.operators.state import start
    >>> from graphwright.models.fake import HashSparseEncoder
    >>> graph = Graph.from_triples([("Lyon", "in", "France"), ("Graz", "in", "Austria")])
    >>> search = SparseSearch(SparseIndex.of(graph, HashSparseEncoder()))
    >>> found = (search % 2)(start("Where is Graz?", graph)); graph.names.take(found.evidence.nodes)
    ['Graz', 'Austria']
    """

    index: SparseIndex
    gives = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Rank the passages of the graph that share a column with the question."""
        nodes, scores = self.index.scores(state.question.text)
        if not state.graph.whole:
            here = state.graph.holds(nodes)
            nodes, scores = nodes[here], scores[here]
        if k is not None and k < len(nodes):
            kept = top(scores, k)
            nodes, scores = nodes[kept], scores[kept]
        return state.with_(evidence=Evidence.of_nodes(nodes, scores))
