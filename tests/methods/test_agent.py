"""The method `agent`: its expression, its answer over HTTP, and its offline twin."""

from __future__ import annotations

import json
from typing import Any

from tests.llm_server import LLMServer

from graphwright import start
from graphwright.methods.registry import make_method
from graphwright.models import OpenAILLM, OverlapCrossEncoder, ScriptedLLM
from graphwright.testing import corpus_index, passages_in

IX = corpus_index().snapshot
QUESTION = "What became of the abbey that the mother of Lothair II founded?"


def reply(system: str, user: str) -> str:
    """Search for the mother, then for the abbey; then answer with a quotation."""
    if "one tool at a time" in system:
        seen = [json.loads(line) for line in user.splitlines() if line.startswith('{"passage"')]
        keep = [line["passage"] for line in seen if "1525" in line["text"]]
        call = ["neighbours", "Ermengarde of Tours"] if "nothing yet" in user else ["keyword_search", "Erstein abbey"]
        return json.dumps({"keep": keep, "enough": bool(keep), "tool": call[0], "arguments": call[1:]})
    quote = "It was destroyed in 1525"
    number = next(n for n, text in passages_in(user).items() if quote in text)
    return json.dumps({"found": True, "text": f"{quote} [1].", "citations": [{"passage": number, "quote": quote}]})


def test_agent_calls_tools_then_answers_with_citations() -> None:
    state = make_method("agent", IX, llm=ScriptedLLM(reply))(start(QUESTION, IX.graph))
    assert state.answer is not None and state.answer.verified
    assert [citation.document for citation in state.answer.citations] == ["erstein"]
    assert state.passages is not None and state.passages[0].document == "erstein"
    notes = [note for step in state.trace for note in step.notes]
    assert notes[:2] == ["neighbours(Ermengarde of Tours)", "keyword_search(Erstein abbey)"]


def test_agent_over_http_repairs_and_answers() -> None:
    asked: list[dict[str, Any]] = []

    def answer(request: dict[str, Any]) -> str:
        asked.append(request)
        contents = [message["content"] for message in request["messages"]]
        return "Let me search." if len(asked) == 1 else reply(contents[0], contents[1])

    with LLMServer(answer) as server:
        state = make_method("agent", IX, llm=OpenAILLM("any", server.url))(start(QUESTION, IX.graph))
    assert state.answer is not None and state.answer.verified and len(asked) == 5
    assert "does not fit the requested JSON schema" in asked[1]["messages"][-1]["content"]


def test_agent_without_valid_reply_searches_offline() -> None:
    model = OverlapCrossEncoder()
    twin = make_method("multihop-rerank", IX, cross_encoder=model).search
    expected = twin(start(QUESTION, IX.graph)).passages
    for llm in (None, ScriptedLLM(lambda system, user: "I do not know.")):
        state = make_method("agent", IX, cross_encoder=model, llm=llm).search(start(QUESTION, IX.graph))
        assert state.passages is not None and expected is not None
        assert state.passages.ids.tolist() == expected.ids.tolist()


def test_agent_offline_equals_search() -> None:
    assert repr(make_method("agent", IX).pipeline) == repr(make_method("multihop-rerank", IX).pipeline)
