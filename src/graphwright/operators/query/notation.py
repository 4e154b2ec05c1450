"""Notation of queries: the text form that a person reads, corrects and types.

    "Heat".directed_by.born_in                                 steps along relations; .~relation backwards
    count(films where directed_by = "Tom Cruise" and year > 2000)
    films where (year < 1970 or color = "no") and budget < costs
    sum((orders where customer = "Acme").amount)               also mean, min, max: of the value of each thing
    largest(3 employees by salary).name                        smallest; first(tickets), last(tickets)
    largest(2nd rivers by length), largest(films by count(actor))
    exists(tickets where status != "closed" and has owner)     has no owner, count(tags) > 2, title contains "late"
    difference("Mur".length, "Enns".length)
    most_frequent(films.directed_by)                           least_frequent; next(tickets …), previous(2 tickets …)
    (films union series) except films where it = "Heat"        intersect; everything
    "Ida".parent+, "Ida".parent{1,3}                           a step taken any number of times, or up to three times
    "Ida".employer@2019-06, "Ida".employer@now                 by statements that hold at a date

A name in double quotes is a thing or a value, a bare one a type or a relation. A type or relation with blanks or other
signs stands in square brackets: [release year]. A quote or a closing bracket inside is doubled. A set as the value of
a comparison stands in parentheses: `director = (films.director)`, and so do conditions of which one is to hold.
Conditions belong to the set just before `where`; union, intersect and except are read from left to right.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from graphwright.operators.query import query as q

SET_OPERATIONS: dict[str, type[q.Either] | type[q.Both] | type[q.Except]] = {
    "union": q.Either,
    "intersect": q.Both,
    "except": q.Except,
}
EXTREMES = {"largest": True, "smallest": False, "last": True, "first": False}
FREQUENT = {"most_frequent": True, "least_frequent": False}
NEIGHBOURS = {"next": 1, "previous": -1}
AGGREGATES = ("sum", "mean", "min", "max")
KEYWORDS = frozenset(
    (
        *("where", "and", "or", "by", "has", "no", "it", "contains", "everything"),
        *("count", "exists", "none", "difference"),
        *(*SET_OPERATIONS, *EXTREMES, *FREQUENT, *NEIGHBOURS, *AGGREGATES),
    )
)
WORD = re.compile(r"[^\W\d][\w:/-]*")
NUMBER = re.compile(r"[-+]?\d[\w:%/-]*(?:\.\w[\w:%/-]*)*")
DAY = re.compile(r"\d[\w:/-]*")  # a date behind a step, after which a further step may follow: without dots
_COMPOUND = q.Where | q.Both | q.Either | q.Except


def notation(query: q.Query) -> str:
    """Return a query as text, which `parse_notation` reads back.

    >>> notation(q.Count(q.Where(q.OfType("films"), q.Compare((q.Step("release year"),), ">", "2000"))))
    'count(films where [release year] > 2000)'
    """
    if type(query) not in _WRITTEN:
        raise TypeError(f"{query!r} is not a query")
    return _WRITTEN[type(query)](query)


def _where(query: q.Where) -> str:
    joint = "and" if isinstance(query.things, q.Where) else "where"
    things = notation(query.things) if isinstance(query.things, q.Where) else _operand(query.things)
    return f"{things} {joint} {_condition(query.condition)}"


def _pair(query: q.Both | q.Either | q.Except) -> str:
    word = next(word for word, operation in SET_OPERATIONS.items() if isinstance(query, operation))
    return f"{_operand(query.first)} {word} {_operand(query.second)}"


def _extreme(query: q.Extreme) -> str:
    first, second = ("largest", "smallest") if query.path or query.by_number else ("last", "first")
    count = f"{ordinal(query.count)} " if query.is_rank else f"{query.count} " if query.count != 1 else ""
    by = f"count({_path(query.path)})" if query.by_number else _path(query.path) if query.path else ""
    return f"{first if query.largest else second}({count}{notation(query.things)}{f' by {by}' if by else ''})"


def ordinal(number: int) -> str:
    """Return a number as an ordinal.

    >>> [ordinal(number) for number in (1, 2, 11, 23)]
    ['1st', '2nd', '11th', '23rd']
    """
    endings = {} if 10 < number % 100 < 20 else {1: "st", 2: "nd", 3: "rd"}
    return f"{number}{endings.get(number % 10, 'th')}"


def _neighbour(query: q.Neighbour) -> str:
    count = f"{abs(query.offset)} " if abs(query.offset) != 1 else ""
    return f"{'previous' if query.offset < 0 else 'next'}({count}{notation(query.things)})"


def _aggregate(query: q.Aggregate) -> str:
    things = query.things
    text = notation(things)
    if isinstance(things, q.Follow) or (query.path and isinstance(things, _COMPOUND)):
        text = f"({text})"  # otherwise the last steps would be read as the path
    return f"{query.function}({text}{'.' if query.path else ''}{_path(query.path) if query.path else ''})"


_WRITTEN: dict[type, Callable[[Any], str]] = {
    q.Named: lambda query: _quoted(query.name),
    q.OfType: lambda query: _name(query.type),
    q.Everything: lambda query: "everything",
    q.Follow: lambda query: f"{_operand(query.things)}.{_path((query.step,))}",
    q.Where: _where,
    q.Both: _pair,
    q.Either: _pair,
    q.Except: _pair,
    q.Extreme: _extreme,
    q.Frequent: lambda query: (
        f"{'most' if query.largest else 'least'}_frequent({_operand(query.things)}.{_path((query.step,))})"
    ),
    q.Neighbour: _neighbour,
    q.Count: lambda query: f"count({notation(query.things)})",
    q.Exists: lambda query: f"{'none' if query.negated else 'exists'}({notation(query.things)})",
    q.Aggregate: _aggregate,
    q.Difference: lambda query: f"difference({notation(query.first)}, {notation(query.second)})",
}


def _operand(query: q.Things) -> str:
    """Return a set as text that a step, a condition or an operator may follow."""
    return f"({notation(query)})" if isinstance(query, _COMPOUND) else notation(query)


def _condition(condition: q.Condition) -> str:
    if isinstance(condition, q.Or):
        return f"({_condition(condition.first)} or {_condition(condition.second)})"
    path = _path(condition.path)
    if isinstance(condition, q.Has):
        return f"has no {path}" if condition.negated else f"has {path}"
    if isinstance(condition, q.Counted):
        return f"count({path}) {condition.comparison} {condition.number}"
    value = _path(condition.other) if isinstance(condition, q.Fields) else _value(condition.value)
    return f"{path} {condition.comparison} {value}"


def _value(value: str | q.Things) -> str:
    if not isinstance(value, str):
        return f"({notation(value)})"
    return value if NUMBER.fullmatch(value) else _quoted(value)


def _path(path: q.Path) -> str:
    return ".".join(map(_step, path)) or "it"


def _step(step: q.Step) -> str:
    times = "+" if step.times == q.ANY else f"{{1,{step.times}}}" if step.times != 1 else ""
    at = step.at if step.at == q.NOW or DAY.fullmatch(step.at) else _quoted(step.at)
    return f"{'~' if step.inverse else ''}{_name(step.relation)}{times}{f'@{at}' if step.at else ''}"


def _name(name: str) -> str:
    """Return the name of a type or a relation, in brackets unless it is one word."""
    if WORD.fullmatch(name) and name.lower() not in KEYWORDS:
        return name
    return f"[{name.replace(']', ']]')}]"


def _quoted(text: str) -> str:
    return '"{}"'.format(text.replace('"', '""'))
