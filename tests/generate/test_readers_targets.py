"""Answers that are the names of the nodes at the end of paths."""

from __future__ import annotations

import pytest
from tests.shared import GRAPHS

from graphwright import Evidence, Graph, ShortestPaths, Triples, hits_at_1, start
from graphwright.errors import OptionError
from graphwright.generate import TargetAnswer
from graphwright.graph.walks import step_names


def answered(graph: Graph, evidence: Evidence, *entities: str, limit: int | None = None):
    answer = TargetAnswer(limit)(start("Who?", graph, entities=entities, evidence=evidence)).answer
    assert answer is not None
    return answer


def test_target_answer_orders_targets_by_best_path() -> None:
    graph = GRAPHS["family"]
    item, two, bertha, gisela, waldrada = map(graph.id, ("Lothair I", "Lothair II", "Bertha", "Gisela", "Waldrada"))
    paths = [
        ([item, two, waldrada, bertha], [2, 4, 6]),
        ([two, waldrada], [4]),
        ([item, two, waldrada, gisela], [2, 4, 5]),
        ([two, waldrada, bertha], [4, 6]),
    ]
    answer = answered(graph, Evidence.of_trees(graph, paths), "Lothair I", "Lothair II")
    assert answer.short == ("Bertha", "Waldrada", "Gisela")
    names = [citation.text for citation in answer.citations]
    assert names == ["Bertha", "Waldrada", "Gisela"] and answer.text == "Bertha\nWaldrada\nGisela" and answer.found
    assert answer.citations[0].path == (
        "Lothair I", "father of", "Lothair II", "spouse", "Waldrada", "mother of", "Bertha",
    )  # fmt: skip
    assert hits_at_1(names, ["bertha"]) == 1.0
    assert len(answered(graph, Evidence.of_trees(graph, paths), "Lothair I", limit=1).citations) == 1


def test_target_answer_omits_question_entities() -> None:
    graph = GRAPHS["line"]
    between = Evidence.of_trees(graph, [([0, 1, 2], [0, 1])])
    assert answered(graph, between, "a", "c").text == "b"
    assert answered(graph, between, "a").text == "c"
    nothing = answered(graph, Evidence.of_nodes([0]), "a")
    assert not nothing.found and nothing.citations == () and "No path" in nothing.text
    assert "names no entity of the graph" in answered(graph, Evidence.of_nodes([])).text


def test_target_answer_accepts_nodes_triples_and_trees() -> None:
    graph = GRAPHS["line"]
    assert answered(graph, Evidence.of_nodes([3, 1])).text == "d\nb"
    triple = answered(graph, Evidence.of_edges([0]), "b")
    assert triple.text == "a" and triple.citations[0].path == ("a", "r", "b")
    tree = Evidence.of_trees(graph, [([1, 0, 2], [0])])
    assert answered(graph, tree).citations[0].path == ()  # no step leads to "c"
    assert answered(graph, tree, "c").citations[0].path == ("b", "r⁻¹", "a")


def test_target_answer_path_shows_relation_directions() -> None:
    graph = GRAPHS["family"]
    state = (ShortestPaths() >> TargetAnswer())(start("Who?", graph, entities=["Teutberga"]))
    assert state.answer is not None
    assert {c.text for c in state.answer.citations} == set(graph.names) - {"Teutberga"}
    assert state.answer.citations[0].path == ("Teutberga", "spouse⁻¹", "Lothair II")
    assert step_names(graph, state.items.item(0).steps) == state.answer.citations[0].path


def test_target_answer_merges_nodes_of_equal_name() -> None:
    graph = GRAPHS["apart"]
    answer = (Triples() >> TargetAnswer())(start("?", graph)).answer
    assert answer is not None and [c.text for c in answer.citations] == ["b", "c", "a", "y", "z", "x"]
    with pytest.raises(OptionError, match="limit is 0"):
        TargetAnswer(0)
