"""Routes that make, change, export and delete indexes."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict
from tempfile import TemporaryFile
from typing import Annotated, Any, Literal
from zipfile import ZIP_DEFLATED, ZipFile

from anyio.to_thread import run_sync
from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import Field

from graphwright import Index
from graphwright.errors import OptionError, counted, meant
from graphwright.extract import Excerpt
from graphwright.serve.authentication import ADMIN, READ, ForbiddenError, GrantOf
from graphwright.serve.catalog import Record
from graphwright.serve.jobs.uploads import clean_name
from graphwright.serve.routes.documents import MaxCost, MaxTokens, budget_of, estimated_work
from graphwright.serve.routes.extraction import Toml, schema_of
from graphwright.serve.routes.originals import download
from graphwright.serve.schemas.answers import Body, IndexesReply, IndexReply, Reply
from graphwright.serve.schemas.documents import EstimateReply, QueuedReply
from graphwright.serve.server import Call, CallOf, Server, ServerOf
from graphwright.store import IndexLayout, writer_lock

router = APIRouter(prefix="/v1/indexes", tags=["indexes"])
Name = Annotated[str, Field(min_length=1, max_length=100, examples=["minutes"])]


class IndexBody(Body):
    """Values of an index; those left out stay. Null is what suits the language, and no language model."""

    name: Name = ""
    extraction: Literal["mentions", "rules", "llm"] | None = None
    model: str | None = None


class RebuildBody(Body):
    """What is to change of an index; what is left out stays."""

    encoder: Annotated[str | None, Field(max_length=500, description="One of `encoders`.", examples=["minilm"])] = None
    chunk_tokens: Annotated[int | None, Field(ge=16, description="Maximum tokens of a chunk.", examples=[200])] = None
    overlap: Annotated[int | None, Field(ge=0, description="Tokens that neighbours share.", examples=[40])] = None
    embed: tuple[Literal["passages", "names", "triples"], ...] | None = None
    resolve: tuple[Literal["aliases", "vectors", "llm"], ...] | None = None
    description_tokens: Annotated[int | None, Field(ge=1, examples=[300])] = None
    yes: Annotated[bool, Field(description="Rebuild although a language model has to read chunks again.")] = False

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that are given, as arguments of `Settings`."""
        return self.model_dump(exclude={"encoder", "yes"}, exclude_none=True)


class RebuildReply(Reply):
    """The encoder of an index, those that it may get by a rebuild, and its settings."""

    encoder: str
    encoders: list[str]
    chunk_tokens: int
    overlap: int
    embed: list[str]
    resolve: list[str]
    description_tokens: int


class NewIndexBody(IndexBody):
    """An index to make, for documents in English or in another language."""

    name: Name
    language: Literal["en", "other"] = "en"
    extraction_schema: Toml = ""


@router.get("", dependencies=READ, response_model=IndexesReply)
async def indexes(server: ServerOf, grant: GrantOf, request: Request) -> Any:
    """List the indexes that the client may see."""
    names, new = server.visible(grant), None
    if server.catalog.home is not None and grant.may("admin") and grant.indexes is None:
        languages = ["en", "other"] if "multilingual" in server.catalog.encoders else ["en"]
        new = {"languages": languages, "models": list(server.models.named)}
    return await server.workers.run(lambda _: {"indexes": [server.facts(name) for name in names], "new": new}, request)


@router.get("/{ix}", dependencies=READ, response_model=IndexReply)
async def one_index(call: CallOf) -> Any:
    """Return facts about an index."""
    return await call.run(lambda _: call.server.facts(call.ix))


@router.post("", status_code=201, response_model=IndexReply, dependencies=ADMIN)
async def create(body: NewIndexBody, server: ServerOf, grant: GrantOf) -> Any:
    """Make an empty index; needs a key for all indexes."""
    if grant.indexes is not None:
        raise ForbiddenError("A new index is seen by keys for all indexes; the key sent is for some.")
    record = _checked(server, Record(body.name, body.extraction, body.model))
    encoder = "minilm" if body.language == "en" else "multilingual"
    await run_sync(server.catalog.create, record, encoder, schema_of(body.extraction_schema))
    server.models.choose(record.name, record.model)
    return await run_sync(server.facts, record.name)


@router.patch("/{ix}", response_model=IndexReply, dependencies=ADMIN)
async def change(body: IndexBody, call: CallOf) -> Any:
    """Rename an index that was made on this server, or change what reads its documents and answers."""
    record = call.server.catalog.record(call.ix, call.server.settings.extract)
    record = _checked(call.server, record._replace(**body.model_dump(exclude_unset=True)))
    await run_sync(_change, call, record)
    return await run_sync(call.server.facts, record.name)


@router.delete("/{ix}", status_code=204, dependencies=ADMIN)
async def delete(call: CallOf) -> Response:
    """Delete an index that was made on this server, with its documents."""
    await run_sync(_change, call, None)
    return Response(status_code=204)


@router.get("/{ix}/rebuild", response_model=RebuildReply, dependencies=ADMIN)
async def rebuildable(call: CallOf) -> Any:
    """Return what a rebuild may change of an index: its encoder and the settings of the graph, as they are."""
    name = call.index.encoder
    return {"encoder": name, "encoders": call.server.catalog.encoders, **asdict(call.index.settings)}


@router.post("/{ix}/rebuild/estimate", response_model=EstimateReply, dependencies=ADMIN)
async def estimate_rebuild(body: RebuildBody, call: CallOf) -> Any:
    """Estimate the calls and the cost of the language model that would read chunks again; changes nothing."""
    return await call.run(lambda _: estimated_work(call, _paid(body, call), call.index.extraction_schema))


@router.post("/{ix}/rebuild", status_code=202, response_model=QueuedReply, dependencies=ADMIN)
async def rebuild(body: RebuildBody, call: CallOf, max_tokens: MaxTokens = None, max_cost: MaxCost = None) -> Any:
    """Build an index again with another encoder, chunks of another size or other settings, from the stored texts.

    Questions are answered as before until the new one is complete. Where a language model would have to read chunks
    again, nothing is done without `yes`: see the estimate first.
    """
    limits = budget_of(call, max_tokens, max_cost)

    def task() -> dict[str, Any]:
        paid = _paid(body, call)
        if paid and not body.yes:
            raise OptionError(
                f"a language model would have to read {counted(len(paid), 'chunk')} of {call.ix} again; nothing was "
                f'changed. See the cost: POST /v1/indexes/{call.ix}/rebuild/estimate. Go on: add "yes": true.'
            )
        return {"encoder": body.encoder, "settings": body.settings, **limits}

    return await call.submit("rebuild", task)


def _paid(body: RebuildBody, call: Call) -> list[Excerpt]:
    """Return the chunks that a language model would have to read again. Raises OptionError for wrong settings."""
    encoders = call.server.catalog.encoders
    if body.encoder is not None and body.encoder not in encoders:
        raise OptionError(
            f"The encoder is {body.encoder!r}; choose from {', '.join(encoders)}.{meant(body.encoder, encoders)} "
            f'Another one is allowed in server.toml: encoders = ["{body.encoder}"]'
        )
    call.server.jobs.check_writable(call.ix, documents=False)
    encoder = body.encoder or call.server.catalog.encoder(call.ix)
    return Index.chunks_to_rebuild(call.index.path, encoder, **body.settings)


@router.get("/{ix}/export", response_class=StreamingResponse, dependencies=ADMIN)
async def export(call: CallOf, what: Literal["index", "documents"] = "index") -> StreamingResponse:
    """Download a zip of the index folder, or of the texts of its documents; 409 while the index is changed."""
    with ExitStack() as stack:
        file = stack.enter_context(TemporaryFile(dir=call.server.settings.data))
        with ZipFile(file, "w", ZIP_DEFLATED) as packed:
            await run_sync(_pack, call.index, what, packed)
        stack.pop_all()  # the download closes it
    return download(file, f"{call.ix}.zip", "application/zip")


def _checked(server: Server, record: Record) -> Record:
    """Return a record whose model is configured. Raises OptionError for another one."""
    models = server.models.named
    if record.model not in models and (record.model is not None or record.extraction == "llm"):
        raise OptionError(f"The model is {record.model!r}; llm needs one, of these: {', '.join(models) or 'none'}.")
    return record


def _change(call: Call, record: Record | None) -> None:
    """Serve an index as a record says; None deletes it. Raises OptionError unless it was made on this server."""
    if call.ix not in call.server.catalog.records:
        raise OptionError(f"{call.ix} was given to the server at its start; change it there.")
    with call.server.jobs.idle(call.ix):
        call.server.catalog.change(call.ix, record)
        call.server.keys.rename_index(call.ix, record and record.name)
        if record is not None:
            call.server.models.choose(record.name, record.model)
        else:
            call.server.jobs.originals.sweep(call.index.path)
            call.server.jobs.feedback.forget(call.index.path)


def _pack(index: Index, what: str, packed: ZipFile) -> None:
    """Pack the texts of an index's documents, or the files that a copy needs, while no process may change them."""
    with writer_lock(index.path):
        current = IndexLayout(index.path).current()
        for document in index.list_documents() if what == "documents" else ():
            packed.writestr(f"{clean_name(document.id)}.txt", index.text(document.id))
        for path in sorted(index.path.rglob("*")) if what == "index" else ():
            part = path.relative_to(index.path)
            is_old = part.parts[0].startswith("snapshot-") and part.parts[0] != current
            if path.is_file() and not is_old and str(part)[0] != "." and not path.name.endswith((".lock", "-shm")):
                packed.write(path, part)
