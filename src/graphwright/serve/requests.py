"""Checks of requests before their routes: paths below a proxy, hosts and origins, sizes of bodies."""

from __future__ import annotations

import asyncio
import ipaddress
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from starlette.datastructures import Headers
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphwright.serve.authentication import ForbiddenError, compared, is_public, is_same_origin, route_path
from graphwright.serve.problems import MediaTypeError, ServeError, TooLargeError, send_problem

_DOCUMENTS = re.compile(rb"(/v1/indexes/[^/]+/documents/)(.+)")


@dataclass(frozen=True)
class Addressing:
    """Middleware that puts every path below `root_path` and keeps the ids of documents percent-encoded.

    A reverse proxy may send the sub-path or leave it out. The part after `/documents/` comes from the raw path, so that
    a route matches `a%2Fb` as one part; `document_id` decodes it.
    """

    app: ASGIApp
    root_path: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its path. Redirect the sub-path without a slash to the page."""
        if scope["type"] == "http" and self.root_path and scope["path"] == self.root_path:
            await RedirectResponse(f"{self.root_path}/")(scope, receive, send)
            return
        if scope["type"] in ("http", "websocket"):
            path = _routed(scope)
            below = path == self.root_path or path.startswith(f"{self.root_path}/")
            scope = {**scope, "root_path": self.root_path, "path": path if below else self.root_path + path}
        await self.app(scope, receive, send)


def _routed(scope: dict[str, Any] | Any) -> str:
    """Return the path of a request, with the id of a document still percent-encoded.

    >>> _routed({"path": "/v1/indexes/my ix/documents/a/b", "raw_path": b"/v1/indexes/my%20ix/documents/a%2Fb"})
    '/v1/indexes/my ix/documents/a%2Fb'
    """
    raw = (scope.get("raw_path") or b"").partition(b"?")[0]
    match = _DOCUMENTS.search(raw)
    if match is None:
        path: str = scope["path"]
        return path
    return unquote(raw[: match.start(2)].decode("ascii", "replace")) + match[2].decode("ascii", "replace")


def document_id(encoded: str) -> str:
    """Decode the percent-encoded id of a document."""
    return unquote(encoded, errors="surrogatepass")


_LOOPBACK_NAMES = frozenset({"localhost", "localhost.localdomain"})


class MisdirectedError(ServeError):
    """A request for an unknown host name, as in a DNS rebinding attack."""

    status, kind = 421, "host"


@dataclass(frozen=True)
class HostGuard:
    """ASGI middleware that refuses requests for other hosts, and requests from pages of other sites.

    `hosts`: allowed names. IP addresses such as 127.0.0.1 pass, because DNS rebinding needs a host name. Programs send
    no Origin and pass too.
    """

    app: ASGIApp
    hosts: frozenset[str] = frozenset()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (error := self._refusal(scope)) is not None:
            await send_problem(scope, receive, send, error)
            return
        await self.app(scope, receive, send)

    def _refusal(self, scope: Scope) -> ServeError | None:
        headers = Headers(scope=scope)
        values = headers.getlist("host")
        name = host_name(values[0]) if len(values) == 1 else None
        if name is None or not (name in self.hosts or name in _LOOPBACK_NAMES or _is_address(name)):
            shown = f"{values[0][:100]!r}" if values else "without a host"
            return MisdirectedError(
                f"The request is for {shown}, which is not a known name of this server. If it is one, add it to the "
                f"server's allowed_hosts."
            )
        navigates = scope["method"] == "GET" and headers.get("sec-fetch-mode") == "navigate"
        if is_same_origin(headers) or (navigates and is_public(route_path(scope))):
            return None
        return ForbiddenError(
            f"The request comes from a page of another site; this server answers its own page only.{compared(headers)}"
        )


def host_name(value: str) -> str | None:
    """Return the name in a Host header in lower case, without port; None if it is malformed.

    >>> host_name("Wiki.example.org:8000"), host_name("[::1]:8000"), host_name("a@b"), host_name("a:b")
    ('wiki.example.org', '::1', None, None)
    """
    match = re.fullmatch(r"(?:\[([0-9A-Fa-f:.]{2,45})\]|([A-Za-z0-9._-]{1,253}))(?::[0-9]{1,5})?", value)
    return None if match is None else (match[1] or match[2].removesuffix(".")).lower()


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


_DRAINED, _DRAIN_S = 4_000_000, 2.0
_UPLOAD = re.compile(r"/v1/indexes/[^/]+/documents(/estimate)?")


@dataclass(frozen=True)
class BodyLimits:
    """ASGI middleware that refuses compressed bodies, and those above `max_body`, of documents `max_upload` bytes."""

    app: ASGIApp
    max_body: int
    max_upload: int

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = self.max_upload if _UPLOAD.fullmatch(route_path(scope)) else self.max_body
        headers, size, begun = Headers(scope=scope), 0, False
        error = _refusal(headers, limit)

        async def counted() -> Message:
            nonlocal error, size
            message = await receive()
            size += len(message.get("body", b""))
            if size > limit:
                error = _too_large(limit)
                raise error
            return message

        async def forward(message: Message) -> None:
            nonlocal begun
            if error is None or begun:  # else the application's own response is dropped
                begun = True
                await send(message)

        if error is None:
            try:
                await self.app(scope, counted, forward)
            except Exception:
                if error is None:
                    raise
        if error is not None and not begun:
            expects = "100-continue" in headers.get("expect", "").lower()  # reading would ask for the body
            drained = not expects and await _has_drained(receive)
            error.headers = None if drained else {"Connection": "close"}
            await send_problem(scope, receive, send, error)


def _refusal(headers: Headers, limit: int) -> ServeError | None:
    """Return why a body is not read at all, if so."""
    declared, coding = headers.get("content-length", "0"), headers.get("content-encoding", "identity")
    if coding.lower() != "identity":
        return MediaTypeError(f"The body is encoded as {coding[:40]!r}; send it plain.")
    return _too_large(limit) if not declared.isdecimal() or int(declared) > limit else None


async def _has_drained(receive: Receive) -> bool:
    """Read the rest of a body, up to `_DRAINED` bytes in `_DRAIN_S` seconds. Return whether it has ended.

    A connection that is closed on unread bytes is reset, and the reset may reach the client before the reply does.
    """
    size = 0
    try:
        async with asyncio.timeout(_DRAIN_S):
            while size <= _DRAINED:
                message = await receive()
                if not message.get("more_body", False):
                    return True
                size += len(message.get("body", b""))
    except TimeoutError:
        pass
    return False


def _too_large(limit: int) -> TooLargeError:
    return TooLargeError(f"The request's body is larger than {limit:,} bytes, the limit of this server.")
