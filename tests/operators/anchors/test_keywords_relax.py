"""Relax: entities and statements of the first passages that a model matches with keywords."""

from __future__ import annotations

import json

from graphwright import Anchor, Graph, start
from graphwright.graph import Ranking
from graphwright.models import ScriptedLLM
from graphwright.operators.anchors.keywords import Relax
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


def seen(*anchors: Anchor, nodes: tuple[str, ...] = ("Emma", "Harthacnut")) -> State:
    ids = [WARS.id(name) for name in nodes]
    question = "Which woman married a second time had a son who started a war?"
    return start(question, WARS, anchors=anchors).with_(passages=Ranking.of(ids, range(len(ids), 0, -1)))


def matcher(*matches: tuple[int, list[int]]) -> ScriptedLLM:
    message = {"matches": [{"keyword": keyword, "entries": entries} for keyword, entries in matches]}
    return ScriptedLLM(lambda system, user: json.dumps(message))


def test_relax_matches_keywords_by_number() -> None:
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


def test_relax_ignores_unknown_numbers() -> None:
    model = matcher((1, [99, 0, -1, 1]), (7, [1]), (0, [1]))
    state = Relax(model)(seen(Anchor("wife")))
    assert state.anchors == (Anchor("wife", nodes=[WARS.id("Emma")]),)
    assert state.trace[-1].notes == ("5 matches were ignored: no such keyword or entry",)


def test_relax_with_empty_or_invalid_reply_keeps_anchors() -> None:
    state = seen(Anchor("second marriage"))
    assert Relax(matcher())(state).anchors == state.anchors
    for replies in (["none", "none"], ["", ""], ['{"matches": [1]}', '{"matches": "x"}']):
        result = Relax(ScriptedLLM(replies))(state)
        assert result.anchors == state.anchors
        assert result.trace[-1].notes[0].startswith("the model's reply did not fit the schema")


def test_relax_without_passages_skips_model() -> None:
    anchor = Anchor("second marriage")
    late = seen(anchor, nodes=("Bread", "Emma"))
    item = Relax(matcher((1, [1])), passages=1)(late).anchors or ()
    assert WARS.names.take(item[0].nodes) == ["Bread"]
    assert Relax(ScriptedLLM([]))(start("?", WARS, anchors=[anchor])).anchors == (anchor,)
    assert Relax(ScriptedLLM([]))(seen()).anchors == ()
