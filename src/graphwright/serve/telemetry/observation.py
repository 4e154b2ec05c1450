"""The outermost middleware: request ids, security headers, logs, metrics and audit of each response."""

from __future__ import annotations

import logging
import re
import secrets
import time
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphwright.serve.problems import send_problem
from graphwright.serve.security.authentication import route_path
from graphwright.serve.telemetry.logs import REQUEST_ID
from graphwright.serve.telemetry.telemetry import Telemetry

_log = logging.getLogger("graphwright.serve")
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""Content-Security-Policy of the page and of /docs: no inline and no external resources."""
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


@dataclass(frozen=True)
class Observation:
    """ASGI middleware that sets request ids and security headers, and logs, counts and audits each response.

    An unhandled exception is logged, and becomes a problem without its message.
    """

    app: ASGIApp
    telemetry: Telemetry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Observe one request. Pass lifespan events on; ignore other connections."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")  # of a proxy
        id = given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = id
        REQUEST_ID.set(id)
        status, begun = 0, time.perf_counter()

        async def observed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": _with_headers(message.get("headers", []), id)}
            await send(message)

        try:
            await self.app(scope, receive, observed)
        except Exception as error:
            if status:  # the response has begun and cannot be replaced
                raise
            what = scope["method"], route_path(scope)
            _log.error("%s %s failed", *what, exc_info=error, extra={"request_id": id})
            await send_problem(scope, receive, observed, error)
        finally:
            self.telemetry.end_request(scope, id, status, time.perf_counter() - begun)


def _with_headers(headers: list[tuple[bytes, bytes]], request_id: str) -> list[tuple[bytes, bytes]]:
    """Add the headers that every response has."""
    present = {name.lower(): value for name, value in headers}
    policy = PAGE_POLICY if present.get(b"content-type", b"").startswith(b"text/html") else _DATA_POLICY
    more = [(b"x-request-id", request_id.encode()), (b"content-security-policy", policy.encode()), *_HEADERS]
    if b"cache-control" not in present:
        more.append((b"cache-control", b"no-store"))
    names = {name for name, _ in more}
    return [(name, value) for name, value in headers if name.lower() not in names] + more
