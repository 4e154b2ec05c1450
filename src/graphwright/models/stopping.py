"""How work that has ended takes back what its threads still wait for."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event, Lock, Semaphore

from graphwright.errors import ModelError

__all__ = ["check", "held", "look", "pause", "stopping"]

_LOOK = 0.1  # seconds between two looks at whether to go on


class _Stop:
    """Whether the work is to stop, and since when, by time.monotonic()."""

    def __init__(self) -> None:
        self.event = Event()
        self.since = float("inf")

    def set(self) -> None:
        self.since = time.monotonic()
        self.event.set()


_stop: ContextVar[_Stop | None] = ContextVar("graphwright_stop", default=None)


@contextmanager
def stopping() -> Iterator[None]:
    """Stop, at the end of the block, whatever threads that run in copies of its context still wait for or would send.

    >>> from contextvars import copy_context
    >>> with stopping():
    ...     task = copy_context()
    ...     task.run(check)
    >>> task.run(pause, 60.0)
    Traceback (most recent call last):
    ...
    graphwright.errors.ModelError: The call was stopped, as what asked for it has ended.
    """
    stop = _Stop()
    token = _stop.set(stop)
    try:
        yield
    finally:
        stop.set()
        _stop.reset(token)


def check(grace: float = 0.0) -> None:
    """Raise ModelError where the work was stopped, and that at least `grace` seconds ago."""
    stop = _stop.get()
    if stop is not None and time.monotonic() >= stop.since + grace:
        raise ModelError("The call was stopped, as what asked for it has ended.")


def pause(seconds: float) -> None:
    """Sleep for so long. Raises ModelError as soon as the work is stopped."""
    stop = _stop.get()
    if stop is None:
        time.sleep(seconds)
    elif stop.event.wait(seconds):
        check()


def look(most: float | None = None) -> float | None:
    """Return the seconds that a wait may take before the next `check`, at most `most`; None: any time."""
    if _stop.get() is None:
        return most
    return _LOOK if most is None else min(most, _LOOK)


@contextmanager
def held(lock: Lock | Semaphore) -> Iterator[None]:
    """Hold a lock inside the block. Raises ModelError where the work is stopped before it is free."""
    while not (lock.acquire() if (seconds := look()) is None else lock.acquire(timeout=seconds)):
        check()
    try:
        yield
    finally:
        lock.release()
