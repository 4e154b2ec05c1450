"""Relaxing: what the previewed passages state, let in for keywords worded otherwise."""

from __future__ import annotations

import json

import pytest
from tests.toys import corpus_index

from graphwright import Anchor, Graph, OptionError, Ranking, ScriptedLLM, start
from graphwright.operators.anchors.keywords import top_passages, entities_and_edges
from graphwright.operators.anchors.relax import Relax
from graphwright.operators.state import State

# The paper's Example 5: "second marriage" is only "spouse of" in this graph, and there are other marriages in it.
WARS = Graph.from_triples(
    [
        ("Emma", "second husband and spouse", "Cnut"),
        ("Emma", "mother of", "Harthacnut"),
        ("Harthacnut", "started war with", "Norway"),
        ("Bread", "baked from", "flour"),
        ("Joan", "marriage second", "Peter"),
    ]
)
SNAPSHOT = corpus_index().snapshot


def seen(*anchors: Anchor, nodes: tuple[str, ...] = ("Emma", "Harthacnut")) -> State:
    ids = [WARS.id(name) for name in nodes]
    question = "Which woman married a second time had a son who started a war?"
    return start(question, WARS, anchors=anchors).with_(passages=Ranking.of(ids, range(len(ids), 0, -1)))


def matcher(*matches: tuple[int, list[int]]) -> ScriptedLLM:
    said = {"matches": [{"keyword": keyword, "entries": entries} for keyword, entries in matches]}
    return ScriptedLLM(lambda system, user: json.dumps(said))


def test_example_5_an_edge_of_the_previewed_passages_stands_for_what_is_worded_otherwise() -> None:
    (found,) = Relax(least=0.25)(seen(Anchor("second marriage"))).anchors or ()
    # The nearer edge, word by word the very keyword, lies in a part of the graph that no passage previewed.
    assert found.edges.tolist() == [0] and found.nodes.tolist() == []
    (strict,) = Relax(least=0.9)(seen(Anchor("second marriage"))).anchors or ()
    assert strict == Anchor("second marriage")


def test_the_nearest_are_let_in_beside_what_is_there_and_no_more_than_asked() -> None:
    anchor = Anchor("war that harthacnut started", nodes=[WARS.id("Cnut")], edges=[1], weight=0.4)
    (found,) = Relax(least=0.2, most=2)(seen(anchor)).anchors or ()
    assert found.edges.tolist() == [1, 2] and WARS.names.take(found.nodes) == ["Cnut", "Harthacnut"]
    assert (found.text, found.weight) == (anchor.text, anchor.weight)
    (one,) = Relax(least=0.2, most=1)(seen(anchor)).anchors or ()
    assert one.edges.tolist() == [1, 2] and one.nodes.tolist() == [WARS.id("Cnut")]
    assert Relax(least=0.2, most=0)(seen(anchor)).anchors == (anchor,)


def test_definite_names_stay_and_what_they_mean_is_for_no_other() -> None:
    name = Anchor("Emma", nodes=[WARS.id("Emma")])
    found = Relax(least=0.0)(seen(name, Anchor("emma"))).anchors or ()
    assert found[0] == name and WARS.id("Emma") not in found[1].nodes


def test_a_theme_is_let_mean_edges_only_and_stays_one() -> None:
    (found,) = Relax(least=0.1)(seen(Anchor("Harthacnut started war", kind="theme"))).anchors or ()
    assert found.kind == "theme" and not len(found.nodes) and 2 in found.edges


def test_passages_count_up_to_so_many_and_without_any_nothing_changes() -> None:
    anchor = Anchor("second marriage")
    late = seen(anchor, nodes=("Bread", "Emma"))
    assert Relax(least=0.25, passages=1)(late).anchors == (anchor,)
    assert Relax(least=0.25, passages=2)(late).anchors != (anchor,)
    assert Relax(least=0.0)(start("?", WARS, anchors=[anchor])).anchors == (anchor,)
    assert Relax()(seen()).anchors == ()


def test_with_vectors_it_is_the_nearest_by_cosine_among_what_the_passages_state() -> None:
    assert SNAPSHOT.names is not None and SNAPSHOT.triples is not None
    graph = SNAPSHOT.graph
    chunks = Ranking.of([graph.id("ermengarde#0"), graph.id("bread#0")], [2, 1])
    state = start("?", graph, anchors=[Anchor("abbey founded in Alsace")]).with_(passages=chunks)
    (found,) = Relax(None, SNAPSHOT.names, SNAPSHOT.triples, passages=1, least=0.2)(state).anchors or ()
    entities, edges = entities_and_edges(graph, top_passages(state, 1))
    assert set(found.nodes) <= set(entities) and set(found.edges) <= set(edges) and len(found.edges)
    assert 0 < len(found.nodes) + len(found.edges) <= 3
    query = SNAPSHOT.triples.encode("abbey founded in Alsace")
    best = float(SNAPSHOT.triples.cosines(edges, query).max())
    assert SNAPSHOT.triples.cosines(found.edges, query).max() == pytest.approx(best)


def test_a_model_says_what_may_stand_for_which_by_number() -> None:
    users: list[str] = []

    def reply(system: str, user: str) -> str:
        users.append(user)
        lines = [json.loads(line) for line in user.splitlines() if line.startswith("{")]
        spouse = next(line["entry"] for line in lines if "spouse" in line.get("statement", ""))
        son = next(line["entry"] for line in lines if line.get("name") == "Harthacnut")
        return json.dumps({"matches": [{"keyword": 2, "entries": [spouse, son]}]})

    name = Anchor("Emma", nodes=[WARS.id("Emma")])
    state = Relax(ScriptedLLM(reply))(seen(name, Anchor("second marriage"), Anchor("war", kind="theme")))
    assert state.anchors == (name, Anchor("second marriage", [WARS.id("Harthacnut")], [0]), Anchor("war", kind="theme"))
    lines = [json.loads(line) for line in users[0].splitlines() if line.startswith("{")]
    assert [line["keyword"] for line in lines if "keyword" in line] == [2, 3]
    entries = [line for line in lines if "entry" in line]
    assert [line["entry"] for line in entries] == list(range(1, len(entries) + 1))
    assert {line["name"] for line in entries if "name" in line} == {"Emma", "Cnut", "Harthacnut", "Norway"}
    assert state.trace[-1].notes == ()


def test_numbers_that_are_not_there_are_passed_over() -> None:
    model = matcher((1, [99, 0, -1, 1]), (7, [1]), (0, [1]))
    state = Relax(model)(seen(Anchor("wife")))
    assert state.anchors == (Anchor("wife", nodes=[WARS.id("Emma")]),)
    assert state.trace[-1].notes == ("5 matches were passed over: keywords or entries that are not there",)


def test_a_model_that_matches_nothing_is_believed_and_a_malformed_reply_is_not() -> None:
    state = seen(Anchor("second marriage"))
    assert Relax(matcher(), least=0.25)(state).anchors == state.anchors
    for replies in (["none", "none"], ["", ""], ['{"matches": [1]}', '{"matches": "x"}']):
        found = Relax(ScriptedLLM(replies), least=0.25)(state)
        assert found.anchors == Relax(least=0.25)(state).anchors != state.anchors
        assert found.trace[-1].notes == (
            "the model's reply was not what was asked for; the step was done without a model",
        )


@pytest.mark.parametrize("options", [{"model": 3}, {"passages": -1}, {"most": -1}])
def test_options_are_checked(options: dict[str, object]) -> None:
    with pytest.raises(OptionError, match="Relax"):
        Relax(**options)  # type: ignore[arg-type]
