"""Query: what a question asks of facts, as a value.

A query is a set of things (`Things`), or what is computed from one. It is built from named things, types and all
things by steps along relations, conditions, union, difference and order, as lambda dependency-based compositional
semantics (Liang 2013) has them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias

Comparison: TypeAlias = Literal["=", "!=", ">", ">=", "<", "<=", "contains"]
OPPOSITES: dict[str, Comparison] = {"=": "!=", "!=": "=", ">": "<=", "<=": ">", "<": ">=", ">=": "<"}
"""The comparison that holds for the values of which another does not."""

ANY = 0
"""Of `Step.times`: any number of times, at least once."""
NOW = "now"
"""Of `Step.at`: today."""


class Step(NamedTuple):
    """A step along a relation: from subjects to objects, `inverse` from objects to subjects.

    `times`: it is taken once or more, up to so many times (ANY: without a limit), as from a child to its ancestors.
    `at`: a date, of which only statements count that hold at some time of it, or NOW; "" for all statements. "before",
    "until", "since" or "after" and a date are also one.
    """

    relation: str
    inverse: bool = False
    times: int = 1
    at: str = ""


Path: TypeAlias = tuple[Step, ...]


@dataclass(frozen=True)
class Named:
    """The things of a name: nodes of the graph, or values of fields."""

    name: str


@dataclass(frozen=True)
class OfType:
    """All things of a type: a type of records, or a class of the graph."""

    type: str


@dataclass(frozen=True)
class Everything:
    """All things that some relation begins or ends at."""


@dataclass(frozen=True)
class Follow:
    """The things that a step leads to."""

    things: Things
    step: Step


@dataclass(frozen=True)
class Where:
    """The things that meet a condition."""

    things: Things
    condition: Condition


@dataclass(frozen=True)
class Both:
    """The things in both sets."""

    first: Things
    second: Things


@dataclass(frozen=True)
class Either:
    """The things in one of two sets, or in both."""

    first: Things
    second: Things


@dataclass(frozen=True)
class Except:
    """The things of the first set that are not in the second."""

    first: Things
    second: Things


@dataclass(frozen=True)
class Extreme:
    """The `count` things with the largest (or smallest) value at the end of a path; all of equal ones.

    An empty path orders records as they stand in their document. `is_rank`: only those with the `count`-th largest of
    the different values. `by_number`: by the number of different things at the end of the path, which may be 0.
    """

    things: Things
    path: Path
    largest: bool = True
    count: int = 1
    is_rank: bool = False
    by_number: bool = False


@dataclass(frozen=True)
class Frequent:
    """Of the things that a step leads to from a set, those that most (or fewest) of the set lead to."""

    things: Things
    step: Step
    largest: bool = True


@dataclass(frozen=True)
class Neighbour:
    """The record that follows each record in its document (`offset` 1), or that comes before it (-1)."""

    things: Things
    offset: int


Things: TypeAlias = (
    Named | OfType | Everything | Follow | Where | Both | Either | Except | Extreme | Frequent | Neighbour
)


@dataclass(frozen=True)
class Compare:
    """The condition that a value at the end of a path compares so with a value, or with one of a set of things.

    With "=" and "!=" a text is compared by its normal form, a date by whether one contains the other; "!=": no value is
    equal, a missing one included. Other comparisons hold for values of the same kind only. An empty path compares the
    thing itself: records with records, by ">" and "<", by the order in which they stand.
    """

    path: Path
    comparison: Comparison
    value: str | Things


@dataclass(frozen=True)
class Has:
    """The condition that something is at the end of a path; `negated`: that nothing is."""

    path: Path
    negated: bool = False


@dataclass(frozen=True)
class Counted:
    """The condition that the number of things at the end of a path compares so with a number."""

    path: Path
    comparison: Comparison
    number: int


@dataclass(frozen=True)
class Fields:
    """The condition that a value at the end of a path compares so with one at the end of another path.

    As in Compare: with "!=" no value of the one is equal to one of the other; texts are in order with none.
    """

    path: Path
    comparison: Comparison
    other: Path


@dataclass(frozen=True)
class Or:
    """The condition that one of two conditions holds, or both."""

    first: Condition
    second: Condition


Single: TypeAlias = Compare | Has | Counted | Fields
Condition: TypeAlias = Single | Or


@dataclass(frozen=True)
class Count:
    """The number of things."""

    things: Things


@dataclass(frozen=True)
class Aggregate:
    """The sum, mean, smallest or largest of the values at the end of a path; of the things if it is empty."""

    function: Literal["sum", "mean", "min", "max"]
    things: Things
    path: Path


@dataclass(frozen=True)
class Difference:
    """The absolute difference of two values: numbers, dates, or counts."""

    first: Query
    second: Query


@dataclass(frozen=True)
class Exists:
    """Whether there is such a thing; `negated`: whether there is none, as "are all paid" asks of what is not paid."""

    things: Things
    negated: bool = False


Query: TypeAlias = Things | Count | Aggregate | Difference | Exists


def changed(part: Any, change: Callable[[Any], Any]) -> Any:
    """Return a query, or a part of one, with what a function gives for each of its parts, the inner ones first."""
    if is_dataclass(part) and not isinstance(part, type):
        part = replace(part, **{own.name: changed(getattr(part, own.name), change) for own in fields(part)})
    elif isinstance(part, tuple) and not isinstance(part, Step):
        part = tuple(changed(own, change) for own in part)
    return change(part)


def dated(part: Any, at: str, relations: Collection[str]) -> Any:
    """Return a query, or a part of one, in which steps along some relations are by the statements of a date."""
    return changed(part, lambda it: it._replace(at=at) if isinstance(it, Step) and it.relation in relations else it)
