"""Texts of walks: paths, walks that share their relations, and items that are neither."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.shared import corpus_index

from graphwright import Evidence, Graph
from graphwright.graph.columns import TextColumn
from graphwright.graph.graph import CO_OCCURS
from graphwright.graph.items import Item, ItemKind, path_item, tree_item, walk_of, walk_to
from graphwright.graph.walks import bundle_of, edge_label, step_names, walk_text, write_walk

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


def stepped(nodes: str, steps: str) -> Item:
    """An item of these nodes whose steps are edges, "-" after one that is walked from its tail."""
    walked = tuple((int(edge[0]), not edge.endswith("-")) for edge in steps.split())
    return Item(ItemKind.TREE, tuple(map(GRAPH.id, nodes)), tuple(edge for edge, _ in walked), walked)


@pytest.mark.parametrize(
    ("nodes", "edges", "message"),
    [
        ("Qa", [0], "Q → [r] → a"),
        ("aQ", [0], "a → [r⁻¹] → Q"),
        ("Qax", [0, 2], "Q → [r] → a → [s] → x"),
        # A walk back and forth.
        ("QaQ", [0, 0], "Q → [r] → a → [r⁻¹] → Q"),
    ],
)
def test_walk_text_of_path_is_names_and_relations_in_turn(nodes: str, edges: list[int], message: str) -> None:
    assert walk_text(GRAPH, path_item(GRAPH, [GRAPH.id(name) for name in nodes], edges)) == message


@pytest.mark.parametrize(
    ("nodes", "steps", "message"),
    [
        ("Qaxy", "0 2 3", "Q → [r] → a → [s] → x; y"),
        ("Qabxy", "0 1 2 3 4", "Q → [r] → a; b → [s] → x; y"),
        ("xabQ", "2- 4- 0- 1-", "x → [s⁻¹] → a; b → [r⁻¹] → Q"),
        # Walks that end in one node.
        ("abx", "4- 2-", "a; b → [s] → x"),
        ("Qxa", "6- 0-", "Q; x → [r] → a"),
        # Of two nodes reached at once, one is also reached from the other: which way tells the other walk.
        ("Qaby", "0 1 9- 8-", "Q → [r] → a; b → [s⁻¹] → b; y"),
        ("Qabx", "0 1 9 2", "Q → [r] → a; b → [s] → a; x"),
        # By a triple that an earlier hop took, to a node where the walks were.
        ("Qabx", "0 1 2 4 4- 2-", "Q → [r] → a; b → [s] → x → [s⁻¹] → b; a"),
    ],
)
def test_walk_text_of_walks_by_same_relations_is_hop_by_hop(nodes: str, steps: str, message: str) -> None:
    assert walk_text(GRAPH, stepped(nodes, steps)) == message


@pytest.mark.parametrize(
    ("nodes", "edges", "message"),
    [
        ("Qab", [7, 1], "Q t a; Q r b"),  # two relations from one node
        ("Qabx", [0, 1, 2], "Q r a; Q r b; a s x"),  # walks of unequal length
        ("Qxy", [0, 2], "Q r a; a s x"),
        ("", [0, 2], "Q r a; a s x"),
        ("", [0], "Q r a"),
    ],
)
def test_walk_text_of_other_trees_is_texts_of_their_edges(nodes: str, edges: list[int], message: str) -> None:
    assert walk_text(GRAPH, tree_item(GRAPH, [GRAPH.id(name) for name in nodes], edges)) == message


def test_walk_to_end_does_not_go_straight_back_where_another_walk_leads_there() -> None:
    item = stepped("Qabx", "0 1 2 4 4- 2-")
    bundle = bundle_of(GRAPH, item)
    assert bundle is not None
    walks = [walk_of(GRAPH, item.steps, at) for at in (5, 4)]
    assert ["".join(step_names(GRAPH, walk)[::2]) for walk in walks] == ["Qbxa", "Qaxb"]
    back = path_item(GRAPH, [0, 1, 0], [0, 0])
    assert walk_to(GRAPH, back, 0) == back.steps


def test_walk_of_any_length_is_written() -> None:
    line = Graph.from_triples([(str(i), "r", str(i + 1)) for i in range(3000)])
    walk = Evidence.of_paths(line, [(range(3001), range(3000))], render=walk_text)
    assert walk.texts(line)[0].count(" → [r] → ") == 3000


def test_write_walk_applies_writer_to_names_and_relations() -> None:
    assert write_walk(GRAPH, path_item(GRAPH, [1, 0], [0]), lambda message: message.upper()) == "A → [R⁻¹] → Q"


def test_taken_and_unscored_items_keep_walk_text() -> None:
    result = Evidence.of_paths(GRAPH, [([0, 1], [0]), ([1, 0], [0])], [0.2, 0.5], walk_text)
    back, out = "a → [r⁻¹] → Q", "Q → [r] → a"
    assert result.texts(GRAPH) == [back, out]
    assert result.top(1).texts(GRAPH) == [back] and result.unscored().texts(GRAPH) == [back, out]
    assert result.take([0, 1], [0.1, 0.3]).texts(GRAPH) == [out, back]
    # Beside items with another text they have the text of their edges.
    assert Evidence.of_nodes([2]).union(result).texts(GRAPH) == ["b", "Q r a", "Q r a"]


def test_cooccurrence_edge_is_shown_by_sentence() -> None:
    graph = Graph.from_triples([("Ida", CO_OCCURS, "Graz"), ("Graz", "lies on", "Mur"), ("Ida", CO_OCCURS, "Mur")])
    sentences: dict[str, Any] = {
        "edge_text": np.array([0, 1, -1], np.int32),
        "sentences": TextColumn.of(["Ida left Graz.", "On the Mur."]),
    }
    assert not Graph(replace(graph.columns, **sentences)).co_occurs(0)  # an imported relation of this name
    sentences["passages"] = corpus_index().graph.passages
    graph = Graph(replace(graph.columns, **sentences))
    assert [graph.co_occurs(edge) for edge in range(3)] == [True, False, False]
    (walk,) = Evidence.of_paths(graph, [([1, 0], [0])], render=walk_text).texts(graph)
    assert walk == "Graz → [Ida left Graz.] → Ida"
    assert [edge_label(graph, edge, False) for edge in range(3)] == ["Ida left Graz.", "lies on⁻¹", CO_OCCURS]
    assert step_names(graph, [(0, True), (1, True)]) == (
        "Ida",
        "Ida left Graz.",
        "Graz",
        "lies on",
        "Mur",
    )
