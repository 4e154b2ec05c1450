"""The agent: what it calls, what it is shown, what it keeps, and when it ends."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from graphwright import start
from graphwright.errors import OptionError
from graphwright.methods.agent import tools
from graphwright.models import ScriptedLLM
from graphwright.operators import Agent, Keep, Tool
from graphwright.operators.state import State
from graphwright.testing import corpus_index

IX = corpus_index().snapshot
QUESTION = "Which abbey did the mother of Lothair II found?"
TOOLS = tools(IX)


def call(tool: str = "", *arguments: str, keep: tuple[int, ...] = (), enough: bool = False) -> str:
    return json.dumps({"keep": keep, "enough": enough, "tool": tool, "arguments": arguments})


def asked(replies: list[str], **options: int) -> tuple[State, list[str]]:
    """Run an agent with these replies; return its state and the prompts it sent."""
    prompts: list[str] = []
    script = iter(replies)

    def reply(system: str, user: str) -> str:
        prompts.append(user)
        return next(script)

    return Agent(ScriptedLLM(reply), TOOLS, **options)(start(QUESTION, IX.graph)), prompts


def titles(state: State) -> list[str]:
    assert state.evidence is not None
    return [IX.graph.title_of(node) for node in state.evidence.nodes.tolist()]


def lines(prompt: str, kind: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in prompt.splitlines() if line.startswith(f'{{"{kind}"')]


def test_agent_evidence_lists_selected_then_seen() -> None:
    state, prompts = asked([call("keyword_search", "Erstein"), call(keep=(2, 99), enough=True)])
    shown = [str(line["title"]) for line in lines(prompts[1], "passage")]
    assert len(shown) > 1 and titles(state) == [shown[1], shown[0], *shown[2:]]
    assert state.trace[-1].notes == ("keyword_search(Erstein)",)


def test_agent_passage_keeps_number() -> None:
    first = call("semantic_search", "the abbey of Erstein")
    replies = [first, call("read_passage", "1"), call("keyword_search", "Erstein", keep=(1,)), call(enough=True)]
    _, prompts = asked(replies)
    number_of = {line["title"]: line["passage"] for line in lines(prompts[1], "passage")}
    for prompt in prompts[2:]:
        for line in lines(prompt, "passage"):
            assert number_of.setdefault(line["title"], line["passage"]) == line["passage"]
    whole = next(line for line in lines(prompts[2], "passage")[::-1] if line["passage"] == 1)
    assert any(whole["text"] == IX.graph.passage(node) for node in IX.passages.ids.tolist())


def test_agent_neighbours_and_paths_are_statements_with_passages() -> None:
    replies = [
        call("neighbours", "Ermengarde of Tours"),
        call("paths", "Lothair II", "Erstein Abbey"),
        call(enough=True),
    ]
    state, prompts = asked(replies)
    near, between = (lines(prompt, "statement") for prompt in prompts[1:])
    assert near and any("Ermengarde" in str(line["statement"]) for line in near)
    assert len(between) > len(near) - 5 and state.evidence is not None and len(state.evidence)
    numbers = {number for line in (*near, *between) for number in line["passages"]}  # type: ignore[attr-defined]
    assert numbers == set(range(1, len(state.evidence) + 1))


@pytest.mark.parametrize(
    ("second", "says"),
    [
        (call("keyword_search", "Erstein"), "made before"),
        (call("web_search", "Erstein"), "no such tool"),
        (call("paths", "Erstein Abbey"), "an argument is missing"),
        (call("read_passage", "77"), "no passage has this number"),
        (call("read_passage"), "no passage has this number"),
    ],
)
def test_agent_is_shown_failed_call(second: str, says: str) -> None:
    _, prompts = asked([call("keyword_search", "Erstein"), second, call(enough=True)])
    assert says in prompts[2].rpartition(json.loads(second)["tool"])[2]


@pytest.mark.parametrize(("options", "prompts"), [({"steps": 2}, 3), ({"passages": 2}, 1), ({"max_tokens": 10}, 1)])
def test_agent_stops_at_budget(options: dict[str, int], prompts: int) -> None:
    endless: list[str] = [call("semantic_search", f"Erstein {number}") for number in range(9)]
    state, sent = asked(endless, **options)
    assert len(sent) == prompts and state.evidence is not None and len(state.evidence)
    assert len(state.evidence) <= options.get("passages", 30)


def test_agent_with_invalid_reply_keeps_evidence() -> None:
    rubbish = ["I think that it is Erstein."] * 2
    state, _ = asked([call("keyword_search", "Erstein"), *rubbish])
    assert titles(state) and "the step was done without a model" in state.trace[-1].notes
    state, _ = asked(rubbish)
    assert titles(state) == []


def test_agent_prompt_shortens_older_results() -> None:
    replies = [
        call("keyword_search", "Erstein"),
        call("keyword_search", "Teutberga", keep=(1,)),
        call("keyword_search", "Lothair", keep=(1,)),
        call(keep=(1,), enough=True),
    ]
    _, prompts = asked(replies)
    assert "Passages kept from earlier calls" in prompts[3] and '["Erstein"]' not in prompts[3]
    assert '["Erstein"]' in prompts[2]


@pytest.mark.parametrize(
    "make",
    [lambda: (), lambda: (TOOLS[0], TOOLS[0]), lambda: (Tool("read_passage", "x", Keep()),), lambda: (Keep(),)],
)
def test_agent_tool_names_are_unique(make: Callable[[], tuple[Tool, ...]]) -> None:
    with pytest.raises(OptionError, match="give tools with different names"):
        Agent(ScriptedLLM([]), make())
