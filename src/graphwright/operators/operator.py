"""The algebra: operators map a State to a State, and combine into pipelines.

    a >> b      a, then b
    a % k       the k best items of a (passages, where it gives no evidence)
    a | b       both on the same state: the items of a, then those of b that a lacks
    Keep()      the identity

`%` binds tighter than `>>`, and `|` loosest, as always in Python. Control is in `operators.control`.
"""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar

from graphwright.constraints import AtLeast, Checked, Constraint
from graphwright.errors import NeedsError, OptionError
from graphwright.kernels.far import Reading
from graphwright.operators.run import NOT_FOLLOWED, Run
from graphwright.operators.state import State, Step

_CLAUSE_END = re.compile(r"\s*(?:[.,:;](?=\s|$)|\n|\()")
_FIELD = re.compile(r"`(\w+)`")
# Remedy for a step that lacks a field.
_REMEDY = {
    "anchors": "Put LinkEntities() before it, or call start(..., entities=[...])",
    "evidence": "Put a search such as VectorSearch(index) before it",
    "passages": "Put ToPassages() before it",
    "context": "Put a context such as PassageContext() before it",
    "answer": "Put an operator that answers before it",
}

IS_OPERATOR = Constraint("an operator, such as Keep()", lambda value: isinstance(value, Operator))
"""The condition of a field that holds an operator."""


@cache
def _clause(kind: type[Operator]) -> str:
    """Return the first clause of the documentation of an operator."""
    return _CLAUSE_END.split(kind.__doc__ or "", maxsplit=1)[0]


def _about(operator: Operator) -> str:
    """Return what an operator does: the first clause of its documentation, with the values of fields that it names."""
    return _FIELD.sub(lambda match: str(getattr(operator, match[1], match[1])), _clause(type(operator)))


class Operator(Checked, ABC):
    """Maps a State to a State. Subclasses are frozen dataclasses: the constructor is the configuration.

    `needs`: fields of the state that must be set, alternatives separated by "|" ("evidence|anchors").
    `gives`: the fields that it sets; `clears`: the fields that it unsets. `scale`: what the scores that it gives are,
    and their range; "" if it gives none of its own.
    """

    needs: ClassVar[tuple[str, ...]] = ()
    gives: ClassVar[tuple[str, ...]] = ()
    clears: ClassVar[tuple[str, ...]] = ()
    scale: ClassVar[str] = ""

    @abstractmethod
    def apply(self, state: State, run: Run) -> State:
        """Return the next state. Called with all needs met; timed and traced by the caller."""

    def __call__(self, state: State, run: Run | None = None) -> State:
        """Run on a state, in a new run unless given. Raises NeedsError, before any step runs, for an unmet need."""
        if not isinstance(state, State):
            raise OptionError(f"{state!r} is not a state. Make one: start(question, graph).")
        self.check(state)
        return self.execute(state, Run() if run is None else run)

    def check(self, state: State) -> None:
        """Raise NeedsError for a need that neither the state nor an earlier step meets."""
        for number, count, step, clause in self.unmet(state.fields()):
            raise NeedsError(_complaint(number, count, step, clause))

    def execute(self, state: State, run: Run, k: int | None = None) -> State:
        """Run without checking needs, keeping the k best of the result. A state with an answer passes through."""
        if state.answer is not None:
            return state
        return self.traced(state, run, k, lambda child: self.ranked(state, child, k))

    def traced(self, state: State, run: Run, k: int | None, work: Callable[[Run], State]) -> State:
        """Do the work of one step, unless another pipeline of the run has done it, and add it to the trace."""
        if run.shared is None:
            return self._timed(run, k, work)
        return run.shared.once(self, state, k, run, lambda: self._timed(run, k, work))

    def _timed(self, run: Run, k: int | None, work: Callable[[Run], State]) -> State:
        child = run.child()
        begun = time.perf_counter()
        try:
            after = work(child)
        finally:
            run.absorb(child)
        if run.instruction and after.answer is not None and not child.written:
            child.note(NOT_FOLLOWED)
        seconds = time.perf_counter() - begun + child.usage.saved
        label = repr(self) if k is None else f"{self!r} % {k}"
        notes, about = tuple(child.notes), _about(self)
        step = Step(label, seconds, child.usage, after.sizes(), notes, after, child.failed, about, self.scale)
        if run.on_step is not None:
            run.on_step(step)
        return after.with_(trace=(*after.trace, step))

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Apply, then keep the k best. An operator that can stop early derives from Ranker instead."""
        return top_of(self.apply(state, run), self.gives, k)

    def ahead(self, state: State) -> Reading[Any] | None:
        """Return a reading of what it will read of columns that are kept elsewhere, where the state tells it."""
        return None

    def unmet(self, fields: frozenset[str]) -> Iterator[tuple[int, int, Operator, str]]:
        """Yield each unmet need, given the fields that are set: step number, number of steps, the step, the need."""
        for clause in self.needs:
            if not fields.intersection(clause.split("|")):
                yield 1, 1, self, clause

    def after(self, fields: frozenset[str]) -> frozenset[str]:
        """Return the fields that are set after this operator, given those set before."""
        return fields.difference(self.clears).union(self.gives)

    def capped(self, cap: int) -> Operator:
        """Return this operator with every `|` inside it limited to `cap` items in all."""
        return self

    def __rshift__(self, other: Operator) -> Operator:
        return Then((*_steps(self), *_steps(_operator(other, ">>"))))

    def __mod__(self, k: int) -> Operator:
        return Cut(self, k)

    def __or__(self, other: Operator) -> Operator:
        return Both(self, _operator(other, "|"))


class Ranker(Operator):
    """An operator that can stop early: it receives the number of items to keep. By default it ranks evidence."""

    gives = ("evidence",)
    scale = "scores without a fixed range"

    def apply(self, state: State, run: Run) -> State:
        return self.ranked(state, run, None)

    @abstractmethod
    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Return the state with the k best (all, if None): the same as the first k of all."""


@dataclass(frozen=True, repr=False)
class Keep(Operator):
    """Return the state unchanged.

    >>> (Keep() | Keep()) >> Keep() % 3
    (Keep() | Keep()) >> Keep() % 3
    """

    def apply(self, state: State, run: Run) -> State:
        return state


class Confident(Operator):
    """An operator whose result needs a probability of at least `threshold`, one of its fields."""


class Composite(Ranker):
    """Runs other operators, by default on the same state; its needs and results follow from theirs."""

    scale = ""

    def execute(self, state: State, run: Run, k: int | None = None) -> State:
        return state if state.answer is not None else self.ranked(state, run, k)

    @property
    def operators(self) -> tuple[Operator, ...]:
        """Its parts, in the order of its fields."""
        values = [value if isinstance(value, tuple) else (value,) for value in vars(self).values()]
        return tuple(part for value in values for part in value if isinstance(part, Operator))

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """Fields that the start state must have set."""
        return tuple(dict.fromkeys(clause for *_, clause in self.unmet(frozenset())))

    @property
    def gives(self) -> tuple[str, ...]:  # type: ignore[override]
        """Fields that are set at the end, whatever was set before."""
        return tuple(sorted(self.after(frozenset())))

    def unmet(self, fields: frozenset[str]) -> Iterator[tuple[int, int, Operator, str]]:
        for operator in self.operators:
            yield from operator.unmet(fields)

    def after(self, fields: frozenset[str]) -> frozenset[str]:
        return frozenset.intersection(*(operator.after(fields) for operator in self.operators))

    def capped(self, cap: int) -> Operator:
        return self.mapped(lambda part: part.capped(cap))

    def mapped(self, change: Callable[[Operator], Operator]) -> Operator:
        """Return this operator with every part changed by a function."""
        result = copy(self)
        for name, value in vars(self).items():
            object.__setattr__(result, name, _mapped(value, change))
        return result


def _mapped(value: Any, change: Callable[[Operator], Operator]) -> Any:
    """Return a changed operator, or a tuple with its operators changed; any other value unchanged."""
    if isinstance(value, tuple):
        return tuple(_mapped(element, change) for element in value)
    return change(value) if isinstance(value, Operator) else value


@dataclass(frozen=True, repr=False)
class Then(Composite):
    """Steps one after the other: `a >> b`."""

    steps: tuple[Operator, ...]

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        for step in self.steps[:-1]:
            state = step.execute(state, run)
        return self.steps[-1].execute(state, run, k)

    def unmet(self, fields: frozenset[str]) -> Iterator[tuple[int, int, Operator, str]]:
        for number, step in enumerate(self.steps, 1):
            for *_, clause in step.unmet(fields):
                yield number, len(self.steps), step, clause
            fields = step.after(fields)

    def after(self, fields: frozenset[str]) -> frozenset[str]:
        for step in self.steps:
            fields = step.after(fields)
        return fields

    def __repr__(self) -> str:
        return " >> ".join(f"({step!r})" if isinstance(step, Both) else repr(step) for step in self.steps)


@dataclass(frozen=True, repr=False)
class Cut(Composite):
    """The k best items of an operator: `a % k`."""

    step: Annotated[Operator, IS_OPERATOR]
    k: Annotated[int, AtLeast(1)]

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        return self.step.execute(state, run, int(self.k) if k is None else min(int(self.k), k))

    def ahead(self, state: State) -> Reading[Any] | None:
        return self.step.ahead(state)

    def __repr__(self) -> str:
        compound = isinstance(self.step, Then | Both)
        return f"({self.step!r}) % {self.k}" if compound else f"{self.step!r} % {self.k}"


@dataclass(frozen=True, repr=False)
class Both(Composite):
    """Two operators on the same state: `a | b`; the items of a in order, then those of b that a lacks, unscored.

    Every other field comes from a. `cap` limits the total while b adds.
    """

    first: Operator
    second: Operator
    cap: int | None = None

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Run both, each cut to k (enough for the first k of the union), and unite their evidence."""
        a, b = self.first.execute(state, run, k), self.second.execute(state, run, k)
        if a.evidence is None or b.evidence is None:
            evidence = a.evidence if b.evidence is None else b.evidence
            united = None if evidence is None else evidence.unscored()
        else:
            united = a.evidence.union(b.evidence, self.cap)
        trace = (*a.trace, *b.trace[len(state.trace) :])
        return top_of(a.with_(evidence=united, trace=trace), ("evidence",), k)

    def after(self, fields: frozenset[str]) -> frozenset[str]:
        return self.first.after(fields) | (self.second.after(fields) & {"evidence"})

    def capped(self, cap: int) -> Operator:
        lower = cap if self.cap is None else min(self.cap, cap)
        return Both(self.first.capped(cap), self.second.capped(cap), lower)

    def __repr__(self) -> str:
        second = f"({self.second!r})" if isinstance(self.second, Both) else repr(self.second)
        return f"{self.first!r} | {second}"


def _operator(value: object, sign: str) -> Operator:
    if not isinstance(value, Operator):
        raise OptionError(f"{value!r} after {sign} is not an operator. Give an operator, such as Keep().")
    return value


def _steps(operator: Operator) -> tuple[Operator, ...]:
    return operator.steps if isinstance(operator, Then) else (operator,)


def top_of(state: State, gives: tuple[str, ...], k: int | None) -> State:
    """Return the state cut to the k best of what was set: evidence, else passages; after Keep, of what it has."""
    for name in ("evidence", "passages"):
        ranking = getattr(state, name)
        if k is not None and ranking is not None and (name in gives or not gives):
            return state.with_(**{name: ranking.top(k)})
    return state


def _complaint(number: int, count: int, step: Operator, clause: str) -> str:
    names = " or ".join(repr(name) for name in clause.split("|"))
    remedy = _REMEDY.get(clause.split("|")[0], f"Set {names} in the start state")
    return f"step {number} of {count}, {step!r}, needs {names}, which no earlier step gives. {remedy}."
