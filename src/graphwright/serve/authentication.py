"""Authentication of requests, the scopes that routes require, and limits of the rate of requests.

`Authentication` determines the grant of a request, and refuses requests without one except to a few public paths.
`require` declares the scope of a route. Both checks must pass, so a route without a declared scope is not public.
"""

from __future__ import annotations

import ipaddress
import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Request, Security
from fastapi.security import HTTPBearer
from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from graphwright.errors import OptionError
from graphwright.serve.keys import LOCAL, Key, Keys
from graphwright.serve.problems import ServeError, send_problem
from graphwright.serve.settings import ServeSettings, default_data_folder
from graphwright.serve.workers import ASKER


class RateLimitError(ServeError):
    """Too many requests in a minute."""

    status, kind = 429, "rate-limit"


def client_address(scope: Scope) -> str:
    """Return the client's address; for IPv6 its /64 network, because a client can use many addresses of it."""
    host = (scope.get("client") or ("unknown",))[0]
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return str(host)
    if address.version == 6:
        return str(address.ipv4_mapped or ipaddress.ip_network((address, 64), strict=False))
    return str(address)


class RateLimits:
    """Counts of requests in the past minute, by key and by address, in memory.

    `requests_per_minute`: limit for one key; None is no limit. `failures_per_minute`: limit for requests without a
    valid key from one address; it never affects requests with a valid key.
    """

    def __init__(self, requests_per_minute: int | None = None, failures_per_minute: int = 30) -> None:
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._requests = None if requests_per_minute is None else RateLimitItemPerMinute(requests_per_minute)
        self._failures = RateLimitItemPerMinute(failures_per_minute)

    def count(self, grant: Key) -> None:
        """Count a request with a key. Raises RateLimitError above the limit."""
        limit = self._requests
        if limit is not None and grant.id and not self._limiter.hit(limit, "key", grant.id):
            raise self._error(limit, "requests with this key", "key", grant.id)

    def refuse(self, scope: Scope, error: ServeError) -> ServeError:
        """Count a request without a valid key; return `error`, or a RateLimitError above the limit."""
        address = client_address(scope)
        if self._limiter.hit(self._failures, "failure", address):
            return error
        return self._error(self._failures, "requests without a valid key, from this address,", "failure", address)

    def _error(self, item: Any, counted: str, *identifiers: str) -> RateLimitError:
        wait = max(1, round(self._limiter.get_window_stats(item, *identifiers).reset_time - time.time()))
        return RateLimitError(f"More than {item.amount} {counted} came in a minute. Try again in {wait} seconds.", wait)


COOKIE = "graphwright_session"  # name of the page's session cookie
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_PUBLIC = frozenset({"/", "/index.html", "/favicon.ico", "/healthz", "/session"})
_PUBLIC_FOLDERS = ("/assets/",)
_PROBES = frozenset({"/healthz", "/readyz"})  # health checks, which count for no rate limit
_REALM = 'Bearer realm="graphwright"'
_BEARER = HTTPBearer(scheme_name="key", description="A key, or none while the server has none.", auto_error=False)


class UnauthorizedError(ServeError):
    """A request without a key, or with an unknown, expired or revoked one."""

    status, kind = 401, "unauthorized"
    headers = {"WWW-Authenticate": _REALM}  # noqa: RUF012


class ForbiddenError(ServeError):
    """A key with too narrow a scope, or a request from another site."""

    status, kind = 403, "forbidden"


def check_exposure(settings: ServeSettings, keys: Keys) -> None:
    """Raise OptionError if other machines can reach the server and requests need no key."""
    if not (settings.is_loopback or keys.exist()):
        raise OptionError(
            f"--host {settings.host} opens the server to others, and there is no key. Make one: "
            f"{create_command(settings.data)}"
        )


def create_command(data: Path) -> str:
    """Return the command that creates a key in a data folder."""
    place = "" if data == default_data_folder() else f" --data {shlex.quote(str(data))}"
    return f"graphwright keys create NAME{place}"


@dataclass(frozen=True)
class Authentication:
    """ASGI middleware that puts the grant of each request into its state, or refuses the request.

    A key is in the header Authorization. The page's session is in a cookie, which permits changes only with proof that
    the request comes from the page. While no key exists, every request has all rights. Bodies are not read here.
    """

    app: ASGIApp
    keys: Keys
    limits: RateLimits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            grant = self._grant(scope)
            if grant is not None:
                if route_path(scope) not in _PROBES:
                    self.limits.count(grant)
            elif not is_public(route_path(scope)):
                raise self.limits.refuse(scope, UnauthorizedError(_MISSING))
        except ServeError as error:
            await send_problem(scope, receive, send, error)
            return
        scope.setdefault("state", {})["grant"] = grant
        ASKER.set(grant.id if grant is not None and grant.id else client_address(scope))
        await self.app(scope, receive, send)

    def _grant(self, scope: Scope) -> Key | None:
        """Return the grant; None without a valid key. Raises ForbiddenError for a cookie that another site sends."""
        if not self.keys.exist():
            return LOCAL
        headers = Headers(scope=scope)
        kind, _, credentials = headers.get("authorization", "").strip().partition(" ")
        if kind:
            return self.keys.check(credentials.strip() if kind.lower() == "bearer" else "")
        session = Request(scope).cookies.get(COOKIE)
        grant = None if session is None else self.keys.session(session)
        if grant is not None and scope["method"] not in SAFE_METHODS and not is_same_origin(headers, proof=True):
            raise ForbiddenError(
                f"A session counts only for requests of this server's own page. Send a key instead.{compared(headers)}"
            )
        return grant


_MISSING = "Send a key that is valid, in the header Authorization: Bearer gw_…"


def is_public(path: str) -> bool:
    """Return whether a path is open to everyone: health, the page's files, and the exchange of a key for a session."""
    return path in _PUBLIC or path.startswith(_PUBLIC_FOLDERS)


def route_path(scope: Scope) -> str:
    """Return the path without the root path of a reverse proxy, as routes match it."""
    path, root = str(scope["path"]), str(scope.get("root_path", ""))
    if path == root:
        return "/"
    return path.removeprefix(root) if root and path.startswith(f"{root}/") else path


def is_same_origin(headers: Headers, *, proof: bool = False) -> bool:
    """Return whether a request does not come from another site's page, by headers that scripts cannot forge.

    `proof`: require headers that show this server's own page; else one without them, as of a program, passes too.
    """
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    if origin is not None:
        return origin.partition("://")[2].lower() == headers.get("host", "").lower() != ""
    if site is not None:
        return site == "same-origin" or (site == "none" and not proof)
    return not proof


def compared(headers: Headers) -> str:
    """Return a sentence with the two headers that `is_same_origin` compares; "" without an Origin."""
    origin, host = headers.get("origin"), headers.get("host", "")
    if origin is None:
        return ""
    return f" Origin is {origin[:100]!r}, Host is {host[:100]!r}: does the proxy send Host unchanged, with its port?"


def granted(request: Request) -> Key:
    """Return the grant of a request. Raises UnauthorizedError for a request to a public path without a key."""
    grant: Key | None = getattr(request.state, "grant", None)
    if grant is None:
        raise UnauthorizedError(_MISSING)
    return grant


async def grant_of(request: Request) -> Key:
    """Return the grant of a request, as a dependency."""
    return granted(request)


@dataclass(frozen=True)
class Require:
    """A dependency that admits requests whose key has a scope, and sees the index of the route.

    `every_index`: require a key for all indexes, because the reply is about all. Requests that need more than "read"
    are written to the audit log, refused ones too.
    """

    scope: str
    every_index: bool = False

    async def __call__(self, request: Request, _: Annotated[Any, Security(_BEARER)] = None) -> Key:
        """Return the grant. Raises UnauthorizedError, ForbiddenError or NotFoundError."""
        request.state.required = self.scope
        grant = granted(request)
        if not grant.may(self.scope):
            error = ForbiddenError(f"This needs a key with the scope {self.scope}; the key sent has {grant.scope}.")
            error.headers = {"WWW-Authenticate": f'{_REALM}, error="insufficient_scope", scope="{self.scope}"'}
            raise error
        if self.every_index and grant.indexes is not None:
            raise ForbiddenError("This route is about all indexes; the key sent is for some.")
        name = request.path_params.get("ix")
        if name is not None:
            request.app.state.server.index(name, grant)
        return grant


def require(scope: str, *, every_index: bool = False) -> Any:
    """Return the dependency for a route: `dependencies=[require("read")]`."""
    return Depends(Require(scope, every_index))


READ, WRITE, ADMIN = [require("read")], [require("write")], [require("admin")]  # for routes, with these scopes
GrantOf = Annotated[Key, Depends(grant_of)]  # the grant of a request, as a parameter of a route
