"""Sets of the rows of a table that a question may mean, by what it names: one condition, or two."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from graphwright.models.protocols import Floats
from graphwright.operators.query import query as q
from graphwright.operators.query.execution import Execution
from graphwright.operators.query.query import Both, Either, Except, Exists, Things, Where
from graphwright.operators.query.tables.columns import Table
from graphwright.operators.query.tables.links import Links, all_bits, span_bits
from graphwright.text.dates import month_of
from graphwright.text.values import DATE, NUMBER, TEXT

ORDERS: tuple[q.Comparison, ...] = (">", ">=", "<", "<=")
_BEYOND: tuple[tuple[q.Comparison, str, str], ...] = ((">", "above", "after"), ("<", "below", "before"))
_EQUAL_OR_ORDERED: tuple[q.Comparison, ...] = ("=", *ORDERS)
_RANKS = {2: "second", 3: "third"}
_CONDITIONS = 14
_ORDERS_OF_PART = 2
_COMPARISONS = 24
_SAID = 0.4  # share of the name of a column of few values that a question says where it asks for it
_UNSAID = 8  # conditions on columns of few values whose name is not said
_RELATED = 3  # pairs of columns that are compared with each other


class Given(NamedTuple):
    """A condition of a query: its column, what links it to the question, and how well.

    Of two columns that are compared both are given, of the kind "field"; `share` tells how near they are in size.
    """

    column: int
    kind: str
    bits: int
    share: float
    text: str


@dataclass(frozen=True, eq=False)
class Rows:
    """A set of rows: its query, number of rows, and what it is made of, as a Candidate has it."""

    query: q.Things
    count: int
    operators: tuple[str, ...]
    given: tuple[Given, ...] = ()
    order: int = -1
    bits: int = 0

    @property
    def is_linked(self) -> bool:
        """Whether they have a linked cell."""
        return self.operators[0] in ("is", "has")


@dataclass(eq=False)
class RowSets:
    """The sets of rows of one table that a question may mean, in order of their size."""

    table: Table
    links: Links
    execution: Execution
    relevance: Floats  # how near each column is to the question: float32[columns]
    holding: q.Things | None = None  # the rows that are asked for, of those that hold for a time; None for all
    all: Rows = field(init=False)
    single: list[Rows] = field(init=False)  # those of one condition
    empty: list[Rows] = field(init=False)  # of one comparison, or at a date with a cell, that no row meets
    column_pairs: list[tuple[Given, Given]] = field(init=False)  # columns that the question may compare
    related: list[Rows] = field(init=False)  # those whose value of a column compares with that of another, even none

    def __post_init__(self) -> None:
        rows = self.holding or q.OfType(self.table.type)
        self.all = Rows(rows, len(self.execution.things(rows)), ("all",))
        self.empty = []
        self.single = list(self._conditions())
        self.column_pairs = self._column_pairs()
        self.related = [rows for pair in self.column_pairs for rows in self._related(*pair)]

    def made(
        self, query: q.Things, operators: tuple[str, ...], given: tuple[Given, ...] = (), order: int = -1, bits: int = 0
    ) -> Rows | None:
        """Return the rows of a query, None if there are none."""
        bits = all_bits((bits, *(part.bits for part in given)))
        rows = Rows(query, len(self.execution.things(query)), operators, given, order, bits)
        return rows if rows.count else None

    def _where(self, condition: q.Compare, operator: str, given: Given) -> Rows:
        query = q.Where(self.all.query, condition)
        return Rows(query, len(self.execution.things(query)), (operator,), (given,), -1, given.bits)

    def path(self, column: int) -> q.Path:
        """Return the path to the cells of a column."""
        return self.table.columns[column].path

    def values(self, things: q.Things, column: int) -> q.Things:
        """Return the query for the cells of some rows in a column."""
        for step in self.path(column):
            things = q.Follow(things, step)
        return things

    def _conditions(self) -> Iterator[Rows]:
        """Yield the rows of each linked cell, then those that compare with an amount of the question."""
        rank = {"cell": 0, "number": 1, "part": 2, "like": 3}
        links = sorted(self.links.cells, key=lambda link: (link.start - link.end, rank[link.kind], link.share))
        known: set[tuple[int, int, int]] = set()
        for link in links[:_CONDITIONS]:
            is_whole = link.kind == "cell" and not self.table.columns[link.column].lists
            condition = q.Compare(self.path(link.column), "=" if is_whole else "contains", link.text)
            given = Given(link.column, link.kind, link.bits, link.share, link.text)
            rows = self._where(condition, "is" if link.kind == "cell" else "has", given)
            if rows.count:
                known.add((link.column, link.start, link.end))
                yield rows
            elif self.holding:
                self.empty.append(rows)
        said = [score >= _SAID for score, _ in self.links.headers]
        flags = [rows for rows in self._flagged() if rows.given[0].column not in {column for column, *_ in known}]
        yield from (rows for rows in flags if said[rows.given[0].column])
        yield from self._in_month()
        yield from self._compared(known)
        yield from [rows for rows in flags if not said[rows.given[0].column]][:_UNSAID]

    def _flagged(self) -> Iterator[Rows]:
        """Yield rows by values of columns of few values, with or without one; of columns that are named first."""
        for _, at in sorted((-score, at) for at, (score, _) in enumerate(self.links.headers)):
            column, (score, bits) = self.table.columns[at], self.links.headers[at]
            path = self.path(at)
            conditions: list[tuple[str, str, q.Condition]] = []
            if 1 < len(column.values) < self.table.rows:
                conditions += [("flag", value, q.Compare(path, "=", value)) for value in column.values]
            elif column.kind == NUMBER and score >= _SAID:
                conditions += [("flag", "0", q.Compare(path, "=", "0")), ("flag", "> 0", q.Compare(path, ">", "0"))]
            if column.missing > 0:
                conditions += [("missing", "", q.Has(path, negated=True)), ("filled", "", q.Has(path))]
            for operator, text, condition in conditions:
                given = Given(at, "flag", bits if score >= _SAID else 0, 0.0, text)
                rows = self.made(q.Where(self.all.query, condition), (operator,), (given,))
                if rows and rows.count < self.table.rows:
                    yield rows

    def _in_month(self) -> Iterator[Rows]:
        """Yield the rows with a date in a month that the question names without a year, or on a day of it."""
        for at, word in enumerate(self.links.words):
            number = month_of(word.text)
            named = [(amount.start, amount.end) for amount in self.links.amounts]
            named += [(link.start, link.end) for link in self.links.cells if link.kind in ("cell", "part")]
            if not number or any(start <= at < end for start, end in named):
                continue
            days = [word.text for word in self.links.words[at + 1 : at + 2] if word.text.isdecimal()]
            text = f"{number:02d}-{int(days[0]):02d}" if days and 0 < int(days[0]) < 32 else f"{number:02d}"
            for column, kind in enumerate(self.table.columns):
                if kind.kind == DATE and (query := self._every_year(column, text)):
                    given = Given(column, "part", span_bits(at, at + 1), 0.0, text)
                    if rows := self.made(query, ("has",), (given,)):
                        yield rows

    def _every_year(self, column: int, text: str) -> q.Things | None:
        """Return the query for the rows with a date in a month, or on a day, of any of the years of a column."""
        amounts = self.execution.amounts(self.all.query, self.path(column))[1]
        years = np.unique(np.floor(amounts.low)).astype(int).tolist()
        wheres = [
            q.Where(self.all.query, q.Compare(self.path(column), "=", f"{year:04d}-{text}")) for year in years[-12:]
        ]
        found: list[q.Things] = [where for where in wheres if len(self.execution.things(where))]
        return reduce(q.Either, found) if found else None

    def _compared(self, known: set[tuple[int, int, int]]) -> Iterator[Rows]:
        left = _COMPARISONS
        for amount in self.links.amounts:
            for column, named in enumerate(self.table.columns):
                if left <= 0 or (named.kind == TEXT and max(named.numbers, named.dates) < 0.2):
                    continue
                for comparison in _EQUAL_OR_ORDERED:
                    if comparison == "=" and (column, amount.start, amount.end) in known:
                        continue
                    condition = q.Compare(self.path(column), comparison, amount.text)
                    given = Given(column, "number" if comparison == "=" else comparison, amount.bits, 0.0, amount.text)
                    operator = "is" if comparison == "=" else comparison
                    rows = self._where(condition, operator, given)
                    if not rows.count:
                        self.empty.append(rows)
                    elif rows.count < self.table.rows or comparison == "=":
                        left -= 1
                        yield rows

    def _column_pairs(self) -> list[tuple[Given, Given]]:
        """Return the pairs of columns of numbers, or of dates, nearest to the question; of each the last named last.

        "More spent than the budget" compares what is spent with the budget, and "over budget" something with it.
        """
        columns = self.table.columns
        own = [
            Given(at, "field", bits if score >= _SAID else 0, 0.0, "")
            for at, (score, bits) in enumerate(self.links.headers)
            if columns[at].kind != TEXT and not columns[at].is_joined
        ]
        found = [pair for pair in combinations(own, 2) if len({columns[part.column].kind for part in pair}) == 1]
        near = {pair: 1 / (1 + abs(self._size(pair[0].column) - self._size(pair[1].column))) for pair in found}
        found.sort(key=lambda pair: -near[pair] - sum(float(self.relevance[part.column]) for part in pair))
        pairs = []
        for one, other in found[:_RELATED]:
            first, last = sorted((one, other), key=lambda part: part.bits)
            pairs.append((first._replace(share=near[one, other]), last._replace(share=near[one, other])))
        return pairs

    def _size(self, column: int) -> float:
        """Return the decimal logarithm of the median of a column."""
        amounts = self.execution.amounts(self.all.query, self.path(column))[1].low
        return math.log10(max(abs(float(np.median(amounts))), 1e-3)) if len(amounts) else 0.0

    def _related(self, one: Given, other: Given) -> Iterator[Rows]:
        for comparison in _EQUAL_OR_ORDERED:
            condition = q.Fields(self.path(one.column), comparison, self.path(other.column))
            query = q.Where(self.all.query, condition)
            count = len(self.execution.things(query))
            yield Rows(query, count, (f"field {comparison}",), (one, other), -1, one.bits | other.bits)

    def orderable(self) -> list[int]:
        """Return the columns of numbers or dates."""
        return [i for i, column in enumerate(self.table.columns) if max(column.numbers, column.dates) >= 0.3]

    def nearest(self, columns: Sequence[int], most: int) -> list[int]:
        """Return those of some columns that are nearest to the question, the nearest first."""
        return sorted(columns, key=lambda column: -self.relevance[column])[:most]

    def _orders(self, rows: Rows) -> Iterator[tuple[q.Path, int, str, bool]]:
        """Yield orders: path, column or -1, name, whether it falls; of parts, by columns near to the question."""
        columns = self.orderable() if rows is self.all else self.nearest(self.orderable(), _ORDERS_OF_PART)
        for largest in (True, False):
            yield (), -1, "last" if largest else "first", largest
            for column in columns:
                yield self.path(column), column, "max" if largest else "min", largest

    def extremes(self, sets: list[Rows]) -> Iterator[Rows]:
        """Yield the rows with the largest or smallest value of a column, and the first and last rows."""
        for rows in sets:
            for path, column, operator, largest in self._orders(rows) if rows.count > 1 else ():
                if chosen := self._ordered(rows, path, largest, 1, (operator,), column):
                    yield chosen

    def counted_extremes(self, sets: list[Rows]) -> Iterator[Rows]:
        """Yield as many rows from an end of an order as the question says."""
        counts = [(int(a.amount), a.bits) for a in self.links.amounts if a.amount in range(2, 1000)]
        for rows, (count, bits) in product(sets, counts):
            for path, column, operator, largest in self._orders(rows) if not rows.bits & bits else ():
                if chosen := self._ordered(rows, path, largest, count, ("top", operator), column, bits):
                    yield chosen

    def _ordered(
        self, rows: Rows, path: q.Path, largest: bool, count: int, operators: tuple[str, ...], order: int,
        bits: int = 0,
    ) -> Rows | None:  # fmt: skip
        query = q.Extreme(rows.query, path, largest, count)
        chosen = self.made(query, (*operators, *rows.operators), rows.given, order, bits | rows.bits)
        return chosen if chosen and chosen.count < rows.count else None

    def linked(self, most: int, rows: int) -> list[Rows]:
        """Return sets of at most `rows` rows that have a linked cell."""
        return [r for r in self.single[:most] if r.is_linked and r.count <= rows]

    def beyond(self) -> Iterator[Rows]:
        """Yield the rows whose value of a column is above or below that of a linked row, or that stand after it."""
        for rows in self.linked(5, 1):
            for column in (-1, *self.orderable()):
                for comparison, *operators in _BEYOND:
                    path = self.path(column) if column >= 0 else ()
                    value = self.values(rows.query, column) if path else rows.query
                    condition, operator = q.Compare(path, comparison, value), operators[column < 0]
                    query = q.Where(self.all.query, condition)
                    if made := self.made(query, (operator, *rows.operators), rows.given, column):
                        yield made

    def ranked(self, sets: list[Rows]) -> Iterator[Rows]:
        """Yield the rows that are second or third in an order, or at the place that the question says."""
        said = {int(a.amount): a.bits for a in self.links.amounts if a.amount in range(4, 32)}
        for rows, (rank, bits) in product(sets, {2: 0, 3: 0, **said}.items()):
            if rank > rows.count or rows.bits & bits:
                continue
            for path, column, operator, largest in self._orders(rows):
                query = q.Extreme(rows.query, path, largest, rank, is_rank=True)
                operators = (_RANKS.get(rank, "rank"), operator, *rows.operators)
                if made := self.made(query, operators, rows.given, column, bits | rows.bits):
                    yield made

    def neighbours(self, ordered: list[Rows]) -> Iterator[Rows]:
        """Yield the rows after and before linked rows, and after and before those at an end of an order."""
        extremes = [rows for rows in ordered if rows.operators[1:] == ("all",) and rows.count == 1]
        for rows in (*self.single[:10], *extremes):
            if rows.operators[0] in ("is", "has", "max", "min", "first", "last") and rows.count <= 2:
                for offset in (1, -1):
                    operator = "next" if offset > 0 else "previous"
                    query = q.Neighbour(rows.query, offset)
                    if made := self.made(query, (operator, *rows.operators), rows.given, rows.order):
                        yield made

    def excluded(self) -> Iterator[Rows]:
        """Yield the rows without a linked cell."""
        for rows in self.single[:8]:
            if rows.is_linked:
                query = q.Except(self.all.query, rows.query)
                if made := self.made(query, ("not", *rows.operators), rows.given):
                    yield made

    def alike(self) -> Iterator[Rows]:
        """Yield the other rows with the same cell of a column as a linked row."""
        for rows in self.linked(8, 2):
            for column, named in enumerate(self.table.columns):
                if column == rows.given[0].column or named.distinct > 0.9:
                    continue
                same = q.Compare(self.path(column), "=", self.values(rows.query, column))
                query = q.Except(q.Where(self.all.query, same), rows.query)
                if made := self.made(query, ("alike", *rows.operators), rows.given, column):
                    yield made


_PAIRS = 24
_AGREEING = 6
_EVERY = 12
_WITHOUT = 10
_UNIONS = 6
_FLAGS = 4
_LINKED = 3  # linked cells with which comparisons of two columns are combined


def _both(first: Rows, second: Rows) -> Things:
    """Return the query for the rows that are in both of two sets."""
    if isinstance(second.query, Where):
        return Where(first.query, second.query.condition)
    return Both(first.query, second.query)


def pairs(sets: RowSets) -> Iterator[Rows]:
    """Yield the rows that meet two conditions which different words of the question state.

    Of two cells that are in the same rows both are conditions too, for a query that leaves neither unexplained.
    """
    count, agreeing = 0, 0
    for first, second in combinations(sets.single[:24], 2):
        if first.bits & second.bits or count >= _PAIRS:
            continue
        one, other = first.given[0], second.given[0]
        if one.column == other.column and not {one.kind, other.kind} & set(ORDERS):
            continue
        rows = sets.made(_both(first, second), ("and", *first.operators, *second.operators), (one, other))
        if rows and rows.count < min(first.count, second.count):
            count += 1
            yield rows
        elif rows and agreeing < _AGREEING and {one.kind, other.kind} <= {"cell", "part"}:
            agreeing += 1
            yield rows


def checks(sets: RowSets) -> Iterator[Rows]:
    """Yield the rows, perhaps none, that have a linked cell and meet another condition, and perhaps a third.

    The third is the value of a column of few values, of rows with two linked cells ("Did Ada pay for the course?").
    """
    made: list[Rows] = []
    for first in sets.linked(8, sets.table.rows):
        for second in sets.single[:24]:
            apart = not first.bits & second.bits and first.given[0].column != second.given[0].column
            if apart and len(made) < _PAIRS and first.given[0].kind in ("cell", "part"):
                made.append(_checked(sets, first, second))
    yield from made
    flags = [rows for rows in sets.single if rows.given[0].kind == "flag" and rows.bits][:_FLAGS]
    for both in [rows for rows in made if {part.kind for part in rows.given} <= {"cell", "part"}][:_AGREEING]:
        columns = {part.column for part in both.given}
        yield from (_checked(sets, both, flag) for flag in flags if flag.given[0].column not in columns)


def _checked(sets: RowSets, first: Rows, second: Rows) -> Rows:
    query = _both(first, second)
    operators = ("and", *first.operators, *second.operators)
    found = len(sets.execution.things(query))
    return Rows(query, found, operators, first.given + second.given, -1, first.bits | second.bits)


def related(sets: RowSets) -> Iterator[Rows]:
    """Yield the rows, perhaps none, whose columns compare; and of these those with a linked cell."""
    yield from sets.related
    for first in sets.linked(_LINKED, sets.table.rows):
        for second in sets.related:
            if not first.bits & second.bits:
                yield _checked(sets, first, second)


def every(sets: RowSets) -> Iterator[tuple[Rows, Exists]]:
    """Yield conditions with the query whether they hold for all rows, or for all with a linked cell."""
    whole = [(sets.all, rows) for rows in sets.single if isinstance(rows.query, Where)]
    parts = [
        (first, second)
        for first in sets.linked(6, sets.table.rows)
        for second in sets.single[:24]
        if not first.bits & second.bits and first.given[0].column != second.given[0].column
    ]
    related = [(sets.all, rows) for rows in sets.related]
    for first, second in (*whole[:_EVERY], *parts[:_EVERY], *related):
        fail: Things = Except(first.query, second.query)
        if isinstance(second.query, Where) and (condition := opposite(second.query.condition)):
            fail = Where(first.query, condition)
        operators = (*second.operators, *(() if first is sets.all else first.operators))
        given, bits = second.given + first.given, first.bits | second.bits
        yield Rows(first.query, first.count, operators, given, -1, bits), Exists(fail, negated=True)


def opposite(condition: q.Condition) -> q.Condition | None:
    """Return the condition that holds for the values that fail another; None where no one condition does."""
    if isinstance(condition, q.Has):
        return q.Has(condition.path, not condition.negated)
    if isinstance(condition, q.Compare) and condition.comparison in q.OPPOSITES:
        return q.Compare(condition.path, q.OPPOSITES[condition.comparison], condition.value)
    if isinstance(condition, q.Fields) and condition.comparison in q.OPPOSITES:
        return q.Fields(condition.path, q.OPPOSITES[condition.comparison], condition.other)
    return None


def without(sets: RowSets) -> Iterator[Rows]:
    """Yield the rows that meet one condition and lack a linked cell."""
    count = 0
    for first in sets.single[:10]:
        for second in sets.single[:10]:
            if not second.is_linked or first.bits & second.bits or count >= _WITHOUT:
                continue
            operators = ("and", *first.operators, "not", *second.operators)
            rows = sets.made(Except(first.query, second.query), operators, first.given + second.given)
            if rows and rows.count < first.count:
                count += 1
                yield rows


def united(sets: RowSets) -> Iterator[Rows]:
    """Yield the rows of two linked cells of one column."""
    cells = [rows for rows in sets.single if rows.is_linked]
    count = 0
    for first, second in combinations(cells, 2):
        one, other = first.given[0], second.given[0]
        if one.column != other.column or first.bits & second.bits or count >= _UNIONS:
            continue
        if rows := sets.made(Either(first.query, second.query), ("or", *first.operators), (one, other)):
            count += 1
            yield rows
