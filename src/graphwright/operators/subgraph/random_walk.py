"""Random walks from the seeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from graphwright.constraints import AtLeast, Between
from graphwright.graph.evidence import Evidence, Ints
from graphwright.kernels.hops import random_walk
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.operators.subgraph.seed_nodes import Visited, seeds_of_runs, united_runs


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
