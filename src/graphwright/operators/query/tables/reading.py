"""Queries that take cells of rows, weighed by what a reader finds in the rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from graphwright.models.protocols import PassageText, RowReader
from graphwright.operators.query.checks import parts
from graphwright.operators.query.execution import Execution
from graphwright.operators.query.parser import QueryParser, ScoredQuery, apportioned
from graphwright.operators.query.query import Aggregate, Compare, Follow, Has, OfType, Query, Step, Where
from graphwright.search.facts import Facts

QUERIES, _ROWS = 5, 3  # that are read at most, of a question and of a query
_LEAST = 0.05  # probability of a query whose rows are read


@dataclass(eq=False)
class RowsRead:
    """A parser whose queries for cells become more or less probable by what a reader finds in the first of the rows.

    "Customer number of Ostler" may be parsed as a query for the number of the invoice of Ostler. The reader finds no
    answer in that row, or finds it in another cell, and the query becomes improbable. So does a sum, mean, least or
    most of the column `Amount`, where each row has its price in another. Two queries that take what the other one
    knows ("deputy of Ada" and "Ada is the deputy of") have the same words, and are equally probable.
    """

    parser: QueryParser
    reader: RowReader

    def parse(self, question: str, facts: Facts) -> list[ScoredQuery]:
        """Return the queries of the parser, the most probable first."""
        found = self.parser.parse(question, facts)
        read = apportioned([*(self._read(question, own, facts) for own in found[:QUERIES]), *found[QUERIES:]])
        chances = {own.query: own.probability for own in read}
        pairs = ((own, chances.get(_inverse(own.query), own.probability)) for own in read)
        return apportioned([own._replace(probability=(own.probability + other) / 2) for own, other in pairs])

    def _read(self, question: str, own: ScoredQuery, facts: Facts) -> ScoredQuery:
        rows = list(looked_up(own.query, facts)) if own.probability >= _LEAST else []
        if not rows:
            return own
        texts, cells = zip(*rows, strict=True)
        return own._replace(probability=min(self.reader.cell_scores(question, texts, cells, own.probability)))


def _inverse(query: Query) -> Query:
    """Return the query for the known cell of rows by the one that a query takes; others as they are."""
    match query:
        case Follow(Where(OfType() as rows, Compare((known,), comparison, value)), asked):
            return Follow(Where(rows, Compare((asked,), comparison, value)), known)
    return query


def looks_up(query: Query) -> bool:
    """Return whether a query takes cells of rows that it chooses by their cells and dates alone."""
    return isinstance(query, Follow | Aggregate) and all(map(_looks_up, parts(query)))


def looked_up(query: Query, facts: Facts) -> Iterator[tuple[PassageText, tuple[int, int]]]:
    """Yield the first rows of which a query takes one cell, as texts, with the characters of the cell.

    None for queries that count, order, join tables, or choose rows by more than their cells and dates.
    """
    if not isinstance(query, Follow | Aggregate) or not looks_up(query):
        return
    path = query.path if isinstance(query, Aggregate) else (query.step,)
    if len(path) != 1:
        return
    kinds = ", ".join(part.type for part in parts(query) if isinstance(part, OfType))
    for thing in Execution(facts).things(query.things)[:_ROWS].tolist():
        text, place = row_text(facts.row(thing), path[0].relation)
        if place is not None:
            yield PassageText(kinds, text), place


def _looks_up(part: Any) -> bool:
    """Return whether a part of a query only chooses rows by their cells and dates, or takes a cell of them."""
    if isinstance(part, Step):
        return not (part.inverse or part.times > 1)
    if isinstance(part, Compare):
        return part.comparison in ("=", "contains")
    return isinstance(part, (Aggregate, Follow, Has, Where, OfType, str, tuple, bool))


def row_text(row: Mapping[str, str], column: str) -> tuple[str, tuple[int, int] | None]:
    """Return the text of a row as passages have it, and the characters of the cell of a column.

    >>> row_text({"Boat": "Lumo", "Built": "1998", "Crew": ""}, "Built")
    ('Boat: Lumo; Built: 1998.', (19, 23))
    """
    text, place = "", None
    for name, cell in row.items():
        if cell:
            text += f"{'; ' if text else ''}{name}: {cell}"
            place = (len(text) - len(cell), len(text)) if name == column else place
    return f"{text}.", place
