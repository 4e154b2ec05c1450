"""What a model must be able to do, and the meter that counts what it did.

The protocols name the least that an operator relies on, so that any object with the right methods serves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Lock
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "LLM",
    "Completion",
    "CrossEncoder",
    "Encoder",
    "Floats",
    "NamedEncoder",
    "Reader",
    "Span",
    "SparseEncoder",
    "SparseRows",
    "Usage",
    "metered",
    "spend",
]

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


@dataclass(frozen=True, eq=False, slots=True)
class SparseRows:
    """Rows of mostly zeros over `dimension` columns, as a sparse encoder gives them.

    Row i holds `values[indptr[i]:indptr[i + 1]]: float32` in the `columns: int32` of the same places, ascending, and 0
    in every other; `indptr: int64[rows + 1]`.

    >>> rows = SparseRows.of([([0, 2], [1.5, 2.0]), ([], [])], dimension=3)
    >>> len(rows), rows.dense().tolist()
    (2, [[1.5, 0.0, 2.0], [0.0, 0.0, 0.0]])
    """

    indptr: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: Floats
    dimension: int

    @classmethod
    def of(cls, rows: Iterable[tuple[ArrayLike, ArrayLike]], dimension: int) -> SparseRows:
        """Make it of each row's columns and values."""
        columns, values, ends = [np.empty(0, np.int32)], [np.empty(0, np.float32)], [0]
        for some, of_them in rows:
            columns.append(np.asarray(some, np.int32))
            values.append(np.asarray(of_them, np.float32))
            ends.append(ends[-1] + len(columns[-1]))
        return cls(np.array(ends, np.int64), np.concatenate(columns), np.concatenate(values), dimension)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def dense(self) -> Floats:
        """Return every number: float32[rows, dimension]."""
        table = np.zeros((len(self), self.dimension), np.float32)
        table[np.repeat(np.arange(len(self)), np.diff(self.indptr)), self.columns] = self.values
        return table


@runtime_checkable
class SparseEncoder(Protocol):
    """Maps texts to weights over a vocabulary, most of them 0; questions and passages each in a way of their own."""

    def encode_queries(self, texts: Sequence[str]) -> SparseRows:
        """Return one row per question."""
        ...

    def encode_passages(self, texts: Sequence[str]) -> SparseRows:
        """Return one row per passage; its dot product with a question's row is its score."""
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
    """Characters `start` to `end` of passage number `passage` that answer a question, and how well.

    `text` is the answer where that is not what stands there, as "yes", or one of two names that were compared.
    """

    passage: int
    start: int
    end: int
    score: float
    text: str = ""


@runtime_checkable
class Reader(Protocol):
    """Finds the spans of passages that answer a question."""

    def read(self, question: str, passages: Sequence[str]) -> list[Span]:
        """Return spans, best first; none where the passages do not answer."""
        ...


@dataclass(frozen=True, slots=True)
class Completion:
    """What a language model answered, and the tokens that it took; none where the reply came from a cache.

    `value` is the reply as an instance of the schema that was asked for, None where none was.
    """

    text: str
    value: Any = None
    prompt_tokens: int = 0
    completion_tokens: int = 0


@runtime_checkable
class LLM(Protocol):
    """A language model."""

    @property
    def id(self) -> str:
        """Name of the model and of whatever else changes its replies."""
        ...

    def complete(
        self,
        system: str,
        user: str,
        *,
        schema: type[Any] | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> Completion:
        """Answer one prompt.

        `schema`: a pydantic model that the reply has to be an instance of; the server is asked for it, the
        reply is checked, and where it does not fit the model is told why and asked once more. `on_text` is
        called with the reply's text piece by piece as it comes. Raises ReplyError where the reply does not
        fit the schema twice, BudgetError where a budget is spent, and ModelError where there is no reply.
        """
        ...


@dataclass
class Usage:
    """What models did while a meter ran.

    `texts` and `tokens` are those that encoders read; `prompt_tokens` and `completion_tokens` those of language models,
    and `cost` the money for them, in the currency of the prices given. `saved`: seconds that were not spent because the
    work had been done before, for another pipeline that is compared with this one (see `models.bills`).
    """

    calls: int = 0
    texts: int = 0
    tokens: int = 0
    seconds: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    saved: float = 0.0


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
