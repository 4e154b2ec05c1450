"""Triples near to a question, and triples around nodes: how LightRAG and HippoRAG 2 look into a graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence
from graphwright.index.vector_index import VectorIndex
from graphwright.operators.anchors.keywords import themes
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.search.nearest import edges_near
from graphwright.operators.state import State

__all__ = ["OneHop", "TripleSearch"]


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
        for near in edges_near(self.triples, state.graph, asked or [state.question.text], int(self.limit), around):
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
