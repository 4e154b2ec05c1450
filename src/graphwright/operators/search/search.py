"""Searches: from a question to nodes or triples, by vectors or by words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.evidence import Evidence
from graphwright.index.vector_index import VectorIndex
from graphwright.index.word_index import WordIndex
from graphwright.kernels.ranking import top
from graphwright.models.protocols import Floats
from graphwright.operators.operator import Ranker
from graphwright.operators.run import Run
from graphwright.operators.state import State

__all__ = ["EdgeSearch", "VectorSearch", "WordSearch", "nearest"]


@dataclass(frozen=True, repr=False)
class VectorSearch(Ranker):
    """Nodes by the dot product of their vector with the question's (vector search in FastInsight's taxonomy).

    `index`: one row per node, or per node of one kind.

    >>> from graphwright.operators.state import start; from graphwright.graph.graph import Graph
    >>> from graphwright.models.fake import HashEncoder
    >>> graph = Graph.from_triples([("Lyon", "in", "France"), ("Graz", "in", "Austria")])
    >>> index = VectorIndex.from_array(HashEncoder().encode(list(graph.names)), HashEncoder())
    >>> found = (VectorSearch(index) % 1)(start("Where is Graz?", graph)); graph.names.take(found.evidence.nodes)
    ['Graz']
    """

    index: VectorIndex
    gives = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Rank the nodes of the graph that have a vector."""
        return state.with_(evidence=nearest(self.index, self.index.encode(state.question.text, run), state, k))


@dataclass(frozen=True, repr=False)
class EdgeSearch(Ranker):
    """Triples by the dot product of their text's vector with the question's.

    `index`: vectors by edge id (`Snapshot.triples`).
    """

    index: VectorIndex
    gives = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Rank the edges of the graph that have a vector."""
        query = self.index.encode(state.question.text, run)
        ids, scores = _scored(self.index, query, state.graph.edges, state.graph.whole)
        return state.with_(evidence=Evidence.of_edges(*_best(ids, scores, k)))


@dataclass(frozen=True, repr=False)
class WordSearch(Ranker):
    """Passages by BM25 over their words; those that share no word with the question are left out."""

    index: WordIndex
    gives = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Rank the passages of the graph that hold a word of the question."""
        scores = self.index.scores(state.question.text)
        found = scores > 0
        if not state.graph.whole:
            found &= state.graph.holds(self.index.nodes)
        return state.with_(evidence=Evidence.of_nodes(*_best(self.index.nodes[found], scores[found], k)))


def nearest(index: VectorIndex, query: Floats, state: State, k: int | None = None) -> Evidence:
    """Return the nodes of the state's graph by the dot product of their vector with `query`, the k best (all, if None).

    `query: float32[dimension]`. A node without a vector is left out.
    """
    ids, scores = _scored(index, query, state.graph.nodes, state.graph.whole)
    return Evidence.of_nodes(*_best(ids, scores, k))


def _scored(index: VectorIndex, query: Floats, ids: NDArray[np.int64], whole: bool) -> tuple[NDArray[np.int64], Floats]:
    if whole and index.row_of is None:
        return ids[: len(index.vectors)], index.scores(query)[: len(ids)]
    return index.scores_of(index.ids if whole else ids, query)


def _best(ids: NDArray[np.int64], scores: Floats, k: int | None) -> tuple[NDArray[np.int64], Floats]:
    if k is None or k >= len(ids):
        return ids, scores
    kept = top(scores, k)
    return ids[kept], scores[kept]
