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
from graphwright.serve.security.authentication import require, route_path

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
@router.get("/docs", dependencies=[require("read")])
@router.get("/docs/{name}", dependencies=[require("read")])
async def page(request: Request, name: str = "index.html") -> Response:
    """Return a file of the page or of the reference; browsers revalidate all but the assets on each use."""
    folder = route_path(request.scope).split("/")[1]
    return _reply(request, folder, name, _FOR_EVER if folder == "assets" else "no-cache")


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
