"""Models behind a server: their configuration, and requests through the `openai` client with deadlines and retries.

Retries are implemented here, because those of the client neither check a budget before each attempt nor stop on
cancellation. So is the deadline: the client's timeouts apply to single reads, which a slow stream never exceeds.
"""

from __future__ import annotations

import json
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import KW_ONLY, MISSING, dataclass, field, fields
from functools import partial
from hashlib import blake2b
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from graphwright.constraints import AtLeast, Between, Checked
from graphwright.errors import LLMResponseError, ModelError, OptionError
from graphwright.models.openai.failures import (
    HTTPStatusError,
    IncompleteResponse,
    NotSent,
    StatusReceived,
    raise_for_status,
    retry_after,
)
from graphwright.models.openai.rate import Clock, RateLimiter
from graphwright.models.protocols import Cancellation
from graphwright.models.settings import checked_address

if TYPE_CHECKING:
    from openai import OpenAI

__all__ = ["HTTPConnection", "OpenAIModel", "Request", "Response", "parsed_json", "sendable"]

T = TypeVar("T")
Request = Callable[["OpenAI"], AbstractContextManager[Any]]
"""A function that sends a request with the client."""

_MAX_WAIT = 600.0  # seconds; a server that demands a longer wait is given up
_MAX_BACKOFF = 60.0
_CONNECT_TIMEOUT = 10.0
_GRACE = 1.0  # seconds to wait after a cancellation for a response, which is paid for
_MIN_KEY = 4  # characters; a shorter key is not hidden, since it may occur in any text
_NO_KEY = "none"  # the client requires a key, which a local server ignores
_MAX_SHOWN = 300  # characters shown of a body
_SLOW = "Set a longer timeout, a smaller max_tokens, or use a faster model."
_DOWN = "Check that the server runs and that base_url is right."


@dataclass(frozen=True, repr=False)
class OpenAIModel(Checked):
    """A model behind a server with the interface of OpenAI.

    `base_url`: address of the server, up to and with `/v1`; by default the environment variable OPENAI_BASE_URL, else
    OpenAI. `api_key`: by default OPENAI_API_KEY; servers given by address may need none. `timeout`: seconds from
    sending a request to the last byte of its response. `retries`: number of times that a request is sent again where
    that may help. `requests_per_minute`, `tokens_per_minute`, `concurrency`: limits for this object and its threads
    together; waiting for them does not count against the timeout. Equality ignores the key. The key is in no repr,
    error or id; it is in a pickle only if it was an argument.
    """

    model: str
    base_url: str | None = None
    api_key: str | None = field(default=None, compare=False)
    _: KW_ONLY
    timeout: Annotated[float, Between(0, 86_400, open_low=True)] = 120.0
    retries: Annotated[int, AtLeast(0)] = 5
    requests_per_minute: Annotated[int | None, AtLeast(1)] = None
    tokens_per_minute: Annotated[int | None, AtLeast(1)] = None
    concurrency: Annotated[int, AtLeast(1)] = 8
    clock: Clock = field(default=Clock(), compare=False)
    _connection: HTTPConnection = field(init=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.model:
            raise OptionError(f"{type(self).__name__}: model is {self.model!r}; give the name of one on the server.")
        url = self.base_url or os.environ.get("OPENAI_BASE_URL")
        url = checked_address(url) if url else None
        connection = HTTPConnection(self, url, _key(self.api_key, url))
        object.__setattr__(self, "_connection", connection)

    def __repr__(self) -> str:
        """Return the expression that makes this object, without the key and without default arguments."""
        parts = [repr(self.model)]
        for each in fields(self)[1:]:
            if each.init and each.name not in ("api_key", "clock"):
                value = getattr(self, each.name)
                if each.default is MISSING or value != each.default:
                    parts.append(f"{each.name}={value!r}")
        return f"{type(self).__name__}({', '.join(parts)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **{each.name: getattr(self, each.name) for each in fields(self) if each.init}), ()

    @property
    def _place(self) -> str:
        """The model and its server, for ids."""
        return self.model if self._connection.url is None else f"{self.model}@{self._connection.url}"


def _key(key: str | None, url: str | None) -> str | None:
    """Return the key to send, None for a server that may need none."""
    key = (key or os.environ.get("OPENAI_API_KEY") or "").strip()
    if not key and url is None:
        raise OptionError(
            "There is no key for OpenAI. Set the environment variable OPENAI_API_KEY, or pass api_key; for a server "
            "that needs none, pass base_url, such as http://localhost:11434/v1 for Ollama."
        )
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise OptionError(f"The key, of {len(key)} characters, contains a character that no key has. Copy it again.")
    return key or None


class HTTPConnection:
    """A thread-safe connection to one server, with rate limits, retries, and readable errors."""

    def __init__(self, model: OpenAIModel, url: str | None, key: str | None) -> None:
        """Take the limits of a model; nothing is opened before the first request."""
        self.url = url
        self._key = key
        self._model = model.model
        self._timeout = model.timeout
        self._retries = model.retries
        self._clock = model.clock
        self._limiter = RateLimiter(model.requests_per_minute, model.tokens_per_minute, model.clock)
        self._slots = threading.BoundedSemaphore(model.concurrency)
        self._lock = threading.Lock()
        self._client: OpenAI | None = None
        self._process = 0

    def request(
        self,
        send: Request,
        read: Callable[[Response], tuple[T, int]],
        *,
        tokens: int,
        max_bytes: int,
        seed: bytes,
        cancel: Cancellation,
        allow: Callable[[], None] = lambda: None,
    ) -> T:
        """Send a request until it is answered, at most `retries` times more.

        `read` turns the response into a result and the tokens it took; `tokens` is their estimate; a response above
        `max_bytes` is taken to be endless. Waits vary by `seed`. `allow` is called before each attempt, while nothing
        is held that another request could wait for, and raises where there must be none. Raises ModelError where the
        work is cancelled: nothing is sent then.
        """
        attempt = 0
        while True:
            allow()
            try:
                with cancel.acquire(self._slots):
                    return self._attempt(send, read, tokens, max_bytes, cancel)
            except (HTTPStatusError, IncompleteResponse) as error:
                wait = self._wait(error, attempt, seed)
            self._clock.sleep(wait, cancel)
            attempt += 1

    def _attempt(
        self,
        send: Request,
        read: Callable[[Response], tuple[T, int]],
        tokens: int,
        max_bytes: int,
        cancel: Cancellation,
    ) -> T:
        client = self._connected()
        entry = self._limiter.enter(tokens, cancel)
        response = Response(partial(send, client), self, max_bytes, cancel)
        try:
            result, tokens = read(response)
        except HTTPStatusError:
            tokens = 0
            raise
        finally:
            response.stop()
            self._limiter.settle(entry, tokens)
        return result

    def _wait(self, error: HTTPStatusError | IncompleteResponse, attempt: int, seed: bytes) -> float:
        """Return the seconds until the next attempt; raise where there is none."""
        if isinstance(error, HTTPStatusError) and not error.may_pass:
            raise error
        if attempt >= self._retries:
            if attempt == 0:
                raise error
            raise ModelError(f"{error} Tried {attempt + 1} times.") from error
        if isinstance(error, HTTPStatusError) and error.after is not None:
            if error.after > _MAX_WAIT:
                raise ModelError(
                    f"{error} It asks to wait {error.after:,.0f} seconds; the longest wait is {_MAX_WAIT:,.0f}. "
                    f"Try again later."
                ) from error
            self._limiter.pause(error.after)
            return error.after
        digest = blake2b(seed + bytes([min(attempt, 255)]), digest_size=2).digest()
        jitter = 0.75 + 0.5 * int.from_bytes(digest) / 65_535  # separates simultaneous retries
        return min(0.5 * 2.0 ** min(attempt, 32), _MAX_BACKOFF) * jitter

    def _connected(self) -> OpenAI:
        """Return the client; a forked process needs its own, as two must not share a socket."""
        with self._lock:
            if self._client is None or self._process != os.getpid():
                import openai

                self._client = openai.OpenAI(
                    api_key=self._key or _NO_KEY,
                    base_url=self.url,
                    timeout=openai.Timeout(self._timeout, connect=min(self._timeout, _CONNECT_TIMEOUT)),
                    max_retries=0,
                    http_client=openai.DefaultHttpxClient(
                        follow_redirects=False, event_hooks={"response": [raise_for_status]}
                    ),
                )
                self._process = os.getpid()
                weakref.finalize(self, self._client.close)
            return self._client

    @property
    def place(self) -> str:
        """Address of the server, for errors."""
        return self.url or "https://api.openai.com/v1"

    def status_error(self, status: int, headers: Mapping[str, str], body: str) -> HTTPStatusError:
        """Return the error for a response with an error status."""
        after = retry_after(headers, self._clock.date())
        return HTTPStatusError.of(self.place, self._model, status, self.without_key(body), after)

    def error_of(self, exc: BaseException) -> BaseException:
        """Translate an error of the client into one of graphwright; other errors are returned unchanged."""
        cause = exc.__cause__ or exc
        for each in (exc, cause):
            if isinstance(each, StatusReceived):
                return self.status_error(each.status, each.headers, each.body)
        # By name, as the client may be built on one of two libraries, which are not imported for this.
        names = {kind.__name__ for kind in (*type(exc).__mro__, *type(cause).__mro__)}
        reason = f"{type(cause).__name__}: {self.without_key(str(cause))}."
        if "ConnectTimeout" in names:
            seconds = min(self._timeout, _CONNECT_TIMEOUT)
            return self.incomplete(f"no connection within {seconds:g} seconds. {_DOWN}", NotSent)
        if names & {"TimeoutException", "APITimeoutError"}:
            return self.late
        if names & {"RequestError", "OSError", "APIConnectionError"}:
            return self.incomplete(f"{reason} {_DOWN}", NotSent if "ConnectError" in names else IncompleteResponse)
        return ModelError(f"The request to {self.place} failed. {reason}") if "OpenAIError" in names else exc

    def incomplete(self, reason: str, kind: type[IncompleteResponse] = IncompleteResponse) -> IncompleteResponse:
        """Return the error for a response that did not arrive whole."""
        return kind(f"No complete response of {self._model!r} came from {self.place}: {reason}")

    @property
    def late(self) -> IncompleteResponse:
        """The error for a request that timed out."""
        return self.incomplete(f"it took more than {self._timeout:g} seconds. {_SLOW}")

    def deadline(self) -> float:
        """Return the deadline of a request that is sent now, by time.monotonic()."""
        return time.monotonic() + self._timeout

    def without_key(self, text: str) -> str:
        """Return a text of the server without the key, which some servers repeat."""
        return text.replace(self._key, "***") if self._key and len(self._key) >= _MIN_KEY else text


class Response:
    """The bytes that answer one request, read in a thread of its own.

    A server may send bytes slowly without end, also in the headers, where no timeout of the client applies; so the
    caller waits until the deadline only, and the thread ends by itself.
    """

    def __init__(
        self,
        send: Callable[[], AbstractContextManager[Any]],
        connection: HTTPConnection,
        max_bytes: int,
        cancel: Cancellation,
    ) -> None:
        """Send the request."""
        self.url = connection.place
        self._send = send
        self._connection = connection
        self._max_bytes = max_bytes
        self._cancel = cancel
        self._chunks: SimpleQueue[bytes | BaseException | None] = SimpleQueue()
        self._stopped = False
        self._deadline = connection.deadline()
        threading.Thread(target=self._read, name="graphwright-response", daemon=True).start()

    def __iter__(self) -> Iterator[bytes]:
        """Yield the bytes as they arrive.

        Raises HTTPStatusError, IncompleteResponse, LLMResponseError where there are too many, and ModelError soon
        after the work is cancelled.
        """
        while True:
            self._cancel.check(_GRACE)
            left = max(self._deadline - time.monotonic(), 0.0)
            try:
                part = self._chunks.get(timeout=self._cancel.poll(left))
            except Empty:
                if left > 0.0:
                    continue
                raise self._connection.late from None
            if part is None:
                return
            if isinstance(part, BaseException):
                error = self._connection.error_of(part)
                raise error from (part if isinstance(error, IncompleteResponse) else None)
            yield part

    def stop(self) -> None:
        """Stop reading."""
        self._stopped = True

    def status_error(self, status: int, body: str) -> HTTPStatusError:
        """Return the error for a response that reports one in its body."""
        return self._connection.status_error(status, {}, body)

    def incomplete(self, reason: str) -> IncompleteResponse:
        """Return the error for a response that is not whole."""
        return self._connection.incomplete(f"{reason}.")

    def beginning(self, body: bytes) -> str:
        """Return the beginning of a body, quoted, for an error."""
        text = self._connection.without_key(body[: 8 * _MAX_SHOWN].decode("utf-8", "replace"))
        line = " ".join(text.split())
        return repr(line[:_MAX_SHOWN] + " ..." if len(line) > _MAX_SHOWN else line)

    def _read(self) -> None:
        try:
            size = 0
            with self._send() as response:
                for chunk in response.iter_bytes():
                    if self._stopped:
                        return
                    size += len(chunk)
                    self._chunks.put(chunk)
                    if size > self._max_bytes:
                        raise LLMResponseError(f"{self.url} sent more than {self._max_bytes:,} bytes and was cut off.")
            self._chunks.put(None)
        except BaseException as error:  # raised again by the thread that waits
            self._chunks.put(error)


def parsed_json(response: Response, body: bytes) -> dict[str, Any]:
    """Return the JSON object of a body.

    Raises IncompleteResponse where its end is missing, LLMResponseError where it is not a JSON object.
    """
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        if body.lstrip().startswith(b"{"):
            raise response.incomplete(f"JSON that is cut off or damaged: {response.beginning(body)}") from None
        raise LLMResponseError(
            f"{response.url} did not send JSON, but {response.beginning(body)}. Check base_url: most servers need /v1 "
            f"at its end."
        ) from None  # the cause would contain the body, and the body the key
    if not isinstance(value, dict):
        raise LLMResponseError(f"{response.url} sent JSON, but not an object: {response.beginning(body)}.")
    return value


def sendable(text: str) -> str:
    """Return a text that can be sent: lone surrogates, which no encoding has, are replaced.

    >>> sendable("half \\ud800 of one") == "half \\ufffd of one"
    True
    """
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
