"""Facts of an index: the statements of its graph and the fields of its records, as relations between things.

Things are numbered: the n nodes of the graph, then the r records, then the distinct texts of fields that name no node
(values). A fact is (subject, relation, object); the facts of the graph are its edges, those of a record its fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import NamedTuple

import numpy as np

from graphwright.graph.columns import TextColumn
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import ABOUT, ALIAS, CO_OCCURS, MENTIONS, REFERS, SYNONYM, Columns, Graph
from graphwright.graph.records import RecordColumns
from graphwright.search.relation_index import TYPES, relation_phrase
from graphwright.text.names import normal_form
from graphwright.text.values import TypedValues, typed_values

OWN_RELATIONS = frozenset({ABOUT, MENTIONS, ALIAS, SYNONYM, CO_OCCURS, REFERS})
"""Relations that an index adds, which state no fact."""


class RelationFacts(NamedTuple):
    """The facts of one relation: subject and object of each, and its number (an edge, or m plus a field)."""

    subjects: Ints
    objects: Ints
    facts: Ints
    by_subject: Ints
    """Positions in order of the subject."""
    by_object: Ints
    """Positions in order of the object."""

    @classmethod
    def of(cls, subjects: Ints, objects: Ints, facts: Ints) -> RelationFacts:
        """Order the facts by subject and by object."""
        return cls(subjects, objects, facts, np.argsort(subjects, kind="stable"), np.argsort(objects, kind="stable"))

    def matching(self, things: Ints, inverse: bool = False) -> Ints:
        """Return the positions of the facts whose subject (object if `inverse`) is one of these ascending things."""
        ends, order = (self.objects, self.by_object) if inverse else (self.subjects, self.by_subject)
        ordered = ends[order]
        first, last = np.searchsorted(ordered, things), np.searchsorted(ordered, things, side="right")
        counts = last - first
        starts = np.repeat(first - np.concatenate(([0], np.cumsum(counts)[:-1])), counts) if len(things) else first
        positions: Ints = order[starts + np.arange(int(counts.sum()))]
        return positions


@dataclass(eq=False)
class Facts:
    """The facts of a snapshot, by relation; a relation is prepared when it is first asked for."""

    columns: Columns
    records: RecordColumns | None = None
    _relations: dict[str, RelationFacts] = field(default_factory=dict)
    _values: dict[str, TypedValues] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    @classmethod
    def of_rows(cls, rows: Iterable[Mapping[str, str]], type: str = "row") -> Facts:
        """Make the facts of one table, whose cells name no entities; for tests and training.

        >>> facts = Facts.of_rows([{"city": "Graz", "inhabitants": "300,000"}, {"city": "Linz"}], "cities")
        >>> facts.relations, facts.types, [facts.text(thing) for thing in facts.relation("city").objects.tolist()]
        (('city', 'inhabitants'), ('cities',), ['Graz', 'Linz'])
        """
        names: dict[str, int] = {}
        texts: dict[str, int] = {}
        cells: list[tuple[int, int, int]] = []
        count = 0
        for row in rows:
            for name, text in row.items():
                if text.strip():
                    cells.append((count, names.setdefault(name, len(names)), texts.setdefault(text, len(texts))))
            count += 1
        record, name_id, text_id = np.array(cells, np.int32).reshape(-1, 3).T
        spans, zeros = np.zeros((max(count, len(cells)), 2), np.int64), np.zeros(count, np.int32)
        records = RecordColumns(
            TextColumn.of([type]), zeros, zeros, spans[:count], zeros.astype(bool), TextColumn.of(names),
            TextColumn.of(texts), record, name_id, text_id, spans[: len(cells)], np.full(len(cells), -1, np.int32),
        )  # fmt: skip
        return cls(Graph.from_triples([]).columns, records)

    @cached_property
    def first_record(self) -> int:
        """The thing that is the first record."""
        return len(self.columns.names)

    @cached_property
    def first_value(self) -> int:
        """The thing that is the first value."""
        return self.first_record + (0 if self.records is None else len(self.records))

    def __len__(self) -> int:
        """Return the number of things."""
        return self.first_value + (0 if self.records is None else len(self.records.texts))

    @cached_property
    def relations(self) -> tuple[str, ...]:
        """The names of all relations and fields that state facts, each once."""
        stated = [name for name in self.columns.relations if name not in OWN_RELATIONS]
        return tuple(dict.fromkeys([*stated, *(() if self.records is None else self.records.names)]))

    def relation(self, name: str) -> RelationFacts:
        """Return the facts of a relation or field, in the order of their numbers; none for an unknown name."""
        with self._lock:
            if name not in self._relations:
                self._relations[name] = self._relation(name)
            return self._relations[name]

    def _relation(self, name: str) -> RelationFacts:
        edges = np.empty(0, np.int64) if name in OWN_RELATIONS else self.columns.edges_of(name)
        subjects, objects = self.columns.heads[edges].astype(np.int64), self.columns.tails[edges].astype(np.int64)
        if self.records is not None:
            fields = self._fields(name)
            text, node = self.records.text[fields].astype(np.int64), self.records.node[fields].astype(np.int64)
            subjects = np.append(subjects, self.first_record + self.records.record[fields].astype(np.int64))
            objects = np.append(objects, np.where(node >= 0, node, self.first_value + text))
            edges = np.append(edges, len(self.columns.heads) + fields)
        return RelationFacts.of(subjects, objects, edges)

    def _fields(self, name: str) -> Ints:
        """Return the fields of this name in records that are no copies."""
        assert self.records is not None
        numbers = [i for i, known in enumerate(self.records.names) if known == name]
        fields = np.flatnonzero(np.isin(self.records.name, numbers))
        kept: Ints = fields[~self.records.is_copy[self.records.record[fields]]]
        return kept

    def values(self, name: str) -> TypedValues:
        """Return the typed object of each fact of a relation, by the texts of all of them."""
        facts = self.relation(name)
        with self._lock:
            if name not in self._values:
                self._values[name] = typed_values(self._texts(facts))
            return self._values[name]

    def _texts(self, facts: RelationFacts) -> list[str]:
        """Return the text of each fact's object, of a field as its cell says it."""
        edges = len(self.columns.heads)
        texts = self.columns.names.take(facts.objects[facts.facts < edges])
        if self.records is None:
            return texts
        return texts + self.records.texts.take(self.records.text[facts.facts[facts.facts >= edges] - edges])

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The names of all types: of records, and the objects of relations to a class ("instance of")."""
        objects = [self.relation(name).objects for name in self._type_relations]
        classes = self.texts(np.unique(np.concatenate(objects)).tolist()) if objects else []
        return tuple(dict.fromkeys([*classes, *(() if self.records is None else self.records.types)]))

    @cached_property
    def _type_relations(self) -> tuple[str, ...]:
        return tuple(name for name in self.columns.relations if relation_phrase(name) in TYPES)

    def of_type(self, name: str) -> Ints:
        """Return the things of a type, ascending."""
        classes = self.find(name)
        things = [self.relation(r).subjects[self.relation(r).matching(classes, True)] for r in self._type_relations]
        if self.records is not None:
            numbers = [i for i, known in enumerate(self.records.types) if known == name]
            chosen = np.isin(self.records.type, numbers) & ~self.records.is_copy
            things.append(self.first_record + np.flatnonzero(chosen))
        return np.unique(np.concatenate(things)) if things else np.empty(0, np.int64)

    def text(self, thing: int) -> str:
        """Return a thing's name: of a node or value its text, of a record its first field."""
        if thing < self.first_record:
            return self.columns.names[thing]
        assert self.records is not None
        if thing >= self.first_value:
            return self.records.texts[thing - self.first_value]
        first = int(np.searchsorted(self.records.record, thing - self.first_record))
        fields = self.records.record[first : first + 1] == thing - self.first_record
        return self.records.texts[int(self.records.text[first])] if fields.any() else ""

    def texts(self, things: Sequence[int]) -> list[str]:
        """Return the names of things."""
        return [self.text(int(thing)) for thing in things]

    def find(self, name: str) -> Ints:
        """Return the nodes and values with a name, by its normal form, ascending."""
        return self._by_form.get(normal_form(name) or name, np.empty(0, np.int64))

    @cached_property
    def _by_form(self) -> dict[str, Ints]:
        things: dict[str, list[int]] = {}
        for node, name in enumerate(self.columns.names):
            things.setdefault(normal_form(name) or name, []).append(node)
        if self.records is not None:
            for value, text in enumerate(self.records.texts):
                things.setdefault(normal_form(text) or text, []).append(self.first_value + value)
        return {form: np.array(ids) for form, ids in things.items()}
