"""Routes that answer questions: retrieve, ask, compare and query; and OpenAI's models and chat completions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fastapi import APIRouter, Request

from graphwright import Event
from graphwright.errors import OptionError
from graphwright.generate import Conversation, Message
from graphwright.methods.registry import method_named
from graphwright.models import Cancellation
from graphwright.serve import chat as openai
from graphwright.serve.authentication import READ, GrantOf, granted
from graphwright.serve.events import EventStream, JSONReply, event, to_json
from graphwright.serve.problems import NotFoundError, reported
from graphwright.serve.schemas import answers as schemas
from graphwright.serve.server import Call, CallOf, Query, Server, ServerOf, query_to
from graphwright.serve.workers import Stream

router = APIRouter(prefix="/v1/indexes/{ix}", tags=["questions"], dependencies=READ)
_EVENTS = schemas.event_stream(
    "The answer, or its events.", "trace", "evidence", "token", "citation", "dropped", "usage", "done", "error"
)


def query_of(body: schemas.Asked, call: Call, method: str | None, **more: Any) -> Query:
    """Return the query of a body; `more`: further options of `query_to`."""
    options = method, body.top_k, filter_of(body.filter)
    for_admin = granted(call.request).may("admin")
    return query_to(call.server, call.ix, body.question, *options, offline=body.offline, for_admin=for_admin, **more)


def filter_of(body: schemas.FilterBody | None) -> dict[str, Any] | None:
    """Return the filter of a body for Index.ask; None if it has no condition."""
    return None if body is None else body.model_dump(exclude_none=True) or None


@router.post("/retrieve", response_model=schemas.RetrievalReply)
async def retrieve(body: schemas.QuestionBody, call: CallOf) -> Any:
    """Rank passages for a question, without an answer and without a language model."""
    return await call.reply(query_of(body, call, body.method).retrieve, lane="retrieval")


@router.post("/ask", response_model=schemas.AnswerReply, responses=_EVENTS)
async def ask(body: schemas.AskBody, call: CallOf) -> Any:
    """Answer a question with verified citations; as events with `stream` or Accept: text/event-stream."""
    query = query_of(body, call, body.method, model=body.model, instruction=body.instruction)
    history = None if body.history is None else [Message(turn.role, turn.content) for turn in body.history]
    if body.stream or "text/event-stream" in call.request.headers.get("accept", ""):
        stream: Stream[bytes] = await call.server.workers.stream(
            lambda send, cancel: query.ask(cancel, lambda item: send(event(item.kind, item.data)), history),
            lane=query.lane,
        )
        failed = lambda error: event("error", reported(error, call.server.catalog))  # noqa: E731
        return EventStream(stream, stream.close, failed)
    return await call.reply(lambda cancel: query.ask(cancel, history=history), lane=query.lane)


@router.post("/query", response_model=schemas.QueryReply)
async def query(body: schemas.QueryBody, call: CallOf) -> Any:
    """Run a query exactly over the statements of the graph and the records of the documents, with its sources."""
    conditions = filter_of(body.filter)
    work = lambda cancel: call.server.query(call.index, body.query, conditions, cancel)  # noqa: E731
    return await call.reply(work, lane="retrieval")


@router.get("/schema", response_model=schemas.SchemaReply)
async def schema(call: CallOf) -> Any:
    """List the types and relations that a query may name."""
    return await call.reply(lambda _: call.index.schema())


@router.post("/compare", response_model=schemas.CompareReply)
async def compare(body: schemas.CompareBody, call: CallOf) -> Any:
    """Answer a question by several methods, one after the other, each once it is warmed up."""
    queries = [query_of(body, call, method) for method in body.methods]

    def answers(cancel: Cancellation) -> dict[str, Any]:
        return {"question": body.question, "results": queries[0].compare(queries[1:], cancel)}

    return await call.reply(answers, lane=max(query.lane for query in queries))


chat_router = APIRouter(prefix="/v1", tags=["OpenAI"], dependencies=READ)
CREATED = int(time.time())
_CHUNKS = schemas.event_stream("The completion, or its chunks.")
_Event = tuple[str, Mapping[str, Any]]  # the kind and the data of an event of an answer


@chat_router.get("/models", response_model=openai.ModelsReply)
async def models(server: ServerOf, grant: GrantOf) -> Any:
    """List the models. Each index is a model; INDEX:METHOD selects a method."""
    return {"object": "list", "data": [_model(name) for name in server.visible(grant)]}


@chat_router.get("/models/{model:path}", response_model=openai.ModelReply)
async def one_model(model: str, server: ServerOf, request: Request) -> Any:
    """Return a model: INDEX or INDEX:METHOD."""
    name_and_method(model, server, request)
    return _model(model)


@chat_router.post("/chat/completions", response_model=openai.ChatReply, responses=_CHUNKS)
async def chat(body: openai.ChatBody, server: ServerOf, request: Request) -> Any:
    """Answer the last question of a conversation, with citations."""
    openai.refuse_format("response_format", body.response_format)
    return await answered(body, body.messages, openai.ChatWriter, server, request, body.max_completion_tokens)


@chat_router.post("/completions", response_model=openai.ChatReply, responses=_CHUNKS)
async def completions(body: openai.CompletionBody, server: ServerOf, request: Request) -> Any:
    """Answer a question as a completion of its text."""
    messages = [
        openai.MessageBody(role="user", content=body.prompt if isinstance(body.prompt, str) else body.prompt[0])
    ]
    return await answered(body, messages, openai.CompletionWriter, server, request)


async def answered(
    body: openai.AskingBody,
    messages: Iterable[openai.MessageBody],
    form: type[openai.ChatWriter],
    server: Server,
    request: Request,
    max_tokens: int | None = None,
    stop: openai.Stop = None,
) -> Any:
    """Reply to the last question of a conversation. `max_tokens`, `stop`: by default those of the body."""
    name, method = name_and_method(body.model, server, request)
    conversation = Conversation.of(Message(message.role, message.text()) for message in messages)
    options = body.graphwright
    asked, filter = conversation.question, filter_of(options.filter)
    query = query_to(
        server, name, asked, method, options.top_k, filter, offline=options.offline, instruction=options.instruction
    )
    footer = server.settings.footer if options.footer is None else options.footer
    ends = stop or body.stop or ()
    texts = tuple(text for text in ([ends] if isinstance(ends, str) else ends) if text)
    limits = openai.Limits(footer, texts, max_tokens or body.max_tokens)
    writer = form(body.model, body.stream_options is not None and body.stream_options.include_usage)
    base = server.settings.public_url or str(request.base_url)

    def answer(cancel: Cancellation, send: Callable[[_Event], None] | None = None) -> dict[str, Any]:
        graph = query.index.graph

        def on_event(event: Event) -> None:
            if send is not None:
                send(
                    (
                        event.kind,
                        openai.with_addresses(event.data, base, name, graph) if event.kind == "done" else event.data,
                    )
                )

        output = query.ask(cancel, None if send is None else on_event, conversation.earlier)
        return openai.with_addresses(output, base, name, graph)

    if body.stream:
        stream: Stream[_Event] = await server.workers.stream(lambda send, cancel: answer(cancel, send), lane=query.lane)
        failed = lambda error: writer.failed(reported(error, server.catalog))  # noqa: E731
        return writer.response(writer.stream(limits.spoken(stream)), stream.close, failed)
    complete = lambda cancel: to_json(writer.whole(limits.said(answer(cancel))))  # noqa: E731
    return JSONReply(await server.workers.run(complete, request, lane=query.lane))


def name_and_method(model: str, server: Server, request: Request) -> tuple[str, str | None]:
    """Return the names of the index and the method of a model. Raises NotFoundError for an unknown model."""
    name, _, method = model.removesuffix(":latest").partition(":")  # which Ollama's clients add
    if method:
        try:
            method_named(method)
        except OptionError as error:
            raise NotFoundError(f"There is no model {model!r}. {error}") from None
    server.index(name, granted(request))
    return name, method or None


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": CREATED, "owned_by": "graphwright"}
