"""Routes that answer questions: retrieve, ask and compare; and queries."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from graphwright.models import Cancellation
from graphwright.serve.events import EventStream, JSONReply, event, to_json
from graphwright.serve.problems import reported
from graphwright.serve.questions import Query, query_to
from graphwright.serve.schemas.answers import (
    AnswerReply,
    Asked,
    CompareBody,
    CompareReply,
    FilterBody,
    QuestionBody,
    RetrievalReply,
    event_stream,
)
from graphwright.serve.schemas.queries import QueryBody, QueryReply, SchemaReply
from graphwright.serve.security.authentication import require
from graphwright.serve.server import IndexOf, Server, ServerOf
from graphwright.serve.workers import Stream

router = APIRouter(prefix="/v1/indexes/{ix}", tags=["questions"], dependencies=[require("read")])
_EVENTS = event_stream(
    "The answer, or its events.", "trace", "evidence", "token", "citation", "dropped", "usage", "done", "error"
)


def query_of(body: Asked, server: Server, method: str | None, request: Request) -> Query:
    """Return the query of a body."""
    name, conditions = request.path_params["ix"], filter_of(body.filter)
    return query_to(server, name, body.question, method, body.top_k, conditions, offline=body.offline, request=request)


def filter_of(body: FilterBody | None) -> dict[str, Any] | None:
    """Return the filter of a body for Index.ask; None if it has no condition."""
    return None if body is None else body.model_dump(exclude_none=True) or None


@router.post("/retrieve", response_model=RetrievalReply)
async def retrieve(body: QuestionBody, index: IndexOf, server: ServerOf, request: Request) -> Any:
    """Rank passages for a question, without an answer and without a language model."""
    query = query_of(body, server, body.method, request)
    return JSONReply(await server.workers.run(lambda cancel: to_json(query.retrieve(index, cancel)), request))


@router.post("/ask", response_model=AnswerReply, responses=_EVENTS)
async def ask(body: QuestionBody, index: IndexOf, server: ServerOf, request: Request) -> Any:
    """Answer a question with verified citations; as events with `stream` or Accept: text/event-stream."""
    query = query_of(body, server, body.method, request)
    llm = query.waits_for_llm(index)
    if body.stream or "text/event-stream" in request.headers.get("accept", ""):
        stream: Stream[bytes] = await server.workers.stream(
            lambda send, cancel: query.ask(index, cancel, lambda item: send(event(item.kind, item.data))), llm=llm
        )
        failed = lambda error: event("error", reported(error, server.catalog))  # noqa: E731
        return EventStream(stream, stream.close, failed)
    return JSONReply(await server.workers.run(lambda cancel: to_json(query.ask(index, cancel)), request, llm=llm))


@router.post("/query", response_model=QueryReply)
async def query(body: QueryBody, index: IndexOf, server: ServerOf, request: Request) -> Any:
    """Run a query exactly over the statements of the graph and the records of the documents, with its sources."""
    conditions = filter_of(body.filter)
    result = await server.workers.run(lambda _: to_json(index.query(body.query, filter=conditions).to_dict()), request)
    return JSONReply(result)


@router.get("/schema", response_model=SchemaReply)
async def schema(index: IndexOf, server: ServerOf, request: Request) -> Any:
    """List the types and relations that a query may name."""
    return JSONReply(await server.workers.run(lambda _: to_json(index.schema()), request))


@router.post("/compare", response_model=CompareReply)
async def compare(body: CompareBody, index: IndexOf, server: ServerOf, request: Request) -> Any:
    """Answer a question by several methods, one after the other."""
    queries = [query_of(body, server, method, request) for method in body.methods]

    def answers(cancel: Cancellation) -> str:
        return to_json({"question": body.question, "results": [query.ask(index, cancel) for query in queries]})

    llm = any([query.waits_for_llm(index) for query in queries])
    return JSONReply(await server.workers.run(answers, request, llm=llm))
