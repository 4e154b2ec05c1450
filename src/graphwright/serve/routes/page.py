"""The page, and the API reference below /docs: files of this package, served from memory."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import PurePath

from fastapi import APIRouter, Request, Response

from graphwright.serve.problems import NotFoundError
from graphwright.serve.security.authentication import require

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
    return {path.name: _page_file(path.name, path.read_bytes()) for path in root.iterdir() if path.is_file()}


def _page_file(name: str, content: bytes) -> PageFile:
    tag = f'"{sha256(content).hexdigest()[:16]}"'
    return PageFile(content, gzip.compress(content, mtime=0), _TYPES[PurePath(name).suffix], tag)


@router.api_route("/", methods=["GET", "HEAD"])
async def page(request: Request) -> Response:
    """Return the page, which browsers revalidate on each use."""
    return _reply(request, "", "index.html", "no-cache")


@router.api_route("/assets/{name}", methods=["GET", "HEAD"])
async def asset(name: str, request: Request) -> Response:
    """Return a script, style sheet or image of the page."""
    return _reply(request, "assets", name, _FOR_EVER)


@router.get("/docs", dependencies=[require("read")])
async def reference(request: Request) -> Response:
    """Return the API reference, a page without external resources."""
    return _reply(request, "docs", "index.html", "no-cache")


@router.get("/docs/{name}", dependencies=[require("read")])
async def reference_file(name: str, request: Request) -> Response:
    """Return the script or the style of the reference."""
    return _reply(request, "docs", name, "no-cache")


def _reply(request: Request, folder: str, name: str, cache_control: str) -> Response:
    """Return a file. Raises NotFoundError if there is none with this name."""
    file = page_files(folder).get(name)
    if file is None:
        raise NotFoundError(f"The page has no file {name!r}. Load the page again: it may be of another version.")
    headers = {"Cache-Control": cache_control, "ETag": file.tag, "Vary": "Accept-Encoding"}
    if file.tag in request.headers.get("if-none-match", ""):
        # The media type decides the security policy, also of an empty response.
        return Response(status_code=304, headers=headers, media_type=file.media_type)
    content = file.content
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"], content = "gzip", file.packed
    return Response(content, headers=headers, media_type=file.media_type)
