"""Graphs that every adapter of graphs brings back: any names, parallel edges, loops, texts."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from graphwright import Graph
from graphwright.build.imports.assembly import graph_of
from graphwright.data.graph_files.property_graphs import Edge, Node

NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8).map(str.strip).filter(bool)
TRIPLES = st.lists(st.tuples(NAMES, NAMES, NAMES), min_size=1, max_size=8)
RIVERS = graph_of(
    [Node("1", "Mur", "Mur (river): It rises in Salzburg."), Node("2", "Graz"), Node("3", "Graz"), Node("4", "Enns")],
    [
        Edge("1", "flows through", "2", "The Mur flows through Graz."),
        Edge("1", "rises near", "3"),
        Edge("1", "rises near", "3"),
        Edge("2", "twin of", "2"),
    ],
)
"""Two nodes of one name, parallel edges, a loop, a node without an edge, and texts."""


def content(graph: Graph) -> tuple[list[Any], list[Any]]:
    """Return the nodes and the edges of a graph with their texts."""
    columns = graph.columns
    nodes = [(graph.names[node], graph.text(node)) for node in graph.nodes.tolist()]
    edges = [
        (int(columns.heads[e]), graph.triple(e), int(columns.tails[e]), graph.edge_text(e))
        for e in graph.edges.tolist()
    ]
    return nodes, edges
