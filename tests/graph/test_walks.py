"""Texts of walks: paths, walks that share their relations, and items that are neither.

Relation paths against all walks by brute force.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shared import GRAPHS, corpus_index

from graphwright import Evidence, Graph
from graphwright.graph.columns import TextColumn
from graphwright.graph.graph import CO_OCCURS
from graphwright.graph.items import Item, ItemKind, path_item, tree_item, walk_of, walk_to
from graphwright.graph.walks import (
    bundle_of,
    edge_label,
    relation_path,
    relation_paths,
    relation_text,
    relation_words,
    step_names,
    walk_text,
    walks_along,
    ways_of,
    write_walk,
)

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


NAMES = "abcdef"


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    name = st.sampled_from(NAMES)
    rows = draw(st.lists(st.tuples(name, st.sampled_from("rst"), name), min_size=8, max_size=16))
    whole = Graph.from_triples(rows)
    selected = draw(st.none() | st.sets(st.integers(0, len(whole) - 1), min_size=1))
    return whole if selected is None else whole.part(sorted({0, *selected}))


def brute(graph: Graph, source: int, length: int) -> dict[tuple[int, ...], set[tuple[int, ...]]]:
    """The walks of at most `length` edges, by their ways: never to the source, nor straight back by a relation."""
    c, result = graph.columns, dict[tuple[int, ...], set[tuple[int, ...]]]()
    level: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((source,), ())]
    for _ in range(length):
        longer = []
        for walk, ways in level:
            for head, tail, way in {(int(c.heads[e]), int(c.tails[e]), 2 * int(c.relation[e])) for e in graph.edges}:
                for here, there, by, reverse in ((head, tail, way + 1, way), (tail, head, way, way + 1)):
                    straight_back = (there, reverse) == (walk[-2], ways[-1]) if ways else False
                    if here == walk[-1] != there != source and not straight_back:
                        longer.append(((*walk, there), (*ways, by)))
        level = longer
        for walk, ways in level:
            result.setdefault(ways, set()).add(walk)
    return result


@given(graphs(), st.integers(1, 5))
def test_relation_paths_end_where_walks_do(graph: Graph, length: int) -> None:
    expected, (paths, cut) = brute(graph, 0, length), relation_paths(graph, 0, length)
    assert [path.ways for path in paths] == sorted(expected, key=lambda ways: (len(ways), ways))
    assert cut == 0
    for item in paths:
        ends = graph.nodes[item.ends].tolist()
        assert len(ends) == len(set(ends)) and set(ends) == {walk[-1] for walk in expected[item.ways]}
        nodes, edges = item.walks()
        # One walk to each end, by the edges that it says.
        assert graph.nodes[nodes[:, -1]].tolist() == ends
        for along, by in zip(graph.nodes[nodes], graph.edges[edges], strict=True):
            assert (
                tuple(along.tolist()) in expected[item.ways]
                and ways_of(graph, path_item(graph, along, by).steps) == item.ways
            )
        last = len(ends) - 1
        assert [part.tolist() for part in item.walks(np.array([last]))] == [
            nodes[last:].tolist(),
            edges[last:].tolist(),
        ]
        alone = relation_path(graph, 0, item.ways)
        assert alone is not None and alone.ends.tolist() == item.ends.tolist()
        every = walks_along(graph, 0, item.ways, 10_000)[0]
        assert {tuple(row) for row in graph.nodes[every].tolist()} == expected[item.ways]
        assert len(every) == len(expected[item.ways])


MANN = Graph.from_triples(
    [
        ("Heat", "directed_by", "Mann"),
        ("Ali", "directed_by", "Mann"),
        ("Ali", "written_by", "Mann"),
        ("Ali", "written_by", "Roth"),
        ("Thief", "directed_by", "Mann"),
        ("Thief", "written_by", "Hohimer"),
    ]
)


def test_relation_path_over_shared_director_reaches_writers() -> None:
    heat, by, by_of, wrote = MANN.id("Heat"), 1, 0, 3
    result = relation_path(MANN, heat, (by, by_of, wrote))
    assert result is not None and set(MANN.names.take(result.ends)) == {"Mann", "Roth", "Hohimer"}
    shown = {tuple(MANN.names.take(row)) for row in result.walks()[0]}
    assert shown == {
        ("Heat", "Mann", "Ali", "Mann"),
        ("Heat", "Mann", "Ali", "Roth"),
        ("Heat", "Mann", "Thief", "Hohimer"),
    }
    assert {tuple(MANN.names.take(row)) for row in walks_along(MANN, heat, (by, by_of, wrote), 9)[0]} == shown
    # Straight back by the relation that one came by leads nowhere, and so does what leads to Heat again.
    assert relation_path(MANN, heat, (by, by_of, by)) is None
    assert (by, by_of, by) not in {item.ways for item in relation_paths(MANN, heat, 3)[0]}
    assert set(MANN.names.take(relation_path(MANN, heat, (by, by_of)).ends)) == {"Ali", "Thief"}  # type: ignore[union-attr]


def test_returning_walk_uses_other_edge() -> None:
    graph = Graph.from_triples([("x", "r", "a"), ("x", "r", "b"), ("a", "s", "c"), ("b", "s", "c")])
    result = relation_path(graph, 0, (1, 3, 2))
    assert result is not None
    nodes, edges = result.walks()
    assert sorted("".join(graph.names.take(row)) for row in nodes) == ["xacb", "xbca"]
    assert sorted(edges.tolist()) == [[0, 2, 3], [1, 3, 2]]


def test_relation_paths_over_cost_limit_extend_fewest_ends_first() -> None:
    hub = Graph.from_triples([("a", "r", "b"), *(("a", "s", f"x{i}") for i in range(9)), ("b", "t", "c")])
    # The step from a looks at 10 edges; then b has 2, and the nine together 9.
    paths, cut = relation_paths(hub, 0, 2, max_edges=12)
    assert [path.ways for path in paths] == [(1,), (3,), (1, 5)] and cut == 1
    assert relation_paths(hub, 0, 2, max_edges=9) == ([], 1)


def test_relation_path_without_end_is_none() -> None:
    assert relation_path(GRAPHS["line"], 0, (0,)) is None
    assert walks_along(GRAPHS["line"], 0, (0, 1), 5)[0].shape == (0, 3)


@pytest.mark.parametrize(
    ("relation", "read"),
    [("directed_by", "directed by"), ("people.person.bornIn", "people person born In"), ("lies on", "lies on")],
)
def test_relations_are_written_as_words(relation: str, read: str) -> None:
    graph = Graph.from_triples([("a", relation, "b")])
    assert relation_words(graph, (1, 0)) == f"{read}, {read} of"


def test_triple_walks_from_head_and_items_keep_text() -> None:
    graph = GRAPHS["family"]
    result = Evidence.of_trees(graph, [((), (1,)), ((2, 1), (1,))], [0.2, 0.7], relation_text)
    assert result.texts(graph) == ["mother of of", "mother of"]
    assert result.top(1).texts(graph) == ["mother of of"] and result.take([1]).render is relation_text
    assert Evidence.of_edges([1]).texts(graph) == ["Ermengarde of Tours mother of Lothair II"]
    assert ways_of(graph, path_item(graph, [2, 1], [1]).steps) == (2 * int(graph.columns.relation[1]),)
