"""A language model behind any server with the interface of OpenAI: hosted, or Ollama, llama.cpp, vLLM and others."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from graphwright.constraints import AtLeast, Between, OneOf
from graphwright.errors import LLMResponseError
from graphwright.models.budget import Prices, estimated_tokens
from graphwright.models.cancel import Cancellation
from graphwright.models.openai.chat import ChatParser
from graphwright.models.openai.client import OpenAIModel, Response, sendable
from graphwright.models.openai.failures import HTTPStatusError, NotSent
from graphwright.models.protocols import Completion, Usage
from graphwright.models.structured import RawReply, complete_with, schema_prompt, strict_schema

if TYPE_CHECKING:
    from openai import OpenAI

__all__ = ["OpenAILLM"]

_FORMATS = ("json_schema", "json_object", "prompt")  # ways to ask for a schema, best first
_SLACK = 65_536  # bytes beyond what max_tokens allows
_BYTES_PER_TOKEN = 16  # of text; the longest usual tokens have fewer
_BYTES_PER_EVENT = 1_024  # of the event that streams one token
_TIMED_OUT = {408, 504, 524}  # sent by a proxy, while the model behind it may have written
_FORMAT_WORDS = ("response_format", "json_schema", "json_object", "schema", "grammar", "unsupported", "not supported")


@dataclass(frozen=True)
class _Dialect:
    """Parameters that a server accepts, as far as they are known."""

    limit: str = "max_tokens"
    temperature: bool = True
    stream_usage: bool = True
    format: str = _FORMATS[0]
    schema_in_prompt: bool = False  # needed although the server accepts the schema as a parameter

    def after(self, refusal: HTTPStatusError, body: dict[str, Any]) -> _Dialect | None:
        """Return the dialect to try after a request was refused, None where it was refused for another reason."""
        message = refusal.body.lower()
        if refusal.status not in (400, 404, 422) or "context length" in message or "context_length" in message:
            return None
        if "max_tokens" in message and "max_tokens" in body:
            return replace(self, limit="max_completion_tokens")
        if "temperature" in message and "temperature" in body:
            return replace(self, temperature=False)
        if ("stream_options" in message or "include_usage" in message) and "stream_options" in body:
            return replace(self, stream_usage=False)
        if "response_format" in body and any(word in message for word in _FORMAT_WORDS):
            return replace(self, format=_FORMATS[_FORMATS.index(self.format) + 1])
        return None


@dataclass(frozen=True)
class _Call:
    """Arguments of one call that each of its requests needs."""

    schema: type[Any] | None
    on_text: Callable[[str], None] | None
    cancel: Cancellation
    allow: Callable[[int, int], None]
    usage: Usage


@dataclass(frozen=True, repr=False)
class OpenAILLM(OpenAIModel):
    """A language model behind a server with the interface of OpenAI.

    `max_tokens`: the longest reply. `prices`: for the cost of each call. `structured`: how a schema is requested:
    "json_schema" (the server enforces it), "json_object" (the server enforces JSON; the prompt holds the schema) or
    "prompt" (the prompt alone); by default the first that the server accepts, which is remembered, as are other
    parameters that it refuses. The other arguments are those of OpenAIModel.

    With `on_text` the reply is streamed, and so is its correction. A stream that breaks off is repeated only while none
    of its text was handed over; after that a ModelError says how much arrived. A reply beyond `max_tokens` is cut off,
    with an LLMResponseError. A reply without a schema that `max_tokens` cut off is returned as it is. An attempt whose
    token count is unknown counts as the most that it may be charged for: the prompt and `max_tokens`. Threads may share
    the object.

    >>> llm = OpenAILLM("qwen3:8b", "http://localhost:11434/v1", max_tokens=500)
    >>> llm
    OpenAILLM('qwen3:8b', base_url='http://localhost:11434/v1', max_tokens=500)
    >>> llm.id
    'qwen3:8b@http://localhost:11434/v1 max_tokens=500 temperature=0.0'
    """

    _: KW_ONLY
    max_tokens: Annotated[int, AtLeast(1)] = 2048
    temperature: Annotated[float, Between(0, 2)] = 0.0
    prices: Prices | None = None
    structured: Annotated[str | None, OneOf(*_FORMATS)] = None
    _dialect: _Dialect = field(init=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._learn(_Dialect(format=self.structured or _FORMATS[0]))

    @property
    def id(self) -> str:
        """The model, its server, and whatever else changes its replies."""
        structured = "" if self.structured is None else f" structured={self.structured}"
        return f"{self._place} max_tokens={self.max_tokens} temperature={self.temperature}{structured}"

    def complete(
        self,
        system: str,
        user: str,
        *,
        schema: type[Any] | None = None,
        on_text: Callable[[str], None] | None = None,
        cancel: Cancellation | None = None,
    ) -> Completion:
        """Answer one prompt, as LLM.complete does."""
        return self.complete_metered(system, user, Usage(), schema=schema, on_text=on_text, cancel=cancel)

    def complete_metered(
        self,
        system: str,
        user: str,
        usage: Usage,
        *,
        schema: type[Any] | None = None,
        on_text: Callable[[str], None] | None = None,
        cancel: Cancellation | None = None,
        allow: Callable[[int, int], None] = lambda prompt, reply: None,
    ) -> Completion:
        """Answer one prompt, and add the work of each request to `usage` as soon as it ends.

        `allow` is called before each request with the most tokens that it reads and writes; it raises where there must
        be none.
        """
        prompt = [("system", sendable(system)), ("user", sendable(user))]
        call = _Call(schema, on_text, cancel or Cancellation(), allow, usage)

        def ask(previous: RawReply | None, correction: str) -> RawReply:
            if previous is None:
                return self._ask(prompt, call)
            if previous.finish != "length":  # a server that enforced the schema would not have sent this
                self._learn(replace(self._dialect, schema_in_prompt=True))
            return self._ask([*prompt, ("assistant", sendable(previous.text)), ("user", sendable(correction))], call)

        return complete_with(ask, schema, repr(self.model), usage)

    def _ask(self, messages: list[tuple[str, str]], call: _Call) -> RawReply:
        """Send one request, and again without the parameters that the server refuses."""
        dialect = self._dialect
        while True:
            body = self._body(messages, call, dialect)
            try:
                reply = self._send(body, call)
            except HTTPStatusError as refusal:
                other = dialect.after(refusal, body)
                if other is None:
                    raise
                dialect = other
                continue
            if dialect != self._dialect:  # remembered only now that it is known to help
                self._learn(replace(dialect, schema_in_prompt=self._dialect.schema_in_prompt))
            return reply

    def _learn(self, dialect: _Dialect) -> None:
        object.__setattr__(self, "_dialect", dialect)

    def _body(self, prompt: list[tuple[str, str]], call: _Call, dialect: _Dialect) -> dict[str, Any]:
        messages = [{"role": role, "content": text} for role, text in prompt]
        body: dict[str, Any] = {"model": self.model, dialect.limit: self.max_tokens}
        if dialect.temperature:
            body["temperature"] = self.temperature
        if call.schema is not None:
            if dialect.schema_in_prompt or dialect.format != "json_schema":
                messages[0]["content"] = "\n\n".join(filter(None, (prompt[0][1], schema_prompt(call.schema))))
            if dialect.format == "json_schema":
                shape = {"name": call.schema.__name__[:64], "schema": strict_schema(call.schema), "strict": True}
                body["response_format"] = {"type": "json_schema", "json_schema": shape}
            elif dialect.format == "json_object":
                body["response_format"] = {"type": "json_object"}
        if call.on_text is not None:
            body["stream"] = True
            if dialect.stream_usage:
                body["stream_options"] = {"include_usage": True}
        body["messages"] = [message for message in messages if message["content"] or message["role"] != "system"]
        return body

    def _send(self, body: dict[str, Any], call: _Call) -> RawReply:
        """Send one request, with retries, and count what each attempt took."""
        prompt = sum(estimated_tokens(message["content"]) for message in body["messages"])
        per_token = _BYTES_PER_TOKEN if call.on_text is None else _BYTES_PER_EVENT

        def read(response: Response) -> tuple[RawReply, int]:
            started = time.perf_counter()
            parser = ChatParser(prompt, self.max_tokens * _BYTES_PER_TOKEN + _SLACK, call.on_text)
            try:
                reply = parser.parse(response)
            except BaseException as error:
                if _charged(error, parser):  # the count is unknown, so the most that it can be
                    # Some servers ignore max_tokens.
                    written = parser.written if isinstance(error, LLMResponseError) else 0
                    self._count(call.usage, prompt, max(written, self.max_tokens), started)
                raise
            self._count(call.usage, parser.prompt_tokens, parser.completion_tokens, started)
            return reply, parser.prompt_tokens + parser.completion_tokens

        return self._connection.request(
            partial(_create, body),
            read,
            tokens=prompt + self.max_tokens,
            max_bytes=self.max_tokens * per_token + _SLACK,
            seed=json.dumps(body, sort_keys=True).encode(),
            cancel=call.cancel,
            allow=partial(call.allow, prompt, self.max_tokens),
        )

    def _count(self, usage: Usage, prompt: int, written: int, started: float) -> None:
        cost = self.prices.cost(prompt, written) if self.prices else 0.0
        seconds = time.perf_counter() - started
        usage.add(Usage(calls=1, seconds=seconds, prompt_tokens=prompt, completion_tokens=written, cost=cost))


def _charged(error: BaseException, parser: ChatParser) -> bool:
    """Return whether an attempt that failed so may be charged for: not where it was refused, or nothing was sent."""
    if isinstance(error.__cause__, HTTPStatusError):
        error = error.__cause__
    if isinstance(error, HTTPStatusError):
        return parser.written > 0 or error.status in _TIMED_OUT
    return not isinstance(error, NotSent)


def _create(body: dict[str, Any], client: OpenAI) -> Any:
    return client.chat.completions.with_streaming_response.create(**body)
