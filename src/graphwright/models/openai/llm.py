"""Language models of OpenAI-compatible servers: requests, replies, and streams."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from graphwright.constraints import AtLeast, Between, OneOf
from graphwright.errors import LLMResponseError, ModelError
from graphwright.models.budget import Prices, estimated_tokens
from graphwright.models.openai.client import OpenAIModel, Response, parsed_json, sendable
from graphwright.models.openai.failures import HTTPStatusError, IncompleteResponse, NotSent
from graphwright.models.protocols import Cancellation, Completion, Usage
from graphwright.models.structured import RawReply, beginning, complete_with, schema_prompt, strict_schema

if TYPE_CHECKING:
    from openai import OpenAI

__all__ = ["ChatParser", "OpenAILLM"]

_FORMATS = ("json_schema", "json_object", "prompt")  # ways to ask for a schema, best first
_SLACK = 65_536  # bytes beyond the limit by max_tokens
_BYTES_PER_TOKEN = 16  # of text; the longest usual tokens have fewer
_BYTES_PER_EVENT = 1_024  # of the event that streams one token
_TIMED_OUT = {408, 504, 524}  # sent by a proxy, while the model behind it may have written
_FORMAT_WORDS = ("response_format", "json_schema", "json_object", "schema", "grammar", "unsupported", "not supported")


@dataclass(frozen=True)
class _Dialect:
    """Parameters that a server is known to accept."""

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

    With `on_text` the reply is streamed, and so is its correction. An interrupted stream is repeated only if none of
    its text was passed on; otherwise a ModelError states how much arrived. A server that sends more than `max_tokens`
    causes an LLMResponseError. Without a schema, a reply that the server cut off at `max_tokens` is returned. An
    attempt whose token count is unknown counts as the most that it may be charged for: the prompt and `max_tokens`.
    Threads may share the object.

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
            if dialect != self._dialect:  # stored only after a successful request
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
        """Send one request, with retries, and count the usage of each attempt."""
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


class ChatParser:
    """A parser of one reply, whole or streamed, that passes the text of a stream to `on_text` as it arrives.

    `prompt_estimate`: tokens of the prompt, for servers that do not count. `max_bytes`: bytes of text above which a
    reply is taken to be endless. `on_text`: None where the reply comes whole.
    """

    def __init__(self, prompt_estimate: int, max_bytes: int, on_text: Callable[[str], None] | None) -> None:
        """Start with nothing read."""
        self._prompt_estimate = prompt_estimate
        self._max_bytes = max_bytes
        self._on_text = on_text
        self._pieces: list[str] = []
        self._text_bytes = 0
        self._body_bytes = 0
        self._finish = ""
        self._usage: Any = None

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._pieces)

    @property
    def written(self) -> int:
        """Estimate of the tokens that the model wrote, also where no reply came of it."""
        return self._body_bytes // 4 if self._on_text is None else estimated_tokens(self.text)

    @property
    def prompt_tokens(self) -> int:
        """Tokens of the prompt, by the server's count or by estimate."""
        count = _count(self._usage, "prompt_tokens")
        return self._prompt_estimate if count is None else count

    @property
    def completion_tokens(self) -> int:
        """Tokens of the reply, by the server's count or by estimate."""
        count = _count(self._usage, "completion_tokens")
        return estimated_tokens(self.text) if count is None else count

    def parse(self, response: Response) -> RawReply:
        """Return the reply.

        Raises LLMResponseError where there is none or it is too long; IncompleteResponse or HTTPStatusError where it
        breaks off before any text was passed on, and ModelError where it does so later, because a retry would pass on
        the text twice.
        """
        try:
            if self._on_text is None:
                self._parse_body(response, b"".join(self._counted(response)))
            else:
                self._parse_stream(response)
        except (IncompleteResponse, HTTPStatusError) as error:
            if not self._pieces:
                raise
            raise ModelError(
                f"The reply broke off after {len(self.text):,} characters. They were passed on already, so the "
                f"request was not repeated. {error}"
            ) from error
        return RawReply(self.text, self._finish)

    def _counted(self, response: Response) -> Iterator[bytes]:
        for chunk in response:
            self._body_bytes += len(chunk)
            yield chunk

    def _parse_body(self, response: Response, body: bytes) -> None:
        data = parsed_json(response, body)
        choice = _choice(response, data)
        if choice is None:
            raise LLMResponseError(f"{response.url} sent no choices, but {response.beginning(body)}.")
        self._take(choice, "message", data)

    def _parse_stream(self, response: Response) -> None:
        """Read events until the end. A server that cannot stream sends one body."""
        plain = bytearray()
        done = False
        try:
            for event in _events(_lines(self._counted(response)), plain):
                if done := event.strip() == "[DONE]":
                    break
                data = parsed_json(response, event.encode())
                self._take(_choice(response, data) or {}, "delta", data)
        except IncompleteResponse:
            if not self._finish:
                raise
        if plain and not (done or self._pieces or self._finish):
            self._parse_body(response, bytes(plain))
        elif not (done or self._finish):
            raise response.incomplete("the stream ended early")

    def _take(self, choice: dict[str, Any], part: str, data: dict[str, Any]) -> None:
        self._usage = data.get("usage") or self._usage
        self._finish = str(choice.get("finish_reason") or self._finish)
        message = choice.get(part)
        text = _text(message) if isinstance(message, dict) else ""
        self._text_bytes += len(text.encode("utf-8", "replace"))
        if self._text_bytes > self._max_bytes:
            raise LLMResponseError(
                f"The reply exceeded {self._max_bytes:,} bytes, more than max_tokens allows, and was cut off. It "
                f"begins with {beginning(self.text or text)}."
            )
        if text:
            self._pieces.append(text)
            if self._on_text is not None:
                self._on_text(text)


def _choice(response: Response, data: dict[str, Any]) -> dict[str, Any] | None:
    """Return the first choice, None where there is none. Raises HTTPStatusError for an error in its place."""
    error = data.get("error")
    if error:
        code = error.get("code") if isinstance(error, dict) else None
        raise response.status_error(code if isinstance(code, int) and 400 <= code <= 599 else 500, json.dumps(data))
    choices = data.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        return choices[0]
    return None


def _text(message: dict[str, Any]) -> str:
    """Return the text of a message: its content, a string or typed parts, or else its refusal."""
    content = message.get("content") or message.get("refusal")
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _count(usage: Any, name: str) -> int | None:
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if type(count) is int and count >= 0 else None


def _lines(chunks: Iterator[bytes]) -> Iterator[str]:
    rest = bytearray()
    for chunk in chunks:
        rest += chunk
        if b"\n" in chunk:
            *lines, rest = rest.split(b"\n")
            yield from (line.decode("utf-8", "replace").removesuffix("\r") for line in lines)
    if rest:
        yield rest.decode("utf-8", "replace")


def _events(lines: Iterator[str], plain: bytearray) -> Iterator[str]:
    """Yield the data of each event; lines that belong to no event are added to `plain`."""
    data: list[str] = []
    for line in lines:
        name, _, value = line.partition(":")
        if name == "data":
            data.append(value.removeprefix(" "))
        elif not line and data:
            yield "\n".join(data)
            data = []
        elif name not in ("", "event", "id", "retry"):
            plain += line.encode() + b"\n"
    last = "\n".join(data)
    with suppress(ValueError, RecursionError):  # the end cut this event off
        yield last if last.strip() == "[DONE]" else json.dumps(json.loads(last))
