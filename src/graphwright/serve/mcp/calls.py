"""MCP calls: the caller's rights, the requested index, and the conversion of texts and errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from urllib.parse import quote

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from starlette.requests import Request

from graphwright.errors import GraphwrightError
from graphwright.serve.problems import NotFoundError
from graphwright.serve.security.authentication import granted
from graphwright.serve.security.grants import LOCAL, Grant
from graphwright.serve.server import Library

ROOT = "graphwright://indexes"
"""Prefix of the addresses of resources."""
_request: ContextVar[Request | None] = ContextVar("request", default=None)


async def keep_request(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Store the HTTP request during a call, for tools and resources."""
    _request.set(ctx.request)
    return await call_next(ctx)


def current_request() -> Request | None:
    """Return the HTTP request of the current call; None over stdio."""
    return _request.get()


def caller() -> Grant:
    """Return the rights of the client; over stdio, all rights."""
    request = _request.get()
    return LOCAL if request is None else granted(request)


def index_name(library: Library, name: str | None) -> str:
    """Return the name of the requested or the only index. Raises NotFoundError if it is unknown or ambiguous."""
    visible = library.visible(caller())
    if name is None and len(visible) == 1:
        return visible[0]
    if name not in visible:
        problem = "Name an index" if name is None else f"There is no index {name!r}"
        raise NotFoundError(f"{problem}; there are: {', '.join(visible) or 'none that this key sees'}.")
    return str(name)


def address(index: str, kind: str, id: str | None = None) -> str:
    """Return the address of a resource.

    >>> address("wiki", "documents", "a/b#c.md")
    'graphwright://indexes/wiki/documents/a%2Fb%23c.md'
    """
    return "/".join([ROOT, *(quote(part, safe="") for part in (index, kind, *([] if id is None else [id])))])


@contextmanager
def errors_as(kind: type[Exception], library: Library) -> Iterator[None]:
    """Raise a GraphwrightError as an error of the protocol, without paths; the SDK logs and hides other errors."""
    try:
        yield
    except GraphwrightError as error:
        raise kind(library.catalog.without_paths(str(error))) from error


def storable(text: str) -> str:
    """Return a text without lone surrogates, which cannot be encoded as UTF-8."""
    return text.encode("utf-8", "replace").decode()
