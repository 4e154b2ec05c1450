"""Texts of walks: paths, walks that share their relations, and items that are neither."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from graphwright import Evidence, Graph
from graphwright.generate.citations import path_text
from graphwright.graph.columns import TextColumn
from graphwright.graph.graph import CO_OCCURS
from graphwright.graph.walks import bundle_of, edge_label, walk_text, write_walk

TRIPLES = [
    ("Q", "r", "a"),  # 0
    ("Q", "r", "b"),  # 1
    ("a", "s", "x"),  # 2
    ("a", "s", "y"),  # 3
    ("b", "s", "x"),  # 4
    ("a", "r", "b"),  # 5
    ("x", "r", "a"),  # 6
    ("Q", "t", "a"),  # 7
    ("y", "s", "b"),  # 8
    ("b", "s", "a"),  # 9
]
GRAPH = Graph.from_triples(TRIPLES)


def text(nodes: str, edges: list[int]) -> str:
    piece = Evidence.of_pieces([([GRAPH.id(name) for name in nodes], edges)], render=walk_text)
    return piece.texts(GRAPH)[0]


@pytest.mark.parametrize(
    ("nodes", "edges", "message"),
    [
        ("Qa", [0], "Q → [r] → a"),
        ("aQ", [0], "a → [r⁻¹] → Q"),
        ("Qax", [0, 2], "Q → [r] → a → [s] → x"),
        ("Qaxy", [0, 2, 3], "Q → [r] → a → [s] → x; y"),
        ("Qabxy", [0, 1, 2, 3, 4], "Q → [r] → a; b → [s] → x; y"),
        ("xabQ", [2, 4, 0, 1], "x → [s⁻¹] → a; b → [r⁻¹] → Q"),
        # Walks that end in one node.
        ("abx", [2, 4], "a; b → [s] → x"),
        ("Qxa", [0, 6], "Q; x → [r] → a"),
        # Of two nodes reached at once, one is also reached from the other: which way tells the other walk.
        ("Qaby", [0, 1, 9, 8], "Q → [r] → a; b → [s⁻¹] → b; y"),
        ("Qabx", [0, 1, 9, 2], "Q → [r] → a; b → [s] → a; x"),
        # By a triple that an earlier hop took, to a node where the walks were.
        ("Qabx", [0, 1, 2, 4, 4, 2], "Q → [r] → a; b → [s] → x → [s⁻¹] → b; a"),
        # A walk back and forth.
        ("QaQ", [0, 0], "Q → [r] → a → [r⁻¹] → Q"),
        # Two relations from one node, walks of unequal length, edges apart, triples: all by the texts of their edges.
        ("Qab", [7, 1], "Q t a; Q r b"),
        ("Qabx", [0, 1, 2], "Q r a; Q r b; a s x"),
        ("Qxy", [0, 2], "Q r a; a s x"),
        ("", [0, 2], "Q r a; a s x"),
        ("", [0], "Q r a"),
    ],
)
def test_a_piece_is_written_as_it_is_walked(nodes: str, edges: list[int], message: str) -> None:
    assert text(nodes, edges) == message


def test_the_walk_to_an_end_does_not_go_straight_back_where_another_one_leads_there() -> None:
    piece = Evidence.of_pieces([([GRAPH.id(name) for name in "Qabx"], [0, 1, 2, 4, 4, 2])]).piece(0)
    bundle = bundle_of(GRAPH, *piece)
    assert bundle is not None
    assert ["".join(GRAPH.names.take(bundle.walk_to(end))) for end in bundle.levels()[-1]] == ["Qaxb", "Qbxa"]
    there_and_back = bundle_of(GRAPH, *Evidence.of_pieces([([0, 1, 0], [0, 0])]).piece(0))
    assert there_and_back is not None and there_and_back.walk_to(0) == [0, 1, 0]


def test_a_walk_of_any_length_is_written() -> None:
    line = Graph.from_triples([(str(i), "r", str(i + 1)) for i in range(3000)])
    walk = Evidence.of_pieces([(range(3001), range(3000))], render=walk_text)
    assert walk.texts(line)[0].count(" → [r] → ") == 3000


def test_names_and_relations_are_handed_to_the_writer() -> None:
    nodes, edges = Evidence.of_pieces([([1, 0], [0])]).piece(0)
    assert write_walk(GRAPH, nodes, edges, lambda message: message.upper()) == "A → [R⁻¹] → Q"


def test_pieces_that_are_taken_ranked_or_unscored_are_still_written_as_walks() -> None:
    result = Evidence.of_pieces([([0, 1], [0]), ([1, 0], [0])], [0.2, 0.5], walk_text)
    back, out = "a → [r⁻¹] → Q", "Q → [r] → a"
    assert result.texts(GRAPH) == [back, out]
    assert result.top(1).texts(GRAPH) == [back] and result.unscored().texts(GRAPH) == [back, out]
    assert result.take([0, 1], [0.1, 0.3]).texts(GRAPH) == [out, back]
    # Beside items with another text they have the text of their edges.
    assert Evidence.of_nodes([2]).union(result).texts(GRAPH) == ["b", "Q r a", "Q r a"]


def test_an_edge_without_a_predicate_is_shown_by_its_sentence() -> None:
    graph = Graph.from_triples([("Ida", CO_OCCURS, "Graz"), ("Graz", "lies on", "Mur"), ("Ida", CO_OCCURS, "Mur")])
    sentences = {
        "edge_text": np.array([0, 1, -1], np.int32),
        "sentences": TextColumn.of(["Ida left Graz.", "On the Mur."]),
    }
    graph = Graph(replace(graph.columns, **sentences))
    assert [graph.co_occurs(edge) for edge in range(3)] == [True, False, False]
    (walk,) = Evidence.of_pieces([([1, 0], [0])], render=walk_text).texts(graph)
    assert walk == "Graz → [Ida left Graz.] → Ida"
    assert [edge_label(graph, edge, False) for edge in range(3)] == ["Ida left Graz.", "lies on⁻¹", CO_OCCURS]
    assert path_text(graph, np.array([0, 1, 2]), np.array([0, 1])) == (
        "Ida",
        "Ida left Graz.",
        "Graz",
        "lies on",
        "Mur",
    )
