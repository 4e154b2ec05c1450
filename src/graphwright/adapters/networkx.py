"""NetworkX: import and export of graphs."""

from __future__ import annotations

from typing import Any

from graphwright import Evidence, Graph
from graphwright.adapters.results import missing_extra
from graphwright.build.imports.assembly import graph_of
from graphwright.data.graph_files.property_graphs import edge_of, node_of
from graphwright.errors import OptionError
from graphwright.graph.export import Part

try:
    import networkx as nx
except ImportError as error:
    raise missing_extra("networkx", error) from error


def from_networkx(graph: Any) -> Graph:
    """Convert a networkx graph of any of its four classes.

    The name of a node is its attribute `name`, `title`, `label` or `entity_id`, else its key as text. The relation of
    an edge is its attribute `relation`, `predicate`, `label`, `type` or `name`, else its key if that is a text, else
    "linked to". Texts: see graphwright.data.graph_files.property_graphs. An undirected edge has the direction in which
    networkx lists it. Raises DataError if two node keys are the same as text, such as 1 and "1".

    >>> rivers = nx.DiGraph(); rivers.add_edge("Mur", "Drava", relation="flows into")
    >>> from_networkx(rivers).triple(0)
    ('Mur', 'flows into', 'Drava')
    """
    if not isinstance(graph, nx.Graph):
        raise OptionError(f"{type(graph).__name__} is no networkx graph; give a Graph, DiGraph or MultiDiGraph.")
    edges = (
        graph.edges(keys=True, data=True) if graph.is_multigraph() else ((a, b, 0, d) for a, b, d in graph.edges.data())
    )
    return graph_of(
        [node_of(key, data) for key, data in graph.nodes.data()],
        [_edge(head, tail, key, data) for head, tail, key, data in edges],
    )


def _edge(head: object, tail: object, key: object, data: dict[str, Any]) -> Any:
    edge = edge_of(head, tail, data)
    unnamed = edge == edge_of(head, tail, {})
    return edge_of(head, tail, data, key) if unnamed and isinstance(key, str) else edge


def to_networkx(graph: Graph, evidence: Evidence | None = None) -> Any:
    """Return a networkx MultiDiGraph: nodes by id, edges with their id as key.

    Attributes are those of `graphwright.graph.export`. `evidence`: only its nodes and edges, with rank and score.

    >>> to_networkx(Graph.from_triples([("Mur", "flows into", "Drava")])).edges[0, 1, 0]
    {'relation': 'flows into'}
    """
    part, result = Part(graph, evidence), nx.MultiDiGraph()
    result.add_nodes_from(part.described_nodes())
    result.add_edges_from((head, tail, edge, data) for edge, head, tail, data in part.described_edges())
    return result
