"""Server-sent events: encoding, keep-alive pings, and the streaming response."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

from fastapi.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

PING_SECONDS = 15.0  # seconds without an event after which a comment keeps the connection open
_PING = b": ping\n\n"


def to_json(value: Any) -> str:
    """Return a value as JSON in ASCII: documents may hold lone surrogates, which UTF-8 cannot.

    >>> to_json({"text": "Łódź \\ud800"})
    '{"text":"\\\\u0141\\\\u00f3d\\\\u017a \\\\ud800"}'
    """
    return json.dumps(value, separators=(",", ":"))


def event(kind: str, data: Any) -> bytes:
    """Encode one event. An empty kind is the default one, as in OpenAI's streams.

    >>> event("token", {"text": "Graz"})
    b'event: token\\ndata: {"text":"Graz"}\\n\\n'
    """
    name = f"event: {kind}\n" if kind else ""
    return f"{name}data: {to_json(data)}\n\n".encode("ascii")


async def with_pings(
    events: AsyncIterator[bytes], seconds: float = PING_SECONDS, ping: bytes = _PING
) -> AsyncIterator[bytes]:
    """Yield the events, and a comment after each `seconds` without one; close them at the end."""
    waiting: asyncio.Task[bytes] | None = None
    try:
        while True:
            waiting = waiting or asyncio.ensure_future(anext(events))
            done, _ = await asyncio.wait({waiting}, timeout=seconds)
            if not done:
                yield ping
                continue
            try:
                chunk = waiting.result()
            except StopAsyncIteration:
                return
            waiting = None
            yield chunk
    finally:
        if waiting is not None:
            waiting.cancel()
            with suppress(asyncio.CancelledError, StopAsyncIteration):
                await waiting
        if hasattr(events, "aclose"):
            await events.aclose()


async def _ended(events: AsyncIterator[bytes], failed: Callable[[Exception], bytes]) -> AsyncIterator[bytes]:
    """Yield the events; an exception becomes a last event, made by `failed`."""
    try:
        async for encoded in events:
            yield encoded
    except Exception as error:
        yield failed(error)


class EventStream(StreamingResponse):
    """A response of server-sent events with pings; its headers forbid proxies to buffer it."""

    media_type = "text/event-stream"
    ping = _PING

    def __init__(
        self,
        events: AsyncIterator[bytes],
        close: Callable[[], None] = lambda: None,
        failed: Callable[[Exception], bytes] | None = None,
    ) -> None:
        """Take events. `close` is called after the last one or a disconnection; `failed` makes an event of an error."""
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        ended = events if failed is None else _ended(events, failed)
        super().__init__(with_pings(ended, ping=self.ping), headers=headers)
        self._close = close

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._close()


class LineStream(EventStream):
    """A response of lines of JSON; a ping is a space before the next one."""

    media_type = "application/x-ndjson"
    ping = b" "


class JSONReply(Response):
    """A response of encoded JSON."""

    media_type = "application/json"
