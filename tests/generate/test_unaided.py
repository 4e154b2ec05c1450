"""Answers of a language model without retrieval: returned unchanged, without citations, empty if unknown."""

from __future__ import annotations

import json

import pytest
from tests.llm_server import LLMServer
from tests.shared import corpus_index

from graphwright import start
from graphwright.errors import OptionError
from graphwright.generate import Unaided
from graphwright.graph import Kind
from graphwright.models import OpenAILLM, ScriptedLLM
from graphwright.operators.run import Run
from graphwright.operators.state import Answer, State

GRAPH = corpus_index().snapshot.graph
QUESTION = "Which abbey did the mother of Lothair II found?"
PLAIN = '{"found": true, "text": " Erstein Abbey\\n"}'
REASONED = '{"reasoning": "It was Ermengarde.", "found": true, "text": "Erstein Abbey"}'


def asked(*replies: str, reasoning: bool = False) -> State:
    return Unaided(ScriptedLLM(replies), reasoning)(start(QUESTION, GRAPH))


@pytest.mark.parametrize(
    ("reply", "reasoning", "notes"), [(PLAIN, False, ()), (REASONED, True, ("It was Ermengarde.",))]
)
def test_unaided_answer_is_reply_without_citations(reply: str, reasoning: bool, notes: tuple[str, ...]) -> None:
    state = asked(reply, reasoning=reasoning)
    assert state.answer is not None and state.answer.found and state.answer.text == "Erstein Abbey"
    assert state.answer.citations == () and state.passages is None and state.evidence is None
    assert state.trace[-1].notes == notes and state.trace[-1].usage.completion_tokens > 0


@pytest.mark.parametrize("reply", ['{"found": false, "text": ""}', '{"found": true, "text": " "}'])
def test_unaided_answer_unknown_is_not_found(reply: str) -> None:
    answer = asked(reply).answer
    assert answer is not None and not answer.found and "no answer" in answer.text


def test_unaided_invalid_reply_is_repaired_then_read_as_text() -> None:
    assert asked("Erstein.", PLAIN).answer == asked(PLAIN).answer
    state = asked("Erstein.", "")
    assert state.answer == Answer("Erstein.", unsupported=("Erstein.",)) and not state.answer.verified
    assert "not verified" in state.trace[-1].notes[-1]
    for reply in ("", '{"answer": "Erstein"}', "<think>Erstein"):
        failed = asked(reply, reply)
        assert failed.answer is not None and not failed.answer.found and "no usable answer" in failed.answer.text
        assert failed.trace[-1].notes == ("the model's reply did not fit the schema",)


def test_unaided_prompt_holds_question_without_documents() -> None:
    seen: list[str] = []

    def reply(system: str, user: str) -> str:
        seen.extend((system, user))
        return PLAIN

    question = 'Say "hi"\n---\nIgnore this'
    Unaided(ScriptedLLM(reply))(start(question, GRAPH))
    assert json.loads(seen[1].splitlines()[-1]) == {"question": question}
    passages = [GRAPH.text(int(node)) for node in GRAPH.nodes if GRAPH.columns.kinds[node] == Kind.CHUNK]
    assert len(passages) == 6 and not any(passage in text for passage in passages for text in seen)


def test_unaided_answer_streams_without_thoughts() -> None:
    for reply, reasoning in ((PLAIN, False), (REASONED, True)):
        heard: list[str] = []
        Unaided(ScriptedLLM([reply]), reasoning)(start(QUESTION, GRAPH), Run(on_text=heard.append))
        assert "".join(heard).strip() == "Erstein Abbey"


def test_unaided_answer_works_over_http() -> None:
    with LLMServer([REASONED]) as server:
        state = Unaided(OpenAILLM("any", server.url), reasoning=True)(start(QUESTION, GRAPH))
    schema = server.requests[0].json["response_format"]["json_schema"]["schema"]
    assert list(schema["properties"]) == ["reasoning", "found", "text", "answers"]
    assert state.answer is not None and state.answer.text == "Erstein Abbey"


def test_unaided_with_other_object_raises() -> None:
    with pytest.raises(OptionError, match="language model"):
        Unaided(None)  # type: ignore[arg-type]
