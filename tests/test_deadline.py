"""A deadline for a whole question: every method ends by it, without a step of the model that was slow."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import graphwright
from tests.faulty_server import Waiting
from tests.llm_server import LLMServer, Say
from tests.shared import corpus_index

from graphwright import Index
from graphwright.errors import ModelError
from graphwright.models import Cancellation, OpenAILLM
from graphwright.operators.run import Run
from graphwright.operators.state import State

QUESTION = "Which abbey did the mother of Lothair II found?"
SLOW = 0.2  # seconds of a reply


@pytest.fixture(scope="module")
def index() -> Index:
    return corpus_index()


def notes(state: State) -> str:
    return "; ".join(note for step in state.trace for note in step.notes)


@pytest.mark.parametrize("method", ["hybrid", "ircot", "bubblerag", "pathrag", "hyde"])
def test_method_ends_by_deadline_with_passages(index: Index, method: str) -> None:
    waiting = Waiting()
    index.ask(QUESTION, method)  # compiles kernels
    with LLMServer([waiting]) as server:
        began = time.monotonic()
        state = index.ask(QUESTION, method, llm=OpenAILLM("m", server.url), deadline=0.3)
        seconds = time.monotonic() - began
        assert waiting.left.wait(20)
        assert len(server.requests) == 1, "no request is sent after the deadline"
    assert seconds < 5
    assert state.answer is not None and state.answer.text and state.passages
    assert "The deadline of 0.3 seconds has passed" in notes(state)
    assert sum(step.seconds for step in state.trace) >= 0.25 and state.usage.prompt_tokens


def test_steps_before_deadline_keep_replies(index: Index) -> None:
    def slowly(asked: dict[str, Any]) -> Any:
        def behave(handler: Any) -> None:
            time.sleep(SLOW)
            Say('{"names": ["Lothair II"], "themes": ["abbey"]}', (70, 30))(handler)

        return behave if "themes" in str(asked["response_format"]) else Waiting()

    index.ask(QUESTION, "pathrag")  # compiles kernels
    with LLMServer(slowly) as server:
        state = index.ask(QUESTION, "pathrag", llm=OpenAILLM("m", server.url), deadline=1.2)
    assert len(server.requests) == 2
    assert [anchor.text for anchor in state.anchors or ()][:1] == ["Lothair II"]
    assert state.usage.completion_tokens >= 30 and "deadline of 1.2 seconds" in notes(state) and state.answer


def test_interrupted_stream_is_not_contradicted(index: Index) -> None:
    parts: list[str] = []

    def behave(handler: Any) -> None:
        handler.begin(200, {"Transfer-Encoding": "chunked", "Content-Type": "text/event-stream"})
        text = json.dumps('{"reasoning": "", "found": true, "text": "Erstein')
        handler.chunk(f'data: {{"choices": [{{"index": 0, "delta": {{"content": {text}}}}}]}}\n\n')
        Waiting()(handler)

    with LLMServer([behave]) as server:
        run = Run(on_text=parts.append)
        state = index.ask(QUESTION, "hybrid", llm=OpenAILLM("m", server.url), run=run, deadline=0.6)
    assert parts == ["Erstein"] and state.answer is not None and state.passages
    assert run.usage.calls >= 1 and "deadline" in notes(state)


def test_each_question_has_its_deadline(index: Index) -> None:
    index.ask(QUESTION, "hybrid")  # compiles kernels
    with LLMServer([Waiting()]) as server:
        began = time.monotonic()
        llm = OpenAILLM("m", server.url)
        states = index.ask_many([QUESTION] * 3, "hybrid", llm=llm, deadline=0.5, threads=1)
    assert len(server.requests) == 3 and 1.5 <= time.monotonic() - began < 12
    assert all("deadline" in notes(state) and state.passages for state in states)


def test_cancellation_works_beside_deadline(index: Index) -> None:
    with Cancellation() as cancel:
        pass
    with LLMServer(["ok"]) as server, pytest.raises(ModelError, match="cancelled"):
        index.ask(QUESTION, "hybrid", llm=OpenAILLM("m", server.url), run=Run(cancel=cancel), deadline=60.0)
    assert not server.requests


def test_command_and_settings_have_deadline(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Graz lies on the Mur.", encoding="utf-8")
    assert graphwright("index", tmp_path / "a.txt", "--into", tmp_path / "index").returncode == 0
    with LLMServer([Waiting()]) as server:
        ask = ("ask", "Where is Graz?", "--index", tmp_path / "index", "--json")
        server_options = ("--llm", "m", "--base-url", server.url)
        by_option = graphwright(*ask, *server_options, "--deadline", "0.3")
        settings = f'[llm]\nmodel = "m"\nbase_url = "{server.url}"\ndeadline = 0.3\n'
        (tmp_path / "index" / "settings.toml").write_text(settings, encoding="utf-8")
        by_file = graphwright(*ask)
    for result in (by_option, by_file):
        assert result.returncode == 0, result.stderr
        reply = json.loads(result.stdout)
        assert reply["passages"] and reply["answer"] and "deadline of 0.3 seconds" in json.dumps(reply["trace"])
