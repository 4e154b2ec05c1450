"""Expansion of the evidence by its neighbours: STeX (FastInsight) and the frontier of GAR."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast
from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.index.vector_index import VectorIndex
from graphwright.kernels.frontier import Around, products
from graphwright.models.protocols import Floats
from graphwright.operators.operator import Composite, Operator, Ranker, top_of
from graphwright.operators.run import Run
from graphwright.operators.state import State

__all__ = ["Frontier", "STeX", "Unseen"]


@dataclass(frozen=True, repr=False)
class STeX(Ranker):
    """Rank the new neighbours of the evidence's nodes by structure and similarity (FastInsight, Algorithm 3).

        S(n) = v_q · v_n + β I(n),   I(n) = 1 - (r_best - 1)/(R - 1)  [if R > 1]
                                          + (|A(n)| - 1)/(C - 1)      [if C > 1],   C = min(deg(n), R)

    R is the number of retrieved nodes, A(n) those among them that are neighbours of n, r_best the best rank in A(n),
    from 1. `index`: the vectors v; neighbours without one are left out. `beta`: β, 0 for similarity alone. Neighbours
    and degrees are those in the snapshot, also where `state.graph` is narrowed.

    >>> from graphwright.operators.state import start; from graphwright.graph.graph import Graph
    >>> from graphwright.models.fake import HashEncoder
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("a", "r", "c"), ("b", "r", "d")])
    >>> index = VectorIndex.from_array(HashEncoder().encode(["", "", "", ""]), HashEncoder())
    >>> evidence = STeX(index)(start("?", graph, evidence=Evidence.of_nodes([0, 1]))).evidence
    >>> evidence.nodes.tolist(), evidence.scores.tolist()
    ([2, 3], [2.0, 0.0])
    """

    index: VectorIndex
    beta: Annotated[float, AtLeast(0)] = 1.0
    needs = ("evidence",)
    gives = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Rank the neighbours that have a vector."""
        nodes = np.array(list(state.node_scores()), np.int64)
        if not len(nodes):
            return state.with_(evidence=Evidence.of_nodes([], []))
        adjacency, query = state.graph.columns.adjacency, self.index.encode(state.question.text, run)
        # A loop needs the neighbours of the same nodes repeatedly, so the run caches them.
        key = STeX, state.question.text, self.index, id(adjacency)
        around = run.scratch.get(key)
        if around is None:
            around = run.scratch[key] = Around(*adjacency)
        neighbours, scores = around.scores(nodes, lambda new: self._similarities(new, query), self.beta, k)
        return state.with_(evidence=Evidence.of_nodes(neighbours, scores))

    def _similarities(self, nodes: Ints, query: Floats) -> Scores:
        """Return v_q · v_n of each node, NaN for a node without a vector: float64[len(nodes)]."""
        scores = np.full(len(nodes), np.nan)
        # If several parts have a vector, that of the first counts.
        for part in reversed(self.index.parts):
            scores[part.has(nodes)] = products(part.vectors, part.rows_of(nodes)[1], query)
        return scores


@dataclass(frozen=True, repr=False)
class Frontier(Ranker):
    """Find the new neighbours of the evidence's nodes, each with the score of its best neighbour in the evidence.

    The frontier of graph-based adaptive reranking (MacAvaney, Tonellotto and Macdonald, 2022, Algorithm 1): a reranker
    next reads the neighbours of the items that it ranked highest. Evidence without scores counts 1/rank; a triple
    counts for both its ends. Inside `state.graph`.

    >>> from graphwright.operators.state import start; from graphwright.graph.graph import Graph
    >>> graph = Graph.from_triples([("a", "r", "b"), ("c", "r", "d"), ("b", "r", "c"), ("d", "r", "e")])
    >>> evidence = Frontier()(start("?", graph, evidence=Evidence.of_nodes([0, 3], [0.5, 0.9]))).evidence
    >>> graph.names.take(evidence.nodes), evidence.scores.tolist()
    (['c', 'e', 'b'], [0.9, 0.9, 0.5])
    """

    needs = ("evidence",)
    gives = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Rank the neighbours."""
        score_of = state.node_scores()
        # Best first, so that the first node that lists a neighbour is its best.
        nodes = np.array(sorted(score_of, key=lambda node: -score_of[node]), np.int64)
        nodes = nodes[state.graph.holds(nodes)]
        adjacency, local = state.graph.adjacency, state.graph.local(nodes)
        near, first = np.unique(adjacency.rows(local), return_index=True)
        values = np.repeat([score_of[node] for node in nodes.tolist()], np.diff(adjacency.indptr)[local])[first]
        new = ~np.isin(near, local)
        frontier = Evidence.of_nodes(state.graph.at(near[new]), values[new])
        return state.with_(evidence=frontier if k is None else frontier.top(k))


@dataclass(frozen=True, repr=False)
class Unseen(Composite):
    """Run a step and keep only items that are not in the evidence yet, as in `Keep() | Unseen(search) % 10`.

    >>> from graphwright.operators.state import start; from graphwright.graph.graph import Graph
    >>> from graphwright.operators.subgraph.walk import KHop
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("c", "r", "d")])
    >>> state = start("?", graph, evidence=Evidence.of_nodes([1, 2]))
    >>> (Unseen(KHop(1)) % 1)(state).evidence.nodes.tolist()
    [0]
    """

    step: Operator

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Run the step for k more items than there may be to leave out, and keep the k best new ones."""
        existing = set(state.items.identities())
        after = self.step.execute(state, run, None if k is None else k + len(existing))
        if after.evidence is not None and existing:
            new = [i for i, identity in enumerate(after.evidence.identities()) if identity not in existing]
            after = after.with_(evidence=after.evidence.take(new))
        return top_of(after, self.gives, k)
