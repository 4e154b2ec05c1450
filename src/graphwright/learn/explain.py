"""Evidence chains ranked by how well each step of their relation path is supported by a trained retriever."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast, Between
from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.graph.graph import Graph
from graphwright.graph.relation_paths import Ways, labelled_edges, relation_paths, walks_along
from graphwright.graph.walks import walk_text
from graphwright.learn.retriever import TRAINED, Retriever, StepProbabilities
from graphwright.operators.operator import Ranker
from graphwright.operators.paths.paths import query_entities
from graphwright.operators.run import Run
from graphwright.operators.state import State

__all__ = ["Explain"]

_MAX_WALKS = 5_000  # by one relation path
_MIN_PROBABILITY = 1e-3  # of a step, and of its complement


@dataclass(frozen=True, repr=False)
class Explain(Ranker):
    """Rank chains of the evidence's triples from the query entities by the support of their relation path.

    The offline twin of a language model that reads chains (ReG, figure 7). The score of a relation path is the sum over
    its steps of the log-odds of the retriever's mean probability of the edges taken there; so a path goes on only
    where the next step more probably explains the answer than not. An item is a walk by a relation path, as
    in RelationPaths, one to each node that it leads to. Unlike Chains, which leads to each node once, this also finds
    the walk to a node that a shorter one, or the walk itself, has passed. `length`: triples of a chain at most;
    `share`: of the best triple's probability that a triple must have; `paths`: relation paths that are kept.
    """

    retriever: Annotated[Retriever, TRAINED]
    length: Annotated[int, AtLeast(1)] = 3
    share: Annotated[float, Between(0, 1)] = 0.05
    paths: Annotated[int, AtLeast(1)] = 10
    needs = ("evidence", "anchors")
    gives = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Walk over the best triples by every relation path, and rank these."""
        triples = state.evidence
        if triples is None or not len(triples.edges):
            return state.with_(evidence=Evidence.of_nodes([], []))
        probabilities = self.retriever.step_probabilities(state, run)
        graph = _best_triples(state.graph, np.unique(triples.edges), probabilities, self.share)
        edges = labelled_edges(graph)
        paths: list[tuple[float, Ways, list[tuple[Ints, Ints]]]] = []
        for source in graph.at(graph.local(state.graph.at(query_entities(state)))).tolist():
            for path in relation_paths(graph, source, self.length, edges=edges)[0]:
                local, by = walks_along(graph, source, path.ways, _MAX_WALKS, edges)
                if len(local):
                    nodes, ids = graph.at(local.ravel()).reshape(local.shape), graph.edges[by]
                    paths.append((_support(ids, probabilities(nodes, ids)), path.ways, _one_to_each_end(nodes, ids)))
        paths.sort(key=lambda path: (-path[0], len(path[1]), path[1]))
        scored = [(item, score) for score, _, items in paths[: self.paths] for item in items]
        evidence = Evidence.of_pieces([item for item, _ in scored], [score for _, score in scored], walk_text)
        return state.with_(evidence=evidence if k is None else evidence.top(k))


def _best_triples(graph: Graph, edges: Ints, probabilities: StepProbabilities, share: float) -> Graph:
    """Return the graph of the triples that have a share of the best one's probability in both directions."""
    ends = graph.ends(edges).reshape(-1, 2)
    both = np.minimum(probabilities(ends, edges[:, None]), probabilities(ends[:, ::-1], edges[:, None]))[:, 0]
    best = edges[both >= share * both.max()]
    return Graph(graph.columns, np.unique(graph.ends(best)), best)


def _support(edges: Ints, probabilities: Scores) -> float:
    """Return the sum over the steps of the log-odds of the mean probability of edges that no earlier step took."""
    total, taken = 0.0, edges[:0, 0]
    for step in range(edges.shape[1]):
        distinct, first = np.unique(edges[:, step], return_index=True)
        new = ~np.isin(distinct, taken, assume_unique=True)
        # A step over edges that were taken before explains nothing more.
        mean = float(probabilities[first[new], step].mean()) if new.any() else 0.0
        mean = min(max(mean, _MIN_PROBABILITY), 1 - _MIN_PROBABILITY)
        total += math.log(mean / (1 - mean))
        taken = np.union1d(taken, distinct)
    return total


def _one_to_each_end(nodes: Ints, edges: Ints) -> list[tuple[Ints, Ints]]:
    """Return the first walk to each node that the walks lead to."""
    first = np.sort(np.unique(nodes[:, -1], return_index=True)[1])
    return [(nodes[at], edges[at]) for at in first.tolist()]
