"""Routes about the server: health, readiness, indexes and methods."""

from __future__ import annotations

from typing import Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response

from graphwright.methods.registry import METHODS
from graphwright.serve.problems import StartingError
from graphwright.serve.schemas.answers import IndexesReply, IndexReply, MethodsReply
from graphwright.serve.security.authentication import GrantOf, require
from graphwright.serve.server import CallOf, ServerOf
from graphwright.serve.telemetry.telemetry import CONTENT_TYPE

router = APIRouter(tags=["status"])


@router.get("/healthz")
async def health() -> dict[str, str]:
    """Return "ok" while the process is alive."""
    return {"status": "ok"}


@router.get("/metrics", dependencies=[require("read", every_index=True)], response_class=PlainTextResponse)
async def metrics(server: ServerOf) -> Response:
    """Return the metrics in the text format of Prometheus; needs a key for all indexes."""
    return Response(await run_sync(server.telemetry.metrics.text), media_type=CONTENT_TYPE)


@router.get("/readyz", dependencies=[require("read")], response_model=dict[str, str])
async def ready(server: ServerOf, request: Request) -> Any:
    """Return whether every index can be searched; 503 until the models are loaded, or if an index is damaged."""
    if not request.app.state.warm.is_set():
        raise StartingError
    await server.workers.run(lambda _: [index.snapshot for index in server.catalog.values()], request)
    return {"status": "ready"}


@router.get("/v1/indexes", dependencies=[require("read")], response_model=IndexesReply)
async def indexes(server: ServerOf, grant: GrantOf, request: Request) -> Any:
    """List the indexes that the client may see."""
    names = server.visible(grant)
    return await server.workers.run(lambda _: {"indexes": [server.facts(name) for name in names]}, request)


@router.get("/v1/indexes/{ix}", dependencies=[require("read")], response_model=IndexReply)
async def one_index(call: CallOf) -> Any:
    """Return facts about an index."""
    return await call.run(lambda _: call.server.facts(call.ix))


@router.get("/v1/methods", dependencies=[require("read")], response_model=MethodsReply)
async def methods() -> Any:
    """List the retrieval methods and their options."""
    return {
        "methods": [
            {
                "name": method.name,
                "about": method.about,
                "options": {name: _plain(value) for name, value in method.options.items()},
                "needs_llm": "llm" in method.required,
            }
            for method in METHODS.values()
        ]
    }


def _plain(value: Any) -> Any:
    """Return a default value for JSON; models and functions by name."""
    return value if isinstance(value, str | int | float | bool | None) else getattr(value, "__name__", repr(value))
