"""Routes that other clients ask: OpenAI's responses and embeddings, and Ollama's models, chat and completions."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import Field

from graphwright import __version__
from graphwright.models import Cancellation
from graphwright.operators import Run
from graphwright.serve import chat
from graphwright.serve.authentication import READ, GrantOf, granted
from graphwright.serve.chat import refuse_format
from graphwright.serve.events import JSONReply, LineStream, event, to_json
from graphwright.serve.problems import UnsupportedError, openai_error
from graphwright.serve.routes.retrieval import CREATED, answered, name_and_method
from graphwright.serve.schemas.answers import event_stream
from graphwright.serve.server import ServerOf

router = APIRouter(prefix="/v1", tags=["OpenAI"], dependencies=READ)


class ItemBody(chat.MessageBody):
    """An item of the input of a response: a message, or another one, which has no role and is not read."""

    role: str = ""


class ResponseBody(chat.AskingBody):
    """A question, or a conversation whose last message of a user is the question."""

    input: Annotated[str | list[ItemBody], Field(examples=["On which river does Graz lie?"])]
    max_output_tokens: chat.MaxTokens = None
    text: dict[str, Any] | None = None
    previous_response_id: str | None = None
    conversation: Any = None


@router.post("/responses", response_model=chat.AnsweredReply, responses=event_stream("The response, or its events."))
async def responses(body: ResponseBody, server: ServerOf, request: Request) -> Any:
    """Answer a question, or the last one of a conversation, as a response."""
    refuse_format("text.format", (body.text or {}).get("format"))
    if body.previous_response_id or body.conversation:
        raise UnsupportedError("This server keeps no responses and conversations; send the earlier messages in input.")
    items = [ItemBody(role="user", content=body.input)] if isinstance(body.input, str) else body.input
    return await answered(body, items, ResponseWriter, server, request, body.max_output_tokens)


class ResponseWriter(chat.ChatWriter):
    """Writer of one response."""

    _number = -1  # of the last event

    def whole(self, said: chat.Said) -> dict[str, Any]:
        """Return a reply as one response; its output is one message."""
        is_cut, usage = said.finish == "length", dict(zip(("input_tokens", "output_tokens"), said.tokens, strict=True))
        places = [{"type": "url_citation", **place["url_citation"]} for place in said.annotations]
        item = self._item("incomplete" if is_cut else "completed", {**_PART, "text": said.text, "annotations": places})
        return {
            **self._begun(item["status"], item),
            "incomplete_details": {"reason": "max_output_tokens"} if is_cut else None,
            "usage": {**usage, "total_tokens": sum(said.tokens), **_DETAILS},
            **said.more,
        }

    async def stream(self, spoken: AsyncIterator[str | chat.Said]) -> AsyncIterator[bytes]:
        """Yield the events of a response in the order in which OpenAI's clients put it together."""
        place = {"item_id": f"msg_{self.id}", "output_index": 0, "content_index": 0}
        for kind in ("created", "in_progress"):
            yield self._event(kind, response=self._begun())
        yield self._event("output_item.added", output_index=0, item=self._item())
        yield self._event("content_part.added", **place, part=_PART)
        async for said in spoken:
            if isinstance(said, str):
                yield self._event("output_text.delta", **place, delta=said, logprobs=[])
                continue
            response = self.whole(said)
            (item,) = response["output"]
            (part,) = item["content"]
            for number, cited in enumerate(part["annotations"]):
                yield self._event("output_text.annotation.added", **place, annotation_index=number, annotation=cited)
            yield self._event("output_text.done", **place, text=said.text, logprobs=[])
            yield self._event("content_part.done", **place, part=part)
            yield self._event("output_item.done", output_index=0, item=item)
            yield self._event(response["status"], response=response)

    def failed(self, problem: Mapping[str, Any]) -> bytes:
        """Return the last event of a stream that fails."""
        return event("error", {**openai_error(problem), "type": "error", "sequence_number": self._number + 1})

    def _event(self, kind: str, **data: Any) -> bytes:
        self._number += 1
        return event(f"response.{kind}", {"type": f"response.{kind}", "sequence_number": self._number, **data})

    def _begun(self, status: str = "in_progress", *output: dict[str, Any]) -> dict[str, Any]:
        head = {"id": f"resp_{self.id}", "object": "response", "created_at": int(self.created), "model": self.model}
        empty = dict.fromkeys(("error", "incomplete_details", "instructions", "usage"))
        tools = {"tools": [], "tool_choice": "auto", "parallel_tool_calls": True}
        return {**head, "status": status, "output": output, **empty, **tools, "store": False, "metadata": {}}

    def _item(self, status: str = "in_progress", *parts: dict[str, Any]) -> dict[str, Any]:
        return {"type": "message", "id": f"msg_{self.id}", "status": status, "role": "assistant", "content": parts}


_DETAILS = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
_PART = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}

_AT_ONCE = 64  # texts that are encoded before the next look whether the client has gone
_Texts = Annotated[str | list[str] | list[int] | list[list[int]], Field(min_length=1, max_length=100_000)]


class EmbeddingBody(chat.ModelBody):
    """Texts for the encoder of an index. Arrays of tokens are refused: their numbers are those of another tokenizer."""

    input: Annotated[_Texts, Field(examples=["On which river?"])]
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: int | None = None


@router.post("/embeddings", response_model=dict[str, Any])
async def embeddings(body: EmbeddingBody, server: ServerOf, request: Request) -> Any:
    """Return the vectors of texts by the encoder of an index."""
    index = server.index(name_and_method(body.model, server, request)[0], granted(request))
    texts = [text for text in ([body.input] if isinstance(body.input, str) else body.input) if isinstance(text, str)]
    if not texts:
        raise UnsupportedError(
            "input has numbers of tokens, and which tokenizer they are from is not said. Send the texts; LangChain's "
            "OpenAIEmbeddings does so with check_embedding_ctx_length=False."
        )

    def encode(cancel: Cancellation) -> str:
        run, plain, vectors = Run(), body.encoding_format != "base64", list[Any]()
        for begin in range(0, len(texts), _AT_ONCE):
            cancel.check()
            rows = run.encode(index.snapshot.encoder, texts[begin : begin + _AT_ONCE])
            if body.dimensions not in (None, width := rows.shape[1]):
                raise UnsupportedError(f"The vectors of this index have {width} dimensions; leave dimensions out.")
            vectors += [row.tolist() if plain else b64encode(row.astype("<f4").tobytes()).decode() for row in rows]
        data = [{"object": "embedding", "index": at, "embedding": vector} for at, vector in enumerate(vectors)]
        usage = dict.fromkeys(("prompt_tokens", "total_tokens"), run.usage.tokens)
        return to_json({"object": "list", "model": body.model, "data": data, "usage": usage})

    return JSONReply(await server.workers.run(encode, request, lane="embeddings"))


ollama_router = APIRouter(prefix="/api", tags=["Ollama"], dependencies=READ)
_LINES = {"application/x-ndjson": {"schema": {"type": "string"}}}
_ABOUT = {"modified_at": datetime.fromtimestamp(CREATED, UTC).isoformat(), "details": {"family": "graphwright"}}


class OllamaOptions(chat.OpenAIBody):
    """Options of a chat. `num_predict`: as `max_tokens` of OpenAI; below 1 there is no limit."""

    num_predict: int | None = None
    stop: chat.Stop = None


class OllamaBody(chat.AskingBody):
    """What a chat and a completion of Ollama have in common."""

    stream: bool | None = True
    format: Any = None
    options: OllamaOptions | None = None


class OllamaChatBody(OllamaBody):
    """A conversation; its last message of a user is the question."""

    messages: chat.Messages


class OllamaGenerateBody(OllamaBody):
    """A question. Without one the reply says that the model is loaded."""

    prompt: Annotated[str, Field(examples=["On which river does Graz lie?"])] = ""
    raw: bool | None = None
    suffix: str | None = None
    images: list[str] | None = None
    context: list[int] | None = None


@ollama_router.get("/version", response_model=dict[str, str])
async def ollama_version() -> Any:
    """Return the version of this server."""
    return {"version": __version__}


@ollama_router.get("/tags", response_model=dict[str, list[dict[str, Any]]])
async def ollama_models(server: ServerOf, grant: GrantOf) -> Any:
    """List the models. Each index is a model; INDEX:METHOD selects a method."""
    names = [f"{name}:latest" for name in server.visible(grant)]
    return {"models": [{"name": name, "model": name, "size": 0, "digest": "0" * 64, **_ABOUT} for name in names]}


@ollama_router.post("/show", response_model=dict[str, Any])
async def ollama_model(body: chat.ModelBody, server: ServerOf, request: Request) -> Any:
    """Return what a model can do: complete conversations."""
    name_and_method(body.model, server, request)
    return {**_ABOUT, "model_info": {"general.architecture": "graphwright"}, "capabilities": ["completion"]}


_OLLAMA_REPLY: Any = {200: {"description": "The reply.", "content": _LINES}}


@ollama_router.post("/chat", response_model=chat.AnsweredReply, responses=_OLLAMA_REPLY)
async def ollama_chat(body: OllamaChatBody, server: ServerOf, request: Request) -> Any:
    """Answer the last question of a conversation, as lines of JSON unless `stream` is false."""
    return await _ollama_answered(body, body.messages, OllamaWriter, server, request)


@ollama_router.post("/generate", response_model=chat.AnsweredReply, responses=_OLLAMA_REPLY)
async def ollama_generate(body: OllamaGenerateBody, server: ServerOf, request: Request) -> Any:
    """Answer a question, as lines of JSON unless `stream` is false."""
    for name, reason in _REFUSED.items():
        if getattr(body, name):
            raise UnsupportedError(f"{name} is not supported: {reason}. Leave {name} out.")
    if not body.prompt.strip():
        name_and_method(body.model, server, request)
        return JSONReply(to_json(OllamaGenerateWriter(body.model).loaded()))
    messages = [chat.MessageBody(role="user", content=body.prompt)]
    return await _ollama_answered(body, messages, OllamaGenerateWriter, server, request)


_REFUSED = {  # options of a completion that would change what the answer is, and why they cannot be kept
    "raw": "the prompt is a question to the documents, not a text to be continued",
    "suffix": "the answer is not inserted into a text",
    "images": "only text can be answered",
    "context": "conversations are not kept as tokens; send their messages to /api/chat",
}


async def _ollama_answered(
    body: OllamaBody, messages: list[chat.MessageBody], form: type[chat.ChatWriter], server: ServerOf, request: Request
) -> Any:
    refuse_format("format", body.format)
    options = body.options or OllamaOptions()
    limits = max(0, options.num_predict or 0), options.stop
    return await answered(body, messages, form, server, request, *limits)


class OllamaWriter(chat.ChatWriter):
    """Writer of one reply to a chat of Ollama."""

    response = LineStream

    def whole(self, said: chat.Said) -> dict[str, Any]:
        """Return a reply as one object."""
        times = {"total_duration": round((time.time() - self.created) * 1e9)}
        times |= dict.fromkeys(("load_duration", "prompt_eval_duration", "eval_duration"), 0)
        counts = dict(zip(("prompt_eval_count", "eval_count"), said.tokens, strict=True))
        return {**self._piece(said.text), "done": True, "done_reason": said.finish, **times, **counts, **said.more}

    async def stream(self, spoken: AsyncIterator[str | chat.Said]) -> AsyncIterator[bytes]:
        """Yield the lines of a reply; the text of the last is empty."""
        async for said in spoken:
            yield _line(self._piece(said) if isinstance(said, str) else self.whole(said._replace(text="")))

    def failed(self, problem: Mapping[str, Any]) -> bytes:
        """Return the last line of a stream that fails."""
        return _line({"error": problem["detail"]})

    def content(self, text: str) -> dict[str, Any]:
        """Return the field that holds a text."""
        return {"message": {"role": "assistant", "content": text}}

    def _piece(self, text: str) -> dict[str, Any]:
        head = {"model": self.model, "created_at": datetime.fromtimestamp(self.created, UTC).isoformat()}
        return {**head, **self.content(text), "done": False}


class OllamaGenerateWriter(OllamaWriter):
    """Writer of one completion of Ollama."""

    def content(self, text: str) -> dict[str, Any]:
        """Return the field that holds a text."""
        return {"response": text}

    def loaded(self) -> dict[str, Any]:
        """Return the reply to an empty prompt, which clients send to load a model."""
        return {**self._piece(""), "done": True, "done_reason": "load", "citations": [], "graphwright": {}}


def _line(data: Mapping[str, Any]) -> bytes:
    return f"{to_json(data)}\n".encode("ascii")
