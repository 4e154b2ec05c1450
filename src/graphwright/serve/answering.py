"""Answers to questions as work that can be sent to another process, and the loop of a process that does such work."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from graphwright import Index
from graphwright.errors import GraphwrightError
from graphwright.generate import Message
from graphwright.methods.registry import method_named
from graphwright.models import LLM, Cancellation, NamedEncoder
from graphwright.operators import Run
from graphwright.operators.run import NOT_FOLLOWED
from graphwright.search.snapshot import SnapshotCache
from graphwright.serve.catalog import Catalog, Send, Work, warm_up
from graphwright.serve.failures import WatchedLLM
from graphwright.serve.logs import REQUEST_ID, configure_logging, log

FAILED_CALL = "failed call"
"""The kind of a report of a failed call of a language model; its data are the reason."""


@dataclass(frozen=True)
class Retrieving:
    """Work that ranks passages for a question; the result is that of State.to_dict."""

    question: str
    method: str
    top_k: int | None
    filter: Mapping[str, Any] | None

    def __call__(self, index: Index, cancel: Cancellation, send: Send) -> dict[str, Any]:
        state = index.retrieve(self.question, self.method, run=run_of(cancel), **_given(vars(self), "top_k", "filter"))
        return state.to_dict(method=self.method, top_k=self.top_k)


@dataclass(frozen=True)
class Asking(Retrieving):
    """Work that answers a question; the result is that of State.to_dict, with what else a reply has.

    `llm`: None for an offline answer; `deadline`: seconds until it continues without it; `instruction`: for its text.
    `for_admin`: whether the result tells details of a failure of the language model.
    `history`: as in `Index.ask`. `streams`: whether events are reported.
    """

    llm: LLM | None = None
    deadline: float | None = None
    instruction: str = ""
    for_admin: bool = False
    history: tuple[Message, ...] | None = None
    streams: bool = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the state of a pickle, with the model as this process has it: its connections and their limits."""
        llm: LLM | None = state["llm"]
        vars(self).update({**state, "llm": llm and _models.setdefault(repr(llm), llm)})

    def __call__(self, index: Index, cancel: Cancellation, send: Send) -> dict[str, Any]:
        llm = None if self.llm is None else WatchedLLM(self.llm, partial(send, FAILED_CALL))
        models = {"llm": llm, "deadline": self.deadline} if llm and "llm" in method_named(self.method).options else {}
        options = _given({**vars(self), **models}, "top_k", "filter", "history", "instruction", *models)
        if self.streams:
            options["on_event"] = lambda event: send(
                event.kind, self._told(event.data, llm) if event.kind == "done" else event.data
            )
        state = index.ask(self.question, self.method, run=run_of(cancel), **options)
        return self._told(state.to_dict(method=self.method, top_k=self.top_k), llm)

    def _told(self, reply: Mapping[str, Any], llm: WatchedLLM | None) -> dict[str, Any]:
        quoted = any(NOT_FOLLOWED in step["notes"] for step in reply["trace"])
        told = {**reply, "fallback": llm and llm.fallback, "instructed": not quoted if self.instruction else None}
        if llm and self.for_admin and (details := llm.fallback_details):
            told["fallback_details"] = details
        return told


_models = dict[str, LLM]()  # that other processes have sent
_searched: SnapshotCache[bool] = SnapshotCache()  # by method


def compare(asked: Sequence[Asking], index: Index, cancel: Cancellation, send: Send) -> list[dict[str, Any]]:
    """Answer a question by several methods, one after the other, each once it is warmed up."""
    for each in asked:
        if not method_named(each.method).required:
            search = partial(index.retrieve, each.question, each.method, run=run_of(cancel))
            _searched.get(index.graph.columns, each.method, lambda search=search: bool(search()))  # type: ignore[misc]
    return [each(index, cancel, send) for each in asked]


def query(
    text: str, filter: Mapping[str, Any] | None, index: Index, cancel: Cancellation, send: Send
) -> dict[str, Any]:
    """Run a query exactly."""
    return index.query(text, filter=filter).to_dict()


def run_of(cancel: Cancellation) -> Run:
    """Return a run that ends after the step in which it is cancelled."""
    return Run(cancel=cancel, on_step=lambda _: cancel.check())


def _given(options: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name in names if (value := options[name]) not in (None, "")}


CatalogWork = Callable[[Catalog, Cancellation, Send], Any]


class Call(NamedTuple):
    """A message to a process: do some work on its indexes. Without work, the call of this number is cancelled."""

    number: int
    work: CatalogWork | None = None
    request_id: str | None = None


END = Call(0)
"""Ends the process."""


class Reply(NamedTuple):
    """A message of a process about a call: a report (kind and data), the result, or an error with its cause."""

    number: int
    kind: str
    value: Any


READY, RESULT, ERROR = "ready", "result", "error"
"""Kinds of replies that are no reports. The first of a process is READY, to no call."""
_MAX_CALLS = 1_000  # threads at most; the server's lanes have fewer


def answer_calls(
    connection: Connection, encoders: Mapping[Path, NamedEncoder | None], allowed: frozenset[str], log_format: str
) -> None:
    """Open indexes, and do the work of calls in threads until the connection ends; the process ends with it.

    `encoders`: of the indexes that are opened at first, by their folders. Signals that are sent to all processes of the
    server do not end it before the server has ended its requests.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    configure_logging(log_format)
    catalog = Catalog(allowed)
    for path, encoder in encoders.items():
        try:
            index = catalog.at(path, encoder)
            warm_up(index.snapshot, index.default_method)
        except GraphwrightError as error:  # the requests themselves report it
            log.warning("%s cannot be searched: %s", path.name, error)
    with suppress(EOFError, OSError):  # the server has ended
        _answer(catalog, connection)
    os._exit(0)  # without waiting for work that nobody reads


def _answer(catalog: Catalog, connection: Connection) -> None:
    """Do the work of calls in threads, until the server ends."""
    lock, running, pool = Lock(), dict[int, Cancellation](), ThreadPoolExecutor(_MAX_CALLS)

    def send(number: int, kind: str, value: Any) -> None:
        with lock:
            connection.send(Reply(number, kind, value))

    def answer(number: int, work: CatalogWork, request_id: str | None, cancel: Cancellation) -> None:
        REQUEST_ID.set(request_id)
        reply: tuple[str, Any]
        try:
            reply = RESULT, work(catalog, cancel, partial(send, number))
        except GraphwrightError as error:
            cause = error.__cause__
            reply = ERROR, (error, cause if isinstance(cause, GraphwrightError) else None)
        except Exception:  # which may not pickle
            reply = ERROR, (RuntimeError(f"A process that answers failed.\n{traceback.format_exc()}"), None)
        running.pop(number, None)
        with suppress(OSError):  # the server has ended
            send(number, *reply)

    send(0, READY, None)
    while (call := connection.recv()) != END:
        if call.work is not None:
            running[call.number] = Cancellation()
            pool.submit(answer, call.number, call.work, call.request_id, running[call.number])
        elif (begun := running.get(call.number)) is not None:
            begun.set()


def on_index(path: Path, work: Work, catalog: Catalog, cancel: Cancellation, send: Send) -> Any:
    """Do the work on an index."""
    return work(catalog.at(path), cancel, send)


def refresh(path: Path, catalog: Catalog, cancel: Cancellation, send: Send) -> None:
    """Open and warm up a newer snapshot of an index, if there is one."""
    if str(path) in catalog:
        catalog.refresh(str(path))


def close(path: Path, catalog: Catalog, cancel: Cancellation, send: Send) -> None:
    """Close an index that is deleted."""
    catalog.drop(str(path))
