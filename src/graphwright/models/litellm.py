"""Language models and encoders of any provider that LiteLLM knows, such as Anthropic, Gemini, Bedrock or Ollama."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from importlib.util import find_spec
from queue import Empty, SimpleQueue
from typing import Annotated, Any

import numpy as np

from graphwright.constraints import AtLeast, Between, Checked
from graphwright.errors import LLMResponseError, ModelError, OptionError, ReplyCutError, cut
from graphwright.models.budget import Prices, estimated_tokens
from graphwright.models.openai.client import credible_count, sendable
from graphwright.models.openai.secret import HiddenText, Secret
from graphwright.models.protocols import (
    Cancel,
    Cancellation,
    Completion,
    Floats,
    OnText,
    Schema,
    Usage,
    refuse_text,
)
from graphwright.models.settings import checked_address
from graphwright.models.structured import RawReply, complete_with, schema_prompt

_RETRIED = {408, 409, 429}  # and every 5xx
_MAX_BACKOFF = 60.0  # seconds
_GRACE = 1.0  # seconds by which LiteLLM's own timeout, which each byte puts off, may come later
_MAX_SHOWN = 500  # characters of an error
_MAX_FINISH = 40  # characters of the reason why a reply ended
_PER_TOKEN, _SLACK = 100, 10_000  # characters and parts of a stream, for each token and in all
_MIN_KEY = 8  # characters of an environment variable that is hidden


@dataclass(frozen=True, repr=False)
class LiteLLMModel(Checked):
    """A model by the name that LiteLLM gives it, PROVIDER/MODEL.

    `base_url`: address of the server, by default the provider's. `api_key`: by default the environment variable of the
    provider, such as ANTHROPIC_API_KEY. `timeout`: seconds for one response; with a stream, for each part of it.
    `retries`: number of times that a request is sent again after an error that may pass. `concurrency`: requests at a
    time. Raises OptionError without the extra `litellm`. The key is in no repr, error or id.
    """

    model: str
    base_url: str | None = None
    api_key: str | None = field(default=None, compare=False)
    _: KW_ONLY
    timeout: Annotated[float, Between(0, 86_400, open_low=True)] = 120.0
    retries: Annotated[int, AtLeast(0)] = 5
    concurrency: Annotated[int, AtLeast(1)] = 8
    prices: Prices | None = None
    _slots: threading.Semaphore = field(init=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if find_spec("litellm") is None:
            raise OptionError(f'{self!r} needs LiteLLM. Install it: pip install "graphwright[litellm]"')
        if not self.model.strip("/ "):
            raise OptionError(f"model is {self.model!r}; give PROVIDER/MODEL, such as anthropic/claude-haiku-4-5.")
        if self.base_url is not None:
            object.__setattr__(self, "base_url", checked_address(self.base_url))
        object.__setattr__(self, "_slots", threading.Semaphore(self.concurrency))

    def __repr__(self) -> str:
        place = "" if self.base_url is None else f", base_url={self.base_url!r}"
        return f"{type(self).__name__}({self.model!r}{place})"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_slots"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _slots=threading.Semaphore(state["concurrency"]))

    @property
    def _place(self) -> str:
        return self.model if self.base_url is None else f"{self.model}@{self.base_url}"

    def _request(self, function: str, cancel: Cancellation, receive: Callable[[Any], None], **body: Any) -> Any:
        """Call a function of LiteLLM, with retries; `receive` is called with each part of a streamed response.

        Raises ModelError where there is no response, and as soon as the work is cancelled.
        """
        received = False

        def passed_on(part: Any) -> None:
            nonlocal received
            received = True
            receive(part)

        for attempt in range(self.retries + 1):
            with cancel.acquire(self._slots):
                cancel.check()
                result = self._send(function, cancel, passed_on, body)
            if not isinstance(result, Exception):
                return result
            status = getattr(result, "status_code", None)
            passes = not isinstance(status, int) or status in _RETRIED or status >= 500
            if received or not passes or attempt == self.retries:
                raise self._error(result, received) from None  # the cause would hold what was sent
            cancel.pause(min(_MAX_BACKOFF, 0.5 * 2**attempt) * random.uniform(0.5, 1))
        raise AssertionError  # the loop ends by a return or an error

    def _send(self, function: str, cancel: Cancellation, receive: Callable[[Any], None], body: dict[str, Any]) -> Any:
        """Send one request in a thread of its own, so that no cancellation need wait; return its result or error.

        A thread whose request is given up ends with the connection, which LiteLLM has no means to close.
        """
        parts: SimpleQueue[tuple[str, Any]] = SimpleQueue()
        options = {"api_base": self.base_url, "api_key": self.api_key, "timeout": self.timeout, "num_retries": 0}
        arguments = {"model": self.model, **{k: v for k, v in options.items() if v is not None}, **body}

        call = getattr(_litellm(), function)  # importing it may take longer than an answer

        def work() -> None:
            try:
                response = call(**arguments)
                if body.get("stream"):
                    for part in response:
                        parts.put(("part", part))
                        if stopped.is_set():
                            return
                parts.put(("end", response))
            except Exception as error:  # of LiteLLM, or of the libraries of a provider
                parts.put(("end", error))

        stopped = threading.Event()
        threading.Thread(target=work, name="graphwright-litellm", daemon=True).start()
        end = time.monotonic() + self.timeout + _GRACE
        try:
            while True:
                cancel.check()
                try:
                    kind, value = parts.get(timeout=cancel.poll())
                except Empty:
                    if time.monotonic() > end:
                        return TimeoutError(f"nothing within {self.timeout:g} seconds")
                    continue
                if kind == "end":
                    return value
                receive(value)
                end = time.monotonic() + self.timeout + _GRACE
        finally:
            stopped.set()

    def _error(self, error: Exception, received: bool) -> ModelError:
        """Return the error of a request, without keys."""
        text = " ".join(str(error).partition("Traceback (most recent call last)")[0].split())
        text = cut(self._hidden(text), _MAX_SHOWN)
        kind = ReplyCutError if received else ModelError
        return kind(f"{self.model} did not answer ({type(error).__name__}: {text}). Check its name, server and key.")

    def _hidden(self, text: str) -> str:
        for secret in _secrets(self.api_key):
            text = secret.hidden(text)
        return text


def _secrets(own: str | None) -> list[Secret]:
    """Return the keys that a server may repeat: the own one, and those of the environment."""
    found = (value for name, value in os.environ.items() if name.endswith(("_API_KEY", "_TOKEN", "_SECRET_ACCESS_KEY")))
    return [Secret(key) for key in dict.fromkeys((own or "", *found)) if len(key) >= _MIN_KEY or (key and key == own)]


def _litellm() -> Any:
    """Return LiteLLM, which sends nothing to anybody but the model's server."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else importing it downloads a list of prices
    import litellm

    litellm.telemetry = False
    litellm.suppress_debug_info = True
    return litellm


@dataclass(frozen=True, repr=False)
class LiteLLM(LiteLLMModel):
    """A language model of any provider that LiteLLM knows.

    `max_tokens`: the longest reply. `prices`: for the cost of each call, by default those that LiteLLM knows, in US
    dollars. `reasoning_effort`, `seed`: for models that have them; a parameter that a model does not take is left out.
    `extra_body`: more arguments of `litellm.completion`. The other arguments are those of LiteLLMModel. A schema is
    described in the prompt, and a reply that does not fit it is corrected once. Threads may share the object.

    >>> LiteLLM("ollama_chat/qwen3:8b", "http://localhost:11434", max_tokens=500).id  # doctest: +SKIP
    'litellm:ollama_chat/qwen3:8b@http://localhost:11434 max_tokens=500 temperature=0.0'
    """

    _: KW_ONLY
    max_tokens: Annotated[int, AtLeast(1)] = 2048
    temperature: Annotated[float, Between(0, 2)] = 0.0
    reasoning_effort: str | None = None
    seed: int | None = None
    extra_body: Mapping[str, Any] | None = field(default=None, hash=False)

    @property
    def id(self) -> str:
        """The model, its server, and whatever else changes its replies."""
        own = {"reasoning_effort": self.reasoning_effort, "seed": self.seed, "extra_body": self.extra_body}
        given = "".join(f" {name}={value}" for name, value in own.items() if value is not None)
        return f"litellm:{self._place} max_tokens={self.max_tokens} temperature={self.temperature}{given}"

    def complete(
        self, system: str, user: str, *, schema: Schema = None, on_text: OnText = None, cancel: Cancel = None
    ) -> Completion:
        """Answer one prompt, as LLM.complete does."""
        if schema is not None:
            system = "\n\n".join(filter(None, (system, schema_prompt(schema))))
        prompt = [("system", system), ("user", user)]
        usage, flag = Usage(), cancel or Cancellation()

        def ask(previous: RawReply | None, correction: str) -> RawReply:
            turns = [] if previous is None else [("assistant", previous.text), ("user", correction)]
            messages = [{"role": role, "content": sendable(text)} for role, text in (*prompt, *turns) if text]
            return self._ask(messages, on_text, flag, usage)

        return complete_with(ask, schema, repr(self.model), usage)

    def _ask(self, messages: list[dict[str, str]], on_text: OnText, cancel: Cancellation, usage: Usage) -> RawReply:
        body: dict[str, Any] = {
            "messages": messages, "max_tokens": self.max_tokens, "temperature": self.temperature, "drop_params": True,
        }  # fmt: skip
        options = {"reasoning_effort": self.reasoning_effort, "seed": self.seed}
        body |= {name: value for name, value in options.items() if value is not None} | dict(self.extra_body or {})
        stream = None
        if on_text is not None:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
            stream = _Stream(self, on_text)
        receive = _ignored if stream is None else stream.add
        try:
            response = self._request("completion", cancel, receive, **body)
            if stream is not None:
                response = stream.whole(messages)
        except (ReplyCutError, LLMResponseError) as error:
            text = "" if stream is None else stream.text
            if isinstance(error, ReplyCutError):
                error.text = text
            self._count(usage, messages, text, None)
            raise
        text = self._hidden(_text(response, "message"))
        self._count(usage, messages, text, response)
        choices = getattr(response, "choices", None)
        if not choices:
            raise LLMResponseError(f"{self.model} sent no choices. Check that it is a model of chat completions.")
        return RawReply(text, str(choices[0].finish_reason or "")[:_MAX_FINISH])

    def _count(self, usage: Usage, messages: list[dict[str, str]], text: str, response: Any) -> None:
        counted = getattr(response, "usage", None)
        prompt = credible_count(getattr(counted, "prompt_tokens", 0))
        prompt = prompt or sum(estimated_tokens(message["content"]) for message in messages)
        written = credible_count(getattr(counted, "completion_tokens", 0)) or estimated_tokens(text)
        cost = self.prices.cost(prompt, written) if self.prices else self._known_cost(prompt, written)
        usage.add(Usage(calls=1, prompt_tokens=prompt, completion_tokens=written, cost=cost))

    def _known_cost(self, prompt: int, written: int) -> float:
        """Return the cost by LiteLLM's prices, 0 for a model that it has none of."""
        try:
            parts = _litellm().cost_per_token(model=self.model, prompt_tokens=prompt, completion_tokens=written)
        except Exception:  # LiteLLM raises Exception itself for a model that it does not know
            return 0.0
        return float(sum(parts))


def _ignored(part: Any) -> None:
    """Receive a part of a response that is not streamed."""


class _Stream:
    """A reply that arrives in parts; `text` is what was passed on, without keys."""

    def __init__(self, model: LiteLLM, on_text: Callable[[str], None]) -> None:
        self.model, self.on_text, self.text = model, on_text, ""
        self._parts: list[Any] = []
        self._hidden = HiddenText(_secrets(model.api_key))
        self._left = model.max_tokens * _PER_TOKEN + _SLACK

    def add(self, part: Any) -> None:
        """Add a part. Raises LLMResponseError for more than was asked for: a stream may be without an end."""
        text = _text(part, "delta")
        self._parts.append(part)
        self._left -= len(text) + 1
        if self._left < 0:
            asked = f"max_tokens={self.model.max_tokens:,}"
            raise LLMResponseError(f"{self.model.model} sent much more than {asked} allows. Check the server.")
        self._pass_on(self._hidden.add(text))

    def whole(self, messages: list[dict[str, str]]) -> Any:
        """Return the response of all parts, None of none. Raises LLMResponseError for parts that make up none."""
        self._pass_on(self._hidden.add("", last=True))
        try:
            return _litellm().stream_chunk_builder(self._parts, messages=messages)
        except Exception as error:  # of LiteLLM
            raise LLMResponseError(
                f"{self.model.model} sent parts that are no reply ({type(error).__name__})."
            ) from None

    def _pass_on(self, text: str) -> None:
        if text:
            self.text += text
            self.on_text(text)


def _text(response: Any, part: str) -> str:
    """Return the text of a response or of a part of a stream."""
    choices = getattr(response, "choices", None)
    content = getattr(getattr(choices[0], part, None), "content", None) if choices else None
    return sendable(content) if isinstance(content, str) else ""


@dataclass(frozen=True, repr=False)
class LiteLLMEncoder(LiteLLMModel):
    """An encoder of any provider that LiteLLM knows.

    `dimensions`: requests shorter vectors, where the model supports it. `batch`: texts per request. The other arguments
    are those of LiteLLMModel.
    """

    _: KW_ONLY
    dimensions: Annotated[int | None, AtLeast(1)] = None
    batch: Annotated[int, AtLeast(1)] = 64

    @property
    def id(self) -> str:
        """Name of the vector space: the model, wherever it runs."""
        return f"litellm:{self.model}" + ("" if self.dimensions is None else f" dimensions={self.dimensions}")

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return one row per text: float32, shape (len(texts), dimension). Raises ModelError for anything else."""
        return self.encode_metered(texts, Usage())

    def encode_metered(self, texts: Sequence[str], usage: Usage) -> Floats:
        """Encode as `encode` does, and add the work to `usage`."""
        refuse_text(texts, "LiteLLMEncoder.encode")
        blocks = [np.empty((0, self.dimensions or 0), np.float32)]
        for start in range(0, len(texts), self.batch):
            block = [sendable(text) or " " for text in texts[start : start + self.batch]]
            blocks.append(self._encoded(block, usage))
        if len({block.shape[1] for block in blocks[1:]}) > 1:
            raise LLMResponseError(f"{self.model} returned vectors of different lengths. Use a model that makes one.")
        return np.concatenate(blocks[1:] or blocks)

    def _encoded(self, texts: list[str], usage: Usage) -> Floats:
        body = {} if self.dimensions is None else {"dimensions": self.dimensions}
        response = self._request("embedding", Cancellation(), _ignored, input=texts, **body)
        counted = getattr(response, "usage", None)
        tokens = credible_count(getattr(counted, "prompt_tokens", 0)) or sum(map(estimated_tokens, texts))
        cost = self.prices.cost(tokens, 0) if self.prices else 0.0
        usage.add(Usage(calls=1, texts=len(texts), tokens=tokens, cost=cost))
        data = getattr(response, "data", None)
        parts = data if isinstance(data, Sequence) else ()
        rows = [
            item.get("embedding") if isinstance(item, Mapping) else getattr(item, "embedding", None) for item in parts
        ]
        try:
            vectors = np.array(rows, np.float32)
        except (TypeError, ValueError):
            vectors = np.empty(0, np.float32)
        if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
            raise LLMResponseError(
                f"{self.model} received {len(texts)} texts and returned {len(rows)} vectors, which must be one of "
                f"finite numbers for each. Use a model that makes embeddings."
            )
        return vectors
