"""Limits on requests and tokens per minute, and their clock.

The library `limits` is no replacement: it neither corrects estimates nor keeps the order of the requests.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from graphwright.models.protocols import Cancellation

_MINUTE = 60.0
_POLL = 1.0  # seconds between two checks, as a correction may let the next request through earlier


def _pause(cancel: Cancellation, seconds: float) -> None:
    cancel.pause(seconds)  # a Deadline overrides it


@dataclass(frozen=True)
class Clock:
    """A source of time and a way to wait, which tests replace.

    `now`: seconds that never go back; `date`: seconds since 1970; `sleep`: waits for seconds, and by default raises
    ModelError as soon as the work is cancelled.
    """

    now: Callable[[], float] = time.monotonic
    date: Callable[[], float] = time.time
    sleep: Callable[[Cancellation, float], None] = _pause


@dataclass(slots=True, eq=False)
class AdmittedRequest:
    """A request that was admitted: its time, and its tokens, an estimate until corrected."""

    time: float
    tokens: int


class RateLimiter:
    """Limits of `requests` requests and `tokens` tokens within any 60 seconds, first come, first served.

    A request counts from its admission. A request larger than the limit waits until no other request counts. Threads
    may share the object.

    >>> now, slept = [0.0], []
    >>> def sleep(cancel, seconds):
    ...     slept.append(seconds)
    ...     now[0] += seconds
    >>> limiter = RateLimiter(requests=2, clock=Clock(now=lambda: now[0], sleep=sleep))
    >>> entries = [limiter.enter(100, Cancellation()) for _ in range(3)]
    >>> sum(slept)
    60.0
    """

    def __init__(self, requests: int | None = None, tokens: int | None = None, clock: Clock | None = None) -> None:
        """Set the limits; None is no limit."""
        self._max_requests = requests or float("inf")
        self._max_tokens = tokens or float("inf")
        self._clock = clock or Clock()
        self._window: deque[AdmittedRequest] = deque()  # of the last minute, oldest first
        self._resume = float("-inf")
        self._turn = Lock()  # held by the next request, so that small ones do not overtake a large one

    def enter(self, tokens: int, cancel: Cancellation) -> AdmittedRequest:
        """Wait for the admission of a request of about this many tokens. Raises ModelError where cancelled."""
        with cancel.acquire(self._turn):
            cancel.check()
            while (wait := self._wait(tokens)) > 0:
                self._clock.sleep(cancel, min(wait, _POLL))
                cancel.check()
            self._window.append(AdmittedRequest(self._clock.now(), tokens))
            return self._window[-1]

    def pause(self, seconds: float) -> None:
        """Delay all requests for a time, as the server demanded."""
        self._resume = max(self._resume, self._clock.now() + seconds)

    def _wait(self, tokens: int) -> float:
        """Return the seconds until a request may be sent; 0 or less: now."""
        now = self._clock.now()
        while self._window and self._window[0].time + _MINUTE <= now:
            self._window.popleft()
        wait = self._resume - now
        requests = len(self._window) + 1
        tokens += sum(entry.tokens for entry in self._window)
        for entry in self._window:
            if requests <= self._max_requests and tokens <= self._max_tokens:
                break
            wait = max(wait, entry.time + _MINUTE - now)
            requests -= 1
            tokens -= entry.tokens
        return wait
