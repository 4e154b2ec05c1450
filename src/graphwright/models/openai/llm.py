"""Language models of OpenAI-compatible servers: prompts, schemas, refused parameters, and streamed replies."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Annotated, Any

from graphwright.constraints import JSON_OBJECT, TEXT, Between
from graphwright.errors import LLMResponseError, ReplyCutError
from graphwright.models.budget import Prices, estimated_tokens
from graphwright.models.openai.errors import Endpoint, HiddenText, HTTPStatusError, IncompleteResponse, NotSent
from graphwright.models.openai.model import OPENAI_URL, OpenAIModel, sendable, token_count
from graphwright.models.protocols import Cancel, Cancellation, Completion, OnText, Schema, Usage
from graphwright.models.structured import RawReply, complete_with, schema_prompt, strict_schema

_MAX_FINISH = 40  # characters of the reason why a reply ended
_TIMED_OUT = {408, 504, 524}  # sent by a proxy, while the model behind it may have written


class IncomingReply:
    """An arriving reply, whole or streamed to `on_text`; `finish`: why it ended; tokens: the server's, or 0."""

    def __init__(self, endpoint: Endpoint, on_text: OnText) -> None:
        """Create an empty reply. `on_text`: None without streaming."""
        self._endpoint, self._on_text = endpoint, on_text
        self._body = bytearray()  # all but the events of a stream
        self._hidden = HiddenText(endpoint.secret)
        self.text = ""
        self.finish = ""
        self.prompt_tokens = 0
        self.completion_tokens = 0

    @property
    def written(self) -> int:
        """Estimate of the tokens that the model wrote, even without a usable reply."""
        return estimated_tokens(self.text) or len(self._body) // 4

    def read(self, chunks: Iterator[bytes]) -> None:
        """Read to the end. Raises LLMResponseError without reply, ReplyCutError after text, IncompleteResponse."""
        try:
            if self._on_text is None:
                for chunk in chunks:
                    self._body += chunk
                self._read_body()
            else:
                self._read_stream(chunks)
            self._add("", last=True)
        except (IncompleteResponse, HTTPStatusError) as error:
            if not self.text:
                raise
            cut = ReplyCutError(
                f"The reply broke off after {len(self.text):,} characters. They were passed on already, so the "
                f"request was not repeated. {error}"
            )
            cut.text = self.text
            raise cut from error

    def _read_body(self) -> None:
        body = bytes(self._body)
        if not self._take(body, "message"):
            raise LLMResponseError(f"{self._endpoint.url} sent no choices, but {self._endpoint.shown(body)}.")

    def _read_stream(self, chunks: Iterator[bytes]) -> None:
        """Read events until the end. A server that cannot stream sends one body."""
        events = 0
        try:
            for line in _lines(chunks):
                name, _, data = line.partition(b":")
                if name != b"data":
                    self._body += b"" if name in (b"", b"event", b"id", b"retry") else line + b"\n"
                    continue
                if data.strip() == b"[DONE]":
                    return
                events += 1
                self._take(data, "delta")
        except IncompleteResponse:
            if not self.finish:
                raise
        if self._body and not events:
            self._read_body()
        elif not self.finish:
            raise self._endpoint.incomplete("the stream ended early.")

    def _add(self, text: str, *, last: bool = False) -> None:
        if text := self._hidden.add(text, last=last):
            self.text += text
            if self._on_text is not None:
                self._on_text(text)

    def _take(self, data: bytes, part: str) -> bool:
        """Add a body or an event; return whether it holds a choice."""
        value = self._endpoint.parsed(data)
        self.prompt_tokens = token_count(value, "prompt_tokens") or self.prompt_tokens
        self.completion_tokens = token_count(value, "completion_tokens") or self.completion_tokens
        choices = value.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return False
        self.finish = str(choice.get("finish_reason") or self.finish)[:_MAX_FINISH]
        if text := _text(choice.get(part)):
            self._add(text)
        return True


def is_charged(error: BaseException, reply: IncomingReply) -> bool:
    """Return whether a failed attempt may be charged for: not if it was refused or not sent."""
    if isinstance(error.__cause__, HTTPStatusError):
        error = error.__cause__
    if isinstance(error, HTTPStatusError):
        return reply.written > 0 or error.status in _TIMED_OUT
    return not isinstance(error, NotSent)


def _text(message: Any) -> str:
    """Return the text of a message: its content, a string or typed parts, or else its refusal."""
    if not isinstance(message, dict):
        return ""
    content = message.get("content") or message.get("refusal")
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(text for text in texts if isinstance(text, str))
    return sendable(content) if isinstance(content, str) else ""  # lone surrogates cannot be stored either


def _lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    rest = bytearray()
    for chunk in chunks:
        rest += chunk
        if b"\n" in chunk:
            *lines, rest = rest.split(b"\n")
            yield from map(bytes, lines)
    yield bytes(rest)


_IMAGE_TOKENS = 1_500  # of an image and the prompt before it, estimated; about as many as models read at 1,000 pixels
_SLACK = 65_536  # bytes beyond the limit by max_tokens
_BYTES_PER_TOKEN = 16  # of text; the longest usual tokens have fewer
_BYTES_PER_EVENT = 1_024  # of the event that streams one token
_GRAMMAR = "grammar"  # field of a request
_REFUSED = {400, 404, 422, 501}  # statuses of a request with a part that the server refuses
_LIMITS = ("maxlength", "maxitems", "minitems", "'maximum'", "'minimum'")  # of JSON schemas, in lower case
_QUOTES = re.compile(r'[\\"`]+')
# Parameters that some servers refuse, and the words by which their errors name them.
_OPTIONAL = {
    "seed": ("seed",),
    "reasoning_effort": ("reasoning_effort", "reasoning effort"),
    "max_tokens": ("max_tokens",),
    "temperature": ("temperature",),
    "stream_options": ("stream_options", "include_usage"),
    "response_format": ("response_format", "json_", "schema", "grammar", "unsupported", "not supported"),
}


def _refused(error: HTTPStatusError, body: dict[str, Any]) -> str | None:
    """Return the parameter that a server refuses, by its name or its type; None where there is another reason."""
    message = error.body.lower()
    if error.status not in (400, 404, 422) or "context length" in message or "context_length" in message:
        return None
    schema = str(body.get("response_format", "")).lower()
    quoted = _QUOTES.sub("'", message)  # as the names in `schema` are
    if any(word in quoted and word in schema for word in _LIMITS):
        return "limits"  # of the schema; the next request has none
    for name, words in _OPTIONAL.items():
        if name in body and any(word in message for word in words):
            return str(body[name]["type"]) if name == "response_format" else name
    return None


@dataclass(frozen=True)
class _Call:
    schema: Schema
    on_text: OnText
    cancel: Cancellation
    allow: Callable[[int, int], None]
    usage: Usage
    images: Sequence[str] = ()


@dataclass(frozen=True, repr=False)
class OpenAILLM(OpenAIModel):
    """A language model behind a server with the interface of OpenAI.

    `max_tokens`: limit of a reply. `prices`: for the cost of each call. For reasoning models: `reasoning_effort`, such
    as "low" or "none"; `max_completion_tokens`, the limit of a reply with its hidden thoughts, sent in place of
    `max_tokens`. `seed`: for servers with seeded sampling. `extra_body`: more fields of each request, which override
    those of the same name. The other arguments are those of OpenAIModel. Threads may share the object.

    The server enforces a schema; else it enforces JSON, and the prompt holds the schema; else only the prompt has it.
    The first accepted form and the refused parameters are remembered. Without a schema, a reply that the server cut off
    at `max_tokens` is returned. An attempt with an unknown token count is counted at its maximum.

    >>> llm = OpenAILLM("qwen3:8b", "http://localhost:11434/v1", max_tokens=500)
    >>> llm
    OpenAILLM('qwen3:8b', base_url='http://localhost:11434/v1', max_tokens=500)
    >>> llm.id
    'qwen3:8b@http://localhost:11434/v1 max_tokens=500 temperature=0.0'
    """

    _: KW_ONLY
    max_tokens: Annotated[int, Between(1, 10**9)] = 2048
    temperature: Annotated[float, Between(0, 2)] = 0.0
    reasoning_effort: Annotated[str | None, TEXT] = None
    max_completion_tokens: Annotated[int | None, Between(1, 10**9)] = None
    seed: Annotated[int | None, Between(-(2**63), 2**63 - 1)] = None
    extra_body: Annotated[Mapping[str, Any] | None, JSON_OBJECT] = field(default=None, hash=False)
    prices: Prices | None = None
    # Parameters that the server refused, and "hidden schema" where the model does not see the schema that it enforces.
    _learned: set[str] = field(default_factory=set, init=False, compare=False, repr=False)

    @property
    def id(self) -> str:
        """The model, its server, and all options that change its replies."""
        url = self._connection.endpoint.url
        place = self.model if url == OPENAI_URL else f"{self.model}@{url}"
        options = {name: getattr(self, name) for name in ("reasoning_effort", "max_completion_tokens", "seed")}
        options["extra_body"] = None if self.extra_body is None else json.dumps(self.extra_body, sort_keys=True)
        suffix = "".join(f" {name}={value}" for name, value in options.items() if value is not None)
        return f"{place} max_tokens={self.max_tokens} temperature={self.temperature}{suffix}"

    @property
    def longest(self) -> int:
        """Maximum number of tokens of one reply, thoughts included."""
        return self.max_completion_tokens or self.max_tokens

    def with_grammar(self, grammar: str) -> OpenAILLM:
        """Return the model with replies constrained by GBNF (llama.cpp); a refusal causes an LLMResponseError."""
        return self.sharing(extra_body={**(self.extra_body or {}), _GRAMMAR: grammar})

    def complete(
        self,
        system: str,
        user: str,
        *,
        schema: Schema = None,
        on_text: OnText = None,
        cancel: Cancel = None,
        images: Sequence[str] = (),
        usage: Usage | None = None,
        allow: Callable[[int, int], None] = lambda prompt, reply: None,
    ) -> Completion:
        """Answer one prompt, as LLM.complete does, and add the work of each request to `usage` as soon as it ends.

        `images`: data URLs that a vision model sees after the user prompt. `allow` is called before each request with
        its maximum of prompt and reply tokens, and raises to prevent it.
        """
        usage = Usage() if usage is None else usage
        prompt = [("system", system), ("user", user)]
        call = _Call(schema, on_text, cancel or Cancellation(), allow, usage, images)

        def ask(previous: RawReply | None, correction: str) -> RawReply:
            if previous is None:
                return self._ask(prompt, call)
            self._learned.add("hidden schema")  # a server that enforced the schema would not have sent this
            return self._ask([*prompt, ("assistant", previous.text), ("user", correction)], call)

        return complete_with(ask, schema, repr(self.model), usage)

    def _ask(self, messages: list[tuple[str, str]], call: _Call) -> RawReply:
        """Send one request, and again without the parameters that the server refuses."""
        learned = set(self._learned)
        while True:
            body = self._body(messages, call, learned)
            try:
                reply = self._send(body, call)
            except HTTPStatusError as error:
                refused = _refused(error, body)
                if refused is None:
                    if error.status in _REFUSED and _GRAMMAR in (self.extra_body or {}):
                        raise LLMResponseError(f"The server refuses a request with a grammar: {error}") from error
                    raise
                learned.add(refused)
                continue
            self._learned.update(learned)  # only after a successful request
            return reply

    def _body(self, prompt: list[tuple[str, str]], call: _Call, learned: set[str]) -> dict[str, Any]:
        messages: list[dict[str, Any]] = [{"role": role, "content": sendable(text)} for role, text in prompt]
        thinks = self.max_completion_tokens is not None or "max_tokens" in learned
        body: dict[str, Any] = {"model": self.model, "max_completion_tokens" if thinks else "max_tokens": self.longest}
        options = {"seed": self.seed, "reasoning_effort": self.reasoning_effort}
        body |= {name: value for name, value in options.items() if value is not None and name not in learned}
        if "temperature" not in learned:
            body["temperature"] = self.temperature
        if call.schema is not None:
            if learned & {"json_schema", "hidden schema"}:
                messages[0]["content"] = "\n\n".join(filter(None, (messages[0]["content"], schema_prompt(call.schema))))
            if "json_schema" not in learned:
                shape = {
                    "name": call.schema.__name__[:64],
                    "schema": strict_schema(call.schema, limits="limits" not in learned),
                    "strict": True,
                }
                body["response_format"] = {"type": "json_schema", "json_schema": shape}
            elif "json_object" not in learned:
                body["response_format"] = {"type": "json_object"}
        if call.on_text is not None:
            body["stream"] = True
            if "stream_options" not in learned:
                body["stream_options"] = {"include_usage": True}
        if call.images:
            shown = [{"type": "image_url", "image_url": {"url": image}} for image in call.images]
            messages[1]["content"] = [{"type": "text", "text": messages[1]["content"]}, *shown]
        body["messages"] = [message for message in messages if message["content"] or message["role"] != "system"]
        return body

    def _send(self, body: dict[str, Any], call: _Call) -> RawReply:
        texts = (text for message in body["messages"] if isinstance(text := message["content"], str))
        prompt = sum(map(estimated_tokens, texts)) + _IMAGE_TOKENS * len(call.images)
        per_token = _BYTES_PER_TOKEN if call.on_text is None else _BYTES_PER_EVENT

        def read(chunks: Iterator[bytes]) -> RawReply:
            started = time.perf_counter()
            reply = IncomingReply(self._connection.endpoint, call.on_text)
            try:
                reply.read(chunks)
            except BaseException as error:
                if is_charged(error, reply):  # the token count is unknown, so count the maximum
                    # Some servers ignore max_tokens.
                    written = reply.written if isinstance(error, LLMResponseError) else 0
                    self._count(call.usage, prompt, max(written, self.longest), started)
                raise
            tokens = reply.prompt_tokens or prompt, reply.completion_tokens or estimated_tokens(reply.text)
            self._count(call.usage, *tokens, started)
            return RawReply(reply.text, reply.finish)

        return self._connection.request(
            "chat/completions",
            {**body, **(self.extra_body or {})},
            read,
            max_bytes=self.longest * per_token + _SLACK,
            cancel=call.cancel,
            allow=partial(call.allow, prompt, self.longest),
        )

    def _count(self, usage: Usage, prompt: int, written: int, started: float) -> None:
        cost = self.prices.cost(prompt, written) if self.prices else 0.0
        seconds = time.perf_counter() - started
        usage.add(Usage(calls=1, seconds=seconds, prompt_tokens=prompt, completion_tokens=written, cost=cost))
