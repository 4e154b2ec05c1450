"""Subgraphs made before any question: the communities that hold what it names (LEGO-GraphRAG, section 5.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence
from graphwright.index.clustering import communities, needs_igraph
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.operators.subgraph.seeds import seeds

__all__ = ["CommunityOf"]


@dataclass(frozen=True, repr=False)
class CommunityOf(Operator):
    """Nodes of the communities that the seeds lie in: a subgraph that was computed beforehand (section 5.2, Table 7).

    Communities are those of `graphwright.communities`: Leiden, divided further as long as they have more than `largest`
    nodes and it divides them, here at the deepest level, so that `largest` sets the size of the subgraph. They are made
    at the first question on a snapshot, and kept. Nodes come without scores, those of the best seed's community first;
    a seed that is in none stands for itself. Behind a search it gives the communities that hold what was found:

        (CommunityOf() | VectorSearch(names) % 3 >> CommunityOf()) >> Induce()

    Needs the extra `communities` (igraph).

    >>> from graphwright import Graph, start
    >>> pairs = ["ab", "bc", "ca", "cx", "xy", "yz", "zx"]
    >>> graph = Graph.from_triples([(pair[0], "knows", pair[1]) for pair in pairs])
    >>> graph.names.take(CommunityOf(largest=3)(start("?", graph, entities=["y"])).evidence.nodes)
    ['x', 'y', 'z']
    """

    largest: int = 1000
    resolution: float = 1.0
    seed: int = 0
    needs = ("evidence|anchors",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        if isinstance(self.largest, bool) or not hasattr(self.largest, "__index__") or self.largest < 1:
            raise OptionError(f"CommunityOf(largest={self.largest!r}): a number of nodes, 1 or more.")
        if not 0 < self.resolution < float("inf"):
            raise OptionError(f"CommunityOf(resolution={self.resolution!r}): a number above 0.")

    def apply(self, state: State, run: Run) -> State:
        """Collect the nodes."""
        needs_igraph(self)
        graph = state.graph
        found = communities(graph, int(self.largest), self.resolution, self.seed)
        at, weights = seeds(state)
        ids = graph.at(at[np.argsort(-weights, kind="stable")])
        deepest = int(found.level.max(initial=0))
        of = found.of_nodes(deepest)[ids]
        members = [found.members.row(c) if c >= 0 else np.array([node]) for c, node in zip(of, ids, strict=True)]
        nodes = np.concatenate([np.empty(0, np.int64), *members]).astype(np.int64)
        nodes = nodes[np.sort(np.unique(nodes, return_index=True)[1])]
        return state.with_(evidence=Evidence.of_nodes(nodes[graph.holds(nodes)]))
