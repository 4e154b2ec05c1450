"""Streaming of an answer as events: steps, evidence, text, citations."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import Any, Literal, TypeVar

from graphwright.methods.method import Method
from graphwright.models.protocols import Cancel, Cancellation
from graphwright.operators.run import Run
from graphwright.operators.state import State, Step

Result = TypeVar("Result")
Kind = Literal["trace", "evidence", "token", "citation", "dropped", "usage", "done"]


@dataclass(frozen=True)
class Event:
    """One event of a streamed answer; `data` is serialisable as JSON.

    In this order: `trace`: a finished step. `evidence`: query, passages, evidence and anchors, once, between the search
    and the first text. `token`: a piece of the answer's text, provisional. `trace`: the steps that wrote the answer.
    `citation`: a verified citation and its number. `dropped`: a quote that is in no passage. `usage`: of all models.
    `done`: the complete answer, as State.to_dict returns it.
    """

    kind: Kind
    data: Mapping[str, Any]


OnEvent = Callable[[Event], None]
Work = Callable[[OnEvent, Run], object]  # a call that reports the events of a run


def answer_with_events(
    method: Method, state: State, run: Run, send: OnEvent, *, name: str | None, top_k: int | None, cancel: Cancel
) -> State:
    """Run a method, report its events to `send` in the thread of the run, and return the state after it.

    `name`, `top_k`: arguments of State.to_dict. `cancel`: ends the run after the step in which it is set. It is
    separate from the run's own `cancel`, which may be a deadline of the language model alone.
    """
    method.pipeline.check(state)
    latest, evidence_sent, also_on_text = state, False, run.on_text

    def send_evidence(state: State) -> None:
        nonlocal evidence_sent
        if not evidence_sent:
            evidence_sent = True
            output = state.to_dict(method=name, top_k=top_k)
            send(Event("evidence", {part: output[part] for part in ("query", "passages", "evidence", "anchors")}))

    def on_text(text: str) -> None:
        send_evidence(latest)
        send(Event("token", {"text": text}))
        if also_on_text is not None:
            also_on_text(text)

    def on_step(step: Step) -> None:
        nonlocal latest
        latest = step.after or latest
        send(Event("trace", step.to_dict()))
        if cancel is not None:
            cancel.check()

    run = replace(run, on_text=on_text, on_step=on_step)
    state = method.search.execute(state, run)
    send_evidence(state)
    state = method.ending.execute(state, run)
    output = state.to_dict(method=name, top_k=top_k)
    for number, citation in enumerate(output["citations"], 1):
        send(Event("citation", {"number": number, **citation}))
    for quote in output["dropped"]:
        send(Event("dropped", {"quote": quote}))
    send(Event("usage", output["usage"]))
    send(Event("done", output))
    return state


def stream(work: Work) -> Iterator[Event]:
    """Run a call in a thread and yield its events, or raise its exception; closing the generator cancels the call."""
    events: SimpleQueue[Event | BaseException | None] = SimpleQueue()
    cancel = Cancellation()

    def call() -> None:
        try:
            work(events.put, Run(cancel=cancel))
        except BaseException as error:  # raised again by the generator
            events.put(error)
        else:
            events.put(None)

    thread = threading.Thread(target=call, name="graphwright-stream", daemon=True)
    thread.start()
    try:
        while (event := events.get()) is not None:
            if isinstance(event, BaseException):
                raise event
            yield event
    finally:
        cancel.set()
        thread.join()


async def stream_async(work: Work) -> AsyncIterator[Event]:
    """Run a call in a thread and yield its events without blocking the event loop; otherwise as `stream`."""
    import asyncio

    loop, events = asyncio.get_running_loop(), asyncio.Queue[Event | None]()

    def put(event: Event | None) -> None:
        loop.call_soon_threadsafe(events.put_nowait, event)

    def call(run: Run) -> None:
        try:
            work(put, run)
        finally:
            put(None)

    task = asyncio.create_task(cancellable(call))
    try:
        while (event := await events.get()) is not None:
            yield event
        await task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def cancellable(call: Callable[[Run], Result]) -> Result:
    """Return the result of a call in a thread. Cancelling the task cancels the run and waits for its end."""
    import asyncio

    cancel = Cancellation()
    thread = asyncio.create_task(asyncio.to_thread(call, Run(cancel=cancel)))
    try:
        return await asyncio.shield(thread)
    except asyncio.CancelledError:
        cancel.set()
        await asyncio.gather(thread, return_exceptions=True)
        raise
