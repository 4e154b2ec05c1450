"""The algebra: operators map a State to a State, and combine into pipelines.

    a >> b      a, then b
    a % k       a, cut to the k best pieces (passages, where it gives no evidence)
    a | b       both on the same state: the pieces of a, then those of b that a does not hold
    Repeat(a, until=...)    a again and again
    Keep()      nothing: the state as it is

`%` binds tighter than `>>`, and `|` loosest, as always in Python.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any, ClassVar, Protocol

from graphwright.errors import NeedsError, OptionError
from graphwright.models.base import metered
from graphwright.operators.sharing import shared
from graphwright.operators.state import State, Step

__all__ = [
    "Both",
    "Branches",
    "Cut",
    "Keep",
    "Operator",
    "Ranker",
    "Reached",
    "Repeat",
    "Then",
    "Wrapper",
    "note",
    "source_of",
    "top_of",
]

_notes: ContextVar[list[str] | None] = ContextVar("graphwright_notes", default=None)

# What to put before a step that lacks a field.
_REMEDY = {
    "anchors": "Put Link() before it, or call start(..., entities=[...])",
    "evidence": "Put a search such as VectorSearch(index) before it",
    "chunks": "Put Sources() before it",
    "prompt": "Put an operator that writes a prompt before it",
    "answer": "Put an operator that answers before it",
}


class Operator(ABC):
    """Maps a State to a State. Subclasses are frozen dataclasses: the constructor is the configuration.

    `needs`: fields of the state that must be set, alternatives parted by "|" ("evidence|anchors").
    `gives`: the fields that it sets; `clears`: those that it unsets.
    """

    needs: ClassVar[tuple[str, ...]] = ()
    gives: ClassVar[tuple[str, ...]] = ()
    clears: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def apply(self, state: State) -> State:
        """Return the next state. Called with all needs met; timed and traced by the caller."""

    def __call__(self, state: State) -> State:
        """Run on a state. Raises NeedsError before any step runs if a step's needs cannot be met."""
        for at, count, step, clause in self.lacks(state.fields()):
            raise NeedsError(_complaint(at, count, step, clause))
        return self.run(state)

    def run(self, state: State, k: int | None = None) -> State:
        """Run without checking needs, keeping the k best of what it gives. The one place that traces."""
        return state if state.answer is not None else self.traced(state, k, lambda: self.ranked(state, k))

    def traced(self, state: State, k: int | None, work: Callable[[], State]) -> State:
        """Do the work of one step, where pipelines share their steps only if none did, and write it into the trace."""
        known = shared()
        if known is None:
            return self._timed(k, work)
        return known.once(self, state, k, lambda: self._timed(k, work))

    def _timed(self, k: int | None, work: Callable[[], State]) -> State:
        """Do the work of one step, and write what it took into the trace."""
        notes: list[str] = []
        begun = time.perf_counter()
        token = _notes.set(notes)
        try:
            with metered() as usage:
                after = work()
        finally:
            _notes.reset(token)
        seconds = time.perf_counter() - begun + usage.saved
        label = repr(self) if k is None else f"{self!r} % {k}"
        step = Step(label, seconds, usage, after.sizes(), tuple(notes), after)
        return after.with_(trace=(*after.trace, step))

    def ranked(self, state: State, k: int | None) -> State:
        """Apply, then keep the k best. An operator that can stop early derives from Ranker instead."""
        return top_of(self.apply(state), self.gives, k)

    def lacks(self, have: frozenset[str]) -> Iterator[tuple[int, int, Operator, str]]:
        """Yield each unmet need given the fields that are set: step number, steps, the step, the need."""
        for clause in self.needs:
            if not have.intersection(clause.split("|")):
                yield 1, 1, self, clause

    def after(self, have: frozenset[str]) -> frozenset[str]:
        """Return the fields that are set after this, given those set before."""
        return have.difference(self.clears).union(self.gives)

    def capped(self, cap: int) -> Operator:
        """Return this with every `|` inside it held to `cap` pieces in all."""
        return self

    def __rshift__(self, other: Operator) -> Operator:
        return Then((*_steps(self), *_steps(other))) if isinstance(other, Operator) else NotImplemented

    def __mod__(self, k: int) -> Operator:
        return Cut(self, k)

    def __or__(self, other: Operator) -> Operator:
        return Both(self, other) if isinstance(other, Operator) else NotImplemented

    def __repr__(self) -> str:
        """Return the expression that makes this operator, defaults left out."""
        return source_of(self)


class Ranker(Operator):
    """An operator that can stop early: it is told how many pieces will be kept."""

    def apply(self, state: State) -> State:
        """Return the state with everything ranked."""
        return self.ranked(state, None)

    @abstractmethod
    def ranked(self, state: State, k: int | None) -> State:
        """Return the state with the k best (all, if None): the same as the first k of all."""


@dataclass(frozen=True, repr=False)
class Keep(Operator):
    """Leave the state as it is.

    >>> (Keep() | Keep()) >> Keep() % 3
    (Keep() | Keep()) >> Keep() % 3
    """

    def apply(self, state: State) -> State:
        """Return the state."""
        return state


@dataclass(frozen=True, repr=False)
class Then(Operator):
    """Steps one after the other: `a >> b`."""

    steps: tuple[Operator, ...]

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the pipeline still needs from its start state."""
        return tuple(dict.fromkeys(clause for *_, clause in self.lacks(frozenset())))

    @property
    def gives(self) -> tuple[str, ...]:  # type: ignore[override]
        """The fields that are set at its end."""
        return tuple(sorted(self.after(frozenset())))

    def apply(self, state: State) -> State:
        """Run the steps in turn."""
        return self.run(state)

    def run(self, state: State, k: int | None = None) -> State:
        """Run the steps in turn; the cut is the last step's."""
        for step in self.steps[:-1]:
            state = step.run(state)
        return self.steps[-1].run(state, k)

    def lacks(self, have: frozenset[str]) -> Iterator[tuple[int, int, Operator, str]]:
        """Yield the unmet needs of every step, numbered."""
        for at, step in enumerate(self.steps, 1):
            for *_, clause in step.lacks(have):
                yield at, len(self.steps), step, clause
            have = step.after(have)

    def after(self, have: frozenset[str]) -> frozenset[str]:
        """Return the fields that are set after the last step."""
        for step in self.steps:
            have = step.after(have)
        return have

    def capped(self, cap: int) -> Operator:
        """Hand the cap to every step."""
        return Then(tuple(step.capped(cap) for step in self.steps))

    def __repr__(self) -> str:
        return " >> ".join(f"({s!r})" if isinstance(s, Both) else repr(s) for s in self.steps)


@dataclass(frozen=True, repr=False)
class Wrapper(Operator):
    """An operator that runs one step in a way of its own, `run`; what it needs and gives is the step's."""

    step: Operator

    @abstractmethod
    def run(self, state: State, k: int | None = None) -> State:
        """Run the step, and keep the k best."""

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the step needs."""
        return self.step.needs

    @property
    def gives(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the step gives."""
        return self.step.gives

    def apply(self, state: State) -> State:
        """Run the step."""
        return self.run(state)

    def lacks(self, have: frozenset[str]) -> Iterator[tuple[int, int, Operator, str]]:
        """Yield what the step lacks."""
        return self.step.lacks(have)

    def after(self, have: frozenset[str]) -> frozenset[str]:
        """Return what is set after the step."""
        return self.step.after(have)

    def capped(self, cap: int) -> Operator:
        """Hand the cap on."""
        return replace(self, step=self.step.capped(cap))


@dataclass(frozen=True, repr=False)
class Cut(Wrapper):
    """The k best of what an operator gives: `a % k`."""

    k: int

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not hasattr(self.k, "__index__") or self.k < 1:
            raise OptionError(f"{self.step!r} % {self.k!r}: the number to keep is a whole number, 1 or more.")

    def run(self, state: State, k: int | None = None) -> State:
        """Push the cut down into the operator."""
        return self.step.run(state, int(self.k) if k is None else min(int(self.k), k))

    def __repr__(self) -> str:
        compound = isinstance(self.step, Then | Both)
        return f"({self.step!r}) % {self.k}" if compound else f"{self.step!r} % {self.k}"


@dataclass(frozen=True, repr=False)
class Branches(Operator):
    """An operator over two others on the same state, which needs what either needs; `run` and `after` are its own."""

    first: Operator
    second: Operator

    @abstractmethod
    def run(self, state: State, k: int | None = None) -> State:
        """Run one or both, and keep the k best."""

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """What either needs."""
        return tuple(dict.fromkeys((*self.first.needs, *self.second.needs)))

    @property
    def gives(self) -> tuple[str, ...]:  # type: ignore[override]
        """What is set at the end, whatever was before."""
        return tuple(sorted(self.after(frozenset())))

    def apply(self, state: State) -> State:
        """Run one or both."""
        return self.run(state)

    def lacks(self, have: frozenset[str]) -> Iterator[tuple[int, int, Operator, str]]:
        """Yield what either lacks."""
        yield from self.first.lacks(have)
        yield from self.second.lacks(have)


@dataclass(frozen=True, repr=False)
class Both(Branches):
    """Two operators on the same state: `a | b`.

    The evidence is the pieces of a in order, then those of b that a does not hold; it has no scores
    until something ranks it. Every other field comes from a. `cap` bounds the total while b adds.
    """

    cap: int | None = None

    def run(self, state: State, k: int | None = None) -> State:
        """Run both, each cut to k (enough for the first k of the union), and unite their evidence."""
        if state.answer is not None:
            return state
        a, b = self.first.run(state, k), self.second.run(state, k)
        trace = (*a.trace, *b.trace[len(state.trace) :])
        if a.evidence is None or b.evidence is None:
            only = a.evidence if b.evidence is None else b.evidence
            united = None if only is None else only.unscored()
        else:
            united = a.evidence.union(b.evidence, self.cap)
        return top_of(a.with_(evidence=united, trace=trace), ("evidence",), k)

    def after(self, have: frozenset[str]) -> frozenset[str]:
        """Return what the first leaves, and evidence if either does."""
        return self.first.after(have) | (self.second.after(have) & {"evidence"})

    def capped(self, cap: int) -> Operator:
        """Hold the total to `cap`."""
        own = cap if self.cap is None else min(self.cap, cap)
        return Both(self.first.capped(cap), self.second.capped(cap), own)

    def __repr__(self) -> str:
        second = f"({self.second!r})" if isinstance(self.second, Both) else repr(self.second)
        return f"{self.first!r} | {second}"


class Until(Protocol):
    """When to stop repeating; may have a `cap`, the number of pieces that the loop works towards."""

    def __call__(self, state: State) -> bool:
        """Return whether the state is enough."""
        ...


@dataclass(frozen=True)
class Reached:
    """Enough once the evidence holds this many distinct nodes.

    >>> Reached(nodes=100)
    Reached(nodes=100)
    """

    nodes: int

    @property
    def cap(self) -> int:
        """The number of nodes worked towards."""
        return self.nodes

    def __call__(self, state: State) -> bool:
        """Return whether the state holds that many nodes."""
        found = state.evidence
        if found is None:
            return False
        return len({*found.nodes.tolist(), *state.graph.ends(found.edges).tolist()}) >= self.nodes


@dataclass(frozen=True, repr=False)
class Repeat(Wrapper):
    """Run a step until a condition holds, or until it adds no piece that was not there before.

    Every `|` inside the step is held to the condition's cap: it takes new pieces only while the total
    stays within it (as FastInsight, Algorithm 1, caps before it reranks).
    """

    until: Until

    def run(self, state: State, k: int | None = None) -> State:
        """Run the loop, then keep the k best."""
        cap = getattr(self.until, "cap", None)
        step = self.step if cap is None else self.step.capped(cap)
        seen = set(state.evidence.identities()) if state.evidence is not None else set()
        while state.answer is None and not self.until(state):
            state = step.run(state)
            new = set(state.evidence.identities()) - seen if state.evidence is not None else set()
            if not new:
                break
            seen |= new
        return top_of(state, ("evidence",), k)

    def __repr__(self) -> str:
        return f"Repeat({self.step!r}, until={self.until!r})"


def _steps(operator: Operator) -> tuple[Operator, ...]:
    return operator.steps if isinstance(operator, Then) else (operator,)


def top_of(state: State, gives: tuple[str, ...], k: int | None) -> State:
    """Return the state cut to the k best of what was given: evidence, else passages.

    An operator that gives neither, as Keep, lets through what came: then that is cut.
    """
    if k is None:
        return state
    if "evidence" not in gives and "chunks" in gives:
        return state if state.chunks is None else state.with_(chunks=state.chunks.top(k))
    if state.evidence is not None and ("evidence" in gives or not gives):
        return state.with_(evidence=state.evidence.top(k))
    return state.with_(chunks=state.chunks.top(k)) if state.chunks is not None and not gives else state


def _complaint(at: int, count: int, step: Operator, clause: str) -> str:
    wanted = " or ".join(repr(name) for name in clause.split("|"))
    remedy = _REMEDY.get(clause.split("|")[0], f"Give the start state {wanted}")
    return f"step {at} of {count}, {step!r}, needs {wanted}, which no earlier step gives. {remedy}."


def note(text: str) -> None:
    """Write a remark into the trace, at the step that is being done; nowhere where none is."""
    notes = _notes.get()
    if notes is not None:
        notes.append(text)


def source_of(made: Any) -> str:
    """Return the expression that makes a dataclass instance, arguments at their default left out.

    >>> source_of(Reached(nodes=3))
    'Reached(3)'
    """
    shown = []
    for f in fields(made):
        value = getattr(made, f.name)
        if f.default is MISSING and f.default_factory is MISSING:
            shown.append(repr(value))
        elif not _is_default(f, value):
            shown.append(f"{f.name}={value!r}")
    return f"{type(made).__name__}({', '.join(shown)})"


def _is_default(f: Any, value: object) -> bool:
    default = f.default if f.default is not MISSING else f.default_factory()
    try:
        return bool(value == default)
    except ValueError:  # arrays do not say whether they are equal
        return False
