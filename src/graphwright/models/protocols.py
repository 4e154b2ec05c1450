"""Protocols of models, the values that pass between models and operators, usage and cancellation of a call.

Any object with the methods of a protocol can be used. A method of a model that counts its own tokens has one more
argument, `usage: Usage | None = None`, and adds its work to it.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import partial
from threading import Event, Lock, Semaphore
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import ModelError, OptionError

Floats = NDArray[np.float32]


@dataclass
class Usage:
    """Work that models did.

    `texts`, `tokens`: input of encoders; `prompt_tokens`, `completion_tokens`, `llm_calls`: of language models; `cost`:
    in the currency of the model's prices; `saved`: seconds of work that was reused.
    """

    calls: int = 0
    texts: int = 0
    tokens: int = 0
    seconds: float = 0.0
    llm_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    saved: float = 0.0

    def add(self, other: Usage, times: int = 1) -> None:
        """Add another record to this one, `times` over; -1 subtracts it."""
        own = vars(self)
        for name, amount in vars(other).items():
            if amount:
                own[name] += times * amount


def call_metered(usage: Usage, model: Any, method: str, *arguments: Any) -> Any:
    """Return `model.method(*arguments)` and add its work to `usage`; the last argument is a sequence of texts.

    A method with an argument `usage` counts its own work; for others, calls, texts and seconds are counted.
    """
    call = getattr(model, method)
    if has_argument(call, "usage"):
        return call(*arguments, usage=usage)
    texts: Sequence[Any] = arguments[-1]
    started = time.perf_counter()
    result = call(*arguments)
    usage.add(Usage(calls=1, texts=len(texts), seconds=time.perf_counter() - started))
    return result


def has_argument(function: Callable[..., Any], name: str) -> bool:
    """Return whether a function has an argument of this name; built-in ones may have no signature."""
    code = getattr(function, "__code__", None)
    if code is not None and not hasattr(function, "__wrapped__"):  # many times as fast, at each call of a model
        return name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    try:
        return name in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def refuse_text(texts: Sequence[str], method: str) -> None:
    """Raise OptionError where a single text was given in place of a sequence of texts."""
    if isinstance(texts, str):
        raise OptionError(f"{method} takes a sequence of texts, not one: [{texts[:40]!r}].")


class ByArguments:
    """A dataclass that is pickled by its arguments: locks, connections and the like are made anew."""

    def __reduce__(self) -> tuple[Any, ...]:
        own = fields(self)  # type: ignore[arg-type]
        return partial(type(self), **{each.name: getattr(self, each.name) for each in own if each.init}), ()

    def sharing(self, **changes: Any) -> Self:
        """Return a copy with other values of some fields, which shares what a pickle makes anew."""
        copied = object.__new__(type(self))
        vars(copied).update(vars(self), **changes)
        return copied


_POLL = 0.1  # seconds between two checks during a wait


class Cancellation:
    """A flag that ends the waits and prevents the requests of all threads that it was passed to.

    As a context manager it is set at the end of the block.

    >>> with Cancellation() as cancel:
    ...     pass
    >>> cancel.pause(60.0)
    Traceback (most recent call last):
    ...
    graphwright.errors.ModelError: The call was cancelled because its caller has ended.
    """

    def __init__(self) -> None:
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


@runtime_checkable
class Encoder(Protocol):
    """A model that maps texts to vectors."""

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return one row per text: float32, shape (len(texts), dimension)."""
        ...


@runtime_checkable
class NamedEncoder(Encoder, Protocol):
    """An encoder that an index can be built with."""

    @property
    def id(self) -> str:
        """Name of the vector space, which changes whenever the vectors would."""
        ...


RELATIONS = (">", ">=", "<", "<=", "=", "!=", "")  # of a value to the amount of a question; "": it is no condition


@runtime_checkable
class AmountReader(Protocol):
    """A model that tells what a question wants of the amounts and names in it."""

    def relations(self, question: str, spans: Sequence[tuple[int, int]]) -> Floats:
        """Return the log-probability of each of RELATIONS to the amounts at these characters: float32[n, 7]."""
        ...

    def polarity(self, question: str, spans: Sequence[tuple[int, int]]) -> Floats:
        """Return the log-probabilities that names are asked for, and that they are ruled out: float32[n, 2]."""
        ...


@runtime_checkable
class CrossEncoder(Protocol):
    """A model that scores texts against a query, in two halves, because GRanker smooths between them."""

    def latents(self, query: str, texts: Sequence[str]) -> Floats:
        """Return one latent vector per text: float32, shape (len(texts), h)."""
        ...

    def head(self, latents: Floats) -> Floats:
        """Return one score per latent: float32, shape (n,); higher is more relevant."""
        ...


@dataclass(frozen=True, slots=True)
class PassageText:
    """The title and the text of a passage, as input of readers and prompts.

    `cuts`: the characters at which a row, a cell, a slide, a definition or a clause begins: no sentence crosses one.
    The others are spans, ascending: lines that are rows of tables and of objects, headers of mails, or headings of
    clauses; `labels`, names of fields in rows and numbers of clauses: no answer lies in one or goes over it.
    `opening`: of a passage of a mail, its subject, date, recipients and author, which a reader reads in place of the
    title and of the `headers` that the text begins with; of a passage of a version of a document that does not say its
    date, title and date; of a row, the fields that its text does not say.
    """

    title: str
    text: str
    cuts: tuple[int, ...] = ()
    rows: tuple[tuple[int, int], ...] = ()
    headers: tuple[tuple[int, int], ...] = ()
    headings: tuple[tuple[int, int], ...] = ()
    labels: tuple[tuple[int, int], ...] = ()
    opening: str = ""

    @property
    def begin(self) -> int:
        """The first character of the text that is read: after the headers of a mail that has an opening."""
        end = 0
        for start, last in self.headers if self.opening else ():
            if self.text[end:start].strip():
                break
            end = last
        body = self.text[end:].lstrip()
        return len(self.text) - len(body) if end and body else 0


@dataclass(frozen=True, slots=True)
class Span:
    """Characters `start` to `end` of the text of passage number `passage` that answer a question, with a score.

    `text` is the answer where it differs from these characters, such as "yes" or one of two compared names.
    """

    passage: int
    start: int
    end: int
    score: float
    text: str = ""

    def answer(self, passages: Sequence[PassageText]) -> str:
        """Return the answer on one line: its own text, or else these characters of its passage."""
        return " ".join((self.text or passages[self.passage].text[self.start : self.end]).split())


@runtime_checkable
class Reader(Protocol):
    """A model that finds the spans of passages that answer a question."""

    def read(self, question: str, passages: Sequence[PassageText]) -> list[Span]:
        """Return spans, best first; none where the passages do not answer. Offsets count in each passage's `text`."""
        ...


@runtime_checkable
class AnsweringReader(Reader, Protocol):
    """A reader that also scores sentences, for answers of any length."""

    def sentence_scores(
        self, question: str, passages: Sequence[PassageText], sentences: Sequence[tuple[int, int, int]]
    ) -> Floats:
        """Return a score of each sentence (passage, first, last): float32[n]; the best is that of an answer."""
        ...


class RowReader(Protocol):
    """A reader of rows of tables."""

    def cell_scores(
        self, question: str, rows: Sequence[PassageText], cells: Sequence[tuple[int, int]], probability: float
    ) -> list[float]:
        """Return the probability that a row's cell answers a question; `probability`: of the query for these cells."""
        ...


@dataclass(frozen=True, slots=True)
class Completion:
    """The reply of a language model.

    `value`: the reply as an instance of the requested schema, None without a schema. `usage`: empty from a cache.
    """

    text: str
    value: Any = None
    usage: Usage = field(default_factory=Usage)


Schema = type[Any] | None  # a pydantic model that a reply must be an instance of; None for any text
OnText = Callable[[str], None] | None  # receives the text of a reply piece by piece as it is generated
Cancel = Cancellation | None  # a flag that ends waiting


@runtime_checkable
class LLM(Protocol):
    """A language model."""

    @property
    def id(self) -> str:
        """Name of the model and of all options that change its replies."""
        ...

    def complete(
        self, system: str, user: str, *, schema: Schema = None, on_text: OnText = None, cancel: Cancel = None
    ) -> Completion:
        """Answer one prompt; a reply that does not fit the schema is corrected by the model once.

        Raises LLMResponseError where the corrected reply does not fit either, BudgetError where a budget is exhausted,
        and ModelError where there is no reply; `error.usage` is the usage of the failed call.
        """
        ...
