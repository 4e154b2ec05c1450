"""Times of the statements of an imported graph and of rows of tables: from when to when each holds, by its dates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from itertools import permutations, product
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from graphwright.data.records.record import CLAUSE, DOCUMENT, MAIL, MESSAGE
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Columns, Graph
from graphwright.graph.records import STATEMENT, RecordColumns
from graphwright.search.relation_facts import relation_phrase
from graphwright.search.snapshot import Snapshot, per_snapshot
from graphwright.search.versions import years_of
from graphwright.text.dates import DAY, day_at
from graphwright.text.values import DATE, typed_values

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
_SAMPLE = 8  # texts of a field, of which one is a date where it is a field of dates
_EARLIEST = 1500  # year of a beginning in a table; numbers below are prices and sizes rather
_OF_KEY = 1.5  # rows with one key, on average, from which on they follow each other
_NO_ROWS = frozenset({STATEMENT, DOCUMENT, CLAUSE, MAIL, MESSAGE})
OPEN = {"<": "before", "<=": "until", ">=": "since", ">": "after"}  # what stands before a date for the time around it
_AS_PRECISE = 0.05  # years by which two spans differ, less than between a day and a month
_DAY = 0.002  # years, less than a day
_NONE = np.empty(0, np.int64)
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
_Times: TypeAlias = tuple[Ints, Floats, Floats, Bools, Bools, Ints]  # the first five of StatementTimes, and `fields`
_NO_TIMES: _Times = _NONE, np.empty(0), np.empty(0), np.empty(0, bool), np.empty(0, bool), _NONE


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
    """The times of s statements and rows of tables, in years; one without dates holds always.

    `records: int64[s]`: their records; `first`, `last: float64[s]`: from when to when each holds; `is_point: bool[s]`:
    it holds at one date; `is_followed: bool[s]`: until another takes its place. `edge`, `statement`: pairs of an edge
    and a statement that it makes. `fields: int64[d]`: the fields that are dates of statements, ascending. `tables`: of
    each type of rows the fields of their beginnings and ends; of the latter none where a row holds until the next.
    """

    records: Ints
    first: Floats
    last: Floats
    is_point: Bools
    is_followed: Bools
    edge: Ints
    statement: Ints
    fields: Ints
    tables: Mapping[str, tuple[str, ...]]

    def at(self, date: str) -> Bools:
        """Return which statements hold at some time of a date, or "now"; not those that others follow then."""
        first, last = period_of(date)
        replaced = self.is_followed & (self.first < first) & (self.last < last)
        return (self.first < last - _DAY) & (self.last > first + _DAY) & ~replaced

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

    def of_record(self, record: int) -> Ints:
        """Return the statement, or row, that a record is; none if it has no time."""
        return np.flatnonzero(self.records == record)

    def beside(self, statements: Ints) -> dict[str, str]:
        """Return the day "before" statements begin, and the day "after" they end; without one that has no date."""
        times = {"before": self.first[statements].min() - DAY / 2, "after": self.last[statements].max() + DAY / 2}
        return {word: day_at(years) for word, years in times.items() if np.isfinite(years)}

    def since(self, statements: Ints) -> float:
        """Return the latest beginning of statements, -inf where they have no dates."""
        return float(self.first[statements].max(initial=-np.inf))

    def label(self, records: RecordColumns, statements: Ints) -> str:
        """Return the dates of statements with the names of their fields."""
        return "; ".join(filter(None, (self._label(records, at) for at in statements.tolist())))

    def _label(self, records: RecordColumns, statement: int) -> str:
        first, last = np.searchsorted(records.record[self.fields], self.records[statement] + np.array((0, 1)))
        own = self.fields[first:last].tolist()
        names = (records.names[int(records.name[at])].replace("_", " ") for at in own)
        return ", ".join(f"{name} {records.texts[int(records.text[at])]}" for name, at in zip(names, own, strict=True))


def dated_relations(columns: Columns) -> frozenset[str]:
    """Return the relations of which some statement has dates."""
    times = statement_times_of(columns)
    edges = times.edge[(np.isfinite(times.first) | np.isfinite(times.last))[times.statement]]
    return frozenset(columns.relations[number] for number in np.unique(columns.relation[edges]).tolist())


def snapshot_as_of(snapshot: Snapshot, day: str) -> Snapshot:
    """Return a snapshot with the statements and rows that hold at a date; names and vectors of nodes stay."""
    columns = snapshot.graph.columns
    times = statement_times_of(columns)
    if not len(times.records) or columns.records is None:
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
def statement_times_of(columns: Columns) -> StatementTimes:
    """Return the times of the statements and rows of a snapshot."""
    records, edges, found, tables = columns.records, (_NONE, _NONE), [_NO_TIMES], dict[str, tuple[str, ...]]()
    if records is None:
        return StatementTimes(*_NO_TIMES[:5], *edges, fields=_NONE, tables=tables)
    types = np.where(records.is_copy, len(records.types), records.type)[records.record]
    fields, numbers = np.argsort(types, kind="stable"), np.arange(len(records.types) + 1)
    ends = np.searchsorted(types[fields], numbers)
    for number in sorted(numbers[:-1].tolist(), key=lambda own: records.types[own] != STATEMENT):
        own, name = fields[ends[number] : ends[number + 1]], records.types[number]
        if name == STATEMENT and (times := _of_statements(records, own, np.flatnonzero(records.type == number))):
            edges = _edges(columns, records, times[0])
            found.append(times)
        elif name not in _NO_ROWS and (of_rows := _of_rows(records, own)):
            tables[name] = of_rows[1]
            found.append(of_rows[0])
    rows, first, last, is_point, is_followed, dates = map(np.concatenate, zip(*found, strict=True))
    return StatementTimes(rows, first, last, is_point, is_followed, *edges, np.sort(dates), tables)


def _of_statements(records: RecordColumns, fields: Ints, rows: Ints) -> _Times | None:
    fields = fields[fields - np.searchsorted(records.record, records.record[fields]) >= _OWN]
    dates = dict(_date_fields(records, fields))
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
    return rows, first, last, is_point, np.zeros(len(rows), bool), np.concatenate([dates[n].fields for n in roles])


def _of_rows(records: RecordColumns, fields: Ints) -> tuple[_Times, tuple[str, ...]] | None:
    """Return the times of the rows of a table; None where none say when they hold.

    An end is a date as precise as the other, in no row before it, and that a row may lack. Of several pairs the one of
    neighbouring columns is taken, then that of the longest time. A day on which most rows end and others begin is no
    longer theirs. With one date alone, each row of a key holds until the next of it begins.
    """
    rows = np.unique(records.record[fields]).astype(np.int64)
    dates = dict(_date_fields(records, fields, 1)) if len(rows) > 1 else {}
    least = _SHARE * len(rows)
    starts = [name for name, own in dates.items() if len(own.first) >= least and own.first.min() >= _EARLIEST]
    if not starts:
        return None
    order = list(dict.fromkeys(records.name[fields].tolist()))
    pairs = list[tuple[bool, float, int, int]]()
    for start, end in product(starts, dates):
        _, a, b = np.intersect1d(dates[start].records, dates[end].records, return_indices=True)
        first, later = dates[start].first[a], dates[end].first[b]
        spans = (np.median(dates[name].last - dates[name].first) for name in (start, end))
        if len(a) and np.ptp([*spans]) < _AS_PRECISE and (first <= later).all() and (first < later).any():
            pairs.append((order.index(end) == order.index(start) + 1, float((later - first).mean()), start, end))
    start, *others = max(pairs)[2:] if pairs else starts
    first, last = np.full(len(rows), -np.inf), np.full(len(rows), np.inf)
    first[np.searchsorted(rows, dates[start].records)] = dates[start].first
    if pairs:
        own = dates[others[0]]
        at = np.searchsorted(rows, own.records)
        passed = np.isin(own.first, dates[start].first) & (own.last - own.first < 2 * _DAY) & (own.first > first[at])
        last[at] = np.where(passed & (passed.mean() > 0.5), own.first, own.last)
    else:
        keys = _keys(records, fields, rows, [name for name in order if name not in dates], first)
        if len(dates) > 1 or keys is None:
            return None
        by_key = np.lexsort((first, keys))
        is_next = keys[by_key[1:]] == keys[by_key[:-1]]
        last[by_key[:-1]] = np.where(is_next, first[by_key[1:]], np.inf)
    told = (start, *others)
    shown = np.concatenate([dates[name].fields for name in told])
    times = rows, first, last, np.zeros(len(rows), bool), np.full(len(rows), not pairs), shown
    return times, tuple(records.names[name] for name in told)


def _keys(records: RecordColumns, fields: Ints, rows: Ints, names: list[int], first: Floats) -> Ints | None:
    """Return the key of each row, if any: the fewest first texts of which no two rows begin at once, and several do."""
    keys = np.zeros(len(rows), np.int64)
    for name in names[:-1]:
        own, texts = fields[records.name[fields] == name], np.full(len(rows), -1, np.int64)
        texts[np.searchsorted(rows, records.record[own])] = records.text[own]
        keys = np.unique(np.stack((keys, texts)), axis=1, return_inverse=True)[1].ravel()
        if len(rows) < _OF_KEY * (keys.max() + 1):
            return None
        if np.unique(np.stack((keys, first)), axis=1).shape[1] == len(rows):
            return keys
    return None


class _Dates(NamedTuple):
    fields: Ints
    records: Ints
    first: Floats
    last: Floats


def _date_fields(records: RecordColumns, fields: Ints, others: int = 0) -> Iterator[tuple[int, _Dates]]:
    """Yield the fields of which most texts are dates, or all but so many different ones, such as "today"."""
    for name in np.unique(records.name[fields]).tolist():
        own = fields[records.name[fields] == name]
        texts, place = np.unique(records.text[own], return_inverse=True)
        read = records.texts.take(texts)
        if not np.isfinite([years_of(text)[0] for text in read[:: len(read) // _SAMPLE + 1]]).any():
            continue
        typed = typed_values(read)
        years = np.stack((typed.low, typed.high), axis=1)
        for at in np.flatnonzero(typed.kind != DATE).tolist():
            years[at] = years_of(read[at])
        known = np.isfinite(years[:, 0])
        if known[place].mean() >= _SHARE or len(known) - known.sum() <= others:
            own, dated = own[known[place]], years[place[known[place]]]
            yield name, _Dates(own, records.record[own].astype(np.int64), dated[:, 0], dated[:, 1])


def _roles(phrases: dict[int, str], dates: dict[int, _Dates]) -> dict[int, str]:
    """Return the role of each field of dates: start, end or point; those of a source have none.

    A vocabulary decides by its names. Else a date is a start, unless it lies after another of each statement.
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
