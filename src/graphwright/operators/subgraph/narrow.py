"""Operators that narrow the graph, or select evidence from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast, MoreThan, OneOf
from graphwright.errors import check_installed
from graphwright.graph.evidence import Evidence
from graphwright.graph.graph import Graph, Kind
from graphwright.kernels.hops import components
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.operators.subgraph.seed_nodes import seeds
from graphwright.search.clustering import communities


@dataclass(frozen=True, repr=False)
class Induce(Operator):
    """Narrow the graph to the nodes of the evidence (the ends of a triple) and all edges between them.

    The evidence is cleared. The trace notes the number of connected components (WCC in Table 7 of LEGO-GraphRAG): no
    path joins two of them.
    """

    needs = ("evidence",)
    gives = ("graph",)
    clears = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        items, graph = state.items, state.graph
        return narrowed(state, run, graph.part(np.concatenate((items.nodes, graph.ends(items.edges)))))


def narrowed(state: State, run: Run, graph: Graph) -> State:
    """Return the state on a narrower graph, without evidence, and note the size and components of that graph."""
    count = int(components(*graph.adjacency).max(initial=-1)) + 1
    run.note(f"narrowed to {len(graph):,} nodes and {len(graph.edges):,} edges in {count:,} connected components")
    return state.with_(graph=graph, evidence=None)


@dataclass(frozen=True, repr=False)
class Nodes(Operator):
    """Return all nodes of the graph as evidence, unscored, by id.

    >>> from graphwright.operators.state import start
    >>> Nodes()(start("?", Graph.from_triples([("Bertha", "child", "Ida")]))).evidence.nodes.tolist()
    [0, 1]
    """

    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        return state.with_(evidence=Evidence.of_nodes(state.graph.nodes))


@dataclass(frozen=True, repr=False)
class Triples(Operator):
    """Return all edges of the graph as evidence, unscored, by id."""

    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        return state.with_(evidence=Evidence.of_edges(state.graph.edges))


@dataclass(frozen=True, repr=False)
class StatingPassages(Operator):
    """List the passages that state the edges of the evidence, or without edges mention its nodes; unscored.

    Candidates for a reranker, each a node. Unlike ToPassages it drops the scores. On a graph without passages the nodes
    of the items take their place.

    >>> from graphwright.graph.graph import Graph; from graphwright.operators.state import start
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c")])
    >>> StatingPassages()(start("?", graph, evidence=Evidence.of_edges([1]))).evidence.nodes.tolist()
    [1, 2]
    """

    needs = ("evidence",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        graph, items = state.graph, state.items
        if graph.passages is None:
            nodes = np.unique(np.concatenate((items.nodes, graph.ends(items.edges))))
        elif len(items.edges):
            nodes = graph.chunks_of(edges=items.edges)
        else:
            nodes = graph.chunks_of(items.nodes)
        return state.with_(evidence=Evidence.of_nodes(nodes[graph.holds(nodes)]))


@dataclass(frozen=True, repr=False)
class Only(Operator):
    """Keep the items whose nodes are all of one kind; triples and paths by the nodes that they list.

    On a graph without passages every item passes Only(Kind.CHUNK), because its nodes serve as passages.
    """

    kind: Annotated[Kind, OneOf(*Kind)]
    needs = ("evidence",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        if self.kind == Kind.CHUNK and state.graph.passages is None:
            return state
        items = state.items
        others = np.concatenate(([0], np.cumsum(state.graph.columns.kinds[items.nodes] != self.kind)))
        selected = np.flatnonzero(others[items.node_ptr[1:]] == others[items.node_ptr[:-1]])
        return state.with_(evidence=items.take(selected.tolist()))


@dataclass(frozen=True, repr=False)
class InduceEdges(Operator):
    """Narrow the graph to the nodes and edges of the evidence, and to no other edges between them.

    The prunings of LEGO-GraphRAG (section 3.2.2 a.3), each of a graph that was narrowed before:

        (Nodes() >> Rerank(model) % nodes | KHop(0)) >> Induce()                node pruning, NP, by the node's text
        Relations() >> Rerank(model) >> EdgesBy() % edges >> InduceEdges()      edge pruning, EP, by the relation's
        Triples() >> Rerank(model) % triples >> InduceEdges()                   triple pruning, TP, by the triple's

    KHop(0) gives the query entities, without which there would be no path. Nodes without edges are removed. The
    evidence is cleared; the trace notes the number of connected components.

    >>> from graphwright.operators.state import start; from graphwright.graph.evidence import Evidence
    >>> triangle = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("c", "r", "a")])
    >>> InduceEdges()(start("?", triangle, evidence=Evidence.of_edges([2, 0]))).graph.edges.tolist()
    [0, 2]
    """

    needs = ("evidence",)
    gives = ("graph",)
    clears = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        items, graph = state.items, state.graph
        edges = graph.inside(np.unique(items.edges))
        nodes = np.unique(np.concatenate((items.nodes, graph.ends(edges))))
        nodes = nodes[graph.holds(nodes)]
        for array in (nodes, edges):
            array.flags.writeable = False
        return narrowed(state, run, Graph(graph.columns, nodes, edges))


@dataclass(frozen=True, repr=False)
class CommunityOf(Operator):
    """Return the nodes of the seeds' communities: a precomputed subgraph (LEGO-GraphRAG, section 5.2, Table 7).

    Leiden communities of the deepest level, divided until they have at most `max_nodes` nodes (`resolution`, `seed`:
    arguments of the algorithm). They are computed at the first question on a snapshot. Nodes have no scores; those of
    the best seed's community come first, and a seed without a community is returned itself. After a search the seeds
    are its results:

        (CommunityOf() | VectorSearch(names) % 3 >> CommunityOf()) >> Induce()

    Needs the extra `communities` (igraph).

    >>> from graphwright.operators.state import start
    >>> pairs = ["ab", "bc", "ca", "cx", "xy", "yz", "zx"]
    >>> graph = Graph.from_triples([(pair[0], "knows", pair[1]) for pair in pairs])
    >>> graph.names.take(CommunityOf(max_nodes=3)(start("?", graph, entities=["y"])).evidence.nodes)
    ['x', 'y', 'z']
    """

    max_nodes: Annotated[int, AtLeast(1)] = 1000
    resolution: Annotated[float, MoreThan(0)] = 1.0
    seed: int = 0
    needs = ("evidence|anchors",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        check_installed("igraph", "communities", self)
        graph = state.graph
        groups = communities(graph, self.max_nodes, self.resolution, self.seed)
        positions, weights = seeds(state)
        ids = graph.at(positions[np.argsort(-weights, kind="stable")])
        community = groups.of_nodes(int(groups.level.max(initial=0)))[ids]
        members = [
            groups.members.row(group) if group >= 0 else np.array([node])
            for group, node in zip(community, ids, strict=True)
        ]
        nodes = np.concatenate([np.empty(0, np.int64), *members]).astype(np.int64)
        nodes = nodes[np.sort(np.unique(nodes, return_index=True)[1])]
        return state.with_(evidence=Evidence.of_nodes(nodes[graph.holds(nodes)]))
