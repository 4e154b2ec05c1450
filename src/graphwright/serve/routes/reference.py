"""The page /docs: the server's OpenAPI document for people, with nothing from elsewhere."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from fastapi import APIRouter, Response

from graphwright.serve.problems import NotFoundError
from graphwright.serve.security.authentication import require

router = APIRouter(include_in_schema=False, dependencies=[require("read")])
_TYPES = {"index.html": "text/html", "reference.css": "text/css", "reference.js": "text/javascript"}


@router.get("/docs")
async def page() -> Response:
    """Return the page."""
    return _file("index.html")


@router.get("/docs/{name}")
async def part(name: str) -> Response:
    """Return the page's script or style."""
    if name not in _TYPES:
        raise NotFoundError(f"There is no file {name!r} here.")
    return _file(name)


def _file(name: str) -> Response:
    return Response(_content(name), media_type=_TYPES[name], headers={"Cache-Control": "no-cache"})


@cache
def _content(name: str) -> bytes:
    return (files("graphwright.serve") / "reference" / name).read_bytes()
