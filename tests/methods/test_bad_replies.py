"""No method fails by what a language model replies: passages, an answer and the trace are always there."""

from __future__ import annotations

import pytest
from tests.shared import FAMILY, corpus_index
from tests.toys import knowledge

from graphwright import Graph, start
from graphwright.errors import ReplyCutError
from graphwright.methods.registry import METHODS, make_method
from graphwright.models import ScriptedLLM
from graphwright.operators.run import ModelMemory, Run

SNAPSHOT = corpus_index().snapshot
MEMORY = ModelMemory()
QUESTION = "Which abbey did Ermengarde of Tours found?"
ALONE = {"vanilla", "cot"}  # no retrieval
RUBBISH = {
    "plain text": "I think that it is Erstein [1].",
    "cut JSON": '{"reasoning": "The abbey of Ers',
    "another schema": '{"status": "ok", "items": [1, 2, 3]}',
    "wrong types": '{"names": 3, "numbers": "x", "found": "perhaps", "text": [], "summary": {}, "plans": 1}',
    "nothing": "",
    "a thought without an end": '<think>Perhaps {"found": true, "text": "Lyon", "citations": []}',
}
WITH_MODEL = sorted(name for name, method in METHODS.items() if "llm" in method.options)


def of(rubbish: str) -> ScriptedLLM:
    return ScriptedLLM(lambda system, user: rubbish)


@pytest.mark.parametrize("kind", RUBBISH)
@pytest.mark.parametrize("name", WITH_MODEL)
def test_methods_with_invalid_replies_return_passages_and_notes(name: str, kind: str) -> None:
    method = make_method(name, SNAPSHOT, llm=of(RUBBISH[kind]))
    state = method(start(QUESTION, SNAPSHOT.graph), Run(memory=MEMORY))
    answer = state.answer
    assert answer is not None and answer.text and "Lyon" not in answer.text
    assert any("did not fit the schema" in note for step in state.trace for note in step.notes)
    if name not in ALONE:
        assert state.passages is not None and len(state.passages)
    if kind == "plain text" and name != "graph":  # which is answered by its query
        assert answer.found and not answer.verified and "not verified" in state.trace[-1].notes[-1]
        assert answer.text.endswith("I think that it is Erstein [unsupported].")
    elif name in ALONE:
        assert not answer.found
    else:
        assert answer.verified or not answer.found  # the twin's
        assert all(c.text == SNAPSHOT.graph.text(SNAPSHOT.graph.id(c.chunk))[c.start : c.end] for c in answer.citations)


@pytest.mark.parametrize("kind", ["cut JSON", "nothing"])
@pytest.mark.parametrize("name", ["rog", "lego-12", "lego-3", "tog", "reg", "bubblerag", "pathrag"])
def test_methods_with_invalid_replies_on_graph_return_answer(name: str, kind: str) -> None:
    ix = knowledge(Graph.from_triples(FAMILY))
    state = make_method(name, ix, llm=of(RUBBISH[kind]))(start("Who was the mother of Lothair II?", ix.graph))
    assert state.answer is not None and state.answer.text and state.passages is not None


@pytest.mark.parametrize("name", ["bubblerag", "ircot", "pathrag", "hybrid"])
def test_slow_model_is_waited_for_once(name: str) -> None:
    calls: list[str] = []

    def late(system: str, user: str) -> str:
        calls.append(user)
        raise ReplyCutError("it took more than 60 seconds.")

    state = make_method(name, SNAPSHOT, llm=ScriptedLLM(late))(start(QUESTION, SNAPSHOT.graph))
    notes = [note for step in state.trace for note in step.notes]
    assert len(calls) == 1 and any("cut short: it took more than 60 seconds" in note for note in notes)
    assert state.answer is not None and state.answer.verified and state.passages
