"""Chains by what was retrieved as a whole: the relation paths whose triples agree with it best."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.graph.graph import Graph
from graphwright.graph.relation_paths import Ways, labelled_edges, relation_paths, walks_along
from graphwright.graph.walks import walk_text
from graphwright.learn.retrievers.retriever import Chances, Retriever
from graphwright.operators.operator import Ranker
from graphwright.operators.paths.paths import query_entities
from graphwright.operators.run import Run
from graphwright.operators.state import State

__all__ = ["Explain"]

_WALKS = 5_000  # by one relation path
_LEAST = 1e-3  # chance that a step has, and lacks


@dataclass(frozen=True, repr=False)
class Explain(Ranker):
    """Chains of the evidence's triples from the query entities, those by one relation path together, the best first.

    The offline twin of a language model that reads chains (ReG, figure 7). Over the triples with a share of `share` of
    the best chance or more, each relation path has as its score the sum over its steps of the log-odds of the mean
    probability, as the retriever has it, of what the walks take there. So a step is worth taking where what it adds
    more probably explains the answer than not, and of two ways the one on which less is astray. Every walk by a
    relation path, as RelationPaths walks, one to each node that it leads to, has its score. Unlike Chains, which leads
    to each node once, this finds the walk to a node that a shorter one, or the walk itself, leads to as well.
    `length`: triples of a chain at most; `paths`: relation paths that are kept.
    """

    retriever: Retriever
    length: int = 3
    share: float = 0.05
    paths: int = 10
    needs = ("evidence", "anchors")
    gives = ("evidence",)

    def __post_init__(self) -> None:
        if not isinstance(self.retriever, Retriever):
            raise OptionError(f"Explain({self.retriever!r}): a trained retriever is needed, as load_retriever gives.")
        if self.length < 1 or self.paths < 1 or not 0 <= self.share <= 1:
            raise OptionError(f"{self!r}: length and paths are 1 or more, share from 0 to 1.")

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Walk over the best triples by every relation path, and rank these."""
        found = state.evidence
        if found is None or not len(found.edges):
            return state.with_(evidence=Evidence.of_nodes([], []))
        chances = self.retriever.chances(state)
        kept = _best(state.graph, np.unique(found.edges), chances, self.share)
        known = labelled_edges(kept)
        ways: list[Ways] = []
        ends: list[list[tuple[Ints, Ints]]] = []
        scores: list[float] = []
        for source in kept.at(kept.local(state.graph.at(query_entities(state)))).tolist():
            for one in relation_paths(kept, source, self.length, edges=known)[0]:
                nodes, by = walks_along(kept, source, one.ways, _WALKS, known)
                if len(nodes):
                    walked = kept.at(nodes.ravel()).reshape(nodes.shape), kept.edges[by]
                    ways.append(one.ways)
                    scores.append(_worth(walked[1], chances(*walked)))
                    ends.append(_to_each(*walked))
        order = sorted(range(len(ways)), key=lambda at: (-scores[at], len(ways[at]), ways[at]))[: self.paths]
        pieces = [piece for at in order for piece in ends[at]]
        of = [scores[at] for at in order for _ in ends[at]]
        made = Evidence.of_pieces(pieces, of, walk_text)
        return state.with_(evidence=made if k is None else made.top(k))


def _best(graph: Graph, edges: Ints, chances: Chances, share: float) -> Graph:
    """Return the graph of the triples that are worth a step, whichever way they are walked."""
    ends = graph.ends(edges).reshape(-1, 2)
    worth = np.minimum(chances(ends, edges[:, None]), chances(ends[:, ::-1], edges[:, None]))[:, 0]
    kept = edges[worth >= share * worth.max()]
    return Graph(graph.columns, np.unique(graph.ends(kept)), kept)


def _worth(edges: Ints, chances: Scores) -> float:
    """Return the sum over the steps of the log-odds of the mean chance there, of edges that no earlier step took."""
    total, taken = 0.0, edges[:0, 0]
    for step in range(edges.shape[1]):
        here, first = np.unique(edges[:, step], return_index=True)
        new = ~np.isin(here, taken, assume_unique=True)
        # Back over edges that were taken before, to nodes that are known: that explains nothing more.
        mean = float(chances[first[new], step].mean()) if new.any() else 0.0
        mean = min(max(mean, _LEAST), 1 - _LEAST)
        total += math.log(mean / (1 - mean))
        taken = np.union1d(taken, here)
    return total


def _to_each(nodes: Ints, edges: Ints) -> list[tuple[Ints, Ints]]:
    """Return the first walk to each node that walks lead to."""
    first = np.sort(np.unique(nodes[:, -1], return_index=True)[1])
    return [(nodes[at], edges[at]) for at in first.tolist()]
