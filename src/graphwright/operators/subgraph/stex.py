"""STeX: new neighbours ranked by structure and similarity (FastInsight)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast
from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.graph.items import Steps, steps_onward
from graphwright.kernels.half import products
from graphwright.kernels.hops import Around
from graphwright.models.protocols import Floats
from graphwright.operators.rerank.rerank import Reranker
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.search.vector_index import VectorIndex


@dataclass(frozen=True, repr=False)
class STeX(Reranker):
    """Rank the new neighbours of the evidence's nodes by structure and similarity (FastInsight, Algorithm 3).

        S(n) = v_q · v_n + β I(n),   I(n) = 1 - (r_best - 1)/(R - 1)  [if R > 1]
                                          + (|A(n)| - 1)/(C - 1)      [if C > 1],   C = min(deg(n), R)

    R is the number of retrieved nodes, A(n) those among them that are neighbours of n, r_best the best rank in A(n),
    from 1. `index`: the vectors v; neighbours without a vector are left out. `beta`: β, 0 for similarity alone.
    Neighbours and degrees are those in the snapshot, also where `state.graph` is narrowed.

    >>> from graphwright import Graph, start; from graphwright.models import HashEncoder
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("a", "r", "c"), ("b", "r", "d")])
    >>> index = VectorIndex.from_array(HashEncoder().encode(["", "", "", ""]), HashEncoder())
    >>> evidence = STeX(index)(start("?", graph, evidence=Evidence.of_nodes([0, 1]))).evidence
    >>> evidence.nodes.tolist(), evidence.scores.tolist()
    ([2, 3], [2.0, 0.0])
    """

    index: VectorIndex
    beta: Annotated[float, AtLeast(0)] = 1.0

    def rerank(self, items: Evidence, state: State, run: Run, k: int | None) -> Evidence:
        nodes = np.array(list(state.node_scores()), np.int64)
        adjacency, query = state.graph.columns.adjacency, self.index.encode(state.question.text, run)
        # A loop needs the neighbours of the same nodes repeatedly, so the run caches them.
        key = STeX, state.question.text, self.index, id(adjacency)
        around = run.once(key, lambda: Around(*adjacency))
        neighbours, scores = around.scores(nodes, lambda new: self._similarities(new, query), self.beta, k)
        steps = steps_onward(state.graph, *_best_before(state, nodes, neighbours), neighbours)
        return Evidence.of_nodes(neighbours, scores, steps)

    def _similarities(self, nodes: Ints, query: Floats) -> Scores:
        """Return v_q · v_n of each node, NaN for a node without a vector: float64[len(nodes)]."""
        scores = np.full(len(nodes), np.nan)
        scores[self.index.has(nodes)] = products(self.index.vectors, self.index.rows_of(nodes)[1], query)
        return scores


def _best_before(state: State, ranked: Ints, neighbours: Ints) -> tuple[Steps, Ints]:
    """Return for each neighbour the best ranked node that is joined with it, after the steps to that node."""
    adjacency, rank = state.graph.columns.adjacency, {node: at for at, node in enumerate(ranked.tolist())}
    rows = (adjacency.row(node).tolist() for node in neighbours.tolist())
    best = ranked[[min(rank[node] for node in row if node in rank) for row in rows]]
    return state.items.steps_to(best), best
