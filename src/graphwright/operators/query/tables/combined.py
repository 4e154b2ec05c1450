"""Sets of rows of one table by two conditions that different words of a question state."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from graphwright.operators.query.query import Both, Either, Except, Things, Where
from graphwright.operators.query.tables.rows import ORDERS, Rows, RowSets

_PAIRS = 24
_AGREEING = 6
_WITHOUT = 10
_UNIONS = 6
_FLAGS = 4


def _both(first: Rows, second: Rows) -> Things:
    """Return the query for the rows that are in both of two sets."""
    return (
        Where(first.query, second.query.condition)
        if isinstance(second.query, Where)
        else Both(first.query, second.query)
    )


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


def without(sets: RowSets) -> Iterator[Rows]:
    """Yield the rows that meet one condition and lack a linked cell."""
    count = 0
    for first in sets.single[:10]:
        for second in sets.single[:10]:
            is_cell = second.operators[0] in ("is", "has")
            if not is_cell or first.bits & second.bits or count >= _WITHOUT:
                continue
            operators = ("and", *first.operators, "not", *second.operators)
            rows = sets.made(Except(first.query, second.query), operators, first.given + second.given)
            if rows and rows.count < first.count:
                count += 1
                yield rows


def united(sets: RowSets) -> Iterator[Rows]:
    """Yield the rows of two linked cells of one column."""
    cells = [rows for rows in sets.single if rows.operators[0] in ("is", "has")]
    count = 0
    for first, second in combinations(cells, 2):
        one, other = first.given[0], second.given[0]
        if one.column != other.column or first.bits & second.bits or count >= _UNIONS:
            continue
        if rows := sets.made(Either(first.query, second.query), ("or", *first.operators), (one, other)):
            count += 1
            yield rows
