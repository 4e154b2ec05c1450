"""Named toy graphs."""

from __future__ import annotations

from graphwright.graph import Graph
from graphwright.models import HashEncoder
from graphwright.search import VectorIndex

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

_KNOWS = {
    0: (1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 17, 19, 21, 31),
    1: (2, 3, 7, 13, 17, 19, 21, 30),
    2: (3, 7, 8, 9, 13, 27, 28, 32),
    3: (7, 12, 13),
    4: (6, 10),
    5: (6, 10, 16),
    6: (16,),
    8: (30, 32, 33),
    9: (33,),
    13: (33,),
    14: (32, 33),
    15: (32, 33),
    18: (32, 33),
    19: (33,),
    20: (32, 33),
    22: (32, 33),
    23: (25, 27, 29, 32, 33),
    24: (25, 27, 31),
    25: (31,),
    26: (29, 33),
    27: (33,),
    28: (31, 33),
    29: (32, 33),
    30: (32, 33),
    31: (32, 33),
    32: (33,),
}
CLUB: list[Triple] = [(f"member {a}", "knows", f"member {b}") for a, others in _KNOWS.items() for b in others]
"""The 34 members of a karate club and the 78 pairs who met outside it (Zachary, 1977)."""

TRIPLES: dict[str, list[Triple]] = {
    "family": FAMILY,
    "line": LINE,
    "apart": APART,
    "loops": LOOPS,
    "star": STAR,
    "club": CLUB,
}
"""The triples of each toy graph, by its name."""
GRAPHS: dict[str, Graph] = {name: Graph.from_triples(triples) for name, triples in TRIPLES.items()}
"""The toy graphs by name."""


def vectors_of(graph: Graph) -> VectorIndex:
    """Return the vectors of the names of a graph's nodes by `HashEncoder`: float32[len(graph), 64].

    >>> vectors_of(GRAPHS["line"]).encoder.dimension
    64
    """
    encoder = HashEncoder()
    return VectorIndex.from_array(encoder.encode(list(graph.names)), encoder)
