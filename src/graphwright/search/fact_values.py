"""Typed values of the objects of a relation, read as the records of each type write them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.evidence import Ints
from graphwright.search.relation_facts import LARGE, RelationFacts
from graphwright.text.values import (
    ColumnFormat,
    TypedValues,
    column_format,
    format_of_part,
    joined_values,
    typed_values,
)

if TYPE_CHECKING:
    from graphwright.search.facts import Facts

_SAMPLE = 10_000  # facts that decide how values are written
_SHARE = 16  # facts of a relation; fewer than this part of them are read without the others


def values_of(facts: Facts, name: str, positions: Ints | None = None) -> TypedValues:
    """Return the typed object of each fact of a relation, or of those at `positions` (see `Facts.values`)."""
    size = len(facts.relation(name))
    if positions is not None and (size > LARGE or len(positions) <= size // _SHARE):
        return _values(facts, name, positions)
    every = facts.kept(("values", name), lambda: _values(facts, name, np.arange(size)))
    return every if positions is None else every.at(positions)


def _values(facts: Facts, name: str, positions: Ints) -> TypedValues:
    types = facts.kept(("types of facts", name), lambda: _types_of_facts(facts, facts.relation(name)))
    if not len(types):
        return typed_values(_texts(facts, name, positions), _column_format(facts, name))
    order = np.argsort(types[positions], kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(types[positions[order]])) + 1)
    return joined_values([(at, _values_of_type(facts, name, types, positions[at])) for at in groups if len(at)])


def _types_of_facts(facts: Facts, relation: RelationFacts) -> NDArray[np.int32]:
    """Return the type of the record of each fact, -1 for an edge; nothing if all have the same."""
    records, of_edges = facts.records, np.full(len(relation.edges), -1, np.int32)
    if records is None or not len(relation.fields):
        return of_edges[:0]
    types = np.concatenate((of_edges, records.type[records.record[relation.fields]]))
    return types if types.min() < types.max() else types[:0]


def _values_of_type(facts: Facts, name: str, types: NDArray[np.int32], positions: Ints) -> TypedValues:
    """Return the values of facts that all have one type."""
    type = int(types[positions[0]])
    written = facts.kept(("format", name, type), partial(_format_of_type, facts, name, types, type))
    return typed_values(_texts(facts, name, positions), written)


def _format_of_type(facts: Facts, name: str, types: NDArray[np.int32], type: int) -> ColumnFormat:
    return format_of_part(_column_format(facts, name), _sample(facts, name, np.flatnonzero(types == type)))


def _column_format(facts: Facts, name: str) -> ColumnFormat:
    every = np.arange(len(facts.relation(name)))
    return facts.kept(("format", name), lambda: column_format(_sample(facts, name, every)))


def _sample(facts: Facts, name: str, positions: Ints) -> list[str]:
    """Return the texts of an even sample of facts."""
    size = len(positions)
    return _texts(facts, name, positions[np.linspace(0, size - 1, min(size, _SAMPLE)).astype(np.int64)])


def _texts(facts: Facts, name: str, positions: Ints) -> list[str]:
    """Return the text of each fact's object, of a field as its cell says it."""
    relation = facts.relation(name)
    objects, fields = relation.object(positions), relation.field(positions)
    if facts.records is None:
        return facts.columns.names.take(objects)
    objects[fields >= 0] = facts.first_value + facts.records.text[fields[fields >= 0]].astype(np.int64)
    return facts.texts(objects)
