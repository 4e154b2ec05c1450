"""Events of an answer: their order, what they hold, cancellation, errors; in threads and in an event loop."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.shared import corpus_index

from graphwright import Event, Index
from graphwright.errors import ModelError, OptionError
from graphwright.models.fake import HashEncoder, ScriptedLLM
from graphwright.models.protocols import Cancel, Completion, OnText, Schema

QUESTION = "Which abbey did the mother of Lothair II found?"
QUOTES = [{"passage": 1, "quote": "Lothair"}, {"passage": 1, "quote": "Pigs can fly over the abbey."}]
REPLY = json.dumps({"found": True, "text": "Lothair [1]. Pigs fly [2].", "answers": ["L"], "citations": QUOTES})


@pytest.fixture
def index() -> Index:
    return corpus_index()


@dataclass
class WaitingLLM:
    """A model that begins an answer, and then waits until it is cancelled."""

    id: str = "waiting"
    began: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)

    def complete(
        self, system: str, user: str, *, schema: Schema = None, on_text: OnText = None, cancel: Cancel = None
    ) -> Completion:
        assert cancel is not None
        try:
            if on_text is not None:
                on_text('{"found": true, "text": "It is')
            self.began.set()
            cancel.pause(60)
            raise AssertionError("not cancelled")
        finally:
            self.ended.set()


def kinds(events: list[Event]) -> list[str]:
    return [event.kind for event in events if event.kind != "trace"]


def test_stream_of_language_model_has_expected_events(index: Index) -> None:
    events = list(index.stream(QUESTION, "bm25", llm=ScriptedLLM([REPLY])))
    order = kinds(events)
    assert order == ["evidence", *["token"] * order.count("token"), "citation", "dropped", "usage", "done"]
    data = {event.kind: event.data for event in events}
    assert data["dropped"] == {"quote": "Pigs can fly over the abbey."}
    assert data["citation"]["number"] == 1 and data["citation"]["text"] == "Lothair"
    assert "".join(event.data["text"] for event in events if event.kind == "token") == "Lothair [1]. Pigs fly [2]."
    assert data["evidence"]["passages"] == data["done"]["passages"]
    assert [event.data for event in events if event.kind == "trace"] == data["done"]["trace"]
    assert json.loads(json.dumps([dict(event.data) for event in events]))


@pytest.mark.parametrize("method", [None, "vector"])
def test_stream_ends_with_answer_of_ask(index: Index, method: str | None) -> None:
    *_, done = index.stream(QUESTION, method, top_k=3)
    asked = index.ask(QUESTION, method, top_k=3).to_dict(method=method or "multihop", top_k=3)
    timed = {"trace", "usage"}  # the second time, the question's vector is known
    assert {n: v for n, v in done.data.items() if n not in timed} == {n: v for n, v in asked.items() if n not in timed}
    assert [step["operator"] for step in done.data["trace"]] == [step["operator"] for step in asked["trace"]]


def test_closing_stream_cancels_model(index: Index) -> None:
    model = WaitingLLM()
    events = index.stream(QUESTION, "bm25", llm=model)
    assert next(event for event in events if event.kind == "token").data == {"text": "It is"}
    events.close()  # type: ignore[attr-defined]
    assert model.ended.is_set()


def test_stream_raises_errors(index: Index) -> None:
    with pytest.raises(OptionError, match="no-such-method"):
        list(index.stream(QUESTION, "no-such-method"))
    with pytest.raises(ModelError, match="replies"):
        list(index.stream(QUESTION, "bm25", llm=ScriptedLLM([])))


def test_cancelled_run_ends_between_steps(index: Index) -> None:
    seen = []
    events = index.stream(QUESTION)
    for event in events:
        seen.append(event.kind)
        break
    events.close()  # type: ignore[attr-defined]
    assert seen == ["trace"]


def test_stream_async_keeps_event_loop_free(index: Index) -> None:
    async def collect() -> tuple[list[Event], int]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0)
                ticks += 1

        ticking = asyncio.create_task(tick())
        events = [event async for event in index.stream_async(QUESTION, "bm25", llm=ScriptedLLM([REPLY]))]
        ticking.cancel()
        return events, ticks

    events, ticks = asyncio.run(collect())
    assert kinds(events)[-3:] == ["dropped", "usage", "done"]
    assert ticks > 1

    async def failing() -> None:
        async for _ in index.stream_async(" "):
            pass

    with pytest.raises(OptionError, match="empty"):
        asyncio.run(failing())


def test_cancelled_task_cancels_model(index: Index) -> None:
    async def cancelled(model: WaitingLLM, streamed: bool) -> None:
        async def consume() -> None:
            if streamed:
                async for _ in index.stream_async(QUESTION, "bm25", llm=model):
                    pass
            else:
                await index.ask_async(QUESTION, "bm25", llm=model)

        task = asyncio.create_task(consume())
        await asyncio.to_thread(model.began.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert model.ended.is_set()

    for streamed in (True, False):
        asyncio.run(cancelled(WaitingLLM(), streamed))


def test_ask_async_equals_ask(index: Index) -> None:
    state = asyncio.run(index.ask_async(QUESTION, "bm25"))
    assert state.answer == index.ask(QUESTION, "bm25").answer


def test_stream_of_empty_index_ends(tmp_path: Path) -> None:
    with Index.create(tmp_path / "empty", encoder=HashEncoder()) as empty:
        assert kinds(list(empty.stream(QUESTION)))[-2:] == ["usage", "done"]


def test_stream_after_deadline_continues_offline(index: Index) -> None:
    events = list(index.stream(QUESTION, "bm25", llm=WaitingLLM(), deadline=0.2))
    assert events[-1].kind == "done" and events[-1].data["passages"]
