"""Toy graphs, each with a name that says what it is."""

from __future__ import annotations

from graphwright.graph.graph import Graph
from graphwright.models.fake import HashEncoder
from graphwright.search.vector_index import VectorIndex

Triple = tuple[str, str, str]

FAMILY: list[Triple] = [
    ("Lothair I", "spouse", "Ermengarde of Tours"),
    ("Ermengarde of Tours", "mother of", "Lothair II"),
    ("Lothair I", "father of", "Lothair II"),
    ("Lothair II", "spouse", "Teutberga"),
    ("Lothair II", "spouse", "Waldrada"),
    ("Waldrada", "mother of", "Gisela"),
    ("Waldrada", "mother of", "Bertha"),
]
"""A family tree, in which one person was married twice."""
LINE: list[Triple] = [("a", "r", "b"), ("b", "r", "c"), ("c", "r", "d"), ("d", "r", "e")]
"""Five nodes in a row."""
APART: list[Triple] = [
    ("a", "r", "b"),
    ("b", "r", "c"),
    ("c", "r", "a"),
    ("x", "s", "y"),
    ("y", "s", "z"),
    ("z", "s", "x"),
    ("a", "t", "b"),
]
"""Two triangles without a bridge, and parallel edges of different relations."""
LOOPS: list[Triple] = [("a", "r", "a"), ("a", "r", "b"), ("b", "r", "a"), ("c", "r", "c")]
"""Self-loops, edges in both directions, and a node that only a self-loop touches."""
STAR: list[Triple] = [("hub", "r", f"leaf {i}") for i in range(6)]
"""One node that is joined with six others."""

TRIPLES: dict[str, list[Triple]] = {"family": FAMILY, "line": LINE, "apart": APART, "loops": LOOPS, "star": STAR}
"""The triples of each toy graph, by its name."""
GRAPHS: dict[str, Graph] = {name: Graph.from_triples(triples) for name, triples in TRIPLES.items()}
"""The toy graphs by name."""


def vectors_of(graph: Graph) -> VectorIndex:
    """Return the vectors of the names of a graph's nodes by `HashEncoder`: float32[len(graph), 64].

    >>> vectors_of(GRAPHS["line"]).encoder
    HashEncoder()
    """
    encoder = HashEncoder()
    return VectorIndex.from_array(encoder.encode(list(graph.names)), encoder)
