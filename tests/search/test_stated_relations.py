"""Imported relations that are named as the index names its own: they are facts, and are walked and shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphwright import Graph, Index, start
from graphwright.graph.graph import OWN_RELATIONS, REFERS, SYNONYM
from graphwright.graph.walks import shown_path, step_names
from graphwright.models.fake import HashEncoder
from graphwright.operators import KHop
from graphwright.search.facts import Facts
from graphwright.search.name_index import name_index_of
from graphwright.search.relation_facts import shown_name

RELATIONS = (*OWN_RELATIONS, "label", "name", "nickname")
ALIASES = ("alias", "synonym", "nickname")
TRIPLES = [("Moon Harbour", relation, f"Thing {at}") for at, relation in enumerate(RELATIONS)]
TRIPLES += [("Salt Road", relation, f"Object {at}") for at, relation in enumerate(RELATIONS)]
DOCUMENTS = [
    {"id": "visit", "title": "Visit", "text": "Ada saw Moon Harbour. Bert sailed to Moon Harbour.", "links": ["trip"]},
    {"id": "trip", "title": "Trip", "text": "Clara walked along Salt Road."},
]


def made(folder: Path, kind: str) -> Index:
    index = Index.from_graph(folder / "index", Graph.from_triples(TRIPLES), encoder=HashEncoder())
    if kind == "with documents":
        index.add(DOCUMENTS)
    return index


@pytest.mark.parametrize("kind", ["alone", "with documents"])
def test_imported_relations_of_own_names_are_queried(tmp_path: Path, kind: str) -> None:
    index = made(tmp_path, kind)
    assert {item["name"] for item in index.schema()["relations"]} >= set(RELATIONS)
    for at, relation in enumerate(RELATIONS):
        assert index.query(f'"Moon Harbour".[{relation}]').names == (f"Thing {at}",)
        # A further name stands for its node.
        back = "" if relation in ALIASES else f".~[{relation}]"
        assert index.query(f'"Object {at}"{back}').names == ("Salt Road",)
    assert index.verify() == []


@pytest.mark.parametrize("kind", ["alone", "with documents"])
def test_imported_relations_of_own_names_are_walked_and_shown(tmp_path: Path, kind: str) -> None:
    graph = made(tmp_path, kind).graph
    harbour = graph.id("Moon Harbour")
    reached = KHop(1)(start("?", graph, evidence=graph_evidence(harbour))).graph
    for at, relation in enumerate(RELATIONS):
        thing = graph.id(f"Thing {at}")
        assert thing in reached
        edges = [e for e in graph.edges_between(harbour, thing).tolist() if graph.triple(e)[1] == relation]
        path = step_names(graph, [(edges[0], False)])
        assert path == (f"Thing {at}", f"{relation}⁻¹", "Moon Harbour") and shown_path(graph, path) == path


def graph_evidence(node: int):  # type: ignore[no-untyped-def]
    from graphwright import Evidence

    return Evidence.of_nodes([node])


def test_own_relations_of_an_index_are_no_facts(tmp_path: Path) -> None:
    index = made(tmp_path, "with documents")
    columns = index.graph.columns
    assert {"about", "mentions", "alias", REFERS} <= columns.own.keys()
    for name, number in columns.own.items():
        own = set(columns.related.row(number).tolist())
        assert own.isdisjoint(columns.stated_edges(name).tolist()) and own == set(columns.edges_of(name).tolist())
    assert columns.references[0].size and len(Facts.of(index.graph).relation(SYNONYM)) == 2


def test_label_of_a_name_is_no_name(tmp_path: Path) -> None:
    graph = made(tmp_path, "alone").graph
    harbour, label = graph.id("Moon Harbour"), graph.id(f"Thing {RELATIONS.index('label')}")
    assert shown_name(graph, harbour) == "Moon Harbour"
    assert name_index_of(graph.columns).find("thing 6").tolist() == [label]
