"""Notation of queries: the text form that a person reads, corrects and types.

    "Heat".directed_by.born_in                                 steps along relations; .~relation backwards
    count(films where directed_by = "Tom Cruise" and year > 2000)
    sum((orders where customer = "Acme").amount)               also mean, min, max: of the value of each thing
    largest(3 employees by salary).name                        smallest; first(tickets), last(tickets)
    exists(tickets where status != "closed" and has owner)     has no owner, count(tags) > 2, title contains "late"
    difference("Mur".length, "Enns".length)
    most_frequent(films.directed_by)                           least_frequent; next(tickets …), previous(2 tickets …)
    (films union series) except films where it = "Heat"        intersect; everything

A name in double quotes is a thing or a value, a bare one a type or a relation. A type or relation with blanks or other
signs stands in square brackets: [release year]. A quote or a closing bracket inside is doubled. A set as the value of
a comparison stands in parentheses: `director = (films.director)`. Conditions belong to the set just before `where`;
union, intersect and except are read from left to right.
"""

from __future__ import annotations

import re
from functools import singledispatch

from graphwright.operators.query.query import (
    Aggregate,
    Both,
    Compare,
    Condition,
    Count,
    Counted,
    Difference,
    Either,
    Everything,
    Except,
    Exists,
    Extreme,
    Follow,
    Frequent,
    Has,
    Named,
    Neighbour,
    OfType,
    Path,
    Query,
    Things,
    Where,
)

SET_OPERATIONS: dict[str, type[Either] | type[Both] | type[Except]] = {
    "union": Either,
    "intersect": Both,
    "except": Except,
}
EXTREMES = {"largest": True, "smallest": False, "last": True, "first": False}
FREQUENT = {"most_frequent": True, "least_frequent": False}
NEIGHBOURS = {"next": 1, "previous": -1}
AGGREGATES = ("sum", "mean", "min", "max")
KEYWORDS = frozenset(
    (
        *("where", "and", "by", "has", "no", "it", "contains", "everything", "count", "exists", "difference"),
        *(*SET_OPERATIONS, *EXTREMES, *FREQUENT, *NEIGHBOURS, *AGGREGATES),
    )
)
WORD = re.compile(r"[^\W\d][\w:/-]*")
NUMBER = re.compile(r"[-+]?\d[\w:%/-]*(?:\.\w[\w:%/-]*)*")
_COMPOUND = Where | Both | Either | Except


@singledispatch
def notation(query: Query) -> str:
    """Return a query as text, which `parse_notation` reads back.

    >>> from graphwright.operators.query.query import Compare, Step
    >>> notation(Count(Where(OfType("films"), Compare((Step("release year"),), ">", "2000"))))
    'count(films where [release year] > 2000)'
    """
    raise TypeError(f"{query!r} is not a query")


@notation.register
def _(query: Named) -> str:
    return _quoted(query.name)


@notation.register
def _(query: OfType) -> str:
    return _name(query.type)


@notation.register
def _(query: Everything) -> str:
    return "everything"


@notation.register
def _(query: Follow) -> str:
    return f"{_operand(query.things)}.{_path((query.step,))}"


@notation.register
def _(query: Where) -> str:
    if isinstance(query.things, Where):
        return f"{notation(query.things)} and {_condition(query.condition)}"
    return f"{_operand(query.things)} where {_condition(query.condition)}"


@notation.register(Both)
@notation.register(Either)
@notation.register(Except)
def _(query: Both | Either | Except) -> str:
    word = next(word for word, operation in SET_OPERATIONS.items() if isinstance(query, operation))
    return f"{_operand(query.first)} {word} {_operand(query.second)}"


@notation.register
def _(query: Extreme) -> str:
    first, second = ("largest", "smallest") if query.path else ("last", "first")
    count = f"{query.count} " if query.count != 1 else ""
    by = f" by {_path(query.path)}" if query.path else ""
    return f"{first if query.largest else second}({count}{notation(query.things)}{by})"


@notation.register
def _(query: Frequent) -> str:
    word = "most_frequent" if query.largest else "least_frequent"
    return f"{word}({_operand(query.things)}.{_path((query.step,))})"


@notation.register
def _(query: Neighbour) -> str:
    count = f"{abs(query.offset)} " if abs(query.offset) != 1 else ""
    return f"{'previous' if query.offset < 0 else 'next'}({count}{notation(query.things)})"


@notation.register
def _(query: Count) -> str:
    return f"count({notation(query.things)})"


@notation.register
def _(query: Exists) -> str:
    return f"exists({notation(query.things)})"


@notation.register
def _(query: Aggregate) -> str:
    things = query.things
    text = notation(things)
    if isinstance(things, Follow) or (query.path and isinstance(things, _COMPOUND)):
        text = f"({text})"  # otherwise the last steps would be read as the path
    return f"{query.function}({text}{'.' if query.path else ''}{_path(query.path) if query.path else ''})"


@notation.register
def _(query: Difference) -> str:
    return f"difference({notation(query.first)}, {notation(query.second)})"


def _operand(query: Things) -> str:
    """Return a set as text that a step, a condition or an operator may follow."""
    return f"({notation(query)})" if isinstance(query, _COMPOUND) else notation(query)


def _condition(condition: Condition) -> str:
    path = _path(condition.path)
    if isinstance(condition, Has):
        return f"has no {path}" if condition.negated else f"has {path}"
    if isinstance(condition, Counted):
        return f"count({path}) {condition.comparison} {condition.number}"
    return f"{path} {condition.comparison} {_value(condition)}"


def _value(condition: Compare) -> str:
    if not isinstance(condition.value, str):
        return f"({notation(condition.value)})"
    return condition.value if NUMBER.fullmatch(condition.value) else _quoted(condition.value)


def _path(path: Path) -> str:
    return ".".join(f"{'~' if step.inverse else ''}{_name(step.relation)}" for step in path) or "it"


def _name(name: str) -> str:
    """Return the name of a type or a relation, in brackets unless it is one word."""
    if WORD.fullmatch(name) and name.lower() not in KEYWORDS:
        return name
    return f"[{name.replace(']', ']]')}]"


def _quoted(text: str) -> str:
    return '"{}"'.format(text.replace('"', '""'))
