"""Request paths: a sub-path of a reverse proxy, and document ids that contain slashes."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

_DOCUMENTS = re.compile(rb"(/v1/indexes/[^/]+/documents/)(.+)")


class Addressing:
    """Middleware that puts every path below `root_path` and keeps the ids of documents percent-encoded.

    A reverse proxy may send the sub-path or leave it out. The part after `/documents/` comes from the raw path, so that
    a route matches `a%2Fb` as one part; `document_id` decodes it.
    """

    def __init__(self, app: ASGIApp, root_path: str = "") -> None:
        self._app, self._root = app, root_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its path. Redirect the sub-path without a slash to the page."""
        if scope["type"] == "http" and self._root and scope["path"] == self._root:
            await RedirectResponse(f"{self._root}/")(scope, receive, send)
            return
        if scope["type"] in ("http", "websocket"):
            scope = {**scope, "root_path": self._root, "path": self._path(scope)}
        await self._app(scope, receive, send)

    def _path(self, scope: Scope) -> str:
        """Return the path of a request, with the sub-path before it."""
        path: str = _routed(scope)
        if self._root and not (path == self._root or path.startswith(f"{self._root}/")):
            path = self._root + path
        return path


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
    """Decode the percent-encoded id of a document.

    >>> document_id("a%2Fb%23c.md")
    'a/b#c.md'
    """
    return unquote(encoded, errors="surrogatepass")
