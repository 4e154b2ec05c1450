"""Routes about extraction: the schema of an index, a suggested one, and reading the documents again."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field

from graphwright.errors import DataError, OptionError
from graphwright.extract import Schema
from graphwright.models import Cancellation
from graphwright.serve.authentication import ADMIN, READ
from graphwright.serve.routes.documents import MaxCost, MaxTokens, budget_of, estimated_work
from graphwright.serve.schemas.answers import Body, Reply
from graphwright.serve.schemas.documents import EstimateReply, QueuedReply
from graphwright.serve.server import CallOf

router = APIRouter(prefix="/v1/indexes/{ix}", tags=["extraction"])
Toml = Annotated[
    str,
    Field(
        max_length=200_000,
        description="Types of entities and relations in TOML, see docs/schema.md; empty: none.",
        examples=['[entities.town]\ndescription = "A town or a village."'],
    ),
]


class SchemaBody(Body):
    """Documents to read again."""

    extraction_schema: Annotated[Toml | None, Field(description="Replaces that of the index, by default kept.")] = None


class SuggestBody(Body):
    """What suggests a schema."""

    model: Annotated[
        str | None,
        Field(max_length=200, description="One of the index's `models`; null: what is frequent, at no cost."),
    ] = None


class ExtractionSchemaReply(Reply):
    """The types that extraction looks for; none of one kind: these are not restricted."""

    toml: Annotated[str, Field(description="All of it, as a file for `--schema`.")]
    entities: list[str]
    relations: list[str]
    strict: Annotated[bool, Field(description="Whether what fits no type is left out.")]


def schema_of(toml: str) -> Schema:
    """Return the schema of a request. Raises OptionError for a faulty one, with the line, or one without types."""
    schema = Schema.of_toml(toml)
    if toml.strip() and not schema:
        raise OptionError("The schema has no types; add a section such as [entities.person], or send an empty text.")
    return schema


@router.get("/extraction-schema", response_model=ExtractionSchemaReply, dependencies=READ)
async def extraction_schema(call: CallOf) -> Any:
    """Return the schema of an index."""
    return _shown(await call.run(lambda _: call.index.extraction_schema))


@router.post("/extraction-schema/suggest", response_model=ExtractionSchemaReply, dependencies=ADMIN)
async def suggest_schema(call: CallOf, body: SuggestBody | None = None) -> Any:
    """Suggest a schema, as `graphwright schema suggest`: of what is frequent, or by a language model from a sample."""
    model = None if body is None else body.model
    llm = None if model is None else call.server.models.answering(call.ix, model)
    found = await call.run(lambda _: call.index.suggest_schema(llm), lane="reads" if llm is None else "llm")
    if not found:
        raise DataError("Nothing is frequent enough for a type; write the schema by hand, or name a language model.")
    return _shown(found)


@router.post("/reextract", status_code=202, response_model=QueuedReply, dependencies=ADMIN)
async def reextract(
    call: CallOf, body: SchemaBody | None = None, max_tokens: MaxTokens = None, max_cost: MaxCost = None
) -> Any:
    """Read the documents again that another extractor, or one with another schema, has read than that for new ones."""
    toml = None if body is None else body.extraction_schema
    if toml is not None:
        schema_of(toml)
    return await call.submit("reextract", {"schema": toml, **budget_of(call, max_tokens, max_cost)})


@router.post("/reextract/estimate", response_model=EstimateReply, dependencies=ADMIN)
async def estimate_reextract(call: CallOf, body: SchemaBody | None = None) -> Any:
    """Estimate the calls and the cost of the language model for reading the documents again; changes nothing."""
    toml = None if body is None else body.extraction_schema
    schema = None if toml is None else schema_of(toml)

    def work(_: Cancellation) -> dict[str, Any]:
        chunks = call.server.jobs.outdated_chunks(call.ix, schema)
        return estimated_work(call, chunks, call.index.extraction_schema if schema is None else schema)

    return await call.run(work)


def _shown(schema: Schema) -> dict[str, Any]:
    return {"toml": schema.to_toml(), **schema.summary()}
