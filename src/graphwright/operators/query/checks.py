"""Checks of queries that people write: are there such relations, types and names?"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from itertools import islice
from typing import Any

import numpy as np

from graphwright.errors import OptionError
from graphwright.kernels.ranking import sorted_distinct
from graphwright.operators.query.notation import notation
from graphwright.operators.query.query import Compare, Comparison, Fields, Named, OfType, Query, Step
from graphwright.operators.query.reached import value_kind
from graphwright.search.facts import Facts
from graphwright.text.values import TEXT

_NEAR = 3  # names that an error suggests
_COMPARED = 20_000  # names that an unknown one is compared with


def check(query: Query, facts: Facts) -> tuple[str, ...]:
    """Return notes about texts that no value equals. Raises OptionError for an unknown relation, type or name.

    >>> facts = Facts.of_rows([{"city": "Graz", "river": "Mur"}], "cities")
    >>> from graphwright.operators.query.parse_notation import parse_notation
    >>> check(parse_notation("cities.rivers"), facts)
    Traceback (most recent call last):
    graphwright.errors.OptionError: There is no relation 'rivers'. Did you mean 'river'?
    """
    notes = []
    # At a date some relations state nothing.
    relations = facts.kept("known relations", lambda: frozenset((*facts.relations, *facts.columns.relations)))
    for part in parts(query):
        if isinstance(part, Fields) and (unknown := {step.relation for step in part.other} - relations):
            name = min(unknown)
            raise OptionError(
                f"There is no relation {name!r}.{_near(name, facts.relations, _typed)} A text stands in double quotes."
            )
        if isinstance(part, Step) and part.relation not in relations:
            raise OptionError(f"There is no relation {part.relation!r}.{_near(part.relation, facts.relations, _typed)}")
        if isinstance(part, OfType) and part.type not in facts.types and not len(facts.of_type(part.type)):
            raise OptionError(f"There is no type {part.type!r}.{_near(part.type, facts.types, _typed)}")
        if isinstance(part, Named) and not len(facts.find(part.name)):
            names = (like.name for like in facts.near(part.name, _NEAR) if like.kind in ("node", "value"))
            raise OptionError(f"Nothing is named {part.name!r}.{_near(part.name, names)}")
        if isinstance(part, Compare) and isinstance(part.value, str):
            notes += _unordered_value(part.comparison, part.value)
        if isinstance(part, Compare) and part.path and isinstance(part.value, str):
            notes += _unknown_value(part.path[-1], part.comparison, part.value, facts)
    return tuple(notes)


def _unknown_value(step: Step, comparison: Comparison, text: str, facts: Facts) -> list[str]:
    """Return a note if a text is compared for equality, and a relation leads to nothing of this name."""
    if comparison not in ("=", "!=") or value_kind(text) != TEXT:
        return []
    relation = facts.relation(step.relation)
    ends = sorted_distinct(relation.subjects if step.inverse else relation.objects)
    if len(np.intersect1d(facts.find(text), ends)):
        return []
    return [f"No value of {step.relation} is {text!r}.{_near(text, facts.texts(ends[:_COMPARED]))}"]


def _unordered_value(comparison: Comparison, text: str) -> list[str]:
    """Return a note if a text is compared as more or less, which is neither a number nor a date."""
    if comparison in ("=", "!=", "contains") or value_kind(text) != TEXT:
        return []
    return [f"{text!r} is no number or date, so nothing is more or less than it."]


def parts(value: Any) -> Iterator[Any]:
    """Yield a query and all that it consists of: sets, conditions and steps."""
    yield value
    if isinstance(value, tuple) and not isinstance(value, Step):
        for part in value:
            yield from parts(part)
    elif hasattr(value, "__dataclass_fields__"):
        for field in fields(value):
            yield from parts(getattr(value, field.name))


def is_dated(query: Query) -> bool:
    """Return whether some step of a query is by what holds at a date."""
    return any(isinstance(part, Step) and part.at for part in parts(query))


def _typed(name: str) -> str:
    """Return the name of a type or a relation in quotes, or in the brackets that a query has to have around it."""
    text = notation(OfType(name))
    return text if text.startswith("[") else repr(text)


def _near(name: str, known: Iterable[str], shown: Callable[[str], str] = repr) -> str:
    """Return the names that are near an unknown one, as a suggestion; of a few all."""
    names = {each.lower(): each for each in islice(known, _COMPARED)}
    near = difflib.get_close_matches(name.lower(), names, _NEAR) or (list(names) if len(names) <= _NEAR else [])
    listed = [shown(names[each]) for each in near]
    return f" Did you mean {' or '.join(filter(None, (', '.join(listed[:-1]), listed[-1])))}?" if listed else ""
