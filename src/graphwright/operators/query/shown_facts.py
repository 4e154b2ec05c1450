"""The types, relations and values near a question, as lines of a prompt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from graphwright.errors import cut
from graphwright.graph.evidence import Ints
from graphwright.prompts.templates import data_line
from graphwright.search.facts import Facts

_RELATIONS = 60  # relations and columns that are shown
_VALUES = 40  # names of things that are shown
_SAMPLES = 3  # values of a column
_READ = 1_000  # things of a type whose values are read
_LONGEST = 80  # characters of a name that is shown


def shown_facts(question: str, facts: Facts) -> dict[str, str]:
    """Return what a prompt shows of the facts for a question: its `types`, `relations` and `values`, a line each.

    First come those that the question's words are like, then those of the things that it names, then all others.
    """
    near = facts.near(question, 4 * _VALUES)
    things = list(dict.fromkeys(like.thing for like in near if like.thing >= 0))[:_VALUES]
    beside = _beside(facts, np.array(sorted(things), np.int64))
    likest = {kind: [like.name for like in near if like.kind == kind] for kind in ("type", "relation")}
    columns: dict[str, tuple[str, ...]] = {}
    left = _RELATIONS
    for name in dict.fromkeys((*likest["type"], *facts.types_of(beside), *facts.types)):
        if left > 0 and (own := facts.columns_of(name)[:left]):
            columns[name] = own
            left -= len(own)
    others = dict.fromkeys((*likest["relation"], *facts.relations_of(beside), *facts.relations))
    shown = {name for own in columns.values() for name in own}
    relations = [name for name in others if name not in shown][: max(left, 0)]
    return {
        "types": _lines(_type_line(facts, name, own) for name, own in columns.items()),
        "relations": _lines(line for name in relations for line in _relation_line(facts, name)),
        "values": _lines({"value": cut(name, _LONGEST)} for name in dict.fromkeys(facts.texts(things))),
    }


def _beside(facts: Facts, things: Ints) -> Ints:
    """Return some things and the records that have one of them as a value, ascending."""
    records = facts.records
    if records is None:
        return things
    is_named = np.isin(records.node, things[things < facts.first_record])
    is_named |= np.isin(records.text, things[things >= facts.first_value] - facts.first_value)
    return np.union1d(things, facts.first_record + records.record[is_named].astype(np.int64))


def _type_line(facts: Facts, type: str, columns: Iterable[str]) -> dict[str, Any]:
    """Return a type with the number of its things, and some values of each column."""
    things = facts.of_type(type)
    values = {}
    for name in columns:
        relation = facts.relation(name)
        objects = relation.object(relation.matching(things[:_READ]))
        distinct, first = np.unique(objects, return_index=True)
        samples = facts.texts(distinct[np.argsort(first)][:_SAMPLES])
        values[name] = [cut(text, _LONGEST) for text in samples]
    return {"type": type, "things": len(things), "columns": values}


def _relation_line(facts: Facts, name: str) -> Iterator[dict[str, Any]]:
    """Yield a relation with its first fact, nothing where it has none."""
    relation = facts.relation(name)
    if len(relation):
        first = np.zeros(1, np.int64)
        ends = facts.texts(np.append(relation.subject(first), relation.object(first)))
        yield {"relation": name, "example": [cut(text, _LONGEST) for text in ends]}


def _lines(values: Iterable[object]) -> str:
    return "\n".join(map(data_line, values)) or "(none)"
