"""What a model must be able to do, and the meter that counts what it did.

The protocols name the least that an operator relies on, so that any object with the right methods serves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

__all__ = ["CrossEncoder", "Encoder", "Floats", "NamedEncoder", "Reader", "Span", "Usage", "metered", "spend"]

Floats = NDArray[np.float32]


@runtime_checkable
class Encoder(Protocol):
    """Maps texts to vectors."""

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return one row per text: float32, shape (len(texts), dimension)."""
        ...


@runtime_checkable
class NamedEncoder(Encoder, Protocol):
    """An encoder that an index can be written with."""

    @property
    def id(self) -> str:
        """Name of the vector space: changes whenever the vectors would."""
        ...


@runtime_checkable
class CrossEncoder(Protocol):
    """Scores texts against a query in two halves, because GRanker smooths between them."""

    def latents(self, query: str, texts: Sequence[str]) -> Floats:
        """Return one latent vector per text: float32, shape (len(texts), h)."""
        ...

    def head(self, latents: Floats) -> Floats:
        """Return one score per latent: float32, shape (n,); higher is more relevant."""
        ...


@dataclass(frozen=True, slots=True)
class Span:
    """Characters `start` to `end` of passage number `passage` that answer a question, and how well."""

    passage: int
    start: int
    end: int
    score: float


@runtime_checkable
class Reader(Protocol):
    """Finds the spans of passages that answer a question."""

    def read(self, question: str, passages: Sequence[str]) -> list[Span]:
        """Return spans, best first; none where the passages do not answer."""
        ...


@dataclass
class Usage:
    """What models did while a meter ran."""

    calls: int = 0
    texts: int = 0
    tokens: int = 0
    seconds: float = 0.0


_meters: ContextVar[tuple[Usage, ...]] = ContextVar("graphwright_meters", default=())


@contextmanager
def metered() -> Iterator[Usage]:
    """Count what models do inside the block, in this thread or task; meters nest.

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


def spend(*, calls: int = 1, texts: int = 0, tokens: int = 0, seconds: float = 0.0) -> None:
    """Report work to every meter that runs; model adapters call this once for each batch."""
    for usage in _meters.get():
        usage.calls += calls
        usage.texts += texts
        usage.tokens += tokens
        usage.seconds += seconds
