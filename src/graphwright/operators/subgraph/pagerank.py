"""PageRank of all nodes, and personalised PageRank from the seeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from graphwright.constraints import Between
from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.graph.graph import Graph
from graphwright.kernels.ppr import push_ppr
from graphwright.operators.operator import Ranker
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.operators.subgraph.seed_nodes import seeds_of_runs, united_runs
from graphwright.search.snapshot import SnapshotCache

_Ranking = tuple[Ints, Scores]


@dataclass(frozen=True, repr=False)
class PageRank(Ranker):
    """Rank all nodes by PageRank, the same for every question (LEGO-GraphRAG, SE by PageRank, section 3.2.1 c).

    The importance of a node in the whole graph, the baseline of the personalised one. `restart`: probability of a jump
    to any node at each step (1 minus the damping factor). The graph counts as undirected. The ranking of a whole graph
    is computed once. The query entities need not be among the best: `(PageRank() % nodes | KHop(0)) >> Induce()`.

    >>> from graphwright.operators.state import start
    >>> line = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("c", "r", "d")])
    >>> PageRank()(start("?", line)).evidence.nodes.tolist()
    [1, 2, 0, 3]
    """

    restart: Annotated[float, Between(0, 1, open_low=True, open_high=True)] = 0.15
    gives = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        graph = state.graph
        if graph.whole:
            nodes, scores = _rankings.get(graph.columns, self.restart, lambda: _page_rank(graph, self.restart))
        else:
            nodes, scores = _page_rank(graph, self.restart)
        return state.with_(evidence=Evidence.of_nodes(nodes, scores).top(k))


def _page_rank(graph: Graph, restart: float) -> _Ranking:
    """Return all nodes, best first, and their PageRank."""
    nodes, scores = push_ppr(*graph.adjacency, np.arange(len(graph)), restart=restart)
    return graph.at(nodes), scores


_rankings: SnapshotCache[_Ranking] = SnapshotCache()


@dataclass(frozen=True, repr=False)
class PersonalizedPageRank(Ranker):
    """Rank nodes by personalised PageRank from the seeds (LEGO-GraphRAG, SE by PPR).

    `restart`: probability of returning to the seeds at each step (1 minus the damping factor; LEGO does not state it).
    `each`: one computation per anchor (per item of evidence), united: a node has its best score. The graph counts as
    undirected. Cut to k, it pushes until the k best are stable.

    >>> from graphwright.operators.state import start; from graphwright.graph.graph import Graph
    >>> line = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("c", "r", "d")])
    >>> PersonalizedPageRank()(start("?", line, entities=["a"])).evidence.nodes.tolist()
    [1, 0, 2, 3]
    """

    restart: Annotated[float, Between(0, 1, open_low=True, open_high=True)] = 0.15
    each: bool = False
    needs = ("evidence|anchors",)
    gives = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        starts, adjacency = seeds_of_runs(state, self.each), state.graph.adjacency
        nodes, scores = united_runs([push_ppr(*adjacency, *start, restart=self.restart, k=k) for start in starts])
        return state.with_(evidence=Evidence.of_nodes(state.graph.at(nodes), scores).top(k))
