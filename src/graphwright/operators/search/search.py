"""Search operators: nodes, triples and passages near a question, by vectors or words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from graphwright.constraints import AtLeast, Has
from graphwright.graph.evidence import Evidence
from graphwright.graph.items import Item
from graphwright.kernels.ranking import top
from graphwright.models.protocols import Floats
from graphwright.operators.anchors.keywords import themes
from graphwright.operators.operator import Operator, Ranker
from graphwright.operators.run import Run
from graphwright.operators.search.nearest import edges_near
from graphwright.operators.state import State
from graphwright.search.bm25_postings import WordIndex
from graphwright.search.vector_index import VectorIndex


@dataclass(frozen=True, repr=False)
class VectorSearch(Ranker):
    """Rank nodes by the dot product of their vector with the question's (vector search in FastInsight's taxonomy).

    `index`: one row per node, or per node of one kind.

    >>> from graphwright import Graph, start; from graphwright.models import HashEncoder
    >>> graph = Graph.from_triples([("Lyon", "in", "France"), ("Graz", "in", "Austria")])
    >>> index = VectorIndex.from_array(HashEncoder().encode(list(graph.names)), HashEncoder())
    >>> state = (VectorSearch(index) % 1)(start("Where is Graz?", graph)); graph.names.take(state.evidence.nodes)
    ['Graz']
    """

    index: Annotated[VectorIndex, Has("a vector index, such as the passages of a snapshot", "scores_of")]
    gives = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        return state.with_(evidence=nearest(self.index, self.index.encode(state.question.text, run), state, k, run))


@dataclass(frozen=True, repr=False)
class EdgeSearch(Ranker):
    """Rank triples by the dot product of their text's vector with the question's.

    `index`: vectors by edge id (`Snapshot.triples`).
    """

    index: VectorIndex
    gives = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        query = self.index.encode(state.question.text, run)
        ids = self.index.ids if state.graph.whole else state.graph.edges
        return state.with_(evidence=Evidence.of_edges(*_best(*self.index.scores_of(ids, query, run), k)))


@dataclass(frozen=True, repr=False)
class WordSearch(Ranker):
    """Rank passages by BM25 over their words; passages that share no word with the question are left out."""

    index: WordIndex
    gives = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        scores = self.index.scores(state.question.text)
        matching = scores > 0
        if not state.graph.whole:
            matching &= state.graph.holds(self.index.nodes)
        return state.with_(evidence=Evidence.of_nodes(*_best(self.index.nodes[matching], scores[matching], k)))


def nearest(index: VectorIndex, query: Floats, state: State, k: int | None = None, run: Run | None = None) -> Evidence:
    """Return the nodes of the state's graph by the dot product of their vector with `query`, the k best (all, if None).

    `query: float32[dimension]`. A node without a vector is left out.
    """
    ids = index.ids if state.graph.whole else state.graph.nodes
    return Evidence.of_nodes(*_best(*index.scores_of(ids, query, run), k))


def _best(ids: NDArray[np.int64], scores: Floats, k: int | None) -> tuple[NDArray[np.int64], Floats]:
    if k is None or k >= len(ids):
        return ids, scores
    best = top(scores, k)
    return ids[best], scores[best]


@dataclass(frozen=True, repr=False)
class TripleSearch(Operator):
    """Find the triples nearest to the question's themes, each text once.

    LightRAG retrieves relations by high-level keywords in this way; HippoRAG 2 links a query to triples. Of several
    edges of one sentence it takes the most similar to the theme. The score is the largest cosine with any theme.

    `triples`: vectors by edge (`Snapshot.triples`); without them the edges at the anchors' nodes are compared by words,
    and the trace notes it. `limit`: the number of triples. `by_question`: use the question as the only theme, which is
    the default without themes.

    >>> from graphwright import Graph, start
    >>> graph = Graph.from_triples([("Ermengarde", "founded", "Erstein"), ("Ermengarde", "married", "Lothair I")])
    >>> state = start("Whom had Ermengarde married?", graph, entities=["Ermengarde"])
    >>> TripleSearch(None, limit=1)(state).evidence.texts(graph)
    ['Ermengarde married Lothair I']
    """

    triples: VectorIndex | None
    limit: Annotated[int, AtLeast(1)] = 20
    by_question: bool = False
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        around = state.anchor_nodes() if self.triples is None else None
        texts = [] if self.by_question else [theme.text for theme in themes(state)]
        best: dict[int, float] = {}
        for edges in edges_near(run, self.triples, state.graph, texts or [state.question.text], self.limit, around):
            for edge, score in edges.items():
                best[edge] = max(score, best.get(edge, score))
        return state.with_(evidence=Evidence.of_edges(list(best), list(best.values())).top(self.limit))


@dataclass(frozen=True, repr=False)
class OneHop(Operator):
    """Add to the nodes of the evidence all edges at them between entities (LightRAG, "high-order relatedness").

    An edge has the sum of the scores of its ends, 0 for an end outside the evidence; a node keeps its score. Evidence
    without scores counts 1/rank; a triple counts for both its ends.

    >>> from graphwright import Graph, start
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("c", "r", "d")])
    >>> evidence = OneHop()(start("?", graph, evidence=Evidence.of_nodes([1, 2], [0.5, 0.2]))).evidence
    >>> evidence.texts(graph), evidence.scores.tolist()
    (['b r c', 'a r b', 'b', 'c r d', 'c'], [0.7, 0.5, 0.5, 0.2, 0.2])
    """

    needs = ("evidence",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        graph, columns, score_of = state.graph, state.graph.columns, state.node_scores()
        nodes = np.array(sorted(score_of), np.int64)
        nodes = nodes[graph.holds(nodes)]
        edges = graph.inside(np.union1d(columns.out.rows(nodes), columns.into.rows(nodes)))
        edges = edges[columns.between_entities(edges)]
        ends = graph.ends(edges).reshape(-1, 2).tolist()
        items = [*map(Item.triple, edges.tolist()), *map(Item.node, nodes.tolist())]
        scores = [sum(score_of.get(end, 0.0) for end in pair) for pair in ends]
        scores += [score_of[node] for node in nodes.tolist()]
        return state.with_(evidence=Evidence.of_items(items, scores))
