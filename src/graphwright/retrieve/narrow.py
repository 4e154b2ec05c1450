"""Operators that choose what is searched on: a part of the graph, its triples, one kind of node."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphwright.graph.evidence import Evidence
from graphwright.graph.graph import Kind
from graphwright.retrieve.operator import Operator
from graphwright.retrieve.state import State

__all__ = ["Induce", "Only", "Triples"]


@dataclass(frozen=True, repr=False)
class Induce(Operator):
    """Narrow the graph to the nodes of the evidence (the ends of a triple) and all edges between them.

    The evidence has done its work and is cleared.
    """

    needs = ("evidence",)
    gives = ("graph",)
    clears = ("evidence",)

    def apply(self, state: State) -> State:
        """Narrow the graph."""
        found = state.evidence
        if found is None:
            return state
        return state.with_(
            graph=state.graph.part(np.concatenate((found.nodes, state.graph.ends(found.edges)))),
            evidence=None,
        )


@dataclass(frozen=True, repr=False)
class Triples(Operator):
    """All edges of the graph as triples, unscored, by id."""

    gives = ("evidence",)

    def apply(self, state: State) -> State:
        """List the edges."""
        return state.with_(evidence=Evidence.of_edges(state.graph.edges))


@dataclass(frozen=True, repr=False)
class Only(Operator):
    """Keep the pieces whose nodes are all of one kind; triples and paths by the nodes they list."""

    kind: Kind
    needs = ("evidence",)
    gives = ("evidence",)

    def apply(self, state: State) -> State:
        """Choose the pieces."""
        found = state.evidence
        if found is None:
            return state
        other = state.graph.columns.kinds[found.nodes] != self.kind
        strange = np.concatenate(([0], np.cumsum(other)))
        kept = np.flatnonzero(strange[found.node_ptr[1:]] == strange[found.node_ptr[:-1]])
        return state.with_(evidence=found.take(kept.tolist()))
