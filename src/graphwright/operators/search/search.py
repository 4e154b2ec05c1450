"""Search operators: nodes, triples and passages near a question, by vectors, words or sparse weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence
from graphwright.index.sparse_index import SparseIndex
from graphwright.index.vector_index import VectorIndex
from graphwright.index.word_index import WordIndex
from graphwright.kernels.ranking import top
from graphwright.models.protocols import Floats
from graphwright.operators.anchors.keywords import themes
from graphwright.operators.operator import Operator, Ranker
from graphwright.operators.run import Run
from graphwright.operators.search.nearest import edges_near
from graphwright.operators.state import State

__all__ = ["EdgeSearch", "OneHop", "SparseSearch", "TripleSearch", "VectorSearch", "WordSearch", "nearest"]


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
        nodes, scores = self.index.scores(state.question.text, run)
        if not state.graph.whole:
            here = state.graph.holds(nodes)
            nodes, scores = nodes[here], scores[here]
        if k is not None and k < len(nodes):
            kept = top(scores, k)
            nodes, scores = nodes[kept], scores[kept]
        return state.with_(evidence=Evidence.of_nodes(nodes, scores))


@dataclass(frozen=True, repr=False)
class TripleSearch(Operator):
    """Triples nearest to the question's themes, one for each text.

    LightRAG's retrieval of relations by high-level keywords, and HippoRAG 2's linking of a query to triples. Where an
    edge's text is a sentence, that states many: of those it is the one most like what is asked. The score is the
    largest cosine with any theme. `triples`: vectors by edge (`Snapshot.triples`); where there are none, the edges at
    the nodes of the anchors are compared by words, and the trace notes it. `limit`: triples in all. `asked`: the
    question itself is the theme, whatever else is; so it is where there is none.

    >>> from graphwright import Anchor, Graph, start
    >>> graph = Graph.from_triples([("Ermengarde", "founded", "Erstein"), ("Ermengarde", "married", "Lothair I")])
    >>> state = start("Whom had Ermengarde married?", graph, entities=["Ermengarde"])
    >>> TripleSearch(None, limit=1)(state).evidence.texts(graph)
    ['Ermengarde married Lothair I']
    """

    triples: VectorIndex | None
    limit: int = 20
    asked: bool = False
    gives = ("evidence",)

    def __post_init__(self) -> None:
        if isinstance(self.limit, bool) or not hasattr(self.limit, "__index__") or self.limit < 1:
            raise OptionError(f"TripleSearch(limit={self.limit!r}): a number of triples, 1 or more.")

    def apply(self, state: State, run: Run) -> State:
        """Rank the triples."""
        if self.triples is None:
            run.note("there are no vectors of triples; those at the anchors were compared by words")
        named = [anchor.seeds(state.graph) for anchor in state.anchors or ()]
        around = np.unique(np.concatenate([np.empty(0, np.int64), *named]))
        asked = [] if self.asked else [theme.text for theme in themes(state)]
        best: dict[int, float] = {}
        for near in edges_near(run, self.triples, state.graph, asked or [state.question.text], int(self.limit), around):
            for edge, score in near.items():
                best[edge] = max(score, best.get(edge, score))
        return state.with_(evidence=Evidence.of_edges(list(best), list(best.values())).top(int(self.limit)))


@dataclass(frozen=True, repr=False)
class OneHop(Operator):
    """The nodes of the evidence and all edges at them that join two entities (LightRAG, "high-order relatedness").

    An edge scores what its ends score together, an end that is not of the evidence 0; a node keeps its score. Without
    scores the evidence counts by 1/rank; a triple stands for both its ends.

    >>> from graphwright import Graph, start
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("c", "r", "d")])
    >>> found = OneHop()(start("?", graph, evidence=Evidence.of_nodes([1, 2], [0.5, 0.2]))).evidence
    >>> found.texts(graph), found.scores.tolist()
    (['b r c', 'a r b', 'b', 'c r d', 'c'], [0.7, 0.5, 0.5, 0.2, 0.2])
    """

    needs = ("evidence",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        """Collect and score the edges."""
        found, graph = state.evidence or Evidence.of_nodes([]), state.graph
        scores = 1.0 / np.arange(1, len(found) + 1) if found.scores is None else found.scores
        known: dict[int, float] = {}
        for (nodes, edges), score in zip(found, scores.tolist(), strict=True):
            for node in (nodes if len(nodes) else graph.ends(edges)).tolist():
                known[node] = max(score, known.get(node, score))
        nodes = np.array(sorted(known), np.int64)
        nodes = nodes[graph.holds(nodes)]
        columns = graph.columns
        edges = np.unique(np.append(columns.out.rows(nodes), columns.into.rows(nodes)))
        edges = edges if graph.whole else edges[np.isin(edges, graph.edges, assume_unique=True)]
        edges = edges[columns.between_entities(edges)]
        together = [sum(known.get(end, 0.0) for end in ends) for ends in graph.ends(edges).reshape(-1, 2).tolist()]
        pieces = [([], [edge]) for edge in edges.tolist()] + [([node], []) for node in nodes.tolist()]
        return state.with_(evidence=Evidence.of_pieces(pieces, [*together, *(known[node] for node in nodes.tolist())]))
