"""New neighbours of the evidence: by known scores (GAR), by structure and similarity (FastInsight), or unseen."""

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
from graphwright.operators.operator import Composite, Operator, Ranker, top_of
from graphwright.operators.rerank.rerank import Reranker
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.search.vector_index import VectorIndex


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
        score_of = state.node_scores()
        # Best first, so that the first node that lists a neighbour is its best.
        nodes = np.array(sorted(score_of, key=lambda node: -score_of[node]), np.int64)
        nodes = nodes[state.graph.holds(nodes)]
        adjacency, local = state.graph.adjacency, state.graph.local(nodes)
        near, first = np.unique(adjacency.rows(local), return_index=True)
        before = np.repeat(nodes, np.diff(adjacency.indptr)[local])[first]
        values = np.array([score_of[node] for node in before.tolist()], np.float64)
        new = ~np.isin(near, local)
        frontier, before = state.graph.at(near[new]), before[new]
        steps = steps_onward(state.graph, state.items.steps_to(before), before, frontier)
        evidence = Evidence.of_nodes(frontier, values[new], steps)
        return state.with_(evidence=evidence.top(k))


@dataclass(frozen=True, repr=False)
class Unseen(Composite):
    """Run a step and keep only items that are not in the evidence yet, as in `Keep() | Unseen(search) % 10`.

    >>> from graphwright import Graph, KHop, start
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("c", "r", "d")])
    >>> state = start("?", graph, evidence=Evidence.of_nodes([1, 2]))
    >>> (Unseen(KHop(1)) % 1)(state).evidence.nodes.tolist()
    [0]
    """

    step: Operator

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Run the step for k items and as many as are known, and keep the k best new items."""
        existing = set(state.items.identities())
        after = self.step.execute(state, run, None if k is None else k + len(existing))
        if after.evidence is not None and existing:
            new = [i for i, identity in enumerate(after.evidence.identities()) if identity not in existing]
            after = after.with_(evidence=after.evidence.take(new))
        return top_of(after, self.gives, k)


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
