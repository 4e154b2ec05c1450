"""From a question to weighted anchor groups: all steps in turn, by a model over real HTTP and without one."""

from __future__ import annotations

import json
from typing import Any

from graphwright import Bubble, Coverage, ToPassages, Unite, VectorSearch, start
from graphwright.generate import AnswerIfEnough, Generate, HybridContext
from graphwright.methods.papers.bubblerag import anchor_groups
from graphwright.models.openai.llm import OpenAILLM
from graphwright.models.protocols import LLM
from graphwright.operators import Operator
from graphwright.search.vector_index import joined
from graphwright.testing import corpus_index, passages_in
from graphwright.testing.llm_server import LLMServer

SNAPSHOT = corpus_index().snapshot
GRAPH = SNAPSHOT.graph
QUESTION = "Which abbey did the mother of Lothair II found?"


def chain(llm: LLM | None) -> Operator:
    """The steps of the paper's sections 3.2 to 3.4 and 3.6, without the reasoning-aware expansion."""
    assert SNAPSHOT.names is not None
    vectors = joined(SNAPSHOT.names, SNAPSHOT.passages)
    preview = VectorSearch(SNAPSHOT.passages) % 4 >> ToPassages()
    if llm is not None:
        preview >>= AnswerIfEnough(llm)
    groups = preview >> anchor_groups(SNAPSHOT, llm)
    result = groups >> Bubble(vectors) >> Coverage(vectors) % 3 >> Unite() >> ToPassages(limit=5)
    return result >> HybridContext() >> Generate(llm) if llm else result


def data(asked: dict[str, Any], key: str) -> list[dict[str, Any]]:
    lines = asked["messages"][-1]["content"].splitlines()
    return [line for line in map(json.loads, (text for text in lines if text.startswith("{"))) if key in line]


def model(asked: dict[str, Any]) -> str:
    """A model that does each step of the paper's example as the paper does."""
    system = asked["messages"][0]["content"]
    user = asked["messages"][-1]["content"]
    if system.startswith("You list what"):
        assert data(asked, "passage")
        message: dict[str, Any] = {"names": ["Lothair II"], "implied": ["Ermengarde of Tours"], "relations": ["found"]}
    elif system.startswith("You make the keywords"):
        last = next(line for line in data(asked, "keyword") if not line["found"])
        message = {"constraints": [{"keyword": last["keyword"], "text": "founding of an abbey"}]}
    elif system.startswith("You say which entries"):
        number = next(line["entry"] for line in data(asked, "entry") if "founded" in line.get("statement", ""))
        message = {"matches": [{"keyword": line["keyword"], "entries": [number]} for line in data(asked, "keyword")]}
    elif system.startswith("You sort what"):
        by_keyword: dict[str, list[int]] = {}
        for line in data(asked, "candidate"):
            by_keyword.setdefault(line["for"][0], []).append(line["candidate"])
        message = {
            "groups": [
                {"intent": k, "numbers": n, "weight": 1 / (2 + i)} for i, (k, n) in enumerate(by_keyword.items())
            ]
        }
    elif "If they do not hold all" in user:
        message = {"found": False, "text": "", "citations": []}
    else:
        number, text = next((n, t) for n, t in passages_in(user).items() if "founded" in t)
        quote = next(part for part in text.split(". ") if "founded" in part)
        message = {"found": True, "text": "Erstein [1].", "citations": [{"passage": number, "quote": quote}]}
    return json.dumps(message)


def test_question_steps_ask_model_once_each_over_http() -> None:
    with LLMServer(model) as server:
        state = chain(OpenAILLM("any", server.url))(start(QUESTION, GRAPH))
    assert state.answer is not None and state.answer.text == "Erstein [1]."
    assert [c.document for c in state.answer.citations] == ["ermengarde"]
    asked = [request.json["messages"][0]["content"].split("\n")[0][:20] for request in server.requests]
    assert asked == [
        "You answer a questio",
        "You list what a ques",
        "You make the keyword",
        "You say which entrie",
        "You sort what was fo",
        "You answer a questio",
    ]
    assert all("json_schema" in request.json["response_format"] for request in server.requests)
    anchors = state.anchors or ()
    assert [a.text for a in anchors] == ["Lothair II", "founding of an abbey", "Ermengarde of Tours"]
    assert abs(sum(a.weight for a in anchors) - 1) < 1e-9
    calls = {step.operator.partition("(")[0]: step.usage.calls for step in state.trace if step.usage.completion_tokens}
    steps = ("AnswerIfEnough", "LatentKeywords", "Specialise", "Relax", "GroupByModel", "Generate")
    assert set(calls) == set(steps) and calls["Specialise"] == 1
    notes = [note for step in state.trace for note in step.notes]
    assert notes == ["the first passages are not enough"]


def test_question_steps_with_invalid_replies_fall_back() -> None:
    offline = chain(None)(start(QUESTION, GRAPH))

    def broken(asked: dict[str, Any]) -> str:
        return model(asked) if data(asked, "triple") else "I would rather talk about bread."

    with LLMServer(broken) as server:
        state = chain(OpenAILLM("any", server.url))(start(QUESTION, GRAPH))
    assert state.anchors == offline.anchors and state.answer is not None and state.answer.citations
    notes = [note for step in state.trace for note in step.notes if note.startswith("the model's reply")]
    assert len(notes) == 5


def test_question_steps_without_model_group_name_and_relation() -> None:
    state = chain(None)(start(QUESTION, GRAPH))
    anchors = state.anchors or ()
    assert anchors[0].text == "Lothair II" and GRAPH.id("Lothair II") in anchors[0].nodes
    assert any(len(a.edges) for a in anchors[1:]) and abs(sum(a.weight for a in anchors) - 1) < 1e-9
    assert any("Ermengarde of Tours" in GRAPH.edge_text(edge) for anchor in anchors for edge in anchor.edges.tolist())
    assert state.passages is not None and GRAPH.id("ermengarde#0") in state.passages.ids
    assert all(step.usage.prompt_tokens == 0 for step in state.trace)
