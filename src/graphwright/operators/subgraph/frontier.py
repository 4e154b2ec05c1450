"""Frontier of graph-based adaptive reranking (GAR): new neighbours, and items not seen before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphwright.graph.evidence import Evidence
from graphwright.graph.items import steps_onward
from graphwright.operators.operator import Composite, Operator, Ranker, top_of
from graphwright.operators.run import Run
from graphwright.operators.state import State


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
