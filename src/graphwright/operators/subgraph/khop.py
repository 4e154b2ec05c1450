"""Nodes within some hops of the seeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from graphwright.constraints import AtLeast
from graphwright.graph.evidence import Evidence
from graphwright.kernels.hops import khop
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.operators.subgraph.seed_nodes import seeds


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
