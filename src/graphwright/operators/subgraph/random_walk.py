"""Nodes near the seeds: within some hops, or by random walks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from graphwright.constraints import AtLeast, Between
from graphwright.graph.evidence import Evidence, Ints
from graphwright.kernels.hops import khop, random_walk
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.operators.subgraph.seed_nodes import Visited, seeds, seeds_of_runs, united_runs


@dataclass(frozen=True, repr=False)
class KHop(Operator):
    """Find the nodes within `k` hops of the seeds, nearest first, scored 1/(1 + hops) (LEGO-GraphRAG, KSE, 3.2.1 b).

    A search from all seeds equals the union of the searches from each seed. The number of nodes grows with the k-th
    power of the degrees, and `%` cuts the farthest by id, so LEGO's systems apply PPR after it (footnote 19 of the
    paper):

        KHop(2) >> Induce() >> PersonalizedPageRank(each=True) % 1000 >> Induce()

    >>> from graphwright.operators.state import start; from graphwright.graph.graph import Graph
    >>> line = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("c", "r", "d")])
    >>> evidence = KHop(2)(start("?", line, entities=["a"])).evidence
    >>> evidence.nodes.tolist(), evidence.scores.round(2).tolist()
    ([0, 1, 2], [1.0, 0.5, 0.33])
    """

    k: Annotated[int, AtLeast(0)]
    needs = ("evidence|anchors",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        nodes, hops = khop(*state.graph.adjacency, seeds(state)[0], self.k)
        return state.with_(evidence=Evidence.of_nodes(state.graph.at(nodes), 1.0 / (1.0 + hops)))


@dataclass(frozen=True, repr=False)
class RandomWalk(Operator):
    """Rank nodes by the share of visits of random walks from the seeds (LEGO-GraphRAG, RW, section 3.2.1 a).

    `walks`: the number of walks; `length`: the most steps of each; `restart`: probability of returning to a seed at
    each step; `seed`: of the random numbers. `each`: that many walks per anchor (per item of evidence), united: a node
    has its best score.

    >>> from graphwright.operators.state import start; from graphwright.graph.graph import Graph
    >>> line = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("c", "r", "d")])
    >>> (RandomWalk(length=1, each=True) % 3)(start("?", line, entities=["a", "d"])).evidence.scores.tolist()
    [0.5, 0.5, 0.5]
    """

    walks: Annotated[int, AtLeast(1)] = 1000
    length: Annotated[int, AtLeast(1)] = 10
    restart: Annotated[float, Between(0, 1, open_high=True)] = 0.0
    seed: int = 0
    each: bool = False
    needs = ("evidence|anchors",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        nodes, scores = united_runs([self._visited(state, *start) for start in seeds_of_runs(state, self.each)])
        return state.with_(evidence=Evidence.of_nodes(state.graph.at(nodes), scores))

    def _visited(self, state: State, nodes: Ints, weights: NDArray[np.float64]) -> Visited:
        visited, counts = random_walk(
            *state.graph.adjacency,
            nodes,
            weights,
            walks=self.walks,
            steps=self.length,
            restart=self.restart,
            seed=self.seed,
        )
        return visited, counts / max(counts.sum(), 1)
