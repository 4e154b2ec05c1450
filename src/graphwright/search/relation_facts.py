"""Facts of one relation, found by subject or object; and the names of relations in words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Columns, Graph, Ids32, positions_in
from graphwright.kernels.csr import Csr
from graphwright.kernels.ranking import sorted_distinct

LABELS = frozenset({"label", "pref label", "name"})  # relations, in words, from a node to its display name
_ALIAS = re.compile(
    r"(?:.*\b)?(?:alias(?:es)?|aka|synonyms?|nicknames?|abbreviation|(?:alt|hidden) label|known as"
    r"|also (?:called|known|named)|formerly (?:called|named)"
    r"|(?:alternate|alternative|common|former|full|old|other|scientific|short) names?)"
)
TYPES = frozenset(  # relations, in words, from a node to its class
    ["type", "instance of", "is a", "is an", "a", "class", "kind", "category", "rdf type", "kind of", "type of"]
)
_IDENTIFIER = re.compile(r"\S*[\d/:#]\S*")
_SAMPLE = 100  # edges of a relation that are looked at
_WORD_BREAK = re.compile(r"[\W_]+|(?<=[a-z\d])(?=[A-Z])")
_SEGMENTS = re.compile(r"[./#:](?=[^\s./#:]*$)")


def relation_phrase(name: str) -> str:
    """Return a relation's name as words in lower case; of a path of names, the last.

    >>> relation_phrase("directed_by"), relation_phrase("birthPlace"), relation_phrase("/people/person/place_of_birth")
    ('directed by', 'birth place', 'place of birth')
    """
    last = _SEGMENTS.split(name.strip("/.#:"))[-1] if " " not in name else name
    return " ".join(_WORD_BREAK.sub(" ", last).split()).lower() or name.lower()


def is_naming(phrase: str) -> bool:
    """Return whether a relation, in words, leads from a node to one of its names.

    >>> is_naming("alt label"), is_naming("also known as"), is_naming("named after"), is_naming("label")
    (True, True, False, True)
    """
    return phrase in LABELS or _ALIAS.fullmatch(phrase) is not None


def names_identifiers(columns: Columns, relation: int) -> bool:
    """Return whether a relation mostly begins at identifiers, such as Q42: only of these is a "label" a name."""
    heads = columns.heads[columns.related.row(relation)[:_SAMPLE]]
    identifiers = [_IDENTIFIER.fullmatch(name) is not None for name in columns.names.take(heads)]
    return 2 * sum(identifiers) > len(identifiers)


def shown_name(graph: Graph, node: int) -> str:
    """Return the name that a node is shown by: its label where identifiers have one, else its own."""
    columns = graph.columns
    edges = columns.out.row(node)
    for relation in np.unique(columns.relation[edges]).tolist():
        if relation_phrase(columns.relations[relation]) in LABELS and names_identifiers(columns, relation):
            return graph.names[int(columns.tails[edges[columns.relation[edges] == relation][0]])]
    return graph.names[node]


LARGE = 1_000_000  # edges of a relation above which facts are found by a thing's edges, not an own order
_MANY = 64  # of the facts of a relation; more things than this part of them are marked rather than searched
_NONE = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class RelationFacts:
    """The facts of one relation, by position: its edges, then its fields in records that are no copies.

    `edges`, `fields`: the ids of both, ascending; `heads`, `tails`: the ends of all edges of the graph; `out`, `into`:
    the edges of each node, of a large relation only; `record`, `value`: subject and object of each field.
    """

    edges: Ids32 | Ints
    heads: Ids32
    tails: Ids32
    edge_count: int
    fields: Ints
    record: Ints
    value: Ints
    out: Csr | None = None
    into: Csr | None = None

    @classmethod
    def of(cls, columns: Columns, name: str) -> RelationFacts:
        """Return the facts of a relation."""
        c, n, m = columns, len(columns.kinds), len(columns.heads)
        edges = c.stated_edges(name)
        large = (c.out, c.into) if len(edges) > LARGE else (None, None)
        if c.records is None:
            return cls(edges, c.heads, c.tails, m, _NONE, _NONE, _NONE, *large)
        named = [i for i, known in enumerate(c.records.names) if known == name]
        fields = np.flatnonzero(np.isin(c.records.name, named))
        fields = fields[~c.records.is_copy[c.records.record[fields]]]
        record, node = c.records.record[fields].astype(np.int64), c.records.node[fields].astype(np.int64)
        value = n + len(c.records) + c.records.text[fields].astype(np.int64)
        return cls(edges, c.heads, c.tails, m, fields, n + record, np.where(node >= 0, node, value), *large)

    def __len__(self) -> int:
        return len(self.edges) + len(self.fields)

    def subject(self, positions: Ints) -> Ints:
        """Return the subjects of the facts at positions."""
        return self._picked(positions, self.heads, self.record)

    def object(self, positions: Ints) -> Ints:
        """Return the objects of the facts at positions."""
        return self._picked(positions, self.tails, self.value)

    def fact(self, positions: Ints) -> Ints:
        """Return the number of each fact at positions: an edge, or m plus a field."""
        return self._picked(positions, None, self.edge_count + self.fields)

    def field(self, positions: Ints) -> Ints:
        """Return the field of each fact at positions, -1 for an edge."""
        return np.maximum(self.fact(positions) - self.edge_count, -1)

    @cached_property
    def subjects(self) -> Ints:
        """The subject of each fact."""
        return self.subject(np.arange(len(self)))

    @cached_property
    def objects(self) -> Ints:
        """The object of each fact."""
        return self.object(np.arange(len(self)))

    @cached_property
    def facts(self) -> Ints:
        """The number of each fact: an edge, or m plus a field."""
        return self.fact(np.arange(len(self)))

    def mark_objects(self, marks: NDArray[np.bool_]) -> None:
        """Set the mark of each object, without a copy of all objects."""
        for first in range(0, len(self), LARGE):
            marks[self.object(np.arange(first, min(first + LARGE, len(self))))] = True

    @cached_property
    def is_repeated(self) -> bool:
        """Whether a fact is stated twice; assumed of a large relation."""
        if len(self) > LARGE:
            return True
        keys = self.subjects * (int(self.objects.max(initial=0)) + 1) + self.objects
        return len(sorted_distinct(keys)) < len(keys)

    def matching(self, things: Ints, inverse: bool = False) -> Ints:
        """Return the positions of the facts with these ascending things as subject (or object), in this order."""
        if self.out is not None and not len(self.fields) and len(things) <= len(self.edges) // 64:
            return self.by_edges(things, inverse)
        order, ordered = self._by_object if inverse else self._by_subject
        if len(things) > len(order) // _MANY and len(order):
            is_one = np.zeros(max(int(things[-1]), int(ordered[-1])) + 1, bool)
            is_one[things] = True
            return order[is_one[ordered]]
        first, last = np.searchsorted(ordered, things), np.searchsorted(ordered, things, side="right")
        counts = last - first
        starts = np.repeat(first - np.cumsum(counts) + counts, counts)
        return order[starts + np.arange(len(starts))]

    def by_edges(self, things: Ints, inverse: bool = False) -> Ints:
        """Return `matching` by the edges of the things, without an order of all facts."""
        csr = self.into if inverse else self.out
        assert csr is not None
        positions = positions_in(np.asarray(self.edges), csr.rows(things[things < len(csr.indptr) - 1]))
        return positions[positions >= 0]

    @cached_property
    def _by_subject(self) -> tuple[Ints, Ints]:
        return _ordered(self.subjects)

    @cached_property
    def _by_object(self) -> tuple[Ints, Ints]:
        return _ordered(self.objects)

    def _picked(self, positions: Ints, ends: Ids32 | None, of_fields: Ints) -> Ints:
        """Return for each fact the end of its edge (without `ends`, the edge), or the value of its field."""
        at = np.asarray(positions, np.int64)
        is_edge = at < len(self.edges)
        edges, picked = self.edges[at[is_edge]], np.empty(len(at), np.int64)
        picked[is_edge] = edges if ends is None else ends[edges]
        picked[~is_edge] = of_fields[at[~is_edge] - len(self.edges)]
        return picked


def _ordered(ends: Ints) -> tuple[Ints, NDArray[np.int64]]:
    order = np.argsort(ends, kind="stable")
    return order, ends[order]
