"""The graph of what is stated: entities and the triples between them, without the passages that state them."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Columns, Csr, Graph, Kind
from graphwright.operators.subgraph.elsewhere import Elsewhere

__all__ = ["OnStatements", "statements"]

# Not graphs: these would keep the columns that they are kept for.
_made: WeakKeyDictionary[Columns, tuple[Ints, Ints, Csr]] = WeakKeyDictionary()


def statements(graph: Graph) -> Graph:
    """Return the part of a graph that has no passages, made once for a snapshot; ids of nodes and edges stay.

    It is the indexing graph as PathRAG and LightRAG have it: nodes are entities, edges what is stated of two of them. A
    graph without passages is returned as it is.

    >>> graph = Graph.from_triples([("Graz", "on the", "Mur")])
    >>> statements(graph) is graph
    True
    """
    if graph.passages is None:
        return graph
    if not graph.whole:
        return graph.part(graph.nodes[graph.columns.kinds[graph.nodes] != Kind.CHUNK])
    known = _made.get(graph.columns)
    if known is None:
        made = graph.part(np.flatnonzero(graph.columns.kinds != Kind.CHUNK))
        known = _made[graph.columns] = made.nodes, made.edges, made.adjacency
    part = Graph(graph.columns, *known[:2])
    vars(part)["adjacency"] = known[2]  # where the property would keep it
    return part


@dataclass(frozen=True, repr=False)
class OnStatements(Elsewhere):
    """Run a step on the graph without passages (`statements`), then put the graph back; ids are the same there.

    In an index passages are nodes, joined with all that they name: walks between entities would lead through them.

    >>> from graphwright.operators.paths.flow import FlowPaths
    >>> OnStatements(FlowPaths() % 15)
    OnStatements(FlowPaths() % 15)
    """

    def graph_of(self, graph: Graph) -> Graph:
        """Return the graph without passages."""
        return statements(graph)
