"""Queries in English words, built from their structure; relations and types keep the names that the facts give them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from graphwright.operators.query import query as q
from graphwright.operators.query.notation import ordinal
from graphwright.operators.query.reached import value_kind
from graphwright.search.relation_facts import relation_phrase
from graphwright.text.values import DATE

_VERBS: dict[q.Comparison, str] = {
    "=": "is",
    "!=": "is not",
    ">": "is more than",
    ">=": "is at least",
    "<": "is less than",
    "<=": "is at most",
    "contains": "contains",
}
_VERBS_OF_DATES: dict[q.Comparison, str] = {
    **_VERBS,
    ">": "is after",
    ">=": "is not before",
    "<": "is before",
    "<=": "is not after",
}
_AMOUNTS = {"sum": "sum", "mean": "mean", "min": "smallest value", "max": "largest value"}
_IDENTIFIER = re.compile(r"(?=.*[_/#:]|.*[a-z][A-Z])\S+")  # a name of a relation that is not in words
_SIMPLE = q.Named | q.OfType | q.Everything


def words(query: q.Query) -> str:
    """Return a query as a phrase.

    >>> from graphwright.operators.query.parse_notation import parse_notation
    >>> words(parse_notation('count(films where directed_by = "Tom Cruise" and year > 2000)'))
    'the number of films whose directed by is Tom Cruise and whose year is more than 2000'
    >>> words(parse_notation("largest(3 (orders where has customer) by amount)"))
    'the 3 with the largest amount of orders that have a value of customer'
    >>> words(parse_notation('"Ida".parent+.employer@2019'))
    'the employer (2019) of the parent (any number of steps) of Ida'
    """
    if type(query) not in _WORDS:
        raise TypeError(f"{query!r} is not a query")
    return _WORDS[type(query)](query)


def _follow(query: q.Follow) -> str:
    reached = _reached((query.step,), _set(query.things))
    return reached if query.step.inverse else f"the {reached}"


def _where(query: q.Where) -> str:
    if isinstance(query.things, q.Where):
        return f"{words(query.things)} and {_condition(query.condition)}"
    return f"{_set(query.things)} {_condition(query.condition)}"


def _extreme(query: q.Extreme) -> str:
    rank = f"{ordinal(query.count)} " if query.is_rank and query.count != 1 else ""
    count = f"{query.count} " if query.count != 1 and not query.is_rank else ""
    if not query.path and not query.by_number:
        return f"the {rank}{'last' if query.largest else 'first'} {count}of {words(query.things)}"
    number = "number of " if query.by_number else ""
    order = f"with the {rank}{'largest' if query.largest else 'smallest'} {number}{_path(query.path)}"
    return f"the {count or 'one '}{order} of {words(query.things)}"


def _frequent(query: q.Frequent) -> str:
    return f"the {'most' if query.largest else 'least'} frequent {_reached((query.step,), _set(query.things))}"


def _neighbour(query: q.Neighbour) -> str:
    count = f"{abs(query.offset)} " if abs(query.offset) != 1 else ""
    records = "records" if count else "record"
    return f"the {records} {count}{'before' if query.offset < 0 else 'after'} {_set(query.things)}"


def _aggregate(query: q.Aggregate) -> str:
    values = f"the {_reached(query.path, _set(query.things))}" if query.path else words(query.things)
    return f"the {_AMOUNTS[query.function]} of {values}"


_WORDS: dict[type, Callable[[Any], str]] = {
    q.Named: lambda query: str(query.name),
    q.OfType: lambda query: str(query.type),
    q.Everything: lambda query: "all things",
    q.Follow: _follow,
    q.Where: _where,
    q.Both: lambda query: f"what is both in {_set(query.first)} and in {_set(query.second)}",
    q.Either: lambda query: f"{_set(query.first)} or {_set(query.second)}",
    q.Except: lambda query: f"{_set(query.first)} except {_set(query.second)}",
    q.Extreme: _extreme,
    q.Frequent: _frequent,
    q.Neighbour: _neighbour,
    q.Count: lambda query: f"the number of {words(query.things)}",
    q.Exists: lambda query: f"whether there is {'none' if query.negated else 'any'} of {words(query.things)}",
    q.Aggregate: _aggregate,
    q.Difference: lambda query: f"the difference between {words(query.first)} and {words(query.second)}",
}


def _set(query: q.Things) -> str:
    """Return a set as a part of a longer phrase, in parentheses unless its end is clear."""
    return words(query) if isinstance(query, _SIMPLE | q.Follow) else f"({words(query)})"


def _reached(path: q.Path, start: str) -> str:
    """Return what a path leads to from `start`: the last step first."""
    for step in path:
        name = _relation(step._replace(inverse=False))
        start = f"those whose {name} is {start}" if step.inverse else f"{name} of {start}"
    return start


def _path(path: q.Path) -> str:
    """Return a path in words, the last step first; a step back from a value leads to the others that have it."""
    start = ""
    for step in path:
        name = _relation(step._replace(inverse=step.inverse and not start))
        back = f"those whose {name} is their {start}"
        start = back if start and step.inverse else f"{name} of {start}".removesuffix(" of ")
    return start or "value"


def _relation(step: q.Step) -> str:
    """Return a relation in words, a name in words as it is; backwards as the subject of the relation.

    >>> _relation(q.Step("directed_by")), _relation(q.Step("Height (m)")), _relation(q.Step("on", True, 3, "2019"))
    ('directed by', 'Height (m)', 'subject of on (up to 3 steps, 2019)')
    """
    is_identifier = _IDENTIFIER.fullmatch(step.relation) is not None
    phrase = relation_phrase(step.relation) if is_identifier else step.relation
    times = "any number of steps" if step.times == q.ANY else f"up to {step.times} steps" if step.times != 1 else ""
    more = ", ".join(filter(None, (times, step.at)))
    return f"{'subject of ' if step.inverse else ''}{phrase}{f' ({more})' if more else ''}"


def _condition(condition: q.Condition) -> str:
    if isinstance(condition, q.Or):
        return f"either {_condition(condition.first)} or {_condition(condition.second)}"
    path = _path(condition.path)
    if isinstance(condition, q.Has):
        return f"that have {'no value' if condition.negated else 'a value'} of {path}"
    if isinstance(condition, q.Counted):
        return f"whose number of {path} {_VERBS[condition.comparison]} {condition.number}"
    if isinstance(condition, q.Fields):
        return f"whose {path} {_VERBS[condition.comparison]} their {_path(condition.other)}"
    is_date = isinstance(condition.value, str) and value_kind(condition.value) == DATE
    return f"whose {path} {(_VERBS_OF_DATES if is_date else _VERBS)[condition.comparison]} {_value(condition)}"


def _value(condition: q.Compare) -> str:
    value = condition.value
    if isinstance(value, str):
        return value
    every = "one of" if condition.comparison in ("=", "!=", "contains") else "each of"
    return words(value) if isinstance(value, q.Named) else f"{every} {_set(value)}"
