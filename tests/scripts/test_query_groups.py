"""Questions over graphs for training: those that a graph without a relation does not answer."""

import pytest
from query_groups import KnownVectors, is_untyped, without

from graphwright.graph.graph import Graph
from graphwright.models.embedded.encoder import MiniLM
from graphwright.operators.query.parse_notation import parse_notation
from graphwright.search.facts import Facts


def test_without_relation_keeps_the_facts_of_the_other() -> None:
    facts = Facts.of(Graph.from_triples([("Graz", "lies on", "Mur"), ("Graz", "founded", "1128")]))
    reduced = without(facts, "lies on")
    assert reduced.relations == ("founded",)
    assert [reduced.text(thing) for thing in range(len(reduced))] == ["Graz", "1128"]


def test_without_thing_leaves_out_its_facts() -> None:
    facts = Facts.of(Graph.from_triples([("Graz", "lies on", "Mur"), ("Linz", "lies on", "Danube")]))
    assert not len(without(facts, "Mur").find("graz"))


def test_known_vectors_of_a_text_twice_are_those_of_the_encoder() -> None:
    encoder = KnownVectors()
    assert encoder.encode(["river", "river"]).shape == (2, encoder.dimension)
    assert abs(encoder.encode(["river"]) - MiniLM().encode(["river"])).max() < 1e-3
    assert encoder.encode([]).shape == (0, encoder.dimension)


@pytest.mark.parametrize(
    ("query", "kept"),
    [('"Mur".~[lies on]', True), ("cities", False), ('"Graz".[instance of]', False), ('"city".~[instance of]', False)],
)
def test_is_untyped_without_types_keeps_what_names_none(query: str, kept: bool) -> None:
    facts = Facts.of(Graph.from_triples([("Graz", "lies on", "Mur"), ("Graz", "instance of", "city")]))
    assert is_untyped(parse_notation(query.replace("cities", "[city]")), facts, without(facts, "instance of")) is kept
