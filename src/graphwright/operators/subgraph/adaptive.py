"""What a reranking that adapts reads next: neighbours of the best so far, and the rest of a first ranking (GAR)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphwright.graph.evidence import Evidence
from graphwright.kernels.frontier import frontier
from graphwright.operators.operator import Ranker, Wrapper, top_of
from graphwright.operators.run import Run
from graphwright.operators.state import State

__all__ = ["Frontier", "Unseen"]


@dataclass(frozen=True, repr=False)
class Frontier(Ranker):
    """New neighbours of the evidence's nodes, each with the score of the best node that it is next to.

    The frontier of graph-based adaptive reranking (MacAvaney, Tonellotto and Macdonald, 2022, Algorithm 1): whom a
    reranker liked, their neighbours it reads next. Without scores the evidence counts by 1/rank; a triple stands for
    both its ends. Inside `state.graph`.

    >>> from graphwright.operators.state import start; from graphwright.graph.graph import Graph
    >>> graph = Graph.from_triples([("a", "r", "b"), ("c", "r", "d"), ("b", "r", "c"), ("d", "r", "e")])
    >>> found = Frontier()(start("?", graph, evidence=Evidence.of_nodes([0, 3], [0.5, 0.9]))).evidence
    >>> graph.names.take(found.nodes), found.scores.tolist()
    (['c', 'e', 'b'], [0.9, 0.9, 0.5])
    """

    needs = ("evidence",)
    gives = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Rank the neighbours."""
        found = state.evidence or Evidence.of_nodes([])
        scores = 1.0 / np.arange(1, len(found) + 1) if found.scores is None else found.scores
        liked: dict[int, float] = {}
        for (nodes, edges), score in zip(found, scores.tolist(), strict=True):
            for node in (nodes if len(nodes) else state.graph.ends(edges)).tolist():
                liked[node] = max(score, liked.get(node, score))
        # Best first: the first that the kernel meets next to a neighbour is then its best.
        nodes = np.array(sorted(liked, key=lambda node: -liked[node]), np.int64)
        nodes = nodes[state.graph.holds(nodes)]
        near, best, _ = frontier(*state.graph.adjacency, state.graph.local(nodes))
        values = np.array([liked[node] for node in nodes.tolist()])
        reached = Evidence.of_nodes(state.graph.at(near), values[best - 1] if len(near) else [])
        return state.with_(evidence=reached if k is None else reached.top(k))


@dataclass(frozen=True, repr=False)
class Unseen(Wrapper):
    """The pieces that a step gives and the evidence does not hold yet: `Keep() | Unseen(search) % 10` goes on in it.

    >>> from graphwright.operators.state import start; from graphwright.graph.graph import Graph
    >>> from graphwright.operators.subgraph.walk import KHop
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("c", "r", "d")])
    >>> state = start("?", graph, evidence=Evidence.of_nodes([1, 2]))
    >>> (Unseen(KHop(1)) % 1)(state).evidence.nodes.tolist()
    [0]
    """

    def execute(self, state: State, run: Run, k: int | None = None) -> State:
        """Run the step for as many more as there may be to leave out, and keep the k best of the others."""
        if state.answer is not None:
            return state
        held = set() if state.evidence is None else set(state.evidence.identities())
        after = self.step.execute(state, run, None if k is None else k + len(held))
        if after.evidence is None or not held:
            return top_of(after, self.gives, k)
        kept = [at for at, key in enumerate(after.evidence.identities()) if key not in held]
        return top_of(after.with_(evidence=after.evidence.take(kept)), self.gives, k)
