"""Retries of requests to a server: which failures are tried again, after how long, and how often.

No client library replaces this loop: each attempt needs a check of the budget and of cancellation, and responses that
are cut off are retried too.
"""

from __future__ import annotations

import email.utils
import json
import math
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, TypeVar

from graphwright.errors import ModelError, ReplyCutError
from graphwright.models.openai.errors import Endpoint, HTTPStatusError, IncompleteResponse, NoServer, NotSent, TimedOut
from graphwright.models.openai.http import HTTPRequests
from graphwright.models.protocols import Cancellation

T = TypeVar("T")

_RETRIED = {408, 409, 429}  # and every 5xx
_MAX_WAIT = 600.0  # seconds; a server that demands a longer wait is given up
_MAX_BACKOFF = 60.0


def _pause(cancel: Cancellation, seconds: float) -> None:
    cancel.pause(seconds)  # a Deadline overrides it


@dataclass(frozen=True)
class Clock:
    """A source of time and a way to wait, which tests replace.

    `date`: seconds since 1970; `sleep`: waits for seconds, and by default raises ModelError as soon as the work is
    cancelled.
    """

    date: Callable[[], float] = time.time
    sleep: Callable[[Cancellation, float], None] = _pause


class HTTPConnection:
    """A thread-safe connection to one server, with retries."""

    def __init__(self, endpoint: Endpoint, clock: Clock, *, timeout: float, retries: int, concurrency: int) -> None:
        """Set the limits; nothing is opened before the first request."""
        self.endpoint = endpoint
        self._requests = HTTPRequests(endpoint, timeout)
        self._clock = clock
        self._retries = retries
        self._slots = threading.BoundedSemaphore(concurrency)

    def request(
        self,
        path: str,
        body: dict[str, Any],
        read: Callable[[Iterator[bytes]], T],
        *,
        max_bytes: int,
        cancel: Cancellation,
        allow: Callable[[], None] = lambda: None,
    ) -> T:
        """Send a request, with at most `retries` retries.

        `path`: below the address of the server. `read` turns the bytes of the response into a result; a
        response above `max_bytes` is treated as endless. `allow` is called before
        each attempt, while the request occupies no slot, and raises to prevent the attempt. Raises ModelError where the
        work is cancelled: nothing is sent then.
        """
        content = json.dumps(body)
        attempt = 0
        while True:
            allow()
            try:
                with cancel.acquire(self._slots):
                    cancel.check()
                    with closing(self._requests.stream(path, content.encode(), max_bytes, cancel)) as chunks:
                        return read(chunks)
            except HTTPStatusError as error:
                seconds = retry_after(error.retry_after, self._clock.date())
                if not _may_succeed(error, seconds):
                    raise
                failure: ModelError = error
            except (IncompleteResponse, NotSent) as error:
                failure, seconds = error, None
            wait = self._wait(failure, seconds, attempt, content)
            try:
                self._clock.sleep(cancel, wait)
            except ReplyCutError as late:  # the deadline of a question; its message includes the last failure
                raise ReplyCutError(f"{failure} {late}") from failure
            attempt += 1

    def _wait(self, error: ModelError, seconds: float | None, attempt: int, content: str) -> float:
        """Return the seconds until the next attempt; raise the error after the last attempt.

        `seconds`: the wait that the server demands, if any.
        """
        # One retry after a timeout or a refused connection: a second one would hardly help, and takes as long.
        if attempt >= (min(self._retries, 1) if isinstance(error, TimedOut | NoServer) else self._retries):
            if attempt == 0:
                raise error
            kind = ReplyCutError if isinstance(error, ReplyCutError) else ModelError
            raise kind(f"{error} Tried {attempt + 1} times.") from error
        if seconds is None:
            jitter = random.Random(f"{content} {attempt}").uniform(0.75, 1.25)  # separates simultaneous retries
            return min(0.5 * 2.0 ** min(attempt, 32), _MAX_BACKOFF) * jitter
        if seconds > _MAX_WAIT:
            raise ModelError(
                f"{error} The server demands a wait of {seconds:,.0f} seconds; the limit is {_MAX_WAIT:,.0f}. Try "
                f"again later."
            ) from error
        return seconds


def _may_succeed(error: HTTPStatusError, seconds: float | None) -> bool:
    """Return whether the same request may succeed later: not if the credit of the account is used up."""
    body = error.body.lower()
    exhausted = "insufficient_quota" in body or ("quota" in body and seconds is None)
    return (error.status in _RETRIED or error.status >= 500) and not (error.status == 429 and exhausted)


def retry_after(header: str, now: float) -> float | None:
    """Return the seconds to wait by a header Retry-After, None without a valid one; `now` in seconds since 1970.

    >>> retry_after("20", 0), retry_after("Thu, 01 Jan 1970 00:01:00 GMT", 50.0)
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
