"""Routes about the graph and the texts of documents."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from graphwright.models import Cancellation
from graphwright.serve.addressing import document_id
from graphwright.serve.schemas.graph import EntitiesReply, EntityReply, PathsReply, TextReply
from graphwright.serve.security.authentication import require
from graphwright.serve.server import CallOf
from graphwright.serve.views import graph as views
from graphwright.serve.views.documents import document_text
from graphwright.serve.views.documents import text as text_of

router = APIRouter(prefix="/v1/indexes/{ix}", tags=["graph"], dependencies=[require("read")])
_MAX_CHARACTERS = 2**40

Limit = Annotated[int, Query(ge=1, le=200, description="Number of entries.")]
Node = Annotated[str, Path(max_length=1_000, description="A node's number, or its name.", examples=["Graz"])]
End = Annotated[str, Query(min_length=1, max_length=1_000, description="A node's number, or its name.")]
Place = Annotated[int | None, Query(ge=0, le=_MAX_CHARACTERS, description="A character of the document.")]


@router.get("/entities", response_model=EntitiesReply)
async def entities(
    call: CallOf,
    q: Annotated[str, Query(max_length=1_000, description="A name, or the beginning of one.")] = "",
    limit: Limit = 20,
) -> Any:
    """Search entities by name; without a name, list the best connected."""
    return await call.run(lambda _: {"entities": views.entities(call.index.snapshot, q, limit)})


@router.get("/entities/{node}", response_model=EntityReply)
async def entity(
    node: Node,
    call: CallOf,
    offset: Annotated[int, Query(ge=0, le=10**9, description="Entries to leave out at the beginning.")] = 0,
    limit: Limit = 50,
) -> Any:
    """Return an entity with its statements, neighbours and passages."""

    def work(_: Cancellation) -> dict[str, Any]:
        graph = call.index.graph
        return views.entity(graph, views.node_of(graph, node), offset, limit)

    return await call.run(work)


@router.get("/paths", response_model=PathsReply)
async def paths(
    call: CallOf,
    source: Annotated[End, Query(alias="from")],
    target: Annotated[End, Query(alias="to")],
    limit: Limit = 5,
) -> Any:
    """Find the shortest paths between two nodes."""
    return await call.run(lambda _: {"paths": views.paths(call.index.graph, source, target, limit)})


@router.get("/documents/{document}/text", response_model=TextReply)
async def text(
    document: Annotated[str, Path(description="Id of a document, percent-encoded.", examples=["graz.md"])],
    call: CallOf,
    start: Place = 0,
    end: Place = None,
) -> Any:
    """Return characters of a document, counted as in citations; by default all."""
    id = document_id(document)
    return await call.run(lambda _: {"document": id, **document_text(text_of(call.index, id), start or 0, end)})
