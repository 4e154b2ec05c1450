"""Queries over one table that a question may ask, enumerated from what it names (Pasupat and Liang 2015)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import Literal, NamedTuple

import numpy as np

from graphwright.operators.query import query as q
from graphwright.operators.query.execution import Result
from graphwright.operators.query.tables import rows as combined
from graphwright.operators.query.tables.columns import Cells, Column
from graphwright.operators.query.tables.rows import ORDERS, Given, Rows, RowSets

_FUNCTIONS: tuple[Literal["sum", "mean"], ...] = ("sum", "mean")
_ENDS: tuple[Literal["min", "max"], ...] = ("max", "min")
_EMPTY = 24  # comparisons that no row meets
_OF_PART = 3  # columns that are asked for of the rows that meet a condition and are first in an order, or the like
_OF_RELATED = 5  # columns that are asked for of the rows whose columns compare
_COUNTED: tuple[q.Comparison, ...] = ("=", *ORDERS)
_RELATIVE: tuple[tuple[q.Comparison, str], ...] = ((">", "above"), ("<", "below"), ("=", "equal"))


class Candidate(NamedTuple):
    """A query with what it gives and what it is made of.

    `operators`: the steps that it takes, outermost first. `answer`, `order`: the columns that it gives and orders by,
    -1 for none. `bits`: the words of the question that it explains by cells and amounts.
    """

    query: q.Query
    result: Result
    operators: tuple[str, ...]
    answer: int
    order: int
    given: tuple[Given, ...]
    bits: int

    @property
    def columns(self) -> set[int]:
        """The columns that it gives, orders by or compares."""
        return {self.answer, self.order, *(part.column for part in self.given)} - {-1}

    @property
    def gives(self) -> bool:
        """Whether it gives a value, or some things."""
        return len(self.result) > 0 if isinstance(self.result, np.ndarray) else self.result is not None


@dataclass(eq=False)
class Enumeration:
    """The candidates of one question over one table, in order of their size."""

    sets: RowSets
    answers: int = 14  # columns that are asked for at most
    tables: frozenset[str] = frozenset()  # the types of the tables that are asked too

    @cached_property
    def _columns(self) -> list[tuple[int, Column]]:
        return [(at, c) for at, c in enumerate(self.sets.table.columns) if not c.is_prose][: self.answers]

    def __iter__(self) -> Iterator[Candidate]:
        """Yield candidates that give something."""
        wanted = (own for own in self._enumerated() if own.gives)
        kept = (own for own in wanted if not self._is_of_another(own) and self._is_of_one_group(own))
        return (own for own in kept if not self._is_by_any_way(own))

    def _is_by_any_way(self, candidate: Candidate) -> bool:
        """Return whether a column of another table is reached by one of several ways, which the question does not say.

        So each day of a timetable leads to the table of teachers.
        """
        ways = [self._leads[at][1] for at in candidate.columns if self.sets.table.columns[at].has_other_ways]
        return any(not self.sets.links.headers[way][1] for way in ways)

    def _is_of_one_group(self, candidate: Candidate) -> bool:
        """Return whether the columns of a candidate share rows, else what it gives follows from names alone."""
        return len({self.sets.table.columns[column].group for column in candidate.columns}) < 2

    def _is_of_another(self, candidate: Candidate) -> bool:
        """Return whether the columns of a candidate all stand in another table that is asked too.

        The own column that leads there is one of them: its cells are those of a column there. So is a column that the
        question does not say, if the own column has the cells that the candidate has of it.
        """
        given, columns = {part.column for part in candidate.given}, candidate.columns
        leads = {self._leads[column] for column in columns if column in self._leads}
        if len(leads) != 1 or {candidate.answer, candidate.order} == {-1}:
            return False
        (table, key), *_ = leads
        there = {key, *(c for c, lead in self._leads.items() if lead == (table, key))}
        links, own = self.sets.links, columns - there
        if candidate.answer in there and own <= given and not any(links.headers[at][1] for at in own):
            bits = {link.bits for link in links.cells if (link.column, link.kind) == (key, "cell")}
            own = {x.column for x in candidate.given if x.column in own and (x.bits not in bits or links.type[1])}
        return table in self.tables and not own

    @cached_property
    def _leads(self) -> dict[int, tuple[str, int]]:
        table = self.sets.table
        return {at: table.leads_to(at) for at, column in enumerate(table.columns) if column.is_joined}

    def _enumerated(self) -> Iterator[Candidate]:
        pairs = list(combined.pairs(self.sets))
        united = list(combined.united(self.sets))
        beyond = list(self.sets.beyond())
        ordered = list(self.sets.extremes([self.sets.all, *self.sets.single[:8], *united, *pairs[:4], *beyond[:4]]))
        ranked = list(self.sets.ranked([self.sets.all, *self.sets.single[:8], *pairs[:4]]))
        top = list(self.sets.counted_extremes([self.sets.all, *self.sets.single[:8], *pairs[:4]]))
        around = list(self.sets.neighbours(ordered))
        others = [*self.sets.excluded(), *combined.without(self.sets), *self.sets.alike(), *beyond]
        yield from self._all_rows()
        for rows in (*self.sets.single, *pairs, *united):
            yield from self._values(rows)
            yield from self._counts(rows)
            yield from self._sums(rows)
        for rows in top:
            yield from self._sums(rows)
        for rows in (*ordered, *top, *around, *others):
            yield from self._values(rows, _OF_PART if rows.given else self.answers)
        for rows in ranked:
            yield from self._values(rows, _OF_PART)
        for rows in others:
            yield from self._counts(rows)
            yield from self._sums(rows)
        yield from self._frequent([self.sets.all, *self.sets.single[:8], *united])
        yield from self._never()
        yield from self._differences()
        yield from self._often()
        yield from self._whether_more()
        yield from self._related()
        for rows in (*combined.checks(self.sets), *self.sets.single, *self.sets.empty[:_EMPTY]):
            yield self._candidate(q.Exists(rows.query), ("exists",), rows)
            if not rows.count:
                yield self._candidate(q.Count(rows.query), ("count",), rows)
        for rows, query in combined.every(self.sets):
            yield self._candidate(query, ("every",), rows)

    def _related(self) -> Iterator[Candidate]:
        """Yield what is asked of the rows of which two columns compare."""
        for rows in combined.related(self.sets):
            if rows.count:
                yield from self._values(rows, _OF_RELATED)
            yield self._candidate(q.Count(rows.query), ("count",), rows)
            yield self._candidate(q.Exists(rows.query), ("exists",), rows)

    def _candidate(self, query: q.Query, operators: tuple[str, ...], rows: Rows, answer: int = -1) -> Candidate:
        return self._made(query, self.sets.execution.result(query), operators, rows, answer)

    def _made(self, query: q.Query, result: Result, operators: tuple[str, ...], rows: Rows, answer: int) -> Candidate:
        return Candidate(query, result, (*operators, *rows.operators), answer, rows.order, rows.given, rows.bits)

    def _all_rows(self) -> Iterator[Candidate]:
        if self.sets.all.count == 1:  # an object such as the settings of a file: nothing to count or compare
            yield from self._values(self.sets.all)
            return
        yield from self._counts(self.sets.all)
        yield from self._sums(self.sets.all)
        for column, named in self._columns:
            if named.distinct < 0.9:
                query = self.sets.values(self.sets.all.query, column)
                made = self._candidate(query, ("list",), self.sets.all, column)
                if made.gives:
                    yield made
                    yield self._candidate(q.Count(query), ("count", "distinct"), self.sets.all, column)

    def _values(self, rows: Rows, most: int | None = None) -> Iterator[Candidate]:
        """Yield the cells of some rows in each column, or in the first and in those nearest to the question."""
        single = {part.column for part in rows.given if part.kind == "cell"} if len(rows.given) == 1 else set()
        direct = rows.operators[0] in ("is",)
        places = self._cells.places(self.sets.execution.things(rows.query))
        columns = [column for column, _ in self._columns]
        for column in dict.fromkeys([*columns[:1], *self.sets.nearest(columns, most or len(columns))]):
            if direct and column in single:
                continue
            query = self.sets.values(rows.query, column)
            cells = None if places is None else self._cells.distinct(places, column)
            result = self.sets.execution.result(query) if cells is None else cells
            yield self._made(query, result, ("value",), rows, column)

    @cached_property
    def _cells(self) -> Cells:
        rows = self.sets.execution.things(q.OfType(self.sets.table.type))
        return Cells.of(self.sets.execution.facts, self.sets.table, rows)

    def _counts(self, rows: Rows) -> Iterator[Candidate]:
        yield self._candidate(q.Count(rows.query), ("count",), rows)
        if rows.count < 2 or rows is self.sets.all:
            return
        for column, (score, _) in enumerate(self.sets.links.headers):
            if score >= 0.5 and self.sets.table.columns[column].distinct < 0.95:
                query = q.Count(self.sets.values(rows.query, column))
                yield self._candidate(query, ("count", "distinct"), rows, column)

    def _sums(self, rows: Rows) -> Iterator[Candidate]:
        if rows.count < 2:
            return
        for column in self.sets.orderable():
            if self.sets.table.columns[column].numbers < 0.3:
                continue
            for function in _FUNCTIONS:
                query = q.Aggregate(function, rows.query, self.sets.path(column))
                yield self._candidate(query, (function,), rows, column)

    def _frequent(self, sets: list[Rows]) -> Iterator[Candidate]:
        for rows in sets:
            if rows.count < 3 and "or" not in rows.operators:
                continue
            for column, named in self._columns:
                if named.distinct > 0.95 or named.is_joined:
                    continue
                for largest in (True, False) if rows is self.sets.all or "or" in rows.operators else (True,):
                    query = q.Frequent(rows.query, self.sets.path(column)[0], largest)
                    made = self._candidate(query, ("frequent" if largest else "rare",), rows, column)
                    if isinstance(made.result, np.ndarray) and 0 < len(made.result) <= 2:
                        yield made

    def _never(self) -> Iterator[Candidate]:
        """Yield the cells of a column that no row with a linked cell has."""
        for rows in self.sets.linked(8, self.sets.table.rows - 1):
            for column, named in self._columns:
                if named.distinct > 0.9 or column == rows.given[0].column:
                    continue
                every, own = (self.sets.values(things, column) for things in (self.sets.all.query, rows.query))
                yield self._candidate(q.Except(every, own), ("never",), rows, column)

    def _differences(self) -> Iterator[Candidate]:
        """Yield differences of the values or counts of two linked sets of different rows; of largest and smallest."""
        cells = [rows for rows in self.sets.single if rows.is_linked][:10]
        found = [(rows, {*self.sets.execution.things(rows.query).tolist()}) for rows in cells]
        for (first, things), (second, others) in combinations(found, 2):
            if first.bits & second.bits or not things.isdisjoint(others):
                continue
            both = Rows(
                first.query, 2, ("or", *first.operators), first.given + second.given, -1, first.bits | second.bits
            )
            if first.given[0].column == second.given[0].column:
                query: q.Query = q.Difference(q.Count(first.query), q.Count(second.query))
                yield self._candidate(query, ("difference", "count"), both)
            if first.count > 1 or second.count > 1:
                continue
            for column in self.sets.orderable():
                query = q.Difference(*(self.sets.values(rows.query, column) for rows in (first, second)))
                yield self._candidate(query, ("difference", "value"), both, column)
        named = [pair for pair in self.sets.column_pairs if pair[1].bits]
        for rows, (one, other) in product(self.sets.linked(_OF_PART, 1), named):
            query = q.Difference(*(self.sets.values(rows.query, part.column) for part in (one, other)))
            given, bits = (*rows.given, one, other), rows.bits | one.bits | other.bits
            apart = Rows(rows.query, 1, rows.operators, given, -1, bits)
            yield self._candidate(query, ("difference", "fields"), apart, one.column)
        for column in self.sets.orderable() if self.sets.all.count > 1 else ():
            largest, smallest = (q.Aggregate(f, self.sets.all.query, self.sets.path(column)) for f in _ENDS)
            yield self._candidate(q.Difference(largest, smallest), ("difference", "extremes"), self.sets.all, column)

    def _often(self) -> Iterator[Candidate]:
        """Yield the cells that as many rows have as the question says, and their number."""
        for amount in self.sets.links.amounts:
            if amount.is_date or not 1 <= amount.amount < self.sets.table.rows or amount.amount % 1:
                continue
            rows = Rows(self.sets.all.query, self.sets.table.rows, ("often",), (), -1, amount.bits)
            for column, named in self._columns:
                if named.distinct > 0.9 or named.is_joined:
                    continue
                path = self.sets.path(column)[0]
                for comparison in _COUNTED:
                    condition = q.Counted((q.Step(path.relation, True),), comparison, int(amount.amount))
                    query = q.Where(q.Follow(self.sets.all.query, path), condition)
                    made = self._candidate(query, ("value", comparison), rows, column)
                    if made.gives:
                        yield made
                        yield self._candidate(q.Count(query), ("count", comparison), rows, column)

    def _whether_more(self) -> Iterator[Candidate]:
        """Yield whether one linked row has more, less or as much of a column as another."""
        for first, second in combinations(self.sets.linked(8, 1), 2):
            if first.bits & second.bits or first.given[0].column != second.given[0].column:
                continue
            one, other = (first, second) if first.bits < second.bits else (second, first)
            for column in self.sets.orderable():
                for comparison, operator in _RELATIVE:
                    path = self.sets.path(column)
                    condition = q.Compare(path, comparison, self.sets.values(other.query, column))
                    query = q.Exists(q.Where(one.query, condition))
                    both = Rows(one.query, 1, one.operators, one.given + other.given, column, one.bits | other.bits)
                    yield self._candidate(query, ("exists", operator), both)
