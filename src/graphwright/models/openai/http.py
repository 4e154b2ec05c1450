"""HTTP requests by httpx, with a time limit on the whole response, and cancellation.

All requests of a process run in one event loop, in a separate thread. A slow, endless response passes every timeout of
a single read, and a thread that waits for a socket cannot be interrupted. A task of an event loop can: it then closes
its connection, so that the server stops generating.
"""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Callable, Generator, Mapping
from concurrent import futures
from functools import cache
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from graphwright.errors import LLMResponseError, ModelError
from graphwright.models.openai.errors import CHECK_SERVER, Endpoint, NoServer, NotSent, TimedOut, shortened
from graphwright.models.protocols import Cancellation

if TYPE_CHECKING:
    from ssl import SSLContext

    from httpx import AsyncClient, RequestError, Response

_CONNECT_TIMEOUT = 10.0  # seconds
_GRACE = 1.0  # seconds to wait after a cancellation for a response that is paid for
_END = 0.05  # seconds in which a response ends after its last word was read
_MAX_ERROR = 65_536  # bytes read of the body of an error
_HEADERS = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}  # by environment variable
_NO_KEY = "none"  # for local servers, some of which require any key


class HTTPRequests:
    """Requests to one server, each given up after `timeout` seconds. Threads may share the object."""

    def __init__(self, endpoint: Endpoint, timeout: float) -> None:
        """Open nothing before the first request."""
        self._endpoint = endpoint
        self._timeout = timeout
        self._clients: dict[int, AsyncClient] = {}  # by process: two must not share a socket

    def stream(self, path: str, body: bytes, max_bytes: int, cancel: Cancellation) -> Generator[bytes, None, None]:
        """Yield the bytes of the response to a JSON body as they arrive.

        Raises HTTPStatusError for an error status, NotSent where there is no connection, IncompleteResponse where it
        breaks or takes too long, LLMResponseError for more than `max_bytes`, and ModelError soon after the work is
        cancelled.
        """
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
        """Send a request and put the bytes of its response."""
        async with self._client().stream("POST", path, content=body, extensions={"trace": trace}) as response:
            if not response.is_success:
                text, retry_after = await _error_body(response), response.headers.get("retry-after", "")
                raise self._endpoint.status_error(response.status_code, text, retry_after)
            size = 0
            async for chunk in response.aiter_bytes():
                put(chunk)
                size += len(chunk)
                if size > max_bytes:
                    raise LLMResponseError(f"{self._endpoint.url} sent more than {max_bytes:,} bytes: cut off.")

    def _client(self) -> AsyncClient:
        """Return the client of this process, which keeps connections open."""
        import httpx

        process = os.getpid()
        if process not in self._clients:
            headers = {"Content-Type": "application/json", "User-Agent": "graphwright"}
            headers["Authorization"] = f"Bearer {self._endpoint.secret.key or _NO_KEY}"
            headers |= {name: os.environ[variable] for name, variable in _HEADERS.items() if os.environ.get(variable)}
            self._clients[process] = client = httpx.AsyncClient(
                base_url=self._endpoint.url,
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
            return self._endpoint.incomplete(f"it took more than {self._timeout:g} seconds. {remedy}", TimedOut)
        if isinstance(error, httpx.ConnectTimeout):
            seconds = min(self._timeout, _CONNECT_TIMEOUT)
            return self._endpoint.incomplete(f"no connection within {seconds:g} seconds. {CHECK_SERVER}", NotSent)
        return self._broken(error) if isinstance(error, httpx.RequestError) else error

    def _broken(self, error: RequestError) -> ModelError:
        """Return the error for a broken or a missing connection."""
        cause = _first_cause(error)
        if isinstance(cause, ConnectionRefusedError):
            return NoServer(
                f"No server answers at {self._endpoint.url}: the connection for {self._endpoint.model!r} was refused. "
                f"{CHECK_SERVER}"
            )
        text = self._endpoint.secret.hidden(str(cause) or str(error))
        reason = f"{type(error).__name__}: {shortened(text)}. {CHECK_SERVER}"
        if type(error).__name__ == "ConnectError":
            return self._endpoint.incomplete(reason, NotSent)
        return self._endpoint.incomplete(reason)


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
