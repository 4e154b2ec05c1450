"""How many requests and tokens go out in a minute, and the clock by which that is kept."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from graphwright.errors import OptionError
from graphwright.models.stopping import check, held, pause

__all__ = ["Clock", "Entry", "RateLimiter"]

_MINUTE = 60.0
_LOOK = 1.0  # seconds between two looks, as a correction may let the next one through earlier


@dataclass(frozen=True)
class Clock:
    """Where time is read and how it is waited for, so that a test need not wait.

    `now`: seconds that never go back; `date`: seconds since 1970, to read dates by; `sleep`: waits for seconds,
    and by default ends early, with a ModelError, where the work is stopped.
    """

    now: Callable[[], float] = time.monotonic
    date: Callable[[], float] = time.time
    sleep: Callable[[float], None] = pause


@dataclass(slots=True, eq=False)
class Entry:
    """One request that was let through: when, and the tokens that it counts for."""

    at: float
    tokens: int


class RateLimiter:
    """Lets through at most `requests` requests and `tokens` tokens within any 60 seconds, first come, first served.

    A request counts from when it is let through. Its tokens are an estimate until `settle` corrects them. A request
    that is larger than the limit waits until nothing else counts, then goes alone. Threads may share it.

    >>> at, slept = [0.0], []
    >>> def sleep(seconds):
    ...     slept.append(seconds)
    ...     at[0] += seconds
    >>> limiter = RateLimiter(requests=2, clock=Clock(now=lambda: at[0], sleep=sleep))
    >>> entries = [limiter.enter(100) for _ in range(3)]
    >>> sum(slept)
    60.0
    """

    def __init__(self, requests: int | None = None, tokens: int | None = None, clock: Clock | None = None) -> None:
        for name, limit in (("requests", requests), ("tokens", tokens)):
            if limit is not None and limit < 1:
                raise OptionError(f"{name} per minute is {limit}; give at least 1, or None for no limit.")
        self._most_requests = requests
        self._most_tokens = tokens
        self._clock = clock or Clock()
        self._window: deque[Entry] = deque()  # what was let through in the last minute, oldest first
        self._tokens = 0  # their sum
        self._resume = float("-inf")
        self._turn = Lock()  # held by the one that is next, so that small requests do not overtake a large one
        self._lock = Lock()

    def enter(self, tokens: int) -> Entry:
        """Wait until a request of about so many tokens may go, and count it. Raises ModelError where it is stopped."""
        with held(self._turn):
            while True:
                check()
                with self._lock:
                    now = self._clock.now()
                    wait = self._wait(now, tokens)
                    if wait <= 0:
                        entry = Entry(now, tokens)
                        self._window.append(entry)
                        self._tokens += tokens
                        return entry
                self._clock.sleep(min(wait, _LOOK))

    def settle(self, entry: Entry, tokens: int) -> None:
        """Count a request with the tokens that it really took."""
        with self._lock:
            if entry.at + _MINUTE > self._clock.now() and entry in self._window:
                self._tokens += tokens - entry.tokens
                entry.tokens = tokens

    def pause(self, seconds: float) -> None:
        """Let nothing through for so long, because the server said so."""
        with self._lock:
            self._resume = max(self._resume, self._clock.now() + seconds)

    def _wait(self, now: float, tokens: int) -> float:
        """Return the seconds until a request may go; 0 or less: now."""
        while self._window and self._window[0].at + _MINUTE <= now:
            self._tokens -= self._window.popleft().tokens
        wait = self._resume - now
        if self._most_requests is not None and len(self._window) >= self._most_requests:
            wait = max(wait, self._window[-self._most_requests].at + _MINUTE - now)
        if self._most_tokens is not None:
            excess = self._tokens + tokens - self._most_tokens
            for entry in self._window:
                if excess <= 0:
                    break
                excess -= entry.tokens
                wait = max(wait, entry.at + _MINUTE - now)
        return wait
