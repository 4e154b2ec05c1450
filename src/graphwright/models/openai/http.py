"""HTTP requests by httpx, with a time limit on the whole response, cancellation and retries.

All requests of a process run in one event loop, in a thread of its own: a thread that waits for a socket cannot be
interrupted, but a task can, and closes its connection, so that the server stops generating.
"""

from __future__ import annotations

import asyncio
import email.utils
import json
import math
import os
import random
import threading
import time
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent import futures
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from graphwright.errors import LLMResponseError, ModelError, ReplyCutError
from graphwright.models.openai.errors import (
    CHECK_SERVER,
    Endpoint,
    HTTPStatusError,
    IncompleteResponse,
    NoServer,
    NotSent,
    TimedOut,
    shortened,
)
from graphwright.models.protocols import Cancellation

if TYPE_CHECKING:
    from ssl import SSLContext

    from httpx import AsyncClient, Response

_CONNECT_TIMEOUT = 10.0  # seconds
_GRACE = 1.0  # seconds to wait after a cancellation for a response that is paid for
_END = 0.05  # seconds in which a response ends after its last word was read
_MAX_ERROR = 65_536  # bytes read of the body of an error
_HEADERS = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}  # by environment variable
_NO_KEY = "none"  # for local servers, some of which require any key

T = TypeVar("T")

_RETRIED = {408, 409, 429}  # and every 5xx
_MAX_WAIT = 600.0  # seconds; a server that demands a longer wait is given up
_MAX_BACKOFF = 60.0


def _pause(cancel: Cancellation, seconds: float) -> None:
    cancel.pause(seconds)  # a Deadline overrides it


@dataclass(frozen=True)
class Clock:
    """A source of time (`date`: seconds since 1970) and a way to wait, which tests replace."""

    date: Callable[[], float] = time.time
    sleep: Callable[[Cancellation, float], None] = _pause


class HTTPConnection:
    """A thread-safe connection to one server; each request is given up after `timeout` seconds, and retried."""

    def __init__(self, endpoint: Endpoint, clock: Clock, *, timeout: float, retries: int, concurrency: int) -> None:
        self.endpoint, self._clock, self._timeout, self._retries = endpoint, clock, timeout, retries
        self._slots = threading.BoundedSemaphore(concurrency)
        self._clients: dict[int, AsyncClient] = {}  # by process: two must not share a socket

    def request(
        self,
        path: str,
        body: dict[str, Any],
        read: Callable[[Iterator[bytes]], T],
        *,
        max_bytes: int,
        cancel: Cancellation,
        allow: Callable[[], None] = lambda: None,
    ) -> T:
        """Send a request, with at most `retries` retries.

        `path`: below the address of the server. `read` turns the bytes of the response into a result; a response above
        `max_bytes` is treated as endless. `allow` is called before each attempt, and raises to prevent it. Raises
        ModelError where the work is cancelled.
        """
        content = json.dumps(body)
        attempt = 0
        while True:
            allow()
            try:
                with cancel.acquire(self._slots):
                    cancel.check()
                    with closing(self._stream(path, content.encode(), max_bytes, cancel)) as chunks:
                        return read(chunks)
            except HTTPStatusError as error:
                seconds = retry_after(error.retry_after, self._clock.date())
                if not _may_succeed(error, seconds):
                    raise
                failure: ModelError = error
            except (IncompleteResponse, NotSent) as error:
                failure, seconds = error, None
            wait = self._wait(failure, seconds, attempt, content)
            try:
                self._clock.sleep(cancel, wait)
            except ReplyCutError as late:  # the deadline of a question; its message includes the last failure
                raise ReplyCutError(f"{failure} {late}") from failure
            attempt += 1

    def _wait(self, error: ModelError, seconds: float | None, attempt: int, content: str) -> float:
        """Return the seconds until the next attempt (`seconds`: as demanded); raise the error after the last one."""
        # One retry after a timeout or a refused connection: a second one would hardly help, and takes as long.
        if attempt >= (min(self._retries, 1) if isinstance(error, TimedOut | NoServer) else self._retries):
            if attempt == 0:
                raise error
            kind = ReplyCutError if isinstance(error, ReplyCutError) else ModelError
            raise kind(f"{error} Tried {attempt + 1} times.") from error
        if seconds is None:
            jitter = random.Random(f"{content} {attempt}").uniform(0.75, 1.25)  # separates simultaneous retries
            return min(0.5 * 2.0 ** min(attempt, 32), _MAX_BACKOFF) * jitter
        if seconds > _MAX_WAIT:
            raise ModelError(
                f"{error} The server demands a wait of {seconds:,.0f} seconds; the limit is {_MAX_WAIT:,.0f}. Try "
                f"again later."
            ) from error
        return seconds

    def _stream(self, path: str, body: bytes, max_bytes: int, cancel: Cancellation) -> Generator[bytes, None, None]:
        received: SimpleQueue[bytes | Exception | None] = SimpleQueue()
        task = asyncio.run_coroutine_threadsafe(self._receive(path, body, max_bytes, received.put), _event_loop())
        try:
            while True:
                cancel.check(_GRACE)
                try:
                    part = received.get(timeout=cancel.poll())
                except Empty:
                    continue
                if part is None:
                    return
                if isinstance(part, Exception):
                    raise part from None  # the cause may contain the server's text, and so the key
                yield part
        finally:
            futures.wait([task], _END)
            task.cancel()

    async def _receive(self, path: str, body: bytes, max_bytes: int, put: Callable[[Any], None]) -> None:
        """Send a request and put the bytes of its response, then None; an exception instead where there is one."""
        end: Exception | None = None
        connections: list[Any] = []

        async def trace(event: str, info: Mapping[str, Any]) -> None:
            if event.endswith("connect_tcp.complete"):
                connections.append(info["return_value"])

        try:
            async with asyncio.timeout(self._timeout):
                await self._read(path, body, max_bytes, put, trace)
        except (TimeoutError, asyncio.CancelledError) as error:
            for connection in connections:  # httpcore leaves one open whose TLS handshake is interrupted
                await connection.aclose()
            if isinstance(error, asyncio.CancelledError):
                raise
            end = self._readable(error)
        except Exception as error:
            end = self._readable(error)
        put(end)

    async def _read(
        self, path: str, body: bytes, max_bytes: int, put: Callable[[bytes], None], trace: Callable[..., Any]
    ) -> None:
        async with self._client().stream("POST", path, content=body, extensions={"trace": trace}) as response:
            if not response.is_success:
                text, retry_after = await _error_body(response), response.headers.get("retry-after", "")
                raise self.endpoint.status_error(response.status_code, text, retry_after)
            size = 0
            async for chunk in response.aiter_bytes():
                put(chunk)
                size += len(chunk)
                if size > max_bytes:
                    raise LLMResponseError(f"{self.endpoint.url} sent more than {max_bytes:,} bytes: cut off.")

    def _client(self) -> AsyncClient:
        """Return the client of this process, which keeps connections open."""
        import httpx

        process = os.getpid()
        if process not in self._clients:
            headers = {"Content-Type": "application/json", "User-Agent": "graphwright"}
            headers["Authorization"] = f"Bearer {self.endpoint.secret.key or _NO_KEY}"
            headers |= {name: os.environ[variable] for name, variable in _HEADERS.items() if os.environ.get(variable)}
            self._clients[process] = client = httpx.AsyncClient(
                base_url=self.endpoint.url,
                headers=headers,
                verify=_trust(),
                timeout=httpx.Timeout(None, connect=min(self._timeout, _CONNECT_TIMEOUT)),
                limits=httpx.Limits(),  # none, as `concurrency` limits the requests
            )
            weakref.finalize(self, _close, client, asyncio.get_running_loop(), process)
        return self._clients[process]

    def _readable(self, error: Exception) -> Exception:
        """Translate an error of httpx into one of graphwright; others are returned unchanged."""
        import httpx

        if isinstance(error, TimeoutError):
            remedy = "Set a longer timeout, a smaller max_tokens, or use a faster model."
            return self.endpoint.incomplete(f"it took more than {self._timeout:g} seconds. {remedy}", TimedOut)
        if isinstance(error, httpx.ConnectTimeout):
            seconds = min(self._timeout, _CONNECT_TIMEOUT)
            return self.endpoint.incomplete(f"no connection within {seconds:g} seconds. {CHECK_SERVER}", NotSent)
        if not isinstance(error, httpx.RequestError):
            return error
        cause = _first_cause(error)
        if isinstance(cause, ConnectionRefusedError):
            return NoServer(
                f"No server answers at {self.endpoint.url}: the connection for {self.endpoint.model!r} was refused. "
                f"{CHECK_SERVER}"
            )
        text = self.endpoint.secret.hidden(str(cause) or str(error))
        reason = f"{type(error).__name__}: {shortened(text)}. {CHECK_SERVER}"
        return self.endpoint.incomplete(
            reason, NotSent if isinstance(error, httpx.ConnectError) else IncompleteResponse
        )


def _first_cause(error: BaseException) -> BaseException:
    """Return the root cause of an error; of several addresses that were tried, that of the first."""
    if isinstance(error, BaseExceptionGroup):
        return _first_cause(error.exceptions[0])
    cause = error.__cause__ or error.__context__
    return error if cause is None else _first_cause(cause)


async def _error_body(response: Response) -> str:
    """Return the beginning of the body of an error; the status is enough where the body is cut off."""
    import httpx

    body = bytearray()
    try:
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > _MAX_ERROR:
                break
    except httpx.RequestError:
        body += b" ..."
    return body[:_MAX_ERROR].decode("utf-8", "replace")


@cache
def _trust() -> SSLContext:
    """Return the trusted certificates, read once a process: reading takes longer than a short request."""
    import httpx

    return httpx.create_ssl_context()


_loops: dict[int, asyncio.AbstractEventLoop] = {}
_starting = threading.Lock()


def _event_loop() -> asyncio.AbstractEventLoop:
    """Return the event loop of this process; a forked process has no threads, and needs a new loop."""
    with _starting:
        process = os.getpid()
        if process not in _loops:
            _loops[process] = loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="graphwright-http", daemon=True).start()
        return _loops[process]


def _close(client: AsyncClient, loop: asyncio.AbstractEventLoop, process: int) -> None:
    if process == os.getpid() and loop.is_running():
        asyncio.run_coroutine_threadsafe(client.aclose(), loop)


def _may_succeed(error: HTTPStatusError, seconds: float | None) -> bool:
    """Return whether the same request may succeed later: not if the credit of the account is used up."""
    body = error.body.lower()
    exhausted = "insufficient_quota" in body or ("quota" in body and seconds is None)
    return (error.status in _RETRIED or error.status >= 500) and not (error.status == 429 and exhausted)


def retry_after(header: str, now: float) -> float | None:
    """Return the seconds to wait by a header Retry-After, None without a valid one; `now` in seconds since 1970.

    >>> retry_after("20", 0), retry_after("Thu, 01 Jan 1970 00:01:00 GMT", 50.0)
    (20.0, 10.0)
    """
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(header).timestamp() - now
        except (ValueError, OverflowError):
            return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None
