"""From keywords to nodes: those whose names are nearest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.evidence import Evidence, Ints
from graphwright.index.name_index import name_index_of
from graphwright.index.vector_index import VectorIndex
from graphwright.kernels.ranking import top
from graphwright.operators.operator import Ranker
from graphwright.operators.run import Run
from graphwright.operators.search.nearest import lengths_of, name_words
from graphwright.operators.state import Anchor, State
from graphwright.text.names import normal_form

__all__ = ["AnchorSearch"]

_LIKE = 0.8  # least similarity of a name that is spelled otherwise

Near = Callable[[str], NDArray[np.float64]]


@dataclass(frozen=True, repr=False)
class AnchorSearch(Ranker):
    """Nodes whose names are nearest to the anchors' texts, by cosine (PathRAG, "Node Retrieval").

    The anchors take turns: the nearest name of each, then the second of each, so that `% 40` is the paper's N = 40
    over all keywords. A node's score is the best weight / rank over the anchors; what an anchor already means comes
    first. Themes are left out, being words of relations and not of names. The anchors stay.

    `names`: vectors by node. Where there are none, names are compared by their words (BM25) and spelling, those
    that share nothing are left out, and the trace notes it.

    >>> from graphwright import Anchor, Graph, HashEncoder, start
    >>> graph = Graph.from_triples([("Hugh of Tours", "child", "Ermengarde of Tours"), ("Graz", "on the", "Mur")])
    >>> names = VectorIndex.from_array(HashEncoder().encode(list(graph.names)), HashEncoder())
    >>> state = start("?", graph, anchors=[Anchor("Ermengarde"), Anchor("the Mur")])
    >>> graph.names.take((AnchorSearch(names) % 2)(state).evidence.nodes)
    ['Ermengarde of Tours', 'Mur']
    """

    names: VectorIndex | None
    needs = ("anchors",)
    gives = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Rank the names."""
        if self.names is None:
            run.note("there are no vectors of names; they were compared by words and spelling")
        ids, near = _by_words(state) if self.names is None else _by_vectors(run, self.names)
        best: dict[int, float] = {}
        for anchor in state.anchors or ():
            if anchor.weight > 0 and anchor.kind == "entity":
                for rank, node in enumerate(_nearest(anchor, state, ids, near, k), 1):
                    best[node] = max(best.get(node, 0.0), anchor.weight / rank)
        found = Evidence.of_nodes(list(best), list(best.values()))
        return state.with_(evidence=found if k is None else found.top(k))


def _nearest(anchor: Anchor, state: State, ids: Ints, near: Near, k: int | None) -> list[int]:
    """Return the k nodes of the graph that are nearest to an anchor: those that it means, then by their names."""
    meant = anchor.seeds(state.graph)
    scores = near(anchor.text)
    open_ = (scores > -np.inf) & ~np.isin(ids, meant)
    if not state.graph.whole:
        open_ &= state.graph.holds(ids)
    at = np.flatnonzero(open_)
    others = ids[at[top(scores[at], len(at) if k is None else k)]]
    return [*meant[state.graph.holds(meant)].tolist(), *others.tolist()][:k]


def _by_vectors(run: Run, index: VectorIndex) -> tuple[Ints, Near]:
    ids, rows = index.rows_of(index.ids)
    lengths = lengths_of(index)[rows]

    def near(text: str) -> NDArray[np.float64]:
        query = index.encode(text, run)
        inner = index.scores_of(ids, query)[1].astype(np.float64)
        size = lengths * np.linalg.norm(query)
        return np.divide(inner, size, out=np.zeros(len(inner)), where=size > 0)

    return ids, near


def _by_words(state: State) -> tuple[Ints, Near]:
    index, lexicon = name_words(state.graph.columns), name_index_of(state.graph.columns)

    def near(text: str) -> NDArray[np.float64]:
        scores = index.scores(text).astype(np.float64)
        scores[scores <= 0] = -np.inf
        form = normal_form(text)
        nodes = lexicon.find(form)
        if not len(nodes) and len(form) > 3:
            nodes, _ = lexicon.near(form, _LIKE)
        scores[np.isin(index.nodes, nodes)] = np.inf
        return scores

    return index.nodes, near
