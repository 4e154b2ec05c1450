"""Calls of the protocol: who makes one, the index that it means, and the forms in which results and errors go back."""

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
"""Beginning of the addresses of resources."""
_request: ContextVar[Request | None] = ContextVar("request", default=None)


async def keep_request(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Keep the HTTP request during a call: the SDK hands no context to completions."""
    _request.set(ctx.request)
    return await call_next(ctx)


def current_request() -> Request | None:
    """Return the HTTP request of the current call; None over stdio."""
    return _request.get()


def caller() -> Grant:
    """Return the rights of the client; over stdio those of the user who started the process."""
    request = _request.get()
    return LOCAL if request is None else granted(request)


def index_name(library: Library, name: str | None) -> str:
    """Return the name of the index that is meant. Raises NotFoundError where none or several can be."""
    visible = library.visible(caller())
    if name is None and len(visible) == 1:
        return visible[0]
    if name not in visible:
        asked = "Name an index" if name is None else f"There is no index {name!r}"
        raise NotFoundError(f"{asked}; there are: {', '.join(visible) or 'none that this key sees'}.")
    return str(name)


def address(index: str, kind: str, id: str | None = None) -> str:
    """Return the address of a resource.

    >>> address("wiki", "documents", "a/b#c.md")
    'graphwright://indexes/wiki/documents/a%2Fb%23c.md'
    """
    return "/".join([ROOT, *(quote(part, safe="") for part in (index, kind, *([] if id is None else [id])))])


@contextmanager
def errors_as(kind: type[Exception], library: Library) -> Iterator[None]:
    """Raise errors of ours as errors of the protocol, without paths; others are logged and hidden by the SDK."""
    try:
        yield
    except GraphwrightError as error:
        raise kind(library.catalog.without_paths(str(error))) from error


def storable(text: str) -> str:
    """Return a text without half surrogate pairs, which JSON in UTF-8 cannot hold."""
    return text.encode("utf-8", "replace").decode()
