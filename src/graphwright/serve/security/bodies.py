"""Limits of the size of request bodies."""

from __future__ import annotations

import re
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphwright.serve.problems import ServeError, TooLargeError, send_problem
from graphwright.serve.security.authentication import route_path

_UPLOAD = re.compile(r"/v1/indexes/[^/]+/documents(/estimate)?")


@dataclass(frozen=True)
class BodyLimits:
    """ASGI middleware that ends requests whose body is too large.

    `max_body`, `max_upload`: bytes, the second for documents.
    """

    app: ASGIApp
    max_body: int
    max_upload: int

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with a limited body."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = self.max_upload if _UPLOAD.fullmatch(route_path(scope)) else self.max_body
        body = _Body(limit, receive, send)
        declared = Headers(scope=scope).get("content-length", "0")
        if not declared.isdecimal() or int(declared) > limit:
            body.error = _too_large(limit)
        else:
            try:
                await self.app(scope, body.receive, body.send)
            except Exception:
                if body.error is None:
                    raise
        if body.error is not None and not body.begun:
            body.error.headers = {"Connection": "close"}  # the rest of the body is not read
            await send_problem(scope, receive, send, body.error)


@dataclass
class _Body:
    """Size of the body of one request. After an error the application's own response is dropped."""

    limit: int
    receive_more: Receive
    send_on: Send
    error: ServeError | None = None
    begun: bool = False
    _size: int = 0

    async def receive(self) -> Message:
        message = await self.receive_more()
        self._size += len(message.get("body", b""))
        if self._size > self.limit:
            self.error = _too_large(self.limit)
            raise self.error
        return message

    async def send(self, message: Message) -> None:
        if self.error is not None and not self.begun:
            return
        self.begun = True
        await self.send_on(message)


def _too_large(limit: int) -> TooLargeError:
    return TooLargeError(f"The request's body is larger than {limit:,} bytes, the limit of this server.")
