"""Routes that answer questions: retrieve, ask and compare; and queries."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

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
from graphwright.serve.server import Call, CallOf
from graphwright.serve.workers import Stream

router = APIRouter(prefix="/v1/indexes/{ix}", tags=["questions"], dependencies=[require("read")])
_EVENTS = event_stream(
    "The answer, or its events.", "trace", "evidence", "token", "citation", "dropped", "usage", "done", "error"
)


def query_of(body: Asked, call: Call, method: str | None) -> Query:
    """Return the query of a body."""
    options = method, body.top_k, filter_of(body.filter)
    return query_to(call.server, call.ix, body.question, *options, offline=body.offline)


def filter_of(body: FilterBody | None) -> dict[str, Any] | None:
    """Return the filter of a body for Index.ask; None if it has no condition."""
    return None if body is None else body.model_dump(exclude_none=True) or None


@router.post("/retrieve", response_model=RetrievalReply)
async def retrieve(body: QuestionBody, call: CallOf) -> Any:
    """Rank passages for a question, without an answer and without a language model."""
    query = query_of(body, call, body.method)
    return JSONReply(await call.run(lambda cancel: to_json(query.retrieve(call.index, cancel))))


@router.post("/ask", response_model=AnswerReply, responses=_EVENTS)
async def ask(body: QuestionBody, call: CallOf) -> Any:
    """Answer a question with verified citations; as events with `stream` or Accept: text/event-stream."""
    query, index = query_of(body, call, body.method), call.index
    llm = query.waits_for_llm(index)
    if body.stream or "text/event-stream" in call.request.headers.get("accept", ""):
        stream: Stream[bytes] = await call.server.workers.stream(
            lambda send, cancel: query.ask(index, cancel, lambda item: send(event(item.kind, item.data))), llm=llm
        )
        failed = lambda error: event("error", reported(error, call.server.catalog))  # noqa: E731
        return EventStream(stream, stream.close, failed)
    return JSONReply(await call.run(lambda cancel: to_json(query.ask(index, cancel)), llm=llm))


@router.post("/query", response_model=QueryReply)
async def query(body: QueryBody, call: CallOf) -> Any:
    """Run a query exactly over the statements of the graph and the records of the documents, with its sources."""
    conditions = filter_of(body.filter)
    return JSONReply(await call.run(lambda _: to_json(call.index.query(body.query, filter=conditions).to_dict())))


@router.get("/schema", response_model=SchemaReply)
async def schema(call: CallOf) -> Any:
    """List the types and relations that a query may name."""
    return JSONReply(await call.run(lambda _: to_json(call.index.schema())))


@router.post("/compare", response_model=CompareReply)
async def compare(body: CompareBody, call: CallOf) -> Any:
    """Answer a question by several methods, one after the other."""
    queries = [query_of(body, call, method) for method in body.methods]

    def answers(cancel: Cancellation) -> str:
        return to_json({"question": body.question, "results": [query.ask(call.index, cancel) for query in queries]})

    llm = any([query.waits_for_llm(call.index) for query in queries])
    return JSONReply(await call.run(answers, llm=llm))
