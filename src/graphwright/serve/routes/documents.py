"""Routes about documents, their texts and the graph; and the estimated cost of adding documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from graphwright.data import Skipped
from graphwright.errors import OptionError, meant
from graphwright.extract import Estimate, Excerpt, Schema, estimate
from graphwright.models import Cancellation
from graphwright.serve import views
from graphwright.serve.authentication import READ, WRITE
from graphwright.serve.jobs.table import Job, new_id
from graphwright.serve.jobs.uploads import Limits, Sent, Upload
from graphwright.serve.problems import MediaTypeError, NotFoundError
from graphwright.serve.requests import document_id
from graphwright.serve.routes.originals import DocumentPath, Place, original_facts
from graphwright.serve.schemas import documents as replies
from graphwright.serve.schemas.answers import TextReply
from graphwright.serve.schemas.documents import DocumentsBody, SyncBody
from graphwright.serve.server import Call, CallOf, Server
from graphwright.serve.watching import source_states

router = APIRouter(prefix="/v1/indexes/{ix}/documents", tags=["documents"])


def _schema() -> dict[str, Any]:
    """Return the schema of the JSON body without references, which would not resolve inside the OpenAPI document."""
    schema = DocumentsBody.model_json_schema()
    schema["properties"]["documents"]["items"] = schema.pop("$defs")["DocumentBody"]
    return schema


_BODY: dict[str, Any] = {  # the body of requests with documents, for OpenAPI
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": _schema()},
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["files"],
                    "properties": {
                        "files": {
                            "type": "array",
                            "items": {"type": "string", "format": "binary"},
                            "description": "Files of text, and zip or tar.gz archives of them.",
                        }
                    },
                }
            },
        },
    }
}

MaxTokens = Annotated[
    int | None, Query(ge=0, le=10**15, description="Tokens of the language model for this job, if it reads documents.")
]
MaxCost = Annotated[
    float | None, Query(ge=0, le=10**9, allow_inf_nan=False, description="Money for this job, by the model's prices.")
]


@router.get("", response_model=replies.DocumentsReply, dependencies=READ)
async def documents(
    call: CallOf,
    q: Annotated[str, Query(max_length=1_000, description="Text that the id or the title contains.")] = "",
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    sort: Literal["name", "date", "size"] = "name",
) -> Any:
    """List the documents by id, or the latest or the longest first."""
    return await call.run(lambda _: views.documents(call.index, q, offset, limit, sort))


@router.get("/{document}", response_model=replies.DocumentReply, dependencies=READ)
async def document(document: DocumentPath, call: CallOf) -> Any:
    """Return a document's title, metadata and passages, with the entities that each names."""
    id = document_id(document)
    return await call.run(lambda _: views.document(call.index, id) | {"original": original_facts(call, id)})


@router.post("", status_code=202, response_model=replies.QueuedReply, openapi_extra=_BODY, dependencies=WRITE)
async def add(call: CallOf, max_tokens: MaxTokens = None, max_cost: MaxCost = None) -> Any:
    """Add documents; replace those with a known id.

    JSON has texts; multipart/form-data has files, and archives of files (zip, tar.gz). The file name is the id.
    """
    jobs = call.server.jobs
    jobs.check_writable(call.ix)
    task = budget_of(call, max_tokens, max_cost)
    upload = await _received(call, new_id())
    id = upload.folder.name

    def queue(_: Cancellation) -> Job:
        try:
            return jobs.submit(call.ix, "add", task, id)
        except BaseException:
            jobs.uploads.delete(id)
            raise

    return {"job": (await call.server.workers.run(queue)).to_dict(call.ix)}


@router.delete("/{document}", status_code=202, response_model=replies.QueuedReply, dependencies=WRITE)
async def remove(document: DocumentPath, call: CallOf) -> Any:
    """Remove a document. The graph becomes the one that would have been built without it."""
    id = document_id(document)

    def task() -> dict[str, Any]:
        call.server.jobs.check_writable(call.ix)
        views.check_removable(call.index, id)
        return {"ids": [id]}

    return await call.submit("remove", task)


@router.post("/sync", status_code=202, response_model=replies.QueuedReply, dependencies=WRITE)
async def sync(body: SyncBody, call: CallOf, max_tokens: MaxTokens = None, max_cost: MaxCost = None) -> Any:
    """Sync the index with a folder or another source that the server's settings list for it."""
    folders = call.server.settings.folders.get(call.ix, {})
    if body.folder not in folders:
        names = ", ".join(folders) or "none"
        raise NotFoundError(
            f"There is no folder {body.folder!r} for this index; there are: {names}. The server's settings list them "
            f"in [folders.{call.ix}].{meant(body.folder, folders)}"
        )
    return await call.submit("sync", {"folder": folders[body.folder].address, **budget_of(call, max_tokens, max_cost)})


@router.post("/estimate", response_model=replies.EstimateReply, openapi_extra=_BODY, dependencies=WRITE)
async def estimated(call: CallOf) -> Any:
    """Estimate the calls and the cost of the language model for adding these documents; changes nothing."""
    call.server.jobs.check_writable(call.ix)
    upload = await _received(call, new_id())
    try:
        return await call.run(lambda cancel: _estimate(call, upload, cancel))
    finally:
        call.server.jobs.uploads.delete(upload.folder.name)


def _estimate(call: Call, upload: Upload, cancel: Cancellation) -> dict[str, Any]:
    skipped: list[Skipped] = []
    excerpts = call.index.chunks_to_extract(upload.documents(skipped.append, cancel.check))
    parts = [{"document": part.path, "chunk": None, "reason": part.reason} for part in skipped]
    return {**estimated_work(call, excerpts, call.index.extraction_schema), "skipped": parts}


def estimated_work(call: Call, excerpts: Sequence[Excerpt], schema: Schema) -> dict[str, Any]:
    """Return the work and the cost of reading chunks by what reads the documents of an index, in JSON values."""
    llm = call.server.models.settings(call.ix) if call.server.facts(call.ix)["reader"] else None
    expected = Estimate(len(excerpts), 0, 0, 0, 0.0, 0.0)
    if llm is not None:
        expected = estimate(
            excerpts,
            extraction=llm.extraction,
            gleanings=llm.gleanings,
            prices=llm.prices,
            rate=llm.rate,
            schema=schema,
            prompts=call.index.prompts,
        )
    return {**expected.to_dict(), "llm": None if llm is None else llm.model, "skipped": []}


def budget_of(call: Call, max_tokens: int | None, max_cost: float | None) -> dict[str, Any]:
    """Return the budget of a job. Raises OptionError for a cost limit without prices."""
    llm = call.server.models.settings(call.ix)
    if max_cost is not None and (llm is None or llm.prices is None):
        raise OptionError(
            "max_cost needs a language model with prices: give them in the server's settings, under [llm]."
        )
    limits = {"max_job_tokens": max_tokens, "max_job_cost": max_cost}
    return {name: value for name, value in limits.items() if value is not None}


async def _received(call: Call, id: str) -> Upload:
    """Store the documents of a request's body for the job `id`."""
    kind = call.request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        body = await call.request.body()
        return await call.run(lambda _: _store_json(body, call.server, id))
    if kind != "multipart/form-data":
        raise MediaTypeError(f"The body is {kind or 'of no type'}; send application/json or multipart/form-data.")
    return await _receive_files(call.request, call.server, id)


def _store_json(body: bytes, server: Server, id: str) -> Upload:
    try:
        documents = DocumentsBody.model_validate_json(body).documents
    except ValidationError as error:
        raise RequestValidationError(
            [{**item, "loc": ("body", *item["loc"])} for item in error.errors(include_url=False)]
        ) from error
    return server.jobs.uploads.store_documents(id, (document.model_dump() for document in documents))


async def _receive_files(request: Request, server: Server, id: str) -> Upload:
    settings = server.settings
    limits = Limits(settings.max_files, settings.max_unpacked)
    try:
        form = await request.form(max_files=settings.max_files, max_fields=100)
    except HTTPException as error:
        raise RequestValidationError([{"loc": ("body",), "msg": str(error.detail)}]) from error
    try:
        files = [Sent(part.filename or "", part.file) for _, part in form.multi_items() if isinstance(part, UploadFile)]
        if not files:
            raise RequestValidationError([{"loc": ("body", "files"), "msg": "no file was sent"}])
        return await server.workers.run(lambda _: server.jobs.uploads.store_files(id, files, limits))
    finally:
        await form.close()


graph_router = APIRouter(prefix="/v1/indexes/{ix}", tags=["graph"], dependencies=READ)
Limit = Annotated[int, Query(ge=1, le=200, description="Number of entries.")]
Node = Annotated[str, Path(max_length=1_000, description="A node's number, or its name.", examples=["Graz"])]
End = Annotated[str, Query(min_length=1, max_length=1_000, description="A node's number, or its name.")]


@graph_router.get("/entities", response_model=replies.LinkedEntitiesReply)
async def entities(
    call: CallOf,
    q: Annotated[str, Query(max_length=1_000, description="A name, or the beginning of one.")] = "",
    type: Annotated[str, Query(max_length=1_000, description="Only entities of this type, as in a query.")] = "",
    limit: Limit = 20,
) -> Any:
    """Search entities by name; without a name, list the best connected."""

    def work(_: Cancellation) -> dict[str, Any]:
        found, graph = views.entities(call.index.snapshot, q, limit, type), call.index.graph
        return {"entities": found, "links": views.links(graph, [entity["node"] for entity in found])}

    return await call.run(work)


@graph_router.get("/sources", response_model=replies.SourcesReply)
async def sources(call: CallOf) -> Any:
    """List the folders and other sources that the server's settings list for the index, with their last syncs."""
    server = call.server
    return {"sources": await call.run(lambda _: source_states(call.ix, server.jobs, server.settings))}


@graph_router.get("/types", response_model=replies.TypesReply)
async def types(call: CallOf) -> Any:
    """List the types of entities with the numbers of these."""
    return {"types": await call.run(lambda _: views.types(call.index.graph.columns))}


@graph_router.get("/filters", response_model=replies.FiltersReply)
async def filters(call: CallOf) -> Any:
    """List the folders and the metadata that can restrict a question."""
    return await call.run(lambda _: views.filters(call.index))


@graph_router.get("/entities/{node}", response_model=replies.EntityReply)
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


@graph_router.get("/paths", response_model=replies.PathsReply)
async def paths(
    call: CallOf,
    source: Annotated[End, Query(alias="from")],
    target: Annotated[End, Query(alias="to")],
    limit: Limit = 5,
) -> Any:
    """Find the shortest paths between two nodes."""
    return await call.run(lambda _: {"paths": views.paths(call.index.graph, source, target, limit)})


@graph_router.get("/documents/{document}/text", response_model=TextReply)
async def text(document: DocumentPath, call: CallOf, start: Place = 0, end: Place = None) -> Any:
    """Return characters of a document, counted as in citations; by default all."""
    id = document_id(document)
    return {"document": id} | await call.run(lambda _: views.document_text(views.text(call.index, id), start or 0, end))
