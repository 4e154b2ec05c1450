"""Workers: thread pools for requests, with a bounded queue, a time limit and cancellation."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any, Generic, Literal, TypeVar, get_args

from fastapi import Request

from graphwright.models import Cancellation
from graphwright.serve.problems import ClientGoneError, OverloadedError, RequestTimeoutError, ShuttingDownError

_T = TypeVar("_T")
_RETRY_AFTER = 2  # seconds that a client is told to wait where the queue is full

Lane = Literal[
    "reads", "retrieval", "embeddings", "answers", "llm"
]  # kinds of work with own threads, that delay no other

ASKER: ContextVar[str] = ContextVar("asker", default="")  # the key, or the address without one; they take turns


class _Pool:
    """A thread pool for one kind of work; a free thread serves askers in turn, so that one delays itself alone."""

    def __init__(self, name: str, threads: int, queue: int) -> None:
        self.threads, self.queue = threads, queue
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=f"graphwright-{name}")
        self._lock = threading.Lock()
        self._waiting: OrderedDict[str, deque[tuple[Future[Any], Callable[[], Any]]]] = OrderedDict()  # by turns
        self.pending = 0

    def submit(self, work: Callable[[], _T]) -> Future[_T]:
        """Start the work, now or when a thread is free. Raises OverloadedError if the queue is full."""
        with self._lock:
            if self.pending >= self.threads + self.queue:
                raise OverloadedError(
                    f"{self.pending} requests are being answered or wait, which is the limit. Try again in "
                    f"{_RETRY_AFTER} seconds.",
                    _RETRY_AFTER,
                )
            self.pending += 1
            future: Future[_T] = Future()
            future.add_done_callback(self._end)
            job = future, partial(copy_context().run, work)  # with the request's id
            self._waiting.setdefault(ASKER.get(), deque()).append(job)
        try:
            self._pool.submit(self._work)
        except RuntimeError as error:  # the server is shutting down
            future.cancel()
            raise ShuttingDownError from error
        return future

    def _work(self) -> None:
        with self._lock:
            asker, jobs = self._waiting.popitem(last=False)
            future, work = jobs.popleft()
            if jobs:
                self._waiting[asker] = jobs
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(work())
            except BaseException as error:
                future.set_exception(error)

    def _end(self, _: object) -> None:
        with self._lock:
            self.pending -= 1

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            waiting = [future for jobs in self._waiting.values() for future, _ in jobs]
        for future in waiting:
            future.cancel()


class Workers:
    """Threads that compute replies, in lanes that do not wait for each other; after a timeout work still counts."""

    def __init__(self, threads: int = 2, llm_threads: int = 16, queue: int = 128, timeout: float = 120.0) -> None:
        self.timeout = timeout
        lanes = get_args(Lane)
        self._pools = {lane: _Pool(lane, llm_threads if lane == "llm" else threads, queue) for lane in lanes}
        self._ending = False  # the server shuts down
        self._waiting: set[asyncio.Future[None]] = set()  # one for each awaited result

    @property
    def pending(self) -> int:
        """The number of running and waiting requests."""
        return sum(pool.pending for pool in self._pools.values())

    async def run(self, work: Callable[[Cancellation], _T], request: Request | None = None, lane: Lane = "reads") -> _T:
        """Run work in a thread, with the cancellation that ends it, and return its result.

        It is cancelled when the client of `request` disconnects (ClientGoneError) and after the timeout
        (RequestTimeoutError). Raises OverloadedError if too many requests wait in the lane.
        """
        cancel = Cancellation()
        future = asyncio.wrap_future(self._pools[lane].submit(lambda: work(cancel)))
        gone = [] if request is None else [asyncio.ensure_future(_disconnect(request))]
        try:
            await self.first_of(future, *gone, seconds=self.timeout)
            if future.done():
                return future.result()
            if any(waiting.done() for waiting in gone):
                raise ClientGoneError("The client closed the connection.")
            raise _timed_out(self.timeout)
        finally:
            for waiting in gone:
                waiting.cancel()
            if not future.done():
                cancel.set()
                future.cancel()

    async def stream(
        self, work: Callable[[Callable[[_T], None], Cancellation], object], *, lane: Lane, patience: float = 1.0
    ) -> Stream[_T]:
        """Run work in a thread; return the items that it sends by its first argument, as an async iterator.

        Waits up to `patience` seconds for the first item, so that an error of the request is raised before the response
        begins. Closing the stream cancels the work. Raises OverloadedError as `run` does.
        """
        return await Stream(work, self, self._pools[lane]).begin(patience)

    async def wait_for(self, change: asyncio.Event, seconds: float) -> None:
        """Wait for an event, at most some seconds. Raises ShuttingDownError when the server shuts down."""
        changed = asyncio.ensure_future(change.wait())
        try:
            await self.first_of(changed, seconds=seconds)
        finally:
            changed.cancel()

    async def first_of(self, *awaited: asyncio.Future[Any], seconds: float) -> None:
        """Wait for the first of some futures, at most some seconds. Raises ShuttingDownError when the server ends."""
        ended = asyncio.get_running_loop().create_future()
        self._waiting.add(ended)
        try:
            if not self._ending:
                await asyncio.wait({ended, *awaited}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._waiting.discard(ended)
        if self._ending and not any(future.done() for future in awaited):
            raise ShuttingDownError

    def end(self) -> None:
        """Raise ShuttingDownError in all waiting calls. Call it in the thread of the event loop."""
        self._ending = True
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)

    def close(self) -> None:
        """Accept no more work; do not wait for running work."""
        for pool in self._pools.values():
            pool.close()


class Stream(Generic[_T]):
    """Items sent by work in a thread, as an async iterator; closing it cancels the work."""

    def __init__(
        self, work: Callable[[Callable[[_T], None], Cancellation], object], workers: Workers, pool: _Pool
    ) -> None:
        self._workers, self._cancel = workers, Cancellation()
        self._loop, self._changed = asyncio.get_running_loop(), asyncio.Event()
        self._items, self._has_ended = deque[_T](), False
        self._end = self._loop.time() + workers.timeout
        self._future = pool.submit(lambda: work(self._soon, self._cancel))
        self._future.add_done_callback(lambda _: self._soon())

    def _put(self, *items: _T) -> None:
        """Add an item, in the thread of the event loop; none is the end."""
        self._items.extend(items)
        self._has_ended = not items
        self._changed.set()

    def _soon(self, *items: _T) -> None:
        with suppress(RuntimeError):  # the event loop is closed
            self._loop.call_soon_threadsafe(self._put, *items)

    async def begin(self, patience: float) -> Stream[_T]:
        """Wait for the first item, at most `patience` seconds. Raises the error of the work."""
        if await self._wait(patience) and not self._items:
            self._future.result()
        return self

    async def _wait(self, seconds: float) -> bool:
        """Return whether there is an item, or the end, after at most some seconds. An exception cancels the work."""
        self._changed.clear()
        try:
            if not (self._items or self._has_ended):
                await self._workers.wait_for(self._changed, seconds)
        except (asyncio.CancelledError, ShuttingDownError):
            self.close()
            raise
        return bool(self._items) or self._has_ended

    def __aiter__(self) -> Stream[_T]:
        return self

    async def __anext__(self) -> _T:
        if not await self._wait(self._end - self._loop.time()):
            self.close()
            raise _timed_out(self._workers.timeout)
        if self._items:
            return self._items.popleft()
        self._future.result()  # raises the error of the work
        raise StopAsyncIteration

    def close(self) -> None:
        """Cancel the work; no effect after its end."""
        self._cancel.set()
        self._future.cancel()


def _timed_out(seconds: float) -> RequestTimeoutError:
    return RequestTimeoutError(f"The request took more than {seconds:g} seconds, the limit of this server.")


async def _disconnect(request: Request) -> None:
    """Wait until the client disconnects; the body must have been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
