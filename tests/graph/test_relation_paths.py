"""Relation paths against all walks by brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shared import GRAPHS

from graphwright import Evidence, Graph
from graphwright.graph.items import path_item
from graphwright.graph.relation_paths import (
    relation_path,
    relation_paths,
    relation_text,
    relation_words,
    walks_along,
    ways_of,
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
                and ways_of(graph, path_item(graph, along, by)) == item.ways
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
    assert ways_of(graph, path_item(graph, [2, 1], [1])) == (2 * int(graph.columns.relation[1]),)
