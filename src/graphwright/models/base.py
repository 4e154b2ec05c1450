"""Meters of what models do, kept until every caller passes its Usage."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock

from graphwright.models.protocols import Usage

__all__ = ["metered", "spend"]

_meters: ContextVar[tuple[Usage, ...]] = ContextVar("graphwright_meters", default=())
_counting = Lock()


@contextmanager
def metered() -> Iterator[Usage]:
    """Count what models do inside the block, in this thread or task, and in threads that run in its context.

    Meters nest.

    >>> with metered() as usage:
    ...     spend(texts=2, tokens=9)
    >>> usage.calls, usage.texts, usage.tokens
    (1, 2, 9)
    """
    usage = Usage()
    token = _meters.set((*_meters.get(), usage))
    try:
        yield usage
    finally:
        _meters.reset(token)


def spend(
    *,
    calls: int = 1,
    texts: int = 0,
    tokens: int = 0,
    seconds: float = 0.0,
    prompt_tokens: int = 0,
    completion_tokens: int = 0,
    cost: float = 0.0,
    saved: float = 0.0,
) -> None:
    """Report work to every meter that runs; model adapters call this once for each batch or request."""
    with _counting:
        for usage in _meters.get():
            usage.calls += calls
            usage.texts += texts
            usage.tokens += tokens
            usage.seconds += seconds
            usage.prompt_tokens += prompt_tokens
            usage.completion_tokens += completion_tokens
            usage.cost += cost
            usage.saved += saved
