"""Checks of queries that people write: are there such relations, types and names?"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import fields
from itertools import islice
from typing import Any

from graphwright.errors import OptionError
from graphwright.operators.query.query import Compare, Named, OfType, Query, Step
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
    for part in _parts(query):
        if isinstance(part, Step) and part.relation not in facts.relations:
            raise OptionError(f"There is no relation {part.relation!r}.{_near(part.relation, facts.relations)}")
        if isinstance(part, OfType) and part.type not in facts.types and not len(facts.of_type(part.type)):
            raise OptionError(f"There is no type {part.type!r}.{_near(part.type, facts.types)}")
        if isinstance(part, Named) and not len(facts.find(part.name)):
            raise OptionError(f"Nothing is named {part.name!r}.{_near_names(part.name, facts)}")
        if isinstance(part, Compare) and _is_unknown(part, facts):
            notes.append(f"No value is {part.value!r}.{_near_names(str(part.value), facts)}")
    return tuple(notes)


def _is_unknown(condition: Compare, facts: Facts) -> bool:
    value = condition.value
    is_text = isinstance(value, str) and condition.comparison in ("=", "!=") and value_kind(value) == TEXT
    return is_text and not len(facts.find(str(value)))


def _parts(value: Any) -> Iterator[Any]:
    """Yield a query and all that it consists of: sets, conditions and steps."""
    yield value
    if isinstance(value, tuple) and not isinstance(value, Step):
        for part in value:
            yield from _parts(part)
    elif hasattr(value, "__dataclass_fields__"):
        for field in fields(value):
            yield from _parts(getattr(value, field.name))


def _near_names(name: str, facts: Facts) -> str:
    return _near(name, (like.name for like in facts.near(name, _NEAR) if like.kind in ("node", "value")))


def _near(name: str, known: Iterable[str]) -> str:
    """Return the names that are near an unknown one, as a suggestion; of a few all."""
    names = {each.lower(): each for each in islice(known, _COMPARED)}
    near = difflib.get_close_matches(name.lower(), names, _NEAR) or (list(names) if len(names) <= _NEAR else [])
    listed = [repr(names[each]) for each in near]
    return f" Did you mean {' or '.join(filter(None, (', '.join(listed[:-1]), listed[-1])))}?" if listed else ""
