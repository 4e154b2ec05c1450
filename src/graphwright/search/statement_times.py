"""Times of the statements of an imported graph: from when to when each holds, by the dates among its fields."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Columns, Graph
from graphwright.graph.records import STATEMENT, RecordColumns
from graphwright.search.relation_facts import relation_phrase
from graphwright.search.snapshot import Snapshot, per_snapshot
from graphwright.search.versions import years_of

# Names of Wikidata, schema.org, OWL-Time, PROV and Dublin Core, by relation_phrase.
_STARTS = frozenset({"p580", "start time", "start date", "valid from", "has beginning", "started at time"})
_ENDS = frozenset({"p582", "end time", "end date", "valid through", "has end", "ended at time"})
_POINTS = frozenset({"p585", "point in time", "in xsd date", "in xsd date time", "in xsd date time stamp"})
_OF_SOURCES = frozenset(
    {"p813", "retrieved", "p577", "publication date", "date published", "date created", "date modified", "created",
     "modified", "issued", "generated at time"}
)  # fmt: skip
_OWN = 3  # fields of a statement before its own: subject, relation, object
_SHARE = 0.8  # of a field's texts that are dates, from which on it is a field of dates
_CLOSE = 0.25  # of the range of beginnings, below which later dates are those of a source, not of an end
_SEVERAL = 3  # statements that show it
OPEN = {"<": "before", "<=": "until", ">=": "since", ">": "after"}  # what stands before a date for the time around it
_DAY = 0.002  # years, less than a day
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def period_of(text: str) -> tuple[float, float]:
    """Return the beginning and the end of a date, or of "now" (today), in years; also of "before", "since" … a date.

    >>> period_of("2019"), period_of("before 2019")
    ((2019.0, 2020.0), (-inf, 2019.0))
    """
    word, _, day = text.partition(" ")
    first, last = years_of(date.today().isoformat() if text == "now" else day if word in OPEN.values() else text)
    ends = (-np.inf, first), (-np.inf, last), (first, np.inf), (last, np.inf)
    return dict(zip(OPEN.values(), ends, strict=True)).get(word, (first, last))


@dataclass(frozen=True, eq=False)
class StatementTimes:
    """The times of s statements, in years; a statement without dates holds always.

    `records: int64[s]`: their records; `first`, `last: float64[s]`: from when to when each holds; `is_point: bool[s]`:
    it holds at one date. `edge`, `statement`: pairs of an edge and a statement that it makes. `fields: int64[d]`: the
    fields that are dates of statements, ascending.
    """

    records: Ints
    first: Floats
    last: Floats
    is_point: Bools
    edge: Ints
    statement: Ints
    fields: Ints

    def at(self, date: str) -> Bools:
        """Return which statements hold at some time of a date, or "now"."""
        first, last = period_of(date)
        return (self.first < last - _DAY) & (self.last > first + _DAY)

    def as_of(self, date: str) -> Bools:
        """Return which statements hold at the end of a date; those at one date, from this date on."""
        end = period_of(date)[1] - _DAY
        return (self.first < end) & (self.is_point | (self.last > end))

    def edges(self, holding: Bools, count: int) -> Bools:
        """Return which of `count` edges hold, given which statements do: bool[count]."""
        holds = np.ones(count, bool)
        holds[self.edge] = False
        holds[self.edge[holding[self.statement]]] = True
        return holds

    @cached_property
    def _by_edge(self) -> tuple[Ints, Ints]:
        order = np.argsort(self.edge, kind="stable")
        return self.edge[order], self.statement[order]

    def of_edge(self, edge: int) -> Ints:
        """Return the statements that an edge makes."""
        edges, statements = self._by_edge
        return statements[np.searchsorted(edges, edge) : np.searchsorted(edges, edge, side="right")]

    def since(self, edge: int) -> float:
        """Return the latest beginning of the statements of an edge, -inf where they have no dates."""
        return float(self.first[self.of_edge(edge)].max(initial=-np.inf))

    def label(self, records: RecordColumns, edge: int) -> str:
        """Return the dates of the statements of an edge with the names of their fields."""
        return "; ".join(filter(None, (self._label(records, at) for at in self.of_edge(edge).tolist())))

    def _label(self, records: RecordColumns, statement: int) -> str:
        first, last = np.searchsorted(records.record[self.fields], self.records[statement] + np.array((0, 1)))
        own = self.fields[first:last].tolist()
        names = (records.names[int(records.name[at])].replace("_", " ") for at in own)
        return ", ".join(f"{name} {records.texts[int(records.text[at])]}" for name, at in zip(names, own, strict=True))


def dated_relations(columns: Columns) -> frozenset[str]:
    """Return the relations of which some statement has dates."""
    if (times := statement_times_of(columns)) is None:
        return frozenset()
    edges = times.edge[(np.isfinite(times.first) | np.isfinite(times.last))[times.statement]]
    return frozenset(columns.relations[number] for number in np.unique(columns.relation[edges]).tolist())


def snapshot_as_of(snapshot: Snapshot, day: str) -> Snapshot:
    """Return an imported graph's snapshot with the statements that hold at a date; names and vectors of nodes stay."""
    columns = snapshot.graph.columns
    times = statement_times_of(columns)
    if times is None or columns.records is None:
        return snapshot
    holding = times.as_of(day)
    kept = np.flatnonzero(times.edges(holding, len(columns.heads)))
    is_kept = np.ones(len(columns.records), bool)
    is_kept[times.records[~holding]] = False
    relevant = ("heads", "tails", "relation", "edge_text")
    parts = {name: own[kept] for name in relevant if (own := getattr(columns, name)) is not None}
    columns = replace(columns, **parts, records=columns.records.chosen(is_kept))
    triples = snapshot.triples
    if triples is not None:
        rows = np.arange(len(triples.vectors), dtype=np.int32) if triples.row_of is None else np.asarray(triples.row_of)
        triples = replace(triples, row_of=rows[kept])
    return replace(snapshot, graph=Graph(columns), triples=triples)


@per_snapshot
def statement_times_of(columns: Columns) -> StatementTimes | None:
    """Return the times of the statements of a snapshot; None if none has a date."""
    records = columns.records
    if records is None or STATEMENT not in list(records.types):
        return None
    rows = np.flatnonzero(records.type == list(records.types).index(STATEMENT))
    fields = np.flatnonzero(np.isin(records.record, rows))
    fields = fields[fields - np.searchsorted(records.record, records.record[fields]) >= _OWN]
    dates = {name: dated for name, dated in _date_fields(records, fields) if len(dated.fields)}
    roles = _roles({name: relation_phrase(records.names[name]) for name in dates}, dates)
    if not roles:
        return None
    first, last = np.full(len(rows), -np.inf), np.full(len(rows), np.inf)
    points = np.full(len(rows), -np.inf), np.full(len(rows), np.inf)
    for name, role in roles.items():
        own = dates[name]
        at = np.searchsorted(rows, own.records)
        low, high = (first, last) if role != "point" else points
        if role != "end":
            np.maximum.at(low, at, own.first)
        if role != "start":
            np.minimum.at(high, at, own.last)
    is_point = np.isinf(first) & np.isinf(last) & np.isfinite(points[0])
    first, last = np.where(is_point, points[0], first), np.where(is_point, points[1], last)
    edge, statement = _edges(columns, records, rows)
    shown = np.sort(np.concatenate([dates[name].fields for name in roles]))
    return StatementTimes(rows, first, last, is_point, edge, statement, shown)


class _Dates(NamedTuple):
    fields: Ints
    records: Ints
    first: Floats
    last: Floats


def _date_fields(records: RecordColumns, fields: Ints) -> Iterator[tuple[int, _Dates]]:
    """Yield the fields of statements whose texts are dates, with these."""
    for name in np.unique(records.name[fields]).tolist():
        own = fields[records.name[fields] == name]
        texts, place = np.unique(records.text[own], return_inverse=True)
        years = np.array([years_of(text) for text in records.texts.take(texts)])[place].reshape(-1, 2)
        known = np.isfinite(years[:, 0])
        if known.mean() >= _SHARE:
            yield name, _Dates(own[known], records.record[own[known]].astype(np.int64), *years[known].T)


def _roles(phrases: dict[int, str], dates: dict[int, _Dates]) -> dict[int, str]:
    """Return the role of each field of dates: start, end or point; those of a source have none.

    A vocabulary decides by its names. Else a date is a start, unless it lies after another date of each statement that
    has both.
    """
    known = {"start": _STARTS, "end": _ENDS, "point": _POINTS}
    named = {at: role for at, phrase in phrases.items() for role, names in known.items() if phrase in names}
    if named:
        return named
    roles = dict.fromkeys([at for at, phrase in phrases.items() if phrase not in _OF_SOURCES], "start")
    for one, other in permutations(roles, 2):
        common, a, b = np.intersect1d(dates[one].records, dates[other].records, return_indices=True)
        first, later = dates[one].first[a], dates[other].first[b]
        if len(common) and (first <= later).all() and (first < later).any():
            roles[other] = "" if _is_of_source(dates[one], dates[other]) else "end"
    return {at: role for at, role in roles.items() if role}


def _is_of_source(starts: _Dates, dates: _Dates) -> bool:
    """Return whether dates that follow others are not their ends: all are, close together, after the last beginning."""
    every = len(dates.records) >= max(_SEVERAL, len(starts.records))
    close = np.ptp(dates.first) <= _CLOSE * np.ptp(starts.first)
    return every and bool(close and dates.first.min() >= starts.first.max())


def _edges(columns: Columns, records: RecordColumns, rows: Ints) -> tuple[Ints, Ints]:
    """Return pairs of an edge and the place of a statement that it makes.

    Where a triple has as many edges as statements, they are paired in order; where it has more edges, some of them have
    no dates, and it holds always.
    """
    first = np.searchsorted(records.record, rows)
    number = {name: at for at, name in reversed(list(enumerate(columns.relations)))}
    texts, place = np.unique(records.text[first + 1], return_inverse=True)
    of_text = np.array([number.get(name, -1) for name in records.texts.take(texts)])
    stated = np.stack((records.node[first], of_text[place], records.node[first + 2])).astype(np.int64)
    canonical = np.array([number[name] for name in columns.relations] or [0])
    edges = np.flatnonzero(np.isin(columns.heads, records.node[first]))
    made = np.stack((columns.heads[edges], canonical[columns.relation[edges]], columns.tails[edges])).astype(np.int64)
    _, group = np.unique(np.concatenate((made, stated), axis=1), axis=1, return_inverse=True)
    of_edge, of_statement = group.ravel()[: len(edges)], group.ravel()[len(edges) :]
    counts = [np.bincount(own, minlength=len(group)) for own in (of_edge, of_statement)]
    pairs = []
    order, ordered = np.argsort(of_edge, kind="stable"), np.sort(of_edge)
    seen = _rank(of_statement)
    for at, own in enumerate(of_statement.tolist()):
        begin = int(np.searchsorted(ordered, own))
        if counts[0][own] == counts[1][own]:
            pairs.append((edges[order[begin + seen[at]]], at))
        elif counts[0][own] < counts[1][own]:
            pairs += [(edge, at) for edge in edges[order[begin : begin + counts[0][own]]]]
    table = np.array(pairs, np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _rank(groups: Ints) -> Ints:
    order = np.argsort(groups, kind="stable")
    rank = np.empty(len(groups), np.int64)
    rank[order] = np.arange(len(groups)) - np.searchsorted(groups[order], groups[order])
    return rank
