"""Routes of the page: its files and the API reference, its session, and the state of the server."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import PurePath
from typing import Annotated, Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response
from pydantic import Field

from graphwright.methods.registry import GROUPS, METHODS
from graphwright.serve.authentication import COOKIE, READ, UnauthorizedError, require, route_path
from graphwright.serve.keys import LOCAL, Key
from graphwright.serve.problems import NotFoundError, StartingError
from graphwright.serve.schemas.answers import Body, MethodsReply, Reply
from graphwright.serve.server import Server, ServerOf
from graphwright.serve.telemetry import CONTENT_TYPE

router = APIRouter(include_in_schema=False)
_FOLDERS = {"": "static", "assets": "static/assets", "docs": "reference"}
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_FOR_EVER = "public, max-age=31536000, immutable"  # the names of assets are hashes of their contents


@dataclass(frozen=True)
class PageFile:
    """A file of the page, plain and compressed by gzip."""

    content: bytes
    packed: bytes
    media_type: str
    tag: str


@cache
def page_files(folder: str) -> dict[str, PageFile]:
    """Return the files below "", "assets" or "docs" by name."""
    root = files("graphwright.serve").joinpath(_FOLDERS[folder])
    found = {}
    for path in root.iterdir():
        if path.is_file():
            content = path.read_bytes()
            tag = f'"{sha256(content).hexdigest()[:16]}"'
            packed = gzip.compress(content, mtime=0)
            found[path.name] = PageFile(content, packed, _TYPES[PurePath(path.name).suffix], tag)
    return found


@router.api_route("/", methods=["GET", "HEAD"])
@router.api_route("/assets/{name}", methods=["GET", "HEAD"])
@router.get("/docs", dependencies=READ)
@router.get("/docs/{name}", dependencies=READ)
async def page(request: Request, name: str = "index.html") -> Response:
    """Return a file of the page or of the reference; browsers revalidate all but the assets on each use."""
    folder = route_path(request.scope).split("/")[1]
    file = page_files(folder).get(name)
    if file is None:
        raise NotFoundError(f"The page has no file {name!r}. Load the page again: it may be of another version.")
    cache_control = _FOR_EVER if folder == "assets" else "no-cache"
    headers = {"Cache-Control": cache_control, "ETag": file.tag, "Vary": "Accept-Encoding"}
    if file.tag in request.headers.get("if-none-match", ""):
        # The media type decides the security policy, also of an empty response.
        return Response(status_code=304, headers=headers, media_type=file.media_type)
    content = file.content
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"], content = "gzip", file.packed
    return Response(content, headers=headers, media_type=file.media_type)


session_router = APIRouter(prefix="/session", tags=["session"])


class KeyBody(Body):
    """A key."""

    key: Annotated[str, Field(min_length=1, max_length=8_192, examples=["gw_0a1b2c3d_…"])]


class SessionReply(Reply):
    """The identity and the rights of the client."""

    closed: Annotated[bool, Field(description="Whether requests need a key.")]
    signed_in: Annotated[bool, Field(description="Whether this request had a valid key or session, or needs none.")]
    name: Annotated[str | None, Field(description="Name of the key.", examples=["reader"])] = None
    scope: Annotated[str | None, Field(description="read, write or admin.", examples=["read"])] = None
    indexes: Annotated[list[str] | None, Field(description="Names of the indexes that the client sees.")] = None
    manages: Annotated[bool, Field(description="Whether it may manage keys and language models.")] = False


@session_router.get("", response_model=SessionReply)
async def session(server: ServerOf, request: Request) -> SessionReply:
    """Return whether a key is needed, and the rights of the client."""
    return _session(server, getattr(request.state, "grant", None))


@session_router.post("", response_model=SessionReply)
async def sign_in(body: KeyBody, server: ServerOf, request: Request, response: Response) -> SessionReply:
    """Exchange a key for a session cookie, which is valid only for requests of the page."""
    if not server.closed:
        return _session(server, LOCAL)
    grant = server.keys.check(body.key.strip())
    if grant is None:
        raise server.limits.refuse(request.scope, UnauthorizedError("The key is unknown, expired or revoked."))
    token, seconds = server.keys.open_session(grant, server.settings.session_hours * 3600)
    response.set_cookie(COOKIE, token, max_age=seconds, **_cookie(server, request))
    return _session(server, grant)


@session_router.delete("", status_code=204)
async def sign_out(server: ServerOf, request: Request) -> Response:
    """End the session."""
    token = request.cookies.get(COOKIE)
    if token is not None:
        server.keys.close_session(token)
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, **_cookie(server, request))
    return response


def _session(server: Server, grant: Key | None) -> SessionReply:
    if grant is None:
        return SessionReply(closed=server.closed, signed_in=False)
    names = server.visible(grant)
    told = SessionReply(closed=server.closed, signed_in=True, name=grant.name, scope=grant.scope, indexes=names)
    return told.model_copy(update={"manages": grant.may("admin") and grant.indexes is None})


def _cookie(server: Server, request: Request) -> dict[str, Any]:
    """Return the attributes of the cookie: for this server's path, not readable by scripts or other sites."""
    path = server.settings.root_path or "/"
    return {"path": path, "httponly": True, "samesite": "strict", "secure": request.url.scheme == "https"}


status_router = APIRouter(tags=["status"])


@status_router.get("/healthz")
async def health() -> dict[str, str]:
    """Return "ok" while the process is alive."""
    return {"status": "ok"}


@status_router.get("/metrics", dependencies=[require("read", every_index=True)], response_class=PlainTextResponse)
async def metrics(server: ServerOf) -> Response:
    """Return the metrics in the text format of Prometheus; needs a key for all indexes."""
    return Response(await run_sync(server.telemetry.metrics.text), media_type=CONTENT_TYPE)


@status_router.get("/readyz", dependencies=READ, response_model=dict[str, str])
async def ready(server: ServerOf, request: Request) -> Any:
    """Return whether every index can be searched; 503 until the models are loaded, or if an index is damaged."""
    if not request.app.state.warm.is_set():
        raise StartingError
    await server.workers.run(lambda _: [index.snapshot for index in server.catalog.values()], request)
    return {"status": "ready"}


@status_router.get("/v1/methods", dependencies=READ, response_model=MethodsReply)
async def methods() -> Any:
    """List the retrieval methods and their options."""
    return {
        "methods": [
            {
                "name": name,
                "group": group,
                "about": method.about,
                "options": {option: _plain(value) for option, value in method.options.items()},
                "needs_llm": "llm" in method.required,
            }
            for group, names in GROUPS.items()
            for name, method in ((name, METHODS[name]) for name in names)
        ]
    }


def _plain(value: Any) -> Any:
    """Return a default value for JSON; models and functions by name."""
    return value if isinstance(value, str | int | float | bool | None) else getattr(value, "__name__", repr(value))
