"""Host and origin checks: refuse requests for another host, or from a page of another site."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from graphwright.serve.problems import ServeError, send_problem
from graphwright.serve.security.authentication import ForbiddenError, compared, is_public, is_same_origin, route_path

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
