"""Queries over one table that a question may ask, enumerated from what it names (Pasupat and Liang 2015)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np

from graphwright.operators.query.execution import Execution, Result
from graphwright.operators.query.query import (
    Aggregate,
    Compare,
    Count,
    Counted,
    Difference,
    Either,
    Except,
    Exists,
    Extreme,
    Follow,
    Frequent,
    Has,
    Neighbour,
    OfType,
    Query,
    Step,
    Things,
    Where,
)
from graphwright.operators.query.table_links import Links, Table, span_bits
from graphwright.text.values import TEXT

_ORDERS: tuple[Literal[">", ">=", "<", "<="], ...] = (">", ">=", "<", "<=")
_CONDITIONS = 14
_COMPARISONS = 24


class Given(NamedTuple):
    """A condition of a query: its column, what links it to the question, and how well."""

    column: int
    kind: str
    bits: int
    share: float
    text: str


class Candidate(NamedTuple):
    """A query with what it gives and what it is made of.

    `operators`: the steps that it takes, outermost first. `answer`, `order`: the columns that it gives and orders by,
    -1 for none. `bits`: the words of the question that it explains by cells and amounts.
    """

    query: Query
    result: Result
    operators: tuple[str, ...]
    answer: int
    order: int
    given: tuple[Given, ...]
    bits: int


@dataclass(frozen=True, eq=False)
class _Rows:
    """A set of rows."""

    query: Things
    count: int
    operators: tuple[str, ...]
    given: tuple[Given, ...] = ()
    order: int = -1
    bits: int = 0


@dataclass(eq=False)
class Enumeration:
    """The candidates of one question over one table, in order of their size."""

    table: Table
    links: Links
    execution: Execution
    answers: int = 14
    """Columns that are asked for at most."""
    _all: _Rows = field(init=False)
    _single: list[_Rows] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._all = _Rows(OfType(self.table.type), self.table.rows, ("all",))

    def __iter__(self) -> Iterator[Candidate]:
        """Yield candidates that give something."""
        self._single = list(self._conditions())
        pairs = list(self._pairs())
        united = list(self._united())
        beyond = list(self._beyond())
        ordered = list(self._extremes([self._all, *self._single[:8], *united, *pairs[:4], *beyond[:4]]))
        top = list(self._counted_extremes())
        around = list(self._neighbours(ordered))
        others = [*self._excluded(), *self._alike(), *self._missing(), *beyond]
        yield from self._all_rows()
        for rows in (*self._single, *pairs, *united):
            yield from self._values(rows)
            yield from self._counts(rows)
            yield from self._sums(rows)
        for rows in top:
            yield from self._sums(rows)
        for rows in (*ordered, *top, *around, *others, *self._seconds()):
            yield from self._values(rows)
        for rows in others:
            yield from self._counts(rows)
        yield from self._frequent([self._all, *self._single[:8], *united])
        yield from self._differences()
        yield from self._often()
        yield from self._whether_more()
        for rows in pairs:
            yield self._candidate(Exists(rows.query), ("exists",), rows)

    # row sets

    def _rows(
        self, query: Things, operators: tuple[str, ...], given: tuple[Given, ...] = (), order: int = -1, bits: int = 0
    ) -> _Rows | None:
        count = len(self.execution.things(query))
        for part in given:
            bits |= part.bits
        return _Rows(query, count, operators, given, order, bits) if count else None

    def _where(self, rows: _Rows, condition: Compare, operator: str, given: Given) -> _Rows | None:
        operators = (operator, *(() if rows is self._all else rows.operators))
        return self._rows(Where(rows.query, condition), operators, (*rows.given, given))

    def _path(self, column: int) -> tuple[Step, ...]:
        return (Step(self.table.columns[column].name),)

    def _conditions(self) -> Iterator[_Rows]:
        """Yield the rows of each linked cell, then those that compare with an amount of the question."""
        rank = {"cell": 0, "number": 1, "part": 2, "like": 3}
        links = sorted(self.links.cells, key=lambda link: (link.start - link.end, rank[link.kind], link.share))
        known: set[tuple[int, int, int]] = set()
        for link in links[:_CONDITIONS]:
            condition = Compare(self._path(link.column), "=" if link.kind == "cell" else "contains", link.text)
            given = Given(link.column, link.kind, span_bits(link.start, link.end), link.share, link.text)
            if rows := self._where(self._all, condition, "is" if link.kind == "cell" else "has", given):
                known.add((link.column, link.start, link.end))
                yield rows
        yield from self._compared(known)

    def _compared(self, known: set[tuple[int, int, int]]) -> Iterator[_Rows]:
        left = _COMPARISONS
        for amount in self.links.amounts:
            bits = span_bits(amount.start, amount.end)
            for column, named in enumerate(self.table.columns):
                if left <= 0 or (named.kind == TEXT and max(named.numbers, named.dates) < 0.2):
                    continue
                for comparison in ("=", *_ORDERS):
                    if comparison == "=" and (column, amount.start, amount.end) in known:
                        continue
                    condition = Compare(self._path(column), comparison, amount.text)  # type: ignore[arg-type]
                    given = Given(column, "number" if comparison == "=" else comparison, bits, 0.0, amount.text)
                    operator = "is" if comparison == "=" else comparison
                    rows = self._where(self._all, condition, operator, given)
                    if rows and (rows.count < self.table.rows or comparison == "="):
                        left -= 1
                        yield rows

    def _pairs(self) -> Iterator[_Rows]:
        """Yield the rows that meet two conditions which different words of the question state."""
        made = 0
        for first, second in combinations(self._single[:24], 2):
            if first.bits & second.bits or made >= 24:
                continue
            one, other = first.given[0], second.given[0]
            if one.column == other.column and not {one.kind, other.kind} & set(_ORDERS):
                continue
            assert isinstance(second.query, Where)
            query = Where(first.query, second.query.condition)
            rows = self._rows(query, ("and", *first.operators, *second.operators), (one, other))
            if rows and rows.count < min(first.count, second.count):
                made += 1
                yield rows

    def _united(self) -> Iterator[_Rows]:
        """Yield the rows of two linked cells of one column."""
        cells = [rows for rows in self._single if rows.operators[0] in ("is", "has")]
        made = 0
        for first, second in combinations(cells, 2):
            one, other = first.given[0], second.given[0]
            if one.column != other.column or first.bits & second.bits or made >= 6:
                continue
            if rows := self._rows(Either(first.query, second.query), ("or", *first.operators), (one, other)):
                made += 1
                yield rows

    def _orderable(self) -> list[int]:
        return [i for i, column in enumerate(self.table.columns) if max(column.numbers, column.dates) >= 0.3]

    def _extremes(self, sets: list[_Rows]) -> Iterator[_Rows]:
        """Yield the rows with the largest or smallest value of a column, and the first and last rows."""
        for rows in sets:
            if rows.count < 2:
                continue
            for largest in (True, False):
                end = "last" if largest else "first"
                if chosen := self._ordered(rows, (), largest, 1, (end,), -1):
                    yield chosen
                for column in self._orderable():
                    operator = "max" if largest else "min"
                    if chosen := self._ordered(rows, self._path(column), largest, 1, (operator,), column):
                        yield chosen

    def _counted_extremes(self) -> Iterator[_Rows]:
        """Yield as many rows from an end of an order as the question says."""
        for amount in self.links.amounts:
            if amount.is_date or not 1 < amount.amount < self.table.rows or amount.amount % 1:
                continue
            bits, count = span_bits(amount.start, amount.end), int(amount.amount)
            for largest in (True, False):
                for column in (-1, *self._orderable()):
                    path = self._path(column) if column >= 0 else ()
                    operator = ("max" if largest else "min") if column >= 0 else ("last" if largest else "first")
                    if chosen := self._ordered(self._all, path, largest, count, ("top", operator), column, bits):
                        yield chosen

    def _ordered(
        self, rows: _Rows, path: tuple[Step, ...], largest: bool, count: int, operators: tuple[str, ...], order: int,
        bits: int = 0,
    ) -> _Rows | None:  # fmt: skip
        query = Extreme(rows.query, path, largest, count)
        chosen = self._rows(query, (*operators, *rows.operators), rows.given, order, bits | rows.bits)
        return chosen if chosen and chosen.count < rows.count else None

    def _linked(self, most: int, rows: int) -> list[_Rows]:
        """Return sets of at most `rows` rows that have a linked cell."""
        single = self._single[:most]
        return [r for r in single if r.operators[0] in ("is", "has") and r.count <= rows]

    def _beyond(self) -> Iterator[_Rows]:
        """Yield the rows whose value of a column is above or below that of a linked row, or that stand after it."""
        for rows in self._linked(5, 1):
            for column in (-1, *self._orderable()):
                for comparison, operator in ((">", "above"), ("<", "below")):
                    if column < 0:
                        condition = Compare((), comparison, rows.query)  # type: ignore[arg-type]
                        operator = "after" if comparison == ">" else "before"
                    else:
                        path = self._path(column)
                        condition = Compare(path, comparison, Follow(rows.query, path[0]))  # type: ignore[arg-type]
                    query = Where(self._all.query, condition)
                    if made := self._rows(query, (operator, *rows.operators), rows.given, column):
                        yield made

    def _missing(self) -> Iterator[_Rows]:
        """Yield the rows that lack a cell of a column."""
        for column, (said, bits) in enumerate(self.links.headers):
            if said >= 0.5:
                query = Where(self._all.query, Has(self._path(column), negated=True))
                if made := self._rows(query, ("missing",), (), column, bits):
                    yield made

    def _seconds(self) -> Iterator[_Rows]:
        """Yield the rows that are second in an order."""
        for column in (-1, *self._orderable()):
            path = self._path(column) if column >= 0 else ()
            for largest in (True, False):
                first, both = (Extreme(self._all.query, path, largest, count) for count in (1, 2))
                operator = ("max" if largest else "min") if column >= 0 else ("last" if largest else "first")
                if made := self._rows(Except(both, first), ("second", operator, "all"), (), column):
                    yield made

    def _whether_more(self) -> Iterator[Candidate]:
        """Yield whether one linked row has more, less or as much of a column as another."""
        rows = self._linked(8, 1)
        for first, second in combinations(rows, 2):
            if first.bits & second.bits or first.given[0].column != second.given[0].column:
                continue
            one, other = (first, second) if first.bits < second.bits else (second, first)
            for column in self._orderable():
                for comparison, operator in ((">", "above"), ("<", "below"), ("=", "equal")):
                    path = self._path(column)
                    condition = Compare(path, comparison, Follow(other.query, path[0]))  # type: ignore[arg-type]
                    query = Exists(Where(one.query, condition))
                    both = _Rows(one.query, 1, one.operators, one.given + other.given, column, one.bits | other.bits)
                    yield self._candidate(query, ("exists", operator), both)

    def _neighbours(self, ordered: list[_Rows]) -> Iterator[_Rows]:
        extremes = [rows for rows in ordered if rows.operators[1:] == ("all",) and rows.count == 1]
        for rows in (*self._single[:10], *extremes):
            if rows.operators[0] in ("is", "has", "max", "min", "first", "last") and rows.count <= 2:
                for offset in (1, -1):
                    operator = "next" if offset > 0 else "previous"
                    query = Neighbour(rows.query, offset)
                    if made := self._rows(query, (operator, *rows.operators), rows.given, rows.order):
                        yield made

    def _excluded(self) -> Iterator[_Rows]:
        """Yield the rows without a linked cell."""
        for rows in self._single[:8]:
            if rows.operators[0] in ("is", "has"):
                query = Except(self._all.query, rows.query)
                if made := self._rows(query, ("not", *rows.operators), rows.given):
                    yield made

    def _alike(self) -> Iterator[_Rows]:
        """Yield the other rows with the same cell of a column as a linked row."""
        for rows in self._linked(8, 2):
            for column, named in enumerate(self.table.columns):
                if column == rows.given[0].column or named.distinct > 0.9:
                    continue
                same = Compare(self._path(column), "=", Follow(rows.query, self._path(column)[0]))
                query = Except(Where(self._all.query, same), rows.query)
                if made := self._rows(query, ("alike", *rows.operators), rows.given, column):
                    yield made

    # what is asked of rows

    def _candidate(self, query: Query, operators: tuple[str, ...], rows: _Rows, answer: int = -1) -> Candidate:
        result = self.execution.result(query)
        return Candidate(query, result, (*operators, *rows.operators), answer, rows.order, rows.given, rows.bits)

    def _all_rows(self) -> Iterator[Candidate]:
        yield from self._counts(self._all)
        yield from self._sums(self._all)
        for column, named in enumerate(self.table.columns[: self.answers]):
            if named.distinct < 0.9:
                query = Follow(self._all.query, self._path(column)[0])
                yield self._candidate(query, ("list",), self._all, column)
                yield self._candidate(Count(query), ("count", "distinct"), self._all, column)

    def _values(self, rows: _Rows) -> Iterator[Candidate]:
        """Yield the cells of some rows in each column."""
        single = {part.column for part in rows.given if part.kind == "cell"} if len(rows.given) == 1 else set()
        direct = rows.operators[0] in ("is",)
        for column in range(min(len(self.table.columns), self.answers)):
            if direct and column in single:
                continue
            made = self._candidate(Follow(rows.query, self._path(column)[0]), ("value",), rows, column)
            if isinstance(made.result, np.ndarray) and len(made.result):
                yield made

    def _counts(self, rows: _Rows) -> Iterator[Candidate]:
        yield self._candidate(Count(rows.query), ("count",), rows)
        if rows.count < 2 or rows is self._all:
            return
        for column, (score, _) in enumerate(self.links.headers):
            if score >= 0.5 and self.table.columns[column].distinct < 0.95:
                query = Count(Follow(rows.query, self._path(column)[0]))
                yield self._candidate(query, ("count", "distinct"), rows, column)

    def _sums(self, rows: _Rows) -> Iterator[Candidate]:
        if rows.count < 2:
            return
        for column in self._orderable():
            if self.table.columns[column].numbers < 0.3:
                continue
            for function in ("sum", "mean"):
                query = Aggregate(function, rows.query, self._path(column))  # type: ignore[arg-type]
                made = self._candidate(query, (function,), rows, column)
                if made.result is not None:
                    yield made

    def _frequent(self, sets: list[_Rows]) -> Iterator[Candidate]:
        for rows in sets:
            if rows.count < 3 and "or" not in rows.operators:
                continue
            for column, named in enumerate(self.table.columns[: self.answers]):
                if named.distinct > 0.95:
                    continue
                for largest in (True, False) if rows is self._all or "or" in rows.operators else (True,):
                    query = Frequent(rows.query, self._path(column)[0], largest)
                    made = self._candidate(query, ("frequent" if largest else "rare",), rows, column)
                    if isinstance(made.result, np.ndarray) and 0 < len(made.result) <= 2:
                        yield made

    def _differences(self) -> Iterator[Candidate]:
        """Yield differences of the values or numbers of two linked sets of rows, and of a column's extremes."""
        cells = [rows for rows in self._single if rows.operators[0] in ("is", "has")][:10]
        for first, second in combinations(cells, 2):
            if first.bits & second.bits:
                continue
            both = _Rows(first.query, 2, ("or", *first.operators), first.given + second.given, -1, first.bits | second.bits)
            if first.given[0].column == second.given[0].column:
                query: Query = Difference(Count(first.query), Count(second.query))
                yield self._candidate(query, ("difference", "count"), both)
            if first.count > 1 or second.count > 1:
                continue
            for column in self._orderable():
                path = self._path(column)[0]
                query = Difference(Follow(first.query, path), Follow(second.query, path))
                made = self._candidate(query, ("difference", "value"), both, column)
                if made.result is not None:
                    yield made
        for column in self._orderable():
            largest, smallest = (Aggregate(f, self._all.query, self._path(column)) for f in ("max", "min"))  # type: ignore[arg-type]
            made = self._candidate(Difference(largest, smallest), ("difference", "extremes"), self._all, column)
            if made.result is not None:
                yield made

    def _often(self) -> Iterator[Candidate]:
        """Yield the cells that as many rows have as the question says, and their number."""
        for amount in self.links.amounts:
            if amount.is_date or not 1 <= amount.amount < self.table.rows or amount.amount % 1:
                continue
            bits = span_bits(amount.start, amount.end)
            rows = _Rows(self._all.query, self.table.rows, ("often",), (), -1, bits)
            for column, named in enumerate(self.table.columns[: self.answers]):
                if named.distinct > 0.9:
                    continue
                path = self._path(column)[0]
                for comparison in ("=", *_ORDERS):
                    condition = Counted((Step(path.relation, True),), comparison, int(amount.amount))  # type: ignore[arg-type]
                    query = Where(Follow(self._all.query, path), condition)
                    made = self._candidate(query, ("value", comparison), rows, column)
                    if isinstance(made.result, np.ndarray) and len(made.result):
                        yield made
                        yield self._candidate(Count(query), ("count", comparison), rows, column)
