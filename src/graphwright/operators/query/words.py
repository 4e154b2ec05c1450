"""Queries in English words, built from their structure; relations and types keep the names that the facts give them."""

from __future__ import annotations

import re
from functools import singledispatch

from graphwright.operators.query.query import (
    Aggregate,
    Both,
    Compare,
    Comparison,
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
    Step,
    Things,
    Where,
)
from graphwright.operators.query.reached import value_kind
from graphwright.search.relation_names import relation_phrase
from graphwright.text.values import DATE

_VERBS: dict[Comparison, str] = {
    "=": "is",
    "!=": "is not",
    ">": "is more than",
    ">=": "is at least",
    "<": "is less than",
    "<=": "is at most",
    "contains": "contains",
}
_VERBS_OF_DATES: dict[Comparison, str] = {
    **_VERBS,
    ">": "is after",
    ">=": "is not before",
    "<": "is before",
    "<=": "is not after",
}
_AMOUNTS = {"sum": "sum", "mean": "mean", "min": "smallest value", "max": "largest value"}
_IDENTIFIER = re.compile(r"(?=.*[_/#:]|.*[a-z][A-Z])\S+")  # a name of a relation that is not in words
_SIMPLE = Named | OfType | Everything


@singledispatch
def words(query: Query) -> str:
    """Return a query as a phrase.

    >>> from graphwright.operators.query.parse_notation import parse_notation
    >>> words(parse_notation('count(films where directed_by = "Tom Cruise" and year > 2000)'))
    'the number of films whose directed by is Tom Cruise and whose year is more than 2000'
    >>> words(parse_notation("largest(3 (orders where has customer) by amount)"))
    'the 3 with the largest amount of orders that have a value of customer'
    """
    raise TypeError(f"{query!r} is not a query")


@words.register
def _(query: Named) -> str:
    return query.name


@words.register
def _(query: OfType) -> str:
    return query.type


@words.register
def _(query: Everything) -> str:
    return "all things"


@words.register
def _(query: Follow) -> str:
    reached = _reached((query.step,), _set(query.things))
    return reached if query.step.inverse else f"the {reached}"


@words.register
def _(query: Where) -> str:
    if isinstance(query.things, Where):
        return f"{words(query.things)} and {_condition(query.condition)}"
    return f"{_set(query.things)} {_condition(query.condition)}"


@words.register
def _(query: Both) -> str:
    return f"what is both in {_set(query.first)} and in {_set(query.second)}"


@words.register
def _(query: Either) -> str:
    return f"{_set(query.first)} or {_set(query.second)}"


@words.register
def _(query: Except) -> str:
    return f"{_set(query.first)} except {_set(query.second)}"


@words.register
def _(query: Extreme) -> str:
    count = f"{query.count} " if query.count != 1 else ""
    if not query.path:
        return f"the {'last' if query.largest else 'first'} {count}of {words(query.things)}"
    order = f"with the {'largest' if query.largest else 'smallest'} {_path(query.path)}"
    return f"the {count or 'one '}{order} of {words(query.things)}"


@words.register
def _(query: Frequent) -> str:
    return f"the {'most' if query.largest else 'least'} frequent {_reached((query.step,), _set(query.things))}"


@words.register
def _(query: Neighbour) -> str:
    count = f"{abs(query.offset)} " if abs(query.offset) != 1 else ""
    records = "records" if count else "record"
    return f"the {records} {count}{'before' if query.offset < 0 else 'after'} {_set(query.things)}"


@words.register
def _(query: Count) -> str:
    return f"the number of {words(query.things)}"


@words.register
def _(query: Exists) -> str:
    return f"whether there is any of {words(query.things)}"


@words.register
def _(query: Aggregate) -> str:
    values = f"the {_reached(query.path, _set(query.things))}" if query.path else words(query.things)
    return f"the {_AMOUNTS[query.function]} of {values}"


@words.register
def _(query: Difference) -> str:
    return f"the difference between {words(query.first)} and {words(query.second)}"


def _set(query: Things) -> str:
    """Return a set as a part of a longer phrase, in parentheses unless its end is clear."""
    return words(query) if isinstance(query, _SIMPLE | Follow) else f"({words(query)})"


def _reached(path: Path, start: str) -> str:
    """Return what a path leads to from `start`: the last step first."""
    for step in path:
        name = _relation(Step(step.relation))
        start = f"those whose {name} is {start}" if step.inverse else f"{name} of {start}"
    return start


def _path(path: Path) -> str:
    return " of ".join(map(_relation, reversed(path))) or "value"


def _relation(step: Step) -> str:
    """Return a relation in words, a name in words as it is; backwards as the subject of the relation.

    >>> _relation(Step("directed_by")), _relation(Step("Height (m)")), _relation(Step("directed_by", inverse=True))
    ('directed by', 'Height (m)', 'subject of directed by')
    """
    is_identifier = _IDENTIFIER.fullmatch(step.relation) is not None
    phrase = relation_phrase(step.relation) if is_identifier else step.relation
    return f"subject of {phrase}" if step.inverse else phrase


def _condition(condition: Condition) -> str:
    path = _path(condition.path)
    if isinstance(condition, Has):
        return f"that have {'no value' if condition.negated else 'a value'} of {path}"
    if isinstance(condition, Counted):
        return f"whose number of {path} {_VERBS[condition.comparison]} {condition.number}"
    is_date = isinstance(condition.value, str) and value_kind(condition.value) == DATE
    return f"whose {path} {(_VERBS_OF_DATES if is_date else _VERBS)[condition.comparison]} {_value(condition)}"


def _value(condition: Compare) -> str:
    value = condition.value
    if isinstance(value, str):
        return value
    every = "one of" if condition.comparison in ("=", "!=", "contains") else "each of"
    return words(value) if isinstance(value, Named) else f"{every} {_set(value)}"
