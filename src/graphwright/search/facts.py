"""Facts of an index: the statements of its graph and the fields of its records, as relations between things.

Things are numbered: the n nodes of the graph, then the r records, then the distinct texts of fields that name no node
(values). A fact is (subject, relation, object); the facts of the graph are its edges, those of a record its fields.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Columns, Graph
from graphwright.graph.records import RecordColumns
from graphwright.search.fact_words import FactWords, Likeness, values_of
from graphwright.search.name_index import NameIndex, name_index_of
from graphwright.search.relation_facts import TYPES, RelationFacts, relation_phrase
from graphwright.search.snapshot import SnapshotCache
from graphwright.search.statement_times import statement_times_of
from graphwright.text.names import normal_form
from graphwright.text.values import TypedValues

_NONE = np.empty(0, np.int64)
Value = TypeVar("Value")
_cache: SnapshotCache[object] = SnapshotCache()


class Facts:
    """The facts of a snapshot, by relation; what is prepared for a snapshot is shared and kept with it.

    `records`: those of the documents; `first_record`, `first_value`: the things that are the first record and value.
    """

    def __init__(self, columns: Columns) -> None:
        self.columns, self.records = columns, columns.records
        self.first_record = len(columns.kinds)
        self.first_value = self.first_record + (0 if self.records is None else len(self.records))

    @classmethod
    def of(cls, graph: Graph) -> Facts:
        """Return the facts of the snapshot of a graph.

        >>> facts = Facts.of(Graph.from_triples([("Graz", "lies on", "Mur"), ("Graz", "is a", "city")]))
        >>> facts.relations, facts.types, facts.of_type("city").tolist(), facts.columns_of("city")
        (('lies on', 'is a'), ('city',), [0], ('lies on', 'is a'))
        """
        return cls(graph.columns)

    @classmethod
    def of_rows(cls, rows: Iterable[Mapping[str, str]], type: str = "row") -> Facts:
        """Make the facts of one table, whose cells name no entities; for tests and training.

        >>> facts = Facts.of_rows([{"city": "Graz", "inhabitants": "300,000"}, {"city": "Linz"}], "cities")
        >>> facts.relations, facts.types, [facts.text(thing) for thing in facts.relation("city").objects.tolist()]
        (('city', 'inhabitants'), ('cities',), ['Graz', 'Linz'])
        """
        table = list(rows)
        cells = [(at, name, text, -1) for at, row in enumerate(table) for name, text in row.items() if text.strip()]
        records = RecordColumns.of_cells(type, [0] * len(table), cells)
        return cls(replace(Graph.from_triples([]).columns, records=records))

    def __len__(self) -> int:
        return self.first_value + (0 if self.records is None else len(self.records.texts))

    def kept(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        """Return a value that is computed once for the snapshot and dropped with it; it must not hold the columns."""
        return _cache.get(self.columns, key, compute)  # type: ignore[return-value]

    @property
    def relations(self) -> tuple[str, ...]:
        """The names of all relations and fields that state facts, each once."""
        return self.kept("relations", self._stated)

    def _stated(self) -> tuple[str, ...]:
        own = set(self.columns.own.values())
        stated = [number for number in np.unique(self.columns.relation).tolist() if number not in own]
        names = self.columns.relations.take(stated)
        fields = [] if self.records is None else self.records.names.take(np.unique(self.records.name))
        return tuple(dict.fromkeys([*names, *fields]))

    def frequent_relations(self, limit: int) -> tuple[str, ...]:
        """Return the relations and fields with the most facts, at most `limit`, in the order of `relations`."""
        if len(self.relations) <= limit:
            return self.relations
        stated = Counter[str]()
        names = [(self.columns.relations, self.columns.relation)]
        names += [] if self.records is None else [(self.records.names, self.records.name)]
        for column, numbers in names:
            each, counts = np.unique(numbers, return_counts=True)
            stated.update(dict(zip(column.take(each), counts.tolist(), strict=True)))
        kept = set(sorted(self.relations, key=lambda name: -stated[name])[:limit])
        return tuple(name for name in self.relations if name in kept)

    def relation(self, name: str) -> RelationFacts:
        """Return the facts of a relation or field, in the order of their numbers; none for an unknown name."""
        return self.kept(("relation", name), lambda: RelationFacts.of(self.columns, name))

    def values(self, name: str, positions: Ints | None = None) -> TypedValues:
        """Return the typed object of each fact of a relation, or those at `positions`, as its table writes values."""
        return values_of(self, name, positions)

    def hold(self, numbers: Ints, date: str) -> NDArray[np.bool_]:
        """Return which facts, by their numbers, hold at some time of a date, or "now"; all that have no dates do."""
        times, edges = statement_times_of(self.columns), len(self.columns.heads)
        if self.records is None:
            return np.ones(len(numbers), bool)
        holding = times.at(date)
        of_edges, of_records = times.edges(holding, edges), np.ones(len(self.records), bool)
        of_records[times.records[~holding]] = False
        return np.concatenate((of_edges, of_records[self.records.record]))[numbers]

    @property
    def types(self) -> tuple[str, ...]:
        """The names of all types: objects of relations to a class ("instance of"), of the schema, and of records."""
        return self.kept("types", self._types)

    def _types(self) -> tuple[str, ...]:
        is_class = np.zeros(len(self), bool)
        for name in self.type_relations:
            self.relation(name).mark_objects(is_class)
        classes = self.texts(np.flatnonzero(is_class))
        records = () if self.records is None else self.records.types
        return tuple(dict.fromkeys([*classes, *self._typed(slice(None)), *records]))

    def _typed(self, nodes: Ints | slice) -> dict[str, int]:
        """Return the types of the schema that some nodes have, each with the number of these."""
        if self.columns.types is None or self.columns.node_type is None:
            return {}
        kinds = np.asarray(self.columns.node_type)[nodes]
        kinds, count = np.unique(kinds[kinds >= 0], return_counts=True)
        return dict(zip(self.columns.types.take(kinds), count.tolist(), strict=True))

    @property
    def type_relations(self) -> tuple[str, ...]:
        """The relations from things to their types."""
        return tuple(name for name in self.columns.relations if relation_phrase(name) in TYPES)

    def of_type(self, name: str) -> Ints:
        """Return the things of a type, ascending; of records those that are no copies."""
        return self.kept(("of type", name), lambda: self._of_type(name))

    def _of_type(self, name: str) -> Ints:
        classes, things = self.find(name), [_NONE]
        for relation in map(self.relation, self.type_relations):
            things.append(relation.subject(relation.matching(classes, True)))
        if self.columns.types is not None and name in (types := list(self.columns.types)):
            things.append(np.flatnonzero(np.asarray(self.columns.node_type) == types.index(name)))
        if self.records is not None:
            numbers = [i for i, known in enumerate(self.records.types) if known == name]
            chosen = np.isin(self.records.type, numbers) & ~self.records.is_copy
            things.append(self.first_record + np.flatnonzero(chosen))
        return np.unique(np.concatenate(things))

    def types_of(self, things: Ints) -> dict[str, int]:
        """Return the types of some things, each with the number of these things, the most frequent first."""
        things = np.unique(things)
        counts = self._typed(things[things < self.first_record])
        for relation in map(self.relation, self.type_relations):
            classes, count = np.unique(relation.object(relation.matching(things)), return_counts=True)
            for name, number in zip(self.texts(classes), count.tolist(), strict=True):
                counts[name] = counts.get(name, 0) + number
        if self.records is not None:
            kinds, count = np.unique(self.records.type[self._record_rows(things)], return_counts=True)
            for name, number in zip(self.records.types.take(kinds), count.tolist(), strict=True):
                counts[name] = counts.get(name, 0) + number
        return dict(sorted(counts.items(), key=lambda item: -item[1]))

    def columns_of(self, type: str) -> tuple[str, ...]:
        """Return the relations and fields that things of a type have, in the order of `relations`."""
        return self.kept(("columns of", type), lambda: self.relations_of(self.of_type(type)))

    def relations_of(self, things: Ints) -> tuple[str, ...]:
        """Return the relations and fields of which one of these things is a subject, in the order of `relations`."""
        things, c = np.unique(things), self.columns
        nodes = things[things < self.first_record]
        has = set(c.relations.take(np.unique(np.asarray(c.relation)[c.out.rows(nodes)]))) if len(nodes) else set[str]()
        if self.records is not None:
            rows = self._record_rows(things)
            is_one = np.zeros(len(self.records), bool)
            is_one[rows] = True
            has |= set(self.records.names.take(np.unique(self.records.name[is_one[self.records.record]])))
        return tuple(name for name in self.relations if name in has)

    def units(self, numbers: Ints) -> Ints:
        """Return the distinct statements and records that facts belong to: an edge, or m plus a record."""
        edges = len(self.columns.heads)
        fields = numbers[numbers >= edges] - edges
        rows = _NONE if self.records is None else self.records.record[fields].astype(np.int64)
        return np.unique(np.concatenate((numbers[numbers < edges], edges + rows)))

    def _record_rows(self, things: Ints) -> Ints:
        return things[(things >= self.first_record) & (things < self.first_value)] - self.first_record

    def row(self, thing: int) -> dict[str, str]:
        """Return the texts of a record by field, several of one field joined by commas; empty for others."""
        if self.records is None or not self.first_record <= thing < self.first_value:
            return {}
        first, last = np.searchsorted(self.records.record, (thing - self.first_record, thing - self.first_record + 1))
        row: dict[str, list[str]] = {}
        for name, text in zip(self.records.name[first:last], self.records.text[first:last], strict=True):
            row.setdefault(self.records.names[int(name)], []).append(self.records.texts[int(text)])
        return {name: ", ".join(texts) for name, texts in row.items()}

    def text(self, thing: int) -> str:
        """Return a thing's name: of a node or value its text, of a record its first field."""
        return self.texts([thing])[0]

    def texts(self, things: Sequence[int] | Ints) -> list[str]:
        """Return the names of things."""
        ids, records = np.asarray(things, np.int64), self.records
        if records is None:
            return self.columns.names.take(ids)
        names = np.full(len(ids), "", object)
        is_node, is_value = ids < self.first_record, ids >= self.first_value
        names[is_node] = self.columns.names.take(ids[is_node])
        names[is_value] = records.texts.take(ids[is_value] - self.first_value)
        at = np.flatnonzero(~is_node & ~is_value)
        first = np.searchsorted(records.record, ids[at] - self.first_record)
        at, first = at[first < len(records.record)], first[first < len(records.record)]
        own = records.record[first] == ids[at] - self.first_record
        names[at[own]] = records.texts.take(records.text[first[own]])
        return list(names)

    def find(self, name: str) -> Ints:
        """Return the nodes and values with a name, by its normal form, ascending; else the nodes with it as alias."""
        form = form_of(name)
        index = name_index_of(self.columns)
        wanted = index.form(name) or name
        nodes = index.find(wanted)
        same = nodes[np.array([(index.form(text) or text) == wanted for text in self.columns.names.take(nodes)], bool)]
        if self.records is None:
            return same if len(same) else nodes
        texts = NameIndex(self.records.forms, self.records.form_text).find(form)
        values = self.first_value + texts[~self._names_node(texts)]
        return np.concatenate((same, values)) if len(same) or len(values) else nodes

    def _names_node(self, texts: Ints) -> NDArray[np.bool_]:
        """Return which texts name a node in each of their fields, and so are no values."""

        def compute() -> NDArray[np.bool_]:
            assert self.records is not None
            is_named = np.ones(len(self.records.texts), bool)
            is_named[self.records.text[self.records.node < 0]] = False
            return is_named

        return self.kept("named texts", compute)[texts]

    def near(self, text: str, limit: int = 20) -> list[Likeness]:
        """Return the values, nodes, types and relations that a text names in part or about so, the likeliest first.

        >>> facts = Facts.of_rows([{"region": "Mid-Atlantic", "length": "2,000 m"}, {"region": "South"}], "regions")
        >>> [(like.kind, like.name) for like in facts.near("Which length has the mid atlantic region?", 3)]
        [('value', 'Mid-Atlantic'), ('relation', 'region'), ('relation', 'length')]
        """
        return self.kept("words", self._words).near(text, limit, self.texts)

    def _words(self) -> FactWords:
        index, parts = name_index_of(self.columns), []
        if index.normalised:
            forms = index.forms if index.order is None else index.forms.gather(index.order)
            parts.append((forms, np.asarray(index.nodes, np.int64)))
        if self.records is not None:
            texts = np.asarray(self.records.form_text, np.int64)
            own = np.flatnonzero(~self._names_node(texts))
            parts.append((self.records.forms.gather(own), self.first_value + texts[own]))
        return FactWords.of(parts, self.first_value, self.types, self.relations)


def form_of(name: str) -> str:
    """Return the form under which a name is found: its normal form, of signs alone the name itself."""
    return normal_form(name) or name
