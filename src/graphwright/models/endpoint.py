"""A language model behind any server with the interface of OpenAI: hosted, or Ollama, llama.cpp, vLLM and others."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from graphwright.errors import OptionError, ReplyError
from graphwright.models.base import Completion, spend
from graphwright.models.budget import Prices, allow, estimated_tokens
from graphwright.models.connection import Answer, Unsent, clean
from graphwright.models.failures import Refused
from graphwright.models.remote import Remote
from graphwright.models.schema import Heard, converse, described, strict
from graphwright.models.wire import Listener

if TYPE_CHECKING:
    from openai import OpenAI

__all__ = ["Endpoint", "Prices"]

_FORMS = ("json_schema", "json_object", "prompt")  # how a schema is asked for, best first
_SLACK = 65_536  # bytes beyond what max_tokens allows for
_PER_TOKEN = 16  # bytes of text; the longest usual tokens have fewer
_PER_EVENT = 1_024  # bytes that a streamed token comes in
_TIMED_OUT = {408, 504, 524}  # said by what stands between, while the model behind it may have written


@dataclass(frozen=True)
class _Manners:
    """What a server takes, as far as it is known."""

    limit: str = "max_tokens"
    temperature: bool = True
    stream_usage: bool = True
    form: str = _FORMS[0]
    told: bool = False  # whether the prompt has to say the schema though the server takes it as a parameter

    def after(self, refusal: Refused, body: dict[str, Any]) -> _Manners | None:
        """Return what to try after a refusal of a request, None where it was refused for something else."""
        said = refusal.body.lower()
        if refusal.status not in (400, 404, 422) or "context length" in said or "context_length" in said:
            return None
        if "max_tokens" in said and "max_tokens" in body:
            return replace(self, limit="max_completion_tokens")
        if "temperature" in said and "temperature" in body:
            return replace(self, temperature=False)
        if ("stream_options" in said or "include_usage" in said) and "stream_options" in body:
            return replace(self, stream_usage=False)
        if "response_format" in body and any(word in said for word in _ABOUT_FORMS):
            return replace(self, form=_FORMS[_FORMS.index(self.form) + 1])
        return None


_ABOUT_FORMS = ("response_format", "json_schema", "json_object", "schema", "grammar", "unsupported", "not supported")


@dataclass(frozen=True, repr=False)
class Endpoint(Remote):
    """A language model behind a server with the interface of OpenAI, asked through the `openai` client.

    `max_tokens`: the longest reply. `prices`: to report the cost of each call to meters. `structured`: how a schema is
    asked for: "json_schema" (the server enforces it), "json_object" (it enforces JSON; the prompt holds the schema) or
    "prompt" (the prompt alone); by default the first that the server takes, which is remembered. So are other
    parameters that it refuses. All else is as in Remote.

    A reply that does not fit the schema is sent back once, with what is wrong with it, and then a ReplyError. With
    `on_text` the reply is streamed; that second reply is then handed over too. A stream that breaks off is asked for
    again only while none of its text was handed over; after that it is a ModelError that says how much came. Replies
    that go on beyond what `max_tokens` allows for are cut off, and a ReplyError. A reply without a schema that
    `max_tokens` cut off is given as it is. An attempt that was sent and of which no count came back is reported to
    meters as the most that it may be charged for: the prompt and `max_tokens`. Threads may share the object. Raises
    OptionError, ModelError, ReplyError.

    >>> llm = Endpoint("qwen3:8b", "http://localhost:11434/v1", max_tokens=500)
    >>> llm
    Endpoint('qwen3:8b', base_url='http://localhost:11434/v1', max_tokens=500)
    >>> llm.id
    'qwen3:8b@http://localhost:11434/v1 max_tokens=500 temperature=0.0'
    """

    _: KW_ONLY
    max_tokens: int = 2048
    temperature: float = 0.0
    prices: Prices | None = None
    structured: str | None = None
    _manners: _Manners = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise OptionError(f"{self!r}: max_tokens is {self.max_tokens}; it must be at least 1.")
        if not 0 <= self.temperature <= 2:
            raise OptionError(f"{self!r}: temperature is {self.temperature}; it goes from 0 to 2.")
        if self.structured not in (None, *_FORMS):
            raise OptionError(f"{self!r}: structured is {self.structured!r}; give one of {', '.join(_FORMS)}, or None.")
        object.__setattr__(self, "_manners", _Manners(form=self.structured or _FORMS[0]))
        super().__post_init__()

    @property
    def id(self) -> str:
        """The model, where it is, and whatever else changes its replies."""
        how = "" if self.structured is None else f" structured={self.structured}"
        return f"{self._place} max_tokens={self.max_tokens} temperature={self.temperature}{how}"

    def complete(
        self,
        system: str,
        user: str,
        *,
        schema: type[Any] | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> Completion:
        """Answer one prompt, as LLM.complete has it."""
        prompt = [(role, clean(text)) for role, text in (("system", system), ("user", user))]

        def ask(heard: Heard | None, correction: str) -> Heard:
            if heard is None:
                return self._ask(prompt, schema, on_text)
            if heard.finish != "length":  # a server that enforced the schema would not have sent this
                self._learn(replace(self._manners, told=True))
            return self._ask([*prompt, ("assistant", clean(heard.text)), ("user", clean(correction))], schema, on_text)

        return converse(ask, schema, repr(self.model))

    def _ask(
        self, turns: list[tuple[str, str]], schema: type[Any] | None, on_text: Callable[[str], None] | None
    ) -> Heard:
        """Send one request, and again without what the server refuses."""
        manners = self._manners
        while True:
            body = self._body(turns, schema, on_text is not None, manners)
            try:
                heard = self._send(body, on_text)
            except Refused as refusal:
                other = manners.after(refusal, body)
                if other is None:
                    raise
                manners = other
                continue
            if manners != self._manners:  # remembered only now that it is known to help
                self._learn(replace(manners, told=self._manners.told))
            return heard

    def _learn(self, manners: _Manners) -> None:
        object.__setattr__(self, "_manners", manners)

    def _body(
        self, turns: list[tuple[str, str]], schema: type[Any] | None, stream: bool, manners: _Manners
    ) -> dict[str, Any]:
        messages = [{"role": role, "content": text} for role, text in turns]
        body: dict[str, Any] = {"model": self.model, manners.limit: self.max_tokens}
        if manners.temperature:
            body["temperature"] = self.temperature
        if schema is not None:
            if manners.told or manners.form != "json_schema":
                messages[0]["content"] = "\n\n".join(filter(None, (turns[0][1], _TOLD + described(schema))))
            if manners.form == "json_schema":
                shape = {"name": schema.__name__[:64], "schema": strict(schema), "strict": True}
                body["response_format"] = {"type": "json_schema", "json_schema": shape}
            elif manners.form == "json_object":
                body["response_format"] = {"type": "json_object"}
        if stream:
            body["stream"] = True
            if manners.stream_usage:
                body["stream_options"] = {"include_usage": True}
        body["messages"] = [message for message in messages if message["content"] or message["role"] != "system"]
        return body

    def _send(self, body: dict[str, Any], on_text: Callable[[str], None] | None) -> Heard:
        """Send one request, with retries, and report what it took."""
        prompt = sum(estimated_tokens(message["content"]) for message in body["messages"])
        most = self.max_tokens * (_PER_TOKEN if on_text is None else _PER_EVENT) + _SLACK

        def read(answer: Answer) -> tuple[Heard, int]:
            begun = time.perf_counter()
            listener = Listener(prompt, self.max_tokens * _PER_TOKEN + _SLACK, on_text)
            try:
                heard = listener.hear(answer)
            except BaseException as exc:
                if _charged(exc, listener):  # nobody said how much, so the most that it can be
                    beyond = listener.written if isinstance(exc, ReplyError) else 0  # some servers know no max_tokens
                    self._spend(prompt, max(beyond, self.max_tokens), begun)
                raise
            self._spend(heard.prompt_tokens, heard.completion_tokens, begun)
            return heard, heard.prompt_tokens + heard.completion_tokens

        seed = json.dumps(body, sort_keys=True).encode()
        may = partial(allow, prompt, self.max_tokens)
        return self._line.request(partial(_create, body), read, prompt + self.max_tokens, most, seed, may)

    def _spend(self, prompt: int, written: int, begun: float) -> None:
        cost = self.prices.cost(prompt, written) if self.prices else 0.0
        spend(seconds=time.perf_counter() - begun, prompt_tokens=prompt, completion_tokens=written, cost=cost)


_TOLD = "Reply with one JSON object that fits this JSON schema, and with nothing else:\n"


def _charged(exc: BaseException, listener: Listener) -> bool:
    """Return whether an attempt that ended so may be charged for: not where it was refused, or nothing was sent."""
    if isinstance(exc.__cause__, Refused):
        exc = exc.__cause__
    if isinstance(exc, Refused):
        return listener.written > 0 or exc.status in _TIMED_OUT
    return not isinstance(exc, Unsent)


def _create(body: dict[str, Any], client: OpenAI) -> Any:
    return client.chat.completions.with_streaming_response.create(**body)
