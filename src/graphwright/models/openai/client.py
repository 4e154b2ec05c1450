"""Models behind a server: their configuration, and requests through the `openai` client with deadlines and retries.

Retries are implemented here, because those of the client neither check a budget before each attempt nor stop on
cancellation. So is the timeout of a response: the client's timeouts apply to single reads, which a slow stream never
exceeds. A request that is given up closes its connection, so that the server stops writing.
"""

from __future__ import annotations

import email.utils
import html
import json
import math
import os
import random
import re
import socket
import threading
import time
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, closing, suppress
from dataclasses import KW_ONLY, dataclass, field, fields
from functools import cache, partial
from operator import attrgetter
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from graphwright.constraints import TEXT, AtLeast, Between, Checked
from graphwright.errors import LLMResponseError, ModelError, OptionError, ReplyCutError, cut
from graphwright.models.openai.rate import Clock, RateLimiter
from graphwright.models.openai.secret import Secret
from graphwright.models.protocols import Cancellation
from graphwright.models.settings import OPENAI_URL, checked_address

if TYPE_CHECKING:
    from ssl import SSLContext

    from openai import OpenAI

T = TypeVar("T")
E = TypeVar("E", bound=ModelError)
Send = Callable[[], AbstractContextManager[Any]]
"""A function that sends a request."""

_RETRIED = {408, 409, 429}  # and every 5xx
_MAX_WAIT = 600.0  # seconds; a server that demands a longer wait is given up
_MAX_BACKOFF = 60.0
_CONNECT_TIMEOUT = 10.0
_GRACE = 1.0  # seconds to wait after a cancellation for a response, which is paid for
_END = 0.05  # seconds in which a response that was read to its last word also ends
_NO_KEY = "none"  # the client requires a key, which a local server ignores
_MAX_ERROR = 65_536  # bytes read of the body of an error
_MAX_SEARCHED = 8_192  # characters of it that are searched for a message
_MAX_SHOWN = 300  # characters of a body or a message in an error
_MAX_TOKENS = 1_000_000_000  # in the usage of one response
_DOWN = "Check that the server runs and that base_url is right."


class HTTPStatusError(ModelError):
    """A response with an error status: the status, the body, and the seconds that the server asks to wait."""

    status: int = 0
    body: str = ""
    after: float | None = None

    @property
    def may_pass(self) -> bool:
        """Whether the same request may succeed later."""
        body = self.body.lower()
        exhausted = "insufficient_quota" in body or ("quota" in body and self.after is None)
        return (self.status in _RETRIED or self.status >= 500) and not (self.status == 429 and exhausted)


class IncompleteResponse(ReplyCutError):
    """No complete response arrived: the connection broke, or it took too long."""


class TimedOut(IncompleteResponse):
    """A response took too long."""


class NotSent(ModelError):
    """There was no connection, so that nothing was sent, and nothing can be charged."""


class NoServer(NotSent):
    """The connection was refused: nothing listens at the address."""


@dataclass(frozen=True, repr=False)
class OpenAIModel(Checked):
    """A model behind a server with the interface of OpenAI.

    `base_url`: address of the server, up to and with `/v1`; by default the environment variable OPENAI_BASE_URL, else
    OpenAI. `api_key`: by default OPENAI_API_KEY; servers given by address may need none. `timeout`: seconds from
    sending a request to the last byte of its response. `retries`: number of times that a request is sent again where
    that may help, but once at most after a timeout or a refused connection. `requests_per_minute`, `tokens_per_minute`,
    `concurrency`: limits for this object and its threads together; waiting for them does not count against the timeout.
    Equality ignores the key. The key is in no repr, error or id; it is in a pickle only if it was an argument.
    """

    model: Annotated[str, TEXT]
    base_url: Annotated[str | None, TEXT] = None
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
        object.__setattr__(self, "_connection", HTTPConnection(self, url, _key(self.api_key, url)))

    def __repr__(self) -> str:
        """Return the expression that makes this object, without the key and without default arguments."""
        options = [(each.name, getattr(self, each.name), each.default) for each in fields(self)[1:] if each.init]
        shown = [
            f"{name}={value!r}"
            for name, value, default in options
            if value != default and name not in ("api_key", "clock")
        ]
        return f"{type(self).__name__}({', '.join([repr(self.model), *shown])})"

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **{each.name: getattr(self, each.name) for each in fields(self) if each.init}), ()


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
        self.place = url or OPENAI_URL
        self.secret = Secret(key)
        self._model = model.model
        self._timeout = model.timeout
        self._retries = model.retries
        self._clock = model.clock
        self._limiter = RateLimiter(model.requests_per_minute, model.tokens_per_minute, model.clock)
        self._slots = threading.BoundedSemaphore(model.concurrency)
        self._lock = threading.Lock()
        self._idle: list[_Channel] = []
        self._process = 0

    def request(
        self,
        resource: str,
        body: dict[str, Any],
        read: Callable[[Iterator[bytes]], tuple[T, int]],
        *,
        tokens: int,
        max_bytes: int,
        cancel: Cancellation,
        allow: Callable[[], None] = lambda: None,
    ) -> T:
        """Send a request until it is answered, at most `retries` times more.

        `resource`: of the client, such as "chat.completions". `read` turns the bytes of the response into a result and
        the tokens it took; `tokens` is their estimate; a response above `max_bytes` is treated as endless. `allow` is
        called before each attempt, when this request blocks no other one, and raises to prevent the attempt. Raises
        ModelError where the work is cancelled: nothing is sent then.
        """
        attempt = 0
        while True:
            allow()
            try:
                with cancel.acquire(self._slots):
                    entry = self._limiter.enter(tokens, cancel)
                    with closing(self._chunks(resource, body, max_bytes, cancel)) as chunks:
                        result, entry.tokens = read(chunks)
                    return result
            except HTTPStatusError as error:
                entry.tokens = 0
                if not error.may_pass:
                    raise
                wait = self._wait(error, error.after, attempt, body)
                fault: ModelError = error
            except (IncompleteResponse, NotSent) as error:
                wait = self._wait(error, None, attempt, body)
                fault = error
            try:
                self._clock.sleep(cancel, wait)
            except ReplyCutError as late:  # the deadline of a question; what kept it waiting is worth knowing
                raise ReplyCutError(f"{fault} {late}") from fault
            attempt += 1

    def _wait(self, error: ModelError, after: float | None, attempt: int, body: dict[str, Any]) -> float:
        """Return the seconds until the next attempt; raise where there is none. `after`: as the server asks."""
        # Another timeout would be as long, and no server starts at an address soon, so one repetition has to do.
        if attempt >= (min(self._retries, 1) if isinstance(error, TimedOut | NoServer) else self._retries):
            if attempt == 0:
                raise error
            kind = ReplyCutError if isinstance(error, ReplyCutError) else ModelError
            raise kind(f"{error} Tried {attempt + 1} times.") from error
        if after is None:
            seed = f"{json.dumps(body, sort_keys=True)} {attempt}"
            jitter = random.Random(seed).uniform(0.75, 1.25)  # separates simultaneous retries
            return min(0.5 * 2.0 ** min(attempt, 32), _MAX_BACKOFF) * jitter
        if after > _MAX_WAIT:
            raise ModelError(
                f"{error} It asks to wait {after:,.0f} seconds; the longest wait is {_MAX_WAIT:,.0f}. Try again later."
            ) from error
        self._limiter.pause(after)
        return after

    def _channel(self) -> _Channel:
        """Return a channel that no request uses; a forked process needs its own, as two must not share a socket."""
        with self._lock:
            if self._process != os.getpid():
                self._idle, self._process = [], os.getpid()
                weakref.finalize(self, _close, self._idle)
            return self._idle.pop() if self._idle else _Channel(self._client)

    def _client(self, before_sending: Callable[[Any], None]) -> OpenAI:
        """Return a new client. `before_sending`: called with each request."""
        import openai

        return openai.OpenAI(
            api_key=self.secret.key or _NO_KEY,
            base_url=self.url,
            timeout=openai.Timeout(self._timeout, connect=min(self._timeout, _CONNECT_TIMEOUT)),
            max_retries=0,
            http_client=openai.DefaultHttpxClient(
                verify=_trust(),
                follow_redirects=False,
                event_hooks={"request": [before_sending], "response": [_raise_for_status]},
            ),
        )

    def _chunks(
        self, resource: str, body: dict[str, Any], max_bytes: int, cancel: Cancellation
    ) -> Generator[bytes, None, None]:
        """Yield the bytes of a response as they arrive, read in a thread of its own.

        A server may send bytes slowly without end, also in the headers, where no timeout of the client applies; so the
        caller waits until the timeout only, and then closes the connection, which ends the thread. Raises
        HTTPStatusError, IncompleteResponse, LLMResponseError where there are too many bytes, and ModelError soon after
        the work is cancelled.
        """
        received: SimpleQueue[bytes | BaseException | None] = SimpleQueue()
        stopped = threading.Event()
        channel = self._channel()
        request, send = channel.begin(), partial(channel.create(resource), **body)
        arguments = (channel, send, max_bytes, received.put, stopped)
        receiver = threading.Thread(target=self._receive, args=arguments, name="graphwright-response", daemon=True)
        deadline = time.monotonic() + self._timeout
        receiver.start()
        try:
            while True:
                cancel.check(_GRACE)
                left = max(deadline - time.monotonic(), 0.0)
                try:
                    part = received.get(timeout=cancel.poll(left))
                except Empty:
                    if left > 0.0:
                        continue
                    raise self._late() from None
                if part is None:
                    return
                if isinstance(part, BaseException):
                    error = self._error_of(part)
                    raise error from None  # the cause would hold what the server sent, and that the key
                yield part
        finally:
            stopped.set()
            receiver.join(_END)
            if receiver.is_alive():
                channel.close(request)

    def _receive(
        self, channel: _Channel, send: Send, max_bytes: int, put: Callable[[Any], None], stopped: threading.Event
    ) -> None:
        """Send a request and put the bytes of its response, then None; an exception instead where there is one."""
        end: BaseException | None = None
        try:
            size = 0
            with send() as response:
                for chunk in response.iter_bytes():
                    if stopped.is_set():
                        break
                    size += len(chunk)
                    put(chunk)
                    if size > max_bytes:
                        raise LLMResponseError(f"{self.place} sent more than {max_bytes:,} bytes and was cut off.")
        except BaseException as error:  # raised again by the thread that waits
            end = error
        self._idle.append(channel)
        put(end)

    def _error_of(self, error: BaseException) -> BaseException:
        """Translate an error of the client into one of graphwright; other errors are returned unchanged."""
        cause = error.__cause__ or error
        for each in (error, cause):
            if isinstance(each, _ErrorStatus):
                return self.status_error(*each.args)
        # By name, as the client may be built on one of two libraries, which are not imported for this.
        names = {kind.__name__ for kind in (*type(error).__mro__, *type(cause).__mro__)}
        reason = f"{type(cause).__name__}: {_shortened(self.secret.hidden(str(cause)))}."
        if "ConnectTimeout" in names:
            seconds = min(self._timeout, _CONNECT_TIMEOUT)
            return self.incomplete(f"no connection within {seconds:g} seconds. {_DOWN}", NotSent)
        if names & {"TimeoutException", "APITimeoutError"}:
            return self._late()
        if "ConnectError" in names and _is_refused(cause):
            return NoServer(
                f"No server answers at {self.place}: the connection for {self._model!r} was refused. {_DOWN}"
            )
        if names & {"RequestError", "OSError", "APIConnectionError"}:
            return self.incomplete(f"{reason} {_DOWN}", NotSent if "ConnectError" in names else IncompleteResponse)
        return ModelError(f"The request to {self.place} failed. {reason}") if "OpenAIError" in names else error

    def status_error(self, status: int, body: str, headers: Mapping[str, str] | None = None) -> HTTPStatusError:
        """Return the error for a response with an error status."""
        body = self.secret.hidden(body)
        meaning, remedy = _advice(status, body.lower(), self._model)
        message = self.secret.hidden(_message(body[:_MAX_SEARCHED]))
        error = HTTPStatusError(f"{self.place} {meaning} ({status}: {message}). {remedy}")
        error.status, error.body = status, body
        error.after = _retry_after((headers or {}).get("retry-after", ""), self._clock.date())
        return error

    def incomplete(self, reason: str, kind: type[E] = IncompleteResponse) -> E:  # type: ignore[assignment]
        """Return the error for a response that did not arrive whole."""
        return kind(f"No complete response of {self._model!r} came from {self.place}: {reason}")

    def _late(self) -> TimedOut:
        remedy = "Set a longer timeout, a smaller max_tokens, or use a faster model."
        return self.incomplete(f"it took more than {self._timeout:g} seconds. {remedy}", TimedOut)

    def parsed(self, body: bytes) -> dict[str, Any]:
        """Return the JSON object of a body.

        Raises HTTPStatusError where it reports an error, IncompleteResponse where its end is missing, and
        LLMResponseError where it is not a JSON object.
        """
        try:
            text = self.secret.hidden(body.decode("utf-8-sig", "replace"), reply=True)
            value = json.loads(text, parse_int=_whole)
        except (ValueError, RecursionError):
            if body.lstrip().startswith(b"{"):
                raise self.incomplete(f"JSON that is cut off or damaged: {self.beginning(body)}.") from None
            raise LLMResponseError(
                f"{self.place} did not send JSON, but {self.beginning(body)}. Check base_url: most servers need /v1 "
                f"at its end."
            ) from None  # the cause would contain the body, and the body the key
        if not isinstance(value, dict):
            raise LLMResponseError(f"{self.place} sent JSON, but not an object: {self.beginning(body)}.")
        if error := value.get("error"):
            code = error.get("code") if isinstance(error, dict) else None
            raise self.status_error(code if isinstance(code, int) and 400 <= code <= 599 else 500, json.dumps(value))
        return value

    def beginning(self, body: bytes) -> str:
        """Return the beginning of a body, quoted, for an error."""
        text = self.secret.hidden(body[:_MAX_SEARCHED].decode("utf-8", "replace"))
        return repr(_shortened(text[: 8 * _MAX_SHOWN]))


def _is_refused(error: BaseException | None) -> bool:
    """Return whether an error, or one that led to it, is a refused connection."""
    while error is not None and not isinstance(error, ConnectionRefusedError):
        error = error.__cause__ or error.__context__
    return error is not None


class _Channel:
    """A client with one connection, for one request at a time, which another thread may close.

    The clients' own means do not end a thread that waits for a response: closing a socket wakes no reader of it, and
    which socket a request uses is known only where it is the only one.
    """

    def __init__(self, client: Callable[[Callable[[Any], None]], OpenAI]) -> None:
        """Take a function that makes a client with a hook for its requests."""
        self.client = client(self._trace)
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._request = 0
        self._closed = False

    def create(self, resource: str) -> Callable[..., AbstractContextManager[Any]]:
        """Return the function that sends a request. `resource`: of the client, such as "chat.completions"."""
        create: Callable[..., AbstractContextManager[Any]]
        create = attrgetter(resource)(self.client).with_streaming_response.create
        return create

    def begin(self) -> int:
        """Return the number of a new request."""
        with self._lock:
            self._request += 1
            self._closed = False
            return self._request

    def close(self, request: int) -> None:
        """Close the connection of a request; nothing where that has ended, and another one has begun."""
        with self._lock:
            if request == self._request:
                self._closed = True
                self._shut()

    def _trace(self, request: Any) -> None:
        """Have the transport report a new connection of this request."""
        request.extensions["trace"] = self._connected

    def _connected(self, event: str, info: Mapping[str, Any]) -> None:
        """Keep the socket of a new connection, plain or encrypted; close it where the request was given up."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            with self._lock:
                self._socket = info["return_value"].get_extra_info("socket")
                if self._closed:
                    self._shut()

    def _shut(self) -> None:
        if self._socket is not None:
            with suppress(OSError):  # it is closed already
                # Not the method of an encrypted socket, which another thread may be reading.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


@cache
def _trust() -> SSLContext:
    """Return the certificates that are trusted; reading them takes longer than a short request, so once a process."""
    import httpx

    return httpx.create_ssl_context()


def _close(channels: list[_Channel]) -> None:
    for channel in channels:
        channel.client.close()


class _ErrorStatus(Exception):
    """A response with an error status: the status, the body and the headers."""


def _raise_for_status(response: Any) -> None:
    """Raise _ErrorStatus for anything but success; the client itself would read an endless body to its end."""
    if response.is_success:
        return
    body = bytearray()
    try:
        for chunk in response.iter_bytes():
            body += chunk
            if len(body) > _MAX_ERROR:
                break
    except Exception:  # the status is enough where the body is cut off
        body += b" ..."
    raise _ErrorStatus(response.status_code, body[:_MAX_ERROR].decode("utf-8", "replace"), response.headers)


def _message(body: str) -> str:
    """Return the message of an error body, on one line."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = html.unescape(re.sub(r"<(style|script).*?</\1>|<[^<>]*>", " ", body, flags=re.DOTALL))
    for name in ("error", "message", "detail"):
        if isinstance(value, dict) and value.get(name):
            value = value[name]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return _shortened(text.strip().rstrip(".")) or "without a message"


def _shortened(text: str) -> str:
    return cut(" ".join(text.split()), _MAX_SHOWN)


def _retry_after(header: str, now: float) -> float | None:
    """Return the seconds that a server asks to wait, None where it does not; `now` in seconds since 1970.

    >>> _retry_after("20", 0), _retry_after("Thu, 01 Jan 1970 00:01:00 GMT", 50.0)
    (20.0, 10.0)
    """
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(header).timestamp() - now
        except (ValueError, OverflowError):
            return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def _advice(status: int, body: str, model: str) -> tuple[str, str]:
    """Return the meaning of a status and the remedy."""
    if 300 <= status < 400:
        return "redirects the request", "Redirects are not followed: give the final address as base_url."
    if status in (401, 403):
        return "refused the key", "Set the environment variable OPENAI_API_KEY, or pass api_key, with a valid key."
    if status == 404:
        return (
            f"does not have the model {model!r}, or not at this address",
            "Check the name of the model, and base_url: most servers need /v1 at its end.",
        )
    if status == 429:
        limits = "Set requests_per_minute or tokens_per_minute, or a lower concurrency."
        return "refused the request for its rate limit", (
            "Check the plan and the credit of the account." if "quota" in body else limits
        )
    if status >= 500:
        return "failed", "Try again later."
    shorter = "Shorten the prompt, or lower max_tokens."
    options = "Check the options of the request against those that the server accepts."
    return f"refused the request for {model!r}", shorter if "context" in body else options


def sendable(text: str) -> str:
    """Return a text that can be sent: lone surrogates, which no encoding has, are replaced.

    >>> sendable("half \\ud800 of one") == "half \\ufffd of one"
    True
    """
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def token_count(data: dict[str, Any], name: str) -> int:
    """Return a count from the usage of a response; 0 where the server does not count, or beyond all reason."""
    usage = data.get("usage")
    return credible_count(usage.get(name) if isinstance(usage, dict) else None)


def credible_count(count: object) -> int:
    """Return a number of tokens that a server reports, 0 for one that is negative, no whole number or too large."""
    return count if type(count) is int and 0 < count <= _MAX_TOKENS else 0


def _whole(digits: str) -> int | float:
    """Return a whole number of JSON; one of more than 18 digits as a float, which may be infinite.

    Python refuses to convert thousands of digits, and no number of this interface needs more.
    """
    return int(digits) if len(digits) <= 18 else float(digits)
