"""The line to a server with the interface of OpenAI: client, deadlines, limits, retries, and errors."""

from __future__ import annotations

import json
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial
from hashlib import blake2b
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from graphwright.errors import ModelError, ReplyError
from graphwright.models.failures import Broken, ErrorStatus, Refused, examine, wait_asked
from graphwright.models.rate import RateLimiter
from graphwright.models.stopping import check, held, look

if TYPE_CHECKING:
    from openai import OpenAI

    from graphwright.models.remote import Remote

__all__ = ["Answer", "Line", "Unsent", "clean", "parsed"]

T = TypeVar("T")

_LONGEST_WAIT = 600.0  # seconds; a server that asks for more is not waited for
_LONGEST_BACKOFF = 60.0
_CONNECT = 10.0  # seconds to find and reach the server
_GRACE = 1.0  # seconds for what was sent to be answered after a stop, as it is paid for
_SECRET = 4  # characters of the shortest key that is one
_NO_KEY = "none"  # the client wants some key, and a server on one's own machine ignores it
_WORDS = 300  # characters shown of a body


class Unsent(Broken):
    """There was no connection, so nothing was sent, and nothing can be charged for."""


class Line:
    """The line to one server, which threads share: sends a request, waits, tries again, explains what went wrong."""

    def __init__(self, remote: Remote, url: str | None, key: str | None) -> None:
        self.url = url
        self._key = key
        self._model = remote.model
        self._timeout = remote.timeout
        self._retries = remote.retries
        self._clock = remote.clock
        self._limiter = RateLimiter(remote.requests_per_minute, remote.tokens_per_minute, remote.clock)
        self._slots = threading.BoundedSemaphore(remote.concurrency)
        self._lock = threading.Lock()
        self._client: OpenAI | None = None
        self._process = 0

    def request(
        self,
        send: Callable[[OpenAI], AbstractContextManager[Any]],
        read: Callable[[Answer], tuple[T, int]],
        tokens: int,
        most: int,
        seed: bytes,
        allow: Callable[[], None] = lambda: None,
    ) -> T:
        """Send a request until it is answered, at most `retries` times more.

        `send` makes it with the client; `read` turns the answer into a result and the tokens it took; `tokens` is
        their estimate; `most` the bytes after which an answer is taken to be endless. Waits vary by `seed`.
        `allow` is called before each attempt, while nothing is held that another request could wait for, and raises
        where there must be none. Raises ModelError where the work was stopped: nothing is sent then.
        """
        attempt = 0
        while True:
            allow()
            try:
                with held(self._slots):
                    return self._once(send, read, tokens, most)
            except (Refused, Broken) as exc:
                wait = self._wait(exc, attempt, seed)
            self._clock.sleep(wait)
            attempt += 1

    def _once(
        self,
        send: Callable[[OpenAI], AbstractContextManager[Any]],
        read: Callable[[Answer], tuple[T, int]],
        tokens: int,
        most: int,
    ) -> T:
        client = self._connected()
        entry = self._limiter.enter(tokens)
        answer = Answer(partial(send, client), self, most)
        try:
            result, tokens = read(answer)
        except Refused:
            tokens = 0
            raise
        finally:
            answer.stop()
            self._limiter.settle(entry, tokens)
        return result

    def _wait(self, exc: Refused | Broken, attempt: int, seed: bytes) -> float:
        """Return the seconds until the next attempt; raise where there is none."""
        if isinstance(exc, Refused) and not exc.may_pass:
            raise exc
        if attempt >= self._retries:
            if attempt == 0:
                raise exc
            raise ModelError(f"{exc} Tried {attempt + 1} times.") from exc
        if isinstance(exc, Refused) and exc.after is not None:
            if exc.after > _LONGEST_WAIT:
                raise ModelError(
                    f"{exc} It asks to wait {exc.after:,.0f} seconds, and at most {_LONGEST_WAIT:,.0f} are waited. "
                    f"Try again later."
                ) from exc
            self._limiter.pause(exc.after)
            return exc.after
        digest = blake2b(seed + bytes([min(attempt, 255)]), digest_size=2).digest()
        jitter = 0.75 + 0.5 * int.from_bytes(digest) / 65_535  # requests that failed together come back apart
        return min(0.5 * 2.0 ** min(attempt, 32), _LONGEST_BACKOFF) * jitter

    def _connected(self) -> OpenAI:
        """Return the client; a forked process needs its own, as two must not share a socket."""
        with self._lock:
            if self._client is None or self._process != os.getpid():
                import openai

                self._client = openai.OpenAI(
                    api_key=self._key or _NO_KEY,
                    base_url=self.url,
                    timeout=openai.Timeout(self._timeout, connect=min(self._timeout, _CONNECT)),
                    max_retries=0,
                    http_client=openai.DefaultHttpxClient(event_hooks={"response": [examine]}),
                )
                self._process = os.getpid()
                weakref.finalize(self, self._client.close)
            return self._client

    @property
    def place(self) -> str:
        """Where the server is, for errors."""
        return self.url or "https://api.openai.com/v1"

    def refused(self, status: int, headers: Mapping[str, str], body: str) -> Refused:
        """Return the error for an answer with an error status."""
        return Refused.of(self.place, self._model, status, self.hidden(body), wait_asked(headers, self._clock.date()))

    def failed(self, exc: BaseException) -> BaseException:
        """Return the error for whatever was raised while a request was made; itself if it is none of the client's."""
        cause = exc.__cause__ or exc
        for each in (exc, cause):
            if isinstance(each, ErrorStatus):
                return self.refused(each.status, each.headers, each.body)
        # By name, as the client may be built on one of two libraries, and they are not to be imported for this.
        names = {kind.__name__ for kind in (*type(exc).__mro__, *type(cause).__mro__)}
        reason = f"{type(cause).__name__}: {self.hidden(str(cause))}."
        if "ConnectTimeout" in names:
            return self.broken(f"no connection within {min(self._timeout, _CONNECT):g} seconds. {_DOWN}", Unsent)
        if names & {"TimeoutException", "APITimeoutError"}:
            return self.late
        if names & {"RequestError", "OSError", "APIConnectionError"}:
            return self.broken(f"{reason} {_DOWN}", Unsent if "ConnectError" in names else Broken)
        return ModelError(f"The request to {self.place} failed. {reason}") if "OpenAIError" in names else exc

    def broken(self, reason: str, kind: type[Broken] = Broken) -> Broken:
        """Return the error for an answer that did not come whole."""
        return kind(f"No whole answer of {self._model!r} came from {self.place}: {reason}")

    @property
    def late(self) -> Broken:
        """The error for a request that took too long."""
        return self.broken(f"it took more than {self._timeout:g} seconds. {_SLOW}")

    def deadline(self) -> float:
        """Return when a request that is sent now must be answered, by time.monotonic()."""
        return time.monotonic() + self._timeout

    def hidden(self, text: str) -> str:
        """Return what a server says without the key, which some repeat."""
        return text.replace(self._key, "***") if self._key and len(self._key) >= _SECRET else text


_SLOW = "Give a longer timeout, a smaller max_tokens, or a faster model."
_DOWN = "Check that the server runs and that base_url is right."


class Answer:
    """The bytes that answer one request, read in a thread of their own.

    A server may send a byte now and then for ever, in the headers too, where no timeout of the client ends it; so
    the caller waits until the deadline only, and the thread ends by itself.
    """

    def __init__(self, send: Callable[[], AbstractContextManager[Any]], line: Line, most: int) -> None:
        self.url = line.place
        self._send = send
        self._line = line
        self._most = most
        self._came: SimpleQueue[bytes | BaseException | None] = SimpleQueue()
        self._stopped = False
        self._deadline = line.deadline()
        threading.Thread(target=self._read, name="graphwright-answer", daemon=True).start()

    def __iter__(self) -> Iterator[bytes]:
        """Yield the bytes as they come.

        Raises Refused, Broken, or ReplyError where there are too many; ModelError soon after the work was stopped.
        """
        while True:
            check(_GRACE)
            left = max(self._deadline - time.monotonic(), 0.0)
            try:
                part = self._came.get(timeout=look(left))
            except Empty:
                if left > 0.0:
                    continue
                raise self._line.late from None
            if part is None:
                return
            if isinstance(part, BaseException):
                found = self._line.failed(part)
                raise found from (part if isinstance(found, Broken) else None)
            yield part

    def stop(self) -> None:
        """Read no more."""
        self._stopped = True

    def refused(self, status: int, body: str) -> Refused:
        """Return the error for an answer that reports one in its body."""
        return self._line.refused(status, {}, body)

    def broken(self, reason: str) -> Broken:
        """Return the error for an answer that is not whole."""
        return self._line.broken(f"{reason}.")

    def beginning(self, body: bytes) -> str:
        """Return what a body begins with, fit for an error."""
        line = " ".join(self._line.hidden(body[: 8 * _WORDS].decode("utf-8", "replace")).split())
        return repr(line[:_WORDS] + " ..." if len(line) > _WORDS else line)

    def _read(self) -> None:
        try:
            size = 0
            with self._send() as response:
                for chunk in response.iter_bytes():
                    if self._stopped:
                        return
                    size += len(chunk)
                    self._came.put(chunk)
                    if size > self._most:
                        raise ReplyError(f"{self.url} sent more than {self._most:,} bytes and was cut off.")
            self._came.put(None)
        except BaseException as exc:  # raised again by the thread that waits
            self._came.put(exc)


def parsed(answer: Answer, body: bytes) -> dict[str, Any]:
    """Return a JSON object that a server sent. Raises Broken where its end is missing, ReplyError where it is none."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        if body.lstrip().startswith(b"{"):
            raise answer.broken(f"JSON that is cut off or damaged: {answer.beginning(body)}") from None
        raise ReplyError(
            f"{answer.url} did not send JSON, but {answer.beginning(body)}. Check base_url: most servers need /v1 at "
            f"its end."
        ) from None  # the cause would hold the body, and that the key
    if not isinstance(found, dict):
        raise ReplyError(f"{answer.url} sent JSON, but not an object: {answer.beginning(body)}.")
    return found


def clean(text: str) -> str:
    """Return a text that can be sent: halves of characters, which no encoding has, are replaced.

    >>> clean("half \\ud800 of one") == "half \\ufffd of one"
    True
    """
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
