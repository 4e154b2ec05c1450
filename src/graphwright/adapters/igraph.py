"""igraph: import and export of graphs."""

from __future__ import annotations

from typing import Any

from graphwright import Evidence, Graph
from graphwright.adapters.results import columns_of, missing_extra
from graphwright.build.imports.assembly import graph_of
from graphwright.data.graph_files.property_graphs import edge_of, node_of
from graphwright.errors import OptionError
from graphwright.graph.export_part import Part

try:
    import igraph
except ImportError as error:
    raise missing_extra("communities", error) from error


def from_igraph(graph: Any) -> Graph:
    """Convert an igraph graph. Vertices are named, and edges labelled, as in `from_networkx`.

    >>> rivers = igraph.Graph([(0, 1)], directed=True, vertex_attrs={"name": ["Mur", "Drava"]})
    >>> from_igraph(rivers).triple(0)
    ('Mur', 'linked to', 'Drava')
    """
    if not isinstance(graph, igraph.Graph):
        raise OptionError(f"{type(graph).__name__} is no igraph graph; give an igraph.Graph.")
    return graph_of(
        [node_of(vertex.index, _without_id(vertex)) for vertex in graph.vs],
        [edge_of(edge.source, edge.target, _without_id(edge)) for edge in graph.es],
    )


def _without_id(element: Any) -> dict[str, Any]:
    """Return the attributes of a vertex or an edge but the id that it had in another program."""
    return {name: value for name, value in element.attributes().items() if name != "id"}


def to_igraph(graph: Graph, evidence: Evidence | None = None) -> Any:
    """Return a directed igraph graph; an attribute that a vertex or edge lacks is None.

    Attributes are those of `graphwright.graph.export`, with the ids of nodes and edges as `id`. `evidence`: export
    only the nodes and edges of the evidence, with rank and score.

    >>> to_igraph(Graph.from_triples([("Mur", "flows into", "Drava")])).es["relation"]
    ['flows into']
    """
    part = Part(graph, evidence)
    nodes = [{"id": node, **attributes} for node, attributes in part.described_nodes()]
    position = {row["id"]: at for at, row in enumerate(nodes)}
    ends, edges = list[tuple[int, int]](), list[dict[str, Any]]()
    for edge, head, tail, attributes in part.described_edges():
        ends.append((position[head], position[tail]))
        edges.append({"id": edge, **attributes})
    return igraph.Graph(len(nodes), ends, directed=True, vertex_attrs=columns_of(nodes), edge_attrs=columns_of(edges))
