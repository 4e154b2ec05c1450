"""Middleware around all routes, as plain ASGI: request ids, headers, log and metrics; hosts and origins; bodies.

`Observation` is the outermost, so that the errors of the others carry its headers and are logged as well.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphwright.serve.problems import ServeError, TooLargeError, send_problem
from graphwright.serve.security.authentication import (
    SAFE_METHODS,
    Authentication,
    ForbiddenError,
    compared,
    is_public,
    is_same_origin,
    route_path,
)
from graphwright.serve.security.rates import client_address
from graphwright.serve.telemetry.logs import REQUEST_ID
from graphwright.serve.telemetry.telemetry import RequestRecord, Telemetry

if TYPE_CHECKING:
    from graphwright.serve.server import Server

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""Content-Security-Policy of the page and of /docs: nothing inline, nothing from elsewhere."""
_DATA_POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox"  # of everything that is not a page
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
)
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
_LOOPBACK_NAMES = frozenset({"localhost", "localhost.localdomain"})
_UPLOAD = re.compile(r"/v1/indexes/[^/]+/documents(/estimate)?")
_MIN_RATE = 10_000.0  # bytes a second that a body must keep up after its first seconds


class MisdirectedError(ServeError):
    """A request for a host that the server does not answer for, as in a DNS rebinding attack."""

    status: ClassVar[int] = 421
    kind: ClassVar[str] = "host"


class SlowBodyError(ServeError):
    """A body that arrives too slowly."""

    status: ClassVar[int] = 408
    kind: ClassVar[str] = "slow-body"


def guards(server: Server) -> list[Middleware]:
    """Return the middleware of a server, the outermost first."""
    settings = server.settings
    hosts = frozenset(host.lower() for host in (settings.host, *settings.allowed_hosts))
    return [
        Middleware(Observation, telemetry=server.telemetry),
        Middleware(HostGuard, hosts=hosts),
        Middleware(BodyLimits, max_body=settings.max_body, max_upload=settings.max_upload, patience=settings.slow_body),
        Middleware(Authentication, keys=server.keys, limits=server.limits, tokens=server.tokens),
    ]


@dataclass(frozen=True)
class Observation:
    """ASGI middleware that numbers requests, sets security headers, and logs, counts and audits each response.

    An exception that no handler took becomes a problem here, without its text, and is logged with it.
    """

    app: ASGIApp
    telemetry: Telemetry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Observe one request; other connections but those of the server's lifespan are refused."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        record = RequestRecord(id=_request_id(Headers(scope=scope)), method=scope["method"], path=route_path(scope))
        scope.setdefault("state", {})["request_id"] = record.id
        REQUEST_ID.set(record.id)
        record.client = client_address(scope)

        async def observed(message: Message) -> None:
            if message["type"] == "http.response.start":
                record.status = message["status"]
                message = {**message, "headers": _with_headers(message.get("headers", []), record.id)}
            await send(message)

        with self.telemetry.request(record, Headers(scope=scope)) as span:
            scope["state"]["span"] = span
            try:
                await self.app(scope, receive, observed)
            except Exception as error:
                if record.status:  # the response has begun, and cannot be another any more
                    raise
                self.telemetry.log_failure(record, error)
                await send_problem(scope, receive, observed, error)
            finally:
                _complete(record, scope)


def _complete(record: RequestRecord, scope: Scope) -> None:
    """Enter what the inner parts found out about a request."""
    state, route = scope["state"], scope.get("route")
    record.grant = state.get("grant")
    record.route = getattr(route, "path", None)
    record.index = scope.get("path_params", {}).get("ix")
    record.audited = record.method not in SAFE_METHODS and state.get("required", "read") != "read"


def _request_id(headers: Headers) -> str:
    """Return the id that a proxy gave to the request, or a new one."""
    given = headers.get("x-request-id", "")
    return given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)


def _with_headers(headers: list[tuple[bytes, bytes]], request_id: str) -> list[tuple[bytes, bytes]]:
    """Return the headers of a response with those that every response has."""
    given = {name.lower(): value for name, value in headers}
    policy = PAGE_POLICY if given.get(b"content-type", b"").startswith(b"text/html") else _DATA_POLICY
    more = [(b"x-request-id", request_id.encode()), (b"content-security-policy", policy.encode()), *_HEADERS]
    if b"cache-control" not in given:
        more.append((b"cache-control", b"no-store"))
    names = {name for name, _ in more}
    return [(name, value) for name, value in headers if name.lower() not in names] + more


@dataclass(frozen=True)
class HostGuard:
    """ASGI middleware that refuses requests for other hosts, and those that another site's page sends.

    `hosts`: allowed names. Addresses such as 127.0.0.1 pass: a page of another site can only get a browser here under
    a name of its own (DNS rebinding). Programs send no Origin and pass too.
    """

    app: ASGIApp
    hosts: frozenset[str] = frozenset()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it with 421 or 403."""
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
                f"The request is for {shown}, which this server does not answer for. Where that is its name, add it to "
                f"the server's allowed_hosts."
            )
        navigates = scope["method"] == "GET" and headers.get("sec-fetch-mode") == "navigate"
        if is_same_origin(headers) or (navigates and is_public(route_path(scope))):
            return None
        return ForbiddenError(
            f"The request comes from a page of another site; this server answers its own page only.{compared(headers)}"
        )


def host_name(value: str) -> str | None:
    """Return the name in a Host header in lower case, without port; None where it is malformed.

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


@dataclass(frozen=True)
class BodyLimits:
    """ASGI middleware that ends requests whose body is too large or arrives too slowly.

    `max_body`, `max_upload`: bytes, the second for documents. `patience`: seconds for the body's first bytes; after
    them it must arrive at 10 kB a second on average.
    """

    app: ASGIApp
    max_body: int
    max_upload: int
    patience: float = 20.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with a watched body."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = self.max_upload if _UPLOAD.fullmatch(route_path(scope)) else self.max_body
        body = _Body(limit, self.patience, receive, send)
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
    """Counts and times the body of one request; after an error the application's own response is dropped."""

    limit: int
    patience: float
    receive_more: Receive
    send_on: Send
    error: ServeError | None = None
    begun: bool = False
    _size: int = 0
    _complete: bool = False
    _since: float = field(default_factory=time.monotonic)

    async def receive(self) -> Message:
        if self._complete:
            return await self.receive_more()
        left = self._since + self.patience + self._size / _MIN_RATE - time.monotonic()
        try:
            async with asyncio.timeout(left):
                message = await self.receive_more()
        except TimeoutError:
            self.error = SlowBodyError("The request's body arrived too slowly.")
            raise self.error from None
        self._size += len(message.get("body", b""))
        self._complete = not message.get("more_body", False)
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
