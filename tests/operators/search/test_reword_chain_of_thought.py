"""Interleaved retrieval and thoughts: the thoughts, the queries, and the order of passages."""

from __future__ import annotations

import json

import pytest
from tests.shared import corpus_index

from graphwright import AnchorSearch, Evidence, VectorSearch, start
from graphwright.models import HashEncoder, ScriptedLLM
from graphwright.operators import FollowUp, HasThoughts, Repeat, SentenceThought, Think, WordSearch
from graphwright.operators.state import Anchor, State

SNAPSHOT = corpus_index().snapshot
GRAPH = SNAPSHOT.graph
SEARCH = WordSearch(SNAPSHOT.words)
QUESTION = "What did the mother of Lothair II found?"


def message(thought: str, enough: bool = False) -> str:
    return json.dumps({"enough": enough, "thought": thought})


def result(question: str = QUESTION, k: int = 2) -> State:
    return (SEARCH % k)(start(question, GRAPH))


def thoughts(state: State) -> list[str]:
    return [anchor.text for anchor in state.anchors or () if anchor.kind == "thought"]


def documents(state: State) -> list[str]:
    assert state.evidence is not None and GRAPH.passages is not None
    return [GRAPH.passages.of(int(node)).document for node in state.evidence.nodes]  # type: ignore[union-attr]


class TestThink:
    def test_think_prompt_holds_question_passages_and_thoughts(self) -> None:
        seen: list[str] = []

        def reply(system: str, user: str) -> str:
            seen.append(user)
            return message(f" Thought\n {len(seen)}. ")

        model = ScriptedLLM(reply)
        state = (Think(model, 1) >> Think(model, 1))(result())
        assert thoughts(state) == ["Thought 1.", "Thought 2."]
        lines = [json.loads(line) for line in seen[1].splitlines() if line.startswith("{")]
        assert lines[0] == {"question": QUESTION} and lines[-1] == {"thoughts": ["Thought 1."]}
        assert lines[1]["title"] == "Lothair II" and len(lines) == 3

    @pytest.mark.parametrize(
        "reply", [message("", True), message("It was her.", True), message(" \n"), message("Before.")]
    )
    def test_think_without_new_thought_stops(self, reply: str) -> None:
        state = Think(ScriptedLLM([reply]))(result().with_(anchors=(Anchor("Before.", kind="thought"),)))
        assert thoughts(state) == ["Before."] and state.trace[-1].notes == ("no further thought",)

    def test_think_repairs_invalid_reply_then_falls_back(self) -> None:
        assert thoughts(Think(ScriptedLLM(["Hm.", message("Then.")]))(result())) == ["Then."]
        for reply in ("", "Hm.", '{"thought": "a"}', '{"enough": "perhaps", "thought": ["a"]}'):
            state = Think(ScriptedLLM([reply, reply]))(result())
            assert thoughts(state) == [] and "did not fit the schema" in state.trace[-1].notes[0]

    def test_think_offline_adds_nearest_new_sentence(self) -> None:
        item = SentenceThought(HashEncoder(), passages=1)
        first = item(result("Who married Teutberga?").with_(evidence=Evidence.of_nodes([GRAPH.id("lothair#0")])))
        assert thoughts(first) == ["Who married Teutberga? Lothair II. He married Teutberga in 855."]
        rest = (item >> item >> item)(first)
        assert len(set(thoughts(rest))) == 3 and rest.trace[-1].notes == ("no further thought",)

    def test_think_without_evidence_asks_no_model(self) -> None:
        for step in (Think(ScriptedLLM([])), SentenceThought(HashEncoder())):
            state = step(start(QUESTION, GRAPH, evidence=Evidence.of_nodes([])))
            assert state.anchors == () and state.trace[-1].notes == ("no further thought",)


class TestFollowUp:
    def test_follow_up_searches_with_last_thought(self) -> None:
        given = start(
            "Who?",
            GRAPH,
            anchors=[Anchor("Bread.", kind="thought"), Anchor("The Mur flows through Graz.", kind="thought")],
        )
        state = FollowUp(SEARCH % 2)(given)
        assert documents(state) == ["mur"] and state.question.text == "Who?" and len(state.anchors or ()) == 2

    def test_follow_up_keeps_best_rank_of_searches(self) -> None:
        before = VectorSearch(SNAPSHOT.passages)(start("Bread and flour", GRAPH)).evidence
        assert before is not None
        turn = FollowUp(SEARCH)(start("Bread and flour", GRAPH).with_(evidence=before.unscored().top(3)))
        assert turn.evidence is not None and turn.evidence.scores is not None
        ranks = {int(node): 1 / rank for rank, node in enumerate(before.top(3).nodes, 1)}
        for rank, node in enumerate(SEARCH(start("Bread and flour", GRAPH)).evidence.nodes.tolist(), 1):  # type: ignore[union-attr]
            ranks[node] = max(ranks.get(node, 0), 1 / rank)
        scores = dict(zip(turn.evidence.nodes.tolist(), turn.evidence.scores.tolist(), strict=True))
        assert scores == pytest.approx(ranks)

    def test_thought_is_not_linked_as_name(self) -> None:
        state = start("?", GRAPH, anchors=[Anchor("Teutberga", kind="thought")])
        names = AnchorSearch(SNAPSHOT.names)(state).evidence
        assert names is not None and not len(names)
        assert len({Anchor("a", kind="thought"), Anchor("a", kind="theme"), Anchor("a", kind="thought")}) == 2


class TestTurns:
    def test_thoughts_reach_further_passages_and_stop_when_enough(self) -> None:
        model = ScriptedLLM(
            [
                message("Ermengarde founded the abbey of Erstein."),
                message("It was destroyed in 1525."),
                message("", True),
            ]
        )
        search = FollowUp(SEARCH % 2)
        op = search >> Repeat(Think(model) >> search, until=HasThoughts(8))
        state = op(start("Who was the mother of Teutberga's husband?", GRAPH))
        assert thoughts(state) == ["Ermengarde founded the abbey of Erstein.", "It was destroyed in 1525."]
        assert {"ermengarde", "erstein"} <= set(documents(state))
        assert state.evidence is not None and state.evidence.scores is not None
        # The first of each search before the second of any.
        assert state.evidence.scores[0] == 1.0 and set(state.evidence.scores.tolist()) == {1.0, 0.5}

    def test_thoughts_stop_at_limit(self) -> None:
        search = FollowUp(SEARCH % 1)
        op = search >> Repeat(SentenceThought(HashEncoder()) >> search, until=HasThoughts(1))
        assert len(thoughts(op(start(QUESTION, GRAPH)))) == 1
        assert not HasThoughts(1)(start(QUESTION, GRAPH))
