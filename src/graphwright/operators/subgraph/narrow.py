"""Operators that narrow the graph, or choose what of it is evidence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence
from graphwright.graph.graph import Graph, Kind
from graphwright.index.clustering import communities, needs_igraph
from graphwright.kernels.hops import components
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.operators.subgraph.walk import seeds

__all__ = ["CommunityOf", "Induce", "InduceEdges", "Nodes", "Only", "Triples", "narrowed"]


@dataclass(frozen=True, repr=False)
class Induce(Operator):
    """Narrow the graph to the nodes of the evidence (the ends of a triple) and all edges between them.

    The evidence has done its work and is cleared. How many parts the graph is in then (weakly connected components, WCC
    in Table 7 of LEGO-GraphRAG) stands in the trace: paths lead from one part to no other.
    """

    needs = ("evidence",)
    gives = ("graph",)
    clears = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        """Narrow the graph."""
        found = state.evidence
        if found is None:
            return state
        return narrowed(state, run, state.graph.part(np.concatenate((found.nodes, state.graph.ends(found.edges)))))


def narrowed(state: State, run: Run, graph: Graph) -> State:
    """Return the state on a narrower graph, without evidence, and note how that graph hangs together."""
    apart = int(components(*graph.adjacency).max(initial=-1)) + 1
    run.note(f"narrowed to {len(graph):,} nodes and {len(graph.edges):,} edges in {apart:,} connected parts")
    return state.with_(graph=graph, evidence=None)


@dataclass(frozen=True, repr=False)
class Nodes(Operator):
    """All nodes of the graph, unscored, by id.

    >>> from graphwright import Graph, start
    >>> Nodes()(start("?", Graph.from_triples([("Bertha", "child", "Ida")]))).evidence.nodes.tolist()
    [0, 1]
    """

    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        """List the nodes."""
        return state.with_(evidence=Evidence.of_nodes(state.graph.nodes))


@dataclass(frozen=True, repr=False)
class Triples(Operator):
    """All edges of the graph as triples, unscored, by id."""

    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        """List the edges."""
        return state.with_(evidence=Evidence.of_edges(state.graph.edges))


@dataclass(frozen=True, repr=False)
class Only(Operator):
    """Keep the pieces whose nodes are all of one kind; triples and paths by the nodes they list.

    On a graph without passages its nodes stand for them, so that all are kept where passages (chunks) are wanted.
    """

    kind: Kind
    needs = ("evidence",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        if not isinstance(self.kind, Kind):
            raise OptionError(f"Only({self.kind!r}): a kind of node, {', '.join(map(str, Kind))}.")

    def apply(self, state: State, run: Run) -> State:
        """Choose the pieces."""
        found = state.evidence
        if found is None or (self.kind == Kind.CHUNK and state.graph.passages is None):
            return state
        other = state.graph.columns.kinds[found.nodes] != self.kind
        strange = np.concatenate(([0], np.cumsum(other)))
        kept = np.flatnonzero(strange[found.node_ptr[1:]] == strange[found.node_ptr[:-1]])
        return state.with_(evidence=found.take(kept.tolist()))


@dataclass(frozen=True, repr=False)
class InduceEdges(Operator):
    """Narrow the graph to the nodes and edges of the evidence, and to no other edges between them.

    The three prunings of LEGO-GraphRAG (section 3.2.2 a.3), each of a graph that was narrowed before:

        (Nodes() >> Rerank(model) % nodes | KHop(0)) >> Induce()                node pruning, NP, by the node's text
        Relations() >> Rerank(model) >> EdgesBy() % edges >> InduceEdges()      edge pruning, EP, by the relation's
        Triples() >> Rerank(model) % triples >> InduceEdges()                   triple pruning, TP, by the triple's

    KHop(0) are the query entities, without which there would be no path. Nodes that no edge is left at go with the
    edges. The evidence has done its work and is cleared; the trace says in how many parts the graph is.

    >>> from graphwright.operators.state import start; from graphwright.graph.evidence import Evidence
    >>> triangle = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("c", "r", "a")])
    >>> InduceEdges()(start("?", triangle, evidence=Evidence.of_edges([2, 0]))).graph.edges.tolist()
    [0, 2]
    """

    needs = ("evidence",)
    gives = ("graph",)
    clears = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        """Narrow the graph."""
        found, graph = state.evidence, state.graph
        if found is None:
            return state
        edges = np.unique(found.edges)
        edges = edges if graph.whole else np.intersect1d(edges, graph.edges, assume_unique=True)
        nodes = np.unique(np.concatenate((found.nodes, graph.ends(edges))))
        nodes = nodes[graph.holds(nodes)]
        for array in (nodes, edges):
            array.flags.writeable = False
        return narrowed(state, run, Graph(graph.columns, nodes, edges))


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
