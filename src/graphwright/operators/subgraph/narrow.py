"""Operators that choose what is searched on: a part of the graph, its triples, one kind of node."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence
from graphwright.graph.graph import Graph, Kind
from graphwright.kernels.hops import components
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import State

__all__ = ["Induce", "Nodes", "Only", "Triples", "narrowed"]


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
