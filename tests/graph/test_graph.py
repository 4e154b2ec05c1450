"""The graph: numbering, look-ups, parts, degrees against networkx."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shared import APART, FAMILY, GRAPHS, LOOPS, corpus_index
from tests.toys import as_networkx, merged_graph

from graphwright import Graph
from graphwright.errors import DataError, OptionError
from graphwright.extract.extraction import Extraction, Mention, Relation
from graphwright.graph import Kind

names = st.text(min_size=1, max_size=5)
triple_lists = st.lists(st.tuples(names, names, names), max_size=25)


def test_from_triples_numbers_nodes_by_appearance_and_keeps_repeats() -> None:
    graph = Graph.from_triples([("b", "r", "a"), ("a", "s", "c"), ("b", "r", "a")])
    assert list(graph.names) == ["b", "a", "c"]
    assert [graph.triple(e) for e in range(3)] == [("b", "r", "a"), ("a", "s", "c"), ("b", "r", "a")]
    assert len(graph) == 3 and len(graph.edges) == 3


@given(triple_lists)
def test_from_triples_round_trips_triples(triples: list[tuple[str, str, str]]) -> None:
    graph = Graph.from_triples(triples)
    assert [graph.triple(e) for e in range(len(triples))] == triples
    for name in {n for h, _, t in triples for n in (h, t)}:
        assert graph.names[graph.id(name)] == name


@given(triple_lists, st.data())
def test_part_has_inner_edges_under_snapshot_ids(triples: list[tuple[str, str, str]], data: st.DataObject) -> None:
    graph = Graph.from_triples(triples)
    chosen = data.draw(st.sets(st.integers(0, len(graph) - 1))) if len(graph) else set()
    part = graph.part(sorted(chosen))
    inside = [e for e in range(len(triples)) if {graph.id(triples[e][0]), graph.id(triples[e][2])} <= chosen]
    assert part.nodes.tolist() == sorted(chosen)
    assert part.edges.tolist() == inside
    simple = as_networkx(part)
    for at, node in enumerate(part.nodes.tolist()):
        assert sorted(part.nodes[part.adjacency.row(at)].tolist()) == sorted(simple[node])


def test_part_of_part_is_their_intersection() -> None:
    club = GRAPHS["club"]
    inner = club.part(range(20)).part(range(10, 34))
    assert inner.nodes.tolist() == list(range(10, 20))
    assert inner.edges.tolist() == club.part(range(10, 20)).edges.tolist()
    assert inner.checksum != club.part(range(10)).checksum


@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_neighbours_equal_networkx_without_loops(name: str) -> None:
    graph = GRAPHS[name]
    simple = as_networkx(graph)
    for node in range(len(graph)):
        assert graph.adjacency.row(node).tolist() == sorted(simple[node])


def test_ids_of_shared_and_unknown_names_are_all_or_none() -> None:
    graph = Graph.from_triples(FAMILY)
    assert graph.ids("Lothair II").tolist() == [graph.id("Lothair II")]
    assert graph.ids("nobody").tolist() == []
    with pytest.raises(DataError, match=r"named 'Lothar'.*Did you mean 'Lothair I'"):
        graph.id("Lothar")
    with pytest.raises(DataError, match=r"Near it in alphabetical order"):
        graph.part([0]).id("Gisela")


def test_edges_between_nodes_include_parallel_both_ways() -> None:
    graph = Graph.from_triples([*APART, ("b", "u", "a")])
    assert graph.edges_between(graph.id("a"), graph.id("b")).tolist() == [0, 6, 7]
    assert Graph.from_triples(LOOPS).edges_between(0, 1).tolist() == [1, 2]


def test_holds_and_local_refer_to_part() -> None:
    part = GRAPHS["line"].part([1, 3])
    assert part.holds([0, 1, 2, 3, 99]).tolist() == [False, True, False, True, False]
    assert part.local([3, 0, 1]).tolist() == [1, 0]
    assert 3 in part and 0 not in part and "a" not in part


@pytest.mark.parametrize("bad", [("a", "b"), "abc", ("a", 1, "c"), None, ("a", "b", "c", "d")])
def test_invalid_triple_raises_with_its_position(bad: object) -> None:
    with pytest.raises(OptionError, match=r"Triple 1 is .* three strings"):
        Graph.from_triples([("x", "y", "z"), bad])  # type: ignore[list-item]


def test_graph_arrays_are_read_only_and_pickle() -> None:
    graph = GRAPHS["family"]
    with pytest.raises(ValueError, match="read-only"):
        graph.columns.heads[0] = 5
    again = pickle.loads(pickle.dumps(graph.part([1, 2, 3])))
    assert again.checksum == graph.part([1, 2, 3]).checksum
    assert again.adjacency.values.tolist() == graph.part([1, 2, 3]).adjacency.values.tolist()


def test_checksum_changes_with_content() -> None:
    assert Graph.from_triples(FAMILY).checksum == GRAPHS["family"].checksum
    assert Graph.from_triples(FAMILY[::-1]).checksum != GRAPHS["family"].checksum
    assert Graph.from_triples([]).part([]).nodes.tolist() == []


def test_node_text_defaults_to_name_and_edge_text_to_triple() -> None:
    family = GRAPHS["family"]
    assert family.text(0) == family.reading(0) == "Lothair I"
    assert family.edge_text(0) == "Lothair I spouse Ermengarde of Tours"
    assert np.array_equal(family.ends([0, 3]), [0, 1, 2, 3])


def test_passage_statements_are_edges_between_entities() -> None:
    names = (Mention("Anna"), Mention("Bert"), Mention("Cleo"))
    saw, met = Relation("Anna", "saw", "Bert", "Anna saw Bert."), Relation("Bert", "met", "Cleo", "Bert met Cleo.")
    docs = [Extraction(names, (saw, met)), Extraction(names), Extraction(names, (saw,))]
    graph = merged_graph((f"d{i}", "", "", made) for i, made in enumerate(docs))
    texts = [[graph.edge_text(e) for e in graph.columns.stated.row(node).tolist()] for node in range(len(graph))]
    assert texts == [[saw.text, met.text], [], [saw.text], [], [], []]
    # The same thing said twice is two edges.
    assert len(set(graph.columns.stated.values.tolist())) == 3


def test_entity_edges_are_stated_by_their_passages() -> None:
    graph = corpus_index().graph
    rows = {node: graph.columns.stated.row(node).tolist() for node in range(len(graph))}
    kinds = graph.columns.kinds
    for edge in graph.edges.tolist():
        between = (kinds[graph.ends([edge])] == Kind.ENTITY).all()
        assert [v for v, edges in rows.items() if edge in edges] == (
            graph.chunks_of((), [edge]).tolist() if between else []
        )
    assert all(edges == sorted(set(edges)) for edges in rows.values()) and any(rows.values())


def test_graph_without_passages_has_no_statements() -> None:
    stated = GRAPHS["family"].columns.stated
    assert len(stated.indptr) == len(GRAPHS["family"]) + 1 and len(stated.values) == 0


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("katrin vogel", r"Did you mean 'Katrin Vogel'\?"),
        (" KATRIN VOGEL ", r"Did you mean 'Katrin Vogel'\?"),
        ("university of graz", r"Did you mean 'University of Graz'\?"),
        ("Katrn Vogel", r"Did you mean 'Katrin Vogel'\?"),
        ("u", "Near it in alphabetical order: 'strasse'"),
        ("Zebra", "Near it in alphabetical order: 'Wismar', 'strasse'"),
    ],
)
def test_unknown_name_error_suggests_similar_name(asked: str, message: str) -> None:
    names = ["Katrin", "Katrin Vogel", "University of Graz", "University Press", "Wismar", "strasse"]
    graph = Graph.from_triples([(name, "is", name) for name in names])
    with pytest.raises(DataError, match=message):
        graph.id(asked)
