"""Processes that answer questions beside the one that serves HTTP, since threads of one process share its interpreter.

Each is started anew (spawn), opens the indexes by itself, and is replaced where it ends. Only questions are asked of
it; what changes anything is done by the server.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import get_context
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from typing import Any

from graphwright import Index
from graphwright.errors import ModelError
from graphwright.models import Cancellation
from graphwright.search import Snapshot
from graphwright.serve import answering
from graphwright.serve.answering import ERROR, READY, RESULT, Call, Reply
from graphwright.serve.catalog import Answers, Catalog, Send, Work
from graphwright.serve.logs import REQUEST_ID, log
from graphwright.serve.problems import ServeError, ShuttingDownError

_POLL = 0.1  # seconds between two looks at a cancellation
_END = 2.0  # seconds for a process to end by itself
_PAUSE = 1.0  # seconds before the successor of a process that died at once


class ProcessLostError(ServeError):
    """The process that answers a question has ended before the reply."""

    status, kind, retry_after = 503, "process", 2
    message = (
        "The process that answers this question has ended, as where the memory is used up. The server's log has its "
        "exit code. Try again."
    )


class Processes(Answers):
    """Processes that answer questions; each question goes to the one with the fewest."""

    def __init__(self, number: int, catalog: Catalog, log_format: str) -> None:
        self._ended = Event()
        self._processes = [_Process(catalog, log_format, self._ended) for _ in range(number)]

    @property
    def ready(self) -> int:  # type: ignore[override]
        """The number of processes that have opened the indexes."""
        return sum(process.ready.is_set() for process in self._processes)

    def wait(self) -> None:
        """Wait until every process is ready, or the block of `running` ends."""
        begun = time.monotonic()
        for process in self._processes:
            while not (process.ready.wait(_POLL) or self._ended.is_set()):
                pass
        log.info("%s processes are ready to answer after %.1f seconds", self.ready, time.monotonic() - begun)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Start the processes; end them with the block."""
        threads = [Thread(target=process.keep, daemon=True) for process in self._processes]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._ended.set()
            for process in self._processes:
                process.end()
            for process, thread in zip(self._processes, threads, strict=True):
                thread.join(_END)
                process.kill()
                thread.join()

    def do(self, index: Index, work: Work, cancel: Cancellation, send: Send) -> Any:
        """Do the work on an index; `send` takes its reports.

        If the process ends before it has reported anything, another one does the work. Raises the errors of the work,
        ModelError where it is cancelled, ProcessLostError where that fails too, ShuttingDownError at the end.
        """
        reported = False

        def report(kind: str, data: Any) -> None:
            nonlocal reported
            reported = True
            send(kind, data)

        work_there = partial(answering.on_index, index.path, work)
        try:
            return self._chosen(cancel).call(work_there, cancel, report)
        except ProcessLostError:
            if reported:
                raise
        return self._chosen(cancel).call(work_there, cancel, report)

    def _chosen(self, cancel: Cancellation) -> _Process:
        """Return the process with the fewest calls; wait for the first that is ready."""
        while not (ready := [process for process in self._processes if process.ready.is_set()]):
            if self._ended.is_set():
                raise ShuttingDownError
            cancel.pause(_POLL)
        return min(ready, key=lambda process: len(process.calls))

    def warm_up(self, index: Index, snapshot: Snapshot) -> None:
        """Have every process search the newest snapshot of an index, and answer from it. Raises StoreError."""
        self._all(partial(answering.refresh, index.path))

    def close(self, index: Index) -> None:
        """Have every process close an index."""
        self._all(partial(answering.close, index.path))

    def _all(self, work: Any) -> None:
        for process in self._processes:
            with suppress(ProcessLostError, ShuttingDownError):  # its successor opens what there is then
                process.call(work, Cancellation(), lambda kind, data: None)


class _Process:
    """A process that is replaced whenever it ends, and the calls that it computes."""

    def __init__(self, catalog: Catalog, log_format: str, ended: Event) -> None:
        self._catalog, self._log_format, self._ended = catalog, log_format, ended
        self._context = get_context("spawn")
        self._lock, self._numbers = Lock(), itertools.count(1)
        self._connection: Any = None  # None while there is no process
        self._process: Any = None
        self.ready = Event()
        self.calls = dict[int, SimpleQueue[Reply | None]]()  # by number; None where the process has ended

    def keep(self) -> None:
        """Run a process, and its successors, until the server ends."""
        while not self._ended.is_set():
            begun = time.monotonic()
            try:
                reason = f"exit code {self._run()}"
            except Exception as error:  # it could not be started
                reason = f"{type(error).__name__}: {error}"
            if not self._ended.is_set():
                log.error("a process that answers questions ended (%s); another one is started", reason)
                self._ended.wait(_PAUSE if time.monotonic() - begun < 10 * _PAUSE else 0)

    def _run(self) -> int | None:
        """Run one process, pass its replies on, and return its exit code."""
        own, its = self._context.Pipe()
        encoders = {index.path: self._catalog.encoder(name) for name, index in self._catalog.items()}
        options = encoders, self._catalog.allowed, self._log_format
        process = self._context.Process(target=answering.answer_calls, args=(its, *options), daemon=True)
        try:
            process.start()
            self._process = process
            its.close()  # so that reading ends with the process
            with self._lock:
                self._connection = own
            self._pass_on(own)
        finally:
            self.ready.clear()
            with self._lock:
                self._connection = None
            for replies in list(self.calls.values()):
                replies.put(None)
            own.close()
            if process.pid is not None:
                process.join(_END)
                process.kill()
                process.join()
        return process.exitcode

    def _pass_on(self, connection: Any) -> None:
        """Pass replies on to the threads that wait for them, until the process or the server ends."""
        with suppress(EOFError, OSError):
            while not self._ended.is_set():
                reply: Reply = connection.recv()
                if reply.kind == READY:
                    self.ready.set()
                elif (replies := self.calls.get(reply.number)) is not None:
                    replies.put(reply)

    def call(self, work: Any, cancel: Cancellation, send: Send) -> Any:
        """Have the process do some work; return the result. Raises ProcessLostError, and the errors of the work."""
        number, replies = next(self._numbers), SimpleQueue[Reply | None]()
        self.calls[number] = replies
        try:
            with self._lock:
                self._send(Call(number, work, REQUEST_ID.get()))
            for reply in self._replies(replies, number, cancel):
                if reply.kind == RESULT:
                    return reply.value
                if reply.kind == ERROR:
                    error, cause = reply.value
                    raise error from cause
                send(reply.kind, reply.value)
        finally:
            self.calls.pop(number, None)
        raise ShuttingDownError if self._ended.is_set() else ProcessLostError

    def _replies(self, replies: SimpleQueue[Reply | None], number: int, cancel: Cancellation) -> Iterator[Reply]:
        """Yield replies until the process ends; where the call is cancelled, tell it: the work ends with an error."""
        is_told = False
        while True:
            try:
                if not is_told:
                    cancel.check()
            except ModelError:
                is_told = True
                with self._lock, suppress(ProcessLostError):
                    self._send(Call(number))
            with suppress(Empty):
                if (reply := replies.get(timeout=None if is_told else _POLL)) is None:
                    return
                yield reply

    def _send(self, call: Call) -> None:
        """Send a message; the lock is held. Raises ProcessLostError."""
        if self._connection is None:
            raise ProcessLostError
        try:
            self._connection.send(call)
        except OSError as error:
            self.ready.clear()
            raise ProcessLostError from error

    def end(self) -> None:
        """Tell the process to end."""
        with self._lock, suppress(ProcessLostError):
            self._send(answering.END)

    def kill(self) -> None:
        """End the process at once, if it runs."""
        if self._process is not None:
            self._process.kill()
