"""Cancellation of model calls whose result is no longer needed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock, Semaphore

from graphwright.errors import ModelError

__all__ = ["Cancellation"]

_POLL = 0.1  # seconds between two checks while something else is waited for


class Cancellation:
    """A flag that ends the waits and prevents the requests of all threads that it was passed to.

    As a context manager it is set at the end of the block.

    >>> with Cancellation() as cancel:
    ...     cancel.check()
    >>> cancel.pause(60.0)
    Traceback (most recent call last):
    ...
    graphwright.errors.ModelError: The call was cancelled because its caller has ended.
    """

    def __init__(self) -> None:
        """Start uncancelled."""
        self._event = Event()
        self._since = float("inf")  # by time.monotonic()

    def __enter__(self) -> Cancellation:
        return self

    def __exit__(self, *_: object) -> None:
        self.set()

    def set(self) -> None:
        """Cancel the work."""
        self._since = min(self._since, time.monotonic())
        self._event.set()

    def check(self, grace: float = 0.0) -> None:
        """Raise ModelError where the work was cancelled at least `grace` seconds ago."""
        if time.monotonic() >= self._since + grace:
            raise ModelError("The call was cancelled because its caller has ended.")

    def pause(self, seconds: float) -> None:
        """Sleep. Raises ModelError as soon as the work is cancelled."""
        if self._event.wait(seconds):
            self.check()

    def poll(self, timeout: float = _POLL) -> float:
        """Return the seconds that a wait of at most `timeout` seconds may take before the next check."""
        return min(timeout, _POLL)

    @contextmanager
    def acquire(self, lock: Lock | Semaphore) -> Iterator[None]:
        """Hold a lock inside the block. Raises ModelError where the work is cancelled before the lock is free."""
        while not lock.acquire(timeout=_POLL):
            self.check()
        try:
            yield
        finally:
            lock.release()
