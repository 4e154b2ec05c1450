"""Quality of subgraphs and paths against values worked out by hand, laws, and the F1 of answers."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.toys import FAMILY, GRAPHS, as_networkx

from graphwright import Evidence, Graph, Induce, KHop, OptionError, ShortestPaths, TargetAnswer, Triples, start
from graphwright.evaluate.measures import Quality, answer_quality, path_quality, subgraph_quality
from graphwright.evaluate.metrics import macro_f1
from graphwright.generate.targets import NO_TARGET
from graphwright.graph.columns import TextColumn
from graphwright.graph.graph import Columns

names = st.lists(st.sampled_from(["Graz", "Linz", "the Linz", "Wien", "wien.", "Steyr", "Enns"]), max_size=8)


@pytest.mark.parametrize(
    ("predicted", "gold", "value"),
    [
        (["Graz", "Linz", "Wien"], ["Wien", "Enns"], (1 / 3, 1 / 2, 2 / 5)),
        (["Graz", "graz!", "The Graz"], ["Graz"], (1, 1, 1)),
        (["Graz"], ["Graz", "graz", "Enns"], (1, 1 / 2, 2 / 3)),
        ("Graz", "Graz", (1, 1, 1)),
        (["Graz"], ["Linz"], (0, 0, 0)),
        ([], ["Linz"], (0, 0, 0)),
        (["Linz"], [], (0, 0, 0)),
        ([], [], (1, 1, 1)),
        (["", " "], [], (1, 1, 1)),
    ],
)
def test_footnote_11_has_the_values_worked_by_hand(predicted, gold, value) -> None:
    assert answer_quality(predicted, gold) == pytest.approx(value)


@given(names, names)
def test_f1_is_that_of_answers_and_the_harmonic_mean(predicted, gold) -> None:
    precision, recall, f1 = answer_quality(predicted, gold)
    assert f1 == pytest.approx(macro_f1(predicted, gold))
    assert f1 * (precision + recall) == pytest.approx(2 * precision * recall)
    assert answer_quality(gold, predicted) == pytest.approx((recall, precision, f1))


def family(*kept: str) -> Graph:
    graph = GRAPHS["family"]
    return graph.part([graph.id(name) for name in kept])


def test_a_subgraph_is_judged_by_all_its_nodes() -> None:
    part = family("Lothair II", "Teutberga", "Waldrada", "Gisela")
    assert subgraph_quality(part, ["Teutberga", "Waldrada", "Bertha"]) == pytest.approx((2 / 4, 2 / 3, 4 / 7))
    whole = subgraph_quality(GRAPHS["family"], ["Bertha"])
    assert whole == pytest.approx((1 / len(GRAPHS["family"]), 1, 2 / (1 + len(GRAPHS["family"]))))


def test_an_answer_that_the_graph_does_not_hold_counts_as_not_found() -> None:
    assert subgraph_quality(family("Bertha"), ["Bertha", "Charlemagne"]) == pytest.approx((1, 1 / 2, 2 / 3))
    assert subgraph_quality(family("Bertha"), ["Charlemagne"]) == (0, 0, 0)


def test_a_subgraph_without_nodes_finds_nothing() -> None:
    assert subgraph_quality(family(), ["Bertha"]) == (0, 0, 0)


def namesakes() -> Graph:
    """Two films of one name, by two directors."""
    c = Graph.from_triples([("Solaris", "by", "Tarkovsky"), ("Solaris II", "by", "Soderbergh")]).columns
    named = TextColumn.of(["Solaris", "Tarkovsky", "Solaris", "Soderbergh"])
    return Graph(Columns(named, c.heads, c.tails, c.relation, c.relations, c.kinds))


def test_nodes_of_one_name_count_once_and_are_one_answer() -> None:
    graph = namesakes()
    assert subgraph_quality(graph, ["Solaris"]) == pytest.approx((1 / 3, 1, 1 / 2))
    assert subgraph_quality(graph.part([2, 3]), ["Solaris"]) == pytest.approx((1 / 2, 1, 2 / 3))
    asked = start("Which films?", graph, entities=["Tarkovsky", "Soderbergh"])
    assert path_quality(ShortestPaths()(asked), ["Solaris"]) == (1, 1, 1)


def test_paths_are_judged_by_the_last_node_that_the_question_does_not_name() -> None:
    graph = GRAPHS["line"]
    asked = start("?", graph, entities=["a", "c"])
    paths = Evidence.of_pieces([([0, 1, 2], [0, 1]), ([2, 3], [2]), ([2, 3, 4], [2, 3])])  # lead to b, d and e
    state = asked.with_(evidence=paths)
    assert path_quality(state, ["d", "x"]) == pytest.approx((1 / 3, 1 / 2, 2 / 5))
    assert path_quality(state, ["c"]) == (0, 0, 0)  # a query entity is no target, though it be the answer
    assert path_quality(state.with_(evidence=paths.top(1)), ["b"]) == (1, 1, 1)


def test_triples_are_judged_as_an_answer_takes_them() -> None:
    state = Triples()(start("?", GRAPHS["line"], entities=["a"]))
    assert path_quality(state, ["b", "e"]) == pytest.approx((2 / 4, 1, 2 / 3))


def test_paths_that_lead_nowhere_are_nothing_found() -> None:
    nowhere = start("?", GRAPHS["line"], entities=["a"], evidence=Evidence.of_nodes([0]))
    assert TargetAnswer()(nowhere).answer.text == NO_TARGET
    assert path_quality(nowhere, ["b"]) == (0, 0, 0)
    assert path_quality(nowhere, []) == (1, 1, 1)


def test_an_answer_that_is_there_changes_nothing() -> None:
    state = (ShortestPaths() % 2 >> TargetAnswer(limit=1))(start("?", GRAPHS["star"], entities=["hub"]))
    assert path_quality(state, ["leaf 0", "leaf 1"]) == (1, 1, 1)


def test_a_state_that_was_never_searched_is_refused() -> None:
    with pytest.raises(OptionError, match="no evidence"):
        path_quality(start("?", GRAPHS["line"], entities=["a"]), ["b"])


@pytest.mark.parametrize("name", ["family", "club", "apart"])
@pytest.mark.parametrize("hops", [1, 2])
def test_paths_of_an_extraction_reach_what_it_holds(name, hops) -> None:
    graph = GRAPHS[name]
    first = graph.names[0]
    gold = [graph.names[node] for node in graph.nodes[1::2]]
    narrowed = (KHop(hops) >> Induce())(start("?", graph, entities=[first]))
    near = set(nx.single_source_shortest_path_length(as_networkx(graph), 0, hops)) - {0}
    held = [graph.names[node] for node in near]
    assert subgraph_quality(narrowed.graph, gold) == answer_quality([first, *held], gold)
    assert path_quality(ShortestPaths()(narrowed), gold) == answer_quality(held, gold)


def test_a_quality_reads_as_precision_recall_and_f1() -> None:
    found = subgraph_quality(Graph.from_triples(FAMILY), ["Bertha"])
    assert isinstance(found, Quality) and found == (found.precision, found.recall, found.f1)
