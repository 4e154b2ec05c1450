"""Limits on requests and tokens per minute, and their clock.

Own code rather than the library `limits`, which has neither corrections of an estimate nor first come, first served.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from graphwright.models.protocols import Cancellation

__all__ = ["Clock", "Entry", "RateLimiter"]

_MINUTE = 60.0
_POLL = 1.0  # seconds between two checks, as a correction may let the next request through earlier


@dataclass(frozen=True)
class Clock:
    """A source of time and a way to wait, which tests replace.

    `now`: seconds that never go back; `date`: seconds since 1970; `sleep`: waits for seconds, and by default raises
    ModelError as soon as the work is cancelled.
    """

    now: Callable[[], float] = time.monotonic
    date: Callable[[], float] = time.time
    sleep: Callable[[Cancellation, float], None] = Cancellation.pause


@dataclass(slots=True, eq=False)
class Entry:
    """One request that was let through: its time, and the tokens that it counts for."""

    time: float
    tokens: int


class RateLimiter:
    """Let through at most `requests` requests and `tokens` tokens within any 60 seconds, first come, first served.

    A request counts from the moment it is let through. Its tokens are an estimate until `settle` corrects them. A
    request larger than the limit waits until nothing else counts, then goes alone. Threads may share the object.

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
        self._max_requests = requests
        self._max_tokens = tokens
        self._clock = clock or Clock()
        self._window: deque[Entry] = deque()  # requests of the last minute, oldest first
        self._tokens = 0  # their sum
        self._resume = float("-inf")
        self._turn = Lock()  # held by the next request, so that small ones do not overtake a large one
        self._lock = Lock()

    def enter(self, tokens: int, cancel: Cancellation) -> Entry:
        """Wait until a request of about this many tokens may go, and count it. Raises ModelError where cancelled."""
        with cancel.acquire(self._turn):
            while True:
                cancel.check()
                with self._lock:
                    now = self._clock.now()
                    wait = self._wait(now, tokens)
                    if wait <= 0:
                        entry = Entry(now, tokens)
                        self._window.append(entry)
                        self._tokens += tokens
                        return entry
                self._clock.sleep(cancel, min(wait, _POLL))

    def settle(self, entry: Entry, tokens: int) -> None:
        """Replace the estimate of a request by the tokens that it took."""
        with self._lock:
            if entry.time + _MINUTE > self._clock.now() and entry in self._window:
                self._tokens += tokens - entry.tokens
                entry.tokens = tokens

    def pause(self, seconds: float) -> None:
        """Hold all requests for a time, as the server demanded."""
        with self._lock:
            self._resume = max(self._resume, self._clock.now() + seconds)

    def _wait(self, now: float, tokens: int) -> float:
        """Return the seconds until a request may go; 0 or less: now."""
        while self._window and self._window[0].time + _MINUTE <= now:
            self._tokens -= self._window.popleft().tokens
        wait = self._resume - now
        if self._max_requests is not None and len(self._window) >= self._max_requests:
            wait = max(wait, self._window[-self._max_requests].time + _MINUTE - now)
        if self._max_tokens is not None:
            excess = self._tokens + tokens - self._max_tokens
            for entry in self._window:
                if excess <= 0:
                    break
                excess -= entry.tokens
                wait = max(wait, entry.time + _MINUTE - now)
        return wait
