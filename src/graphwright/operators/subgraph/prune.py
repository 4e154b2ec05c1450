"""Pruning: the graph narrowed to what was found, edges and all (LEGO-GraphRAG, section 3.2.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphwright.graph.graph import Graph
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.operators.subgraph.narrow import narrowed

__all__ = ["InduceEdges"]


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
