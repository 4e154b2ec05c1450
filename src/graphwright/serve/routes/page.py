"""The page: the built files of `ui/`, served from memory."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files

from fastapi import APIRouter, Request, Response

from graphwright.serve.problems import NotFoundError

router = APIRouter(include_in_schema=False)

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_FOR_EVER = "public, max-age=31536000, immutable"  # the names of assets are hashes of their contents


@dataclass(frozen=True)
class PageFile:
    """A file of the page, as it is and compressed by gzip."""

    content: bytes
    packed: bytes
    media_type: str
    tag: str


@cache
def page_files() -> dict[str, PageFile]:
    """Return the files of the page by their paths, such as "index.html" and "assets/index-3f2a.js"."""
    root = files("graphwright.serve") / "static"
    paths = {path.name: path for path in root.iterdir() if path.is_file()}
    paths |= {f"assets/{path.name}": path for path in (root / "assets").iterdir()}
    return {name: _page_file(name, path.read_bytes()) for name, path in paths.items()}


def _page_file(name: str, content: bytes) -> PageFile:
    packed = gzip.compress(content, mtime=0)
    return PageFile(content, packed, _TYPES[name.rpartition(".")[2]], f'"{sha256(content).hexdigest()[:16]}"')


@router.api_route("/", methods=["GET", "HEAD"])
async def page(request: Request) -> Response:
    """Return the page; browsers ask each time whether it has changed."""
    return _reply(request, page_files()["index.html"], "no-cache")


@router.api_route("/assets/{name}", methods=["GET", "HEAD"])
async def asset(name: str, request: Request) -> Response:
    """Return a script, style sheet or image of the page. Raises NotFoundError for another name."""
    file = page_files().get(f"assets/{name}")
    if file is None:
        raise NotFoundError(f"The page has no file {name!r}. Load the page again: it may be of another version.")
    return _reply(request, file, _FOR_EVER)


def _reply(request: Request, file: PageFile, cache_control: str) -> Response:
    headers = {"Cache-Control": cache_control, "ETag": file.tag, "Vary": "Accept-Encoding"}
    if file.tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers, media_type=file.media_type)  # which decides the policy
    content = file.content
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"], content = "gzip", file.packed
    return Response(content, headers=headers, media_type=file.media_type)
