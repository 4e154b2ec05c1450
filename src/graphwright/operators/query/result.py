"""Results of queries: what is found, the facts that support it, and the query that a question was understood to ask."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from graphwright.errors import counted
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Graph
from graphwright.operators.query.checks import check, is_dated, parts
from graphwright.operators.query.execution import Execution
from graphwright.operators.query.notation import notation
from graphwright.operators.query.parse_notation import parse_notation
from graphwright.operators.query.query import Aggregate, Count, Difference, Exists, Extreme, Follow, Query
from graphwright.operators.query.support import Support, Supported
from graphwright.operators.query.words import words
from graphwright.operators.select import cite_fact
from graphwright.operators.state import Citation
from graphwright.search.facts import Facts
from graphwright.text.values import DATE

SUPPORTED = 10  # things whose support is given one by one; of more the number of statements and records
SHOWN = 1_000  # things that `names` and `to_dict` give at most
_UNIT = re.compile(r"[(\[]([^\W\d_][^()\[\]]{0,19}|[%‰°€$£][^()\[\]]{0,9})[)\]]$")
Value: TypeAlias = str | float | int | bool | None


@dataclass(frozen=True, eq=False)
class QueryResult:
    """What a query gives, and the facts that support it.

    `value`: a number, yes or no, or the text of a smallest or largest value that is no number; None for a set and where
    no value exists. `unit`: the unit of the number, if all values have it; of numbers without one, in a set too, that
    which the name of their column ends with: "Depth (m)". `is_set`: whether the query gives things.
    `things`: the ids that are found, or counted, or whose values are taken; `names` are the names of the first 1,000.
    `support`: the facts for each of the first ten things; `support_count`: the number of all statements and records
    that hold. `dates`: of each name what its statements say about when they hold, and `newest` the order of names by
    it; empty where all hold since the same time and the query has no date. `notes`: what else to know, such as values
    that are no numbers.
    """

    query: Query
    facts: Facts = field(repr=False)
    value: Value
    unit: str
    is_set: bool
    things: Ints
    names: tuple[str, ...]
    support: tuple[Supported, ...]
    support_count: int
    notes: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    newest: tuple[int, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is found, or there is no value."""
        return not len(self.things) if self.is_set else self.value is None

    @cached_property
    def citations(self) -> tuple[Citation, ...]:
        """Citations of the support, ten at most: the last fact of each thing, then the one before it; none twice."""
        graph = Graph(self.facts.columns)
        longest = max((len(supported.facts) for supported in self.support), default=0)
        citations: dict[tuple[str, str, int, int, tuple[str, ...]], Citation] = {}
        for depth, supported in product(range(1, longest + 1), self.support):
            if len(citations) < SUPPORTED and len(supported.facts) >= depth:
                cited = cite_fact(graph, supported.facts[-depth])
                path = () if cited.document else cited.path
                citations.setdefault((cited.document, cited.chunk, cited.start, cited.end, path), cited)
        return tuple(citations.values())

    @property
    def rows(self) -> list[dict[str, str]]:
        """The fields of each record that is found, of the first 1,000 things."""
        return [row for thing in self.things[:SHOWN].tolist() if (row := self.facts.row(thing))] if self.is_set else []

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        return {
            "query": self.notation,
            "words": self.words,
            "value": self.value,
            "unit": self.unit,
            "values": list(self.names) if self.is_set else [],
            "dates": list(self.dates),
            "count": len(self.things),
            "rows": self.rows,
            "support": [citation.to_dict() for citation in self.citations],
            "support_count": self.support_count,
            "notes": list(self.notes),
        }

    @property
    def words(self) -> str:
        """The query in English words."""
        return words(self.query)

    @property
    def notation(self) -> str:
        """The query as text."""
        return notation(self.query)


def answer_of(query: str | Query, facts: Facts) -> QueryResult:
    """Return what a query in text gives. Raises OptionError for no query, or an unknown relation, type or name."""
    parsed = parse_notation(query) if isinstance(query, str) else query
    notes = check(parsed, facts)
    result = result_of(parsed, facts)
    return replace(result, notes=(*notes, *result.notes))


def result_of(query: Query, facts: Facts) -> QueryResult:
    """Execute a query and return what it gives, with its support.

    >>> from graphwright.operators.query.parse_notation import parse_notation
    >>> rows = [{"city": "Graz", "rivers": "1"}, {"city": "Linz", "rivers": "2"}]
    >>> result = result_of(parse_notation("sum(cities.rivers)"), Facts.of_rows(rows, "cities"))
    >>> result.value, result.names, result.support_count
    (3, ('Graz', 'Linz'), 2)
    """
    execution = Execution(facts)
    support = Support(execution)
    result = execution.result(query)
    things = support.things(query)
    names = tuple(facts.texts(things[:SHOWN]))
    first = support.of_first(query, SUPPORTED)
    shown = np.array([fact for supported in first for fact in supported.facts], np.int64)
    held = facts.units(np.concatenate((support.numbers(query, things), shown)))
    notes = tuple(dict.fromkeys(_left_out(query, execution)))
    if isinstance(result, np.ndarray):
        dates = _dates(support.dates(query, things[:SHOWN]), 0 if is_dated(query) else 1)
        return QueryResult(
            query, facts, None, _unit_of_column(query), True, things, names, first, len(held), notes, *dates
        )
    unit, mixed = _typed(query, execution)
    unit = unit or ("" if mixed else _unit_of_column(query))
    value, unit = (date, "") if (date := _dated(query, execution)) else (_rounded(result), unit)
    return QueryResult(query, facts, value, unit, False, things, names, first, len(held), (*notes, *mixed))


def _unit_of_column(query: Query) -> str:
    """Return the unit at the end of the name of the column that a query takes values of; "" without one."""
    path = query.path if isinstance(query, Aggregate) else (query.step,) if isinstance(query, Follow) else ()
    match = _UNIT.search(path[-1].relation) if path else None
    return match[1] if match else ""


def _dates(dated: list[tuple[float, str]], few: int) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the dates of things as statements have them, and their order, the newest first; none of `few` dates."""
    if len({dates for dates in dated if dates[1] or few}) <= few:
        return (), ()
    order = sorted(range(len(dated)), key=lambda at: -dated[at][0])
    return tuple(text for _, text in dated), tuple(order)


def _rounded(number: float | bool | None) -> Value:
    """Return a number without the error of binary fractions, a whole one as an integer."""
    if number is None or isinstance(number, bool | int):
        return number
    rounded = float(f"{number:.12g}")
    return int(rounded) if rounded.is_integer() else rounded


def _dated(query: Query, execution: Execution) -> str:
    """Return the text of the first or last date that a query asks for; "" for other queries."""
    if not isinstance(query, Aggregate):
        return ""
    pairs, amounts = execution.amounts(query.things, query.path)
    if not len(amounts.kind) or amounts.kind[0] != DATE:
        return ""
    at = amounts.low.argmin() if query.function == "min" else amounts.high.argmax()
    return execution.facts.texts(pairs.ends[at : at + 1])[0]


def _typed(query: Query, execution: Execution) -> tuple[str, tuple[str, ...]]:
    """Return the unit that all values of a query have, and a note if they have several."""
    if isinstance(query, Difference):
        parts = {_typed(part, execution)[0] for part in (query.first, query.second)}
        return (parts.pop() if len(parts) == 1 else ""), ()
    if isinstance(query, Count | Exists):
        return "", ()
    things, path = (query.things, query.path) if isinstance(query, Aggregate) else (query, ())
    amounts = execution.amounts(things, path)[1]
    units = ", ".join(amounts.units[unit] or "none" for unit in np.unique(amounts.unit).tolist())
    return amounts.one_unit, (f"The values have several units, which are not converted: {units}.",) * (", " in units)


def _left_out(query: Query, execution: Execution) -> Iterator[str]:
    """Yield a note for each set of values of which some cannot be added up or put in order."""
    for part in parts(query):
        if isinstance(part, Aggregate) or (isinstance(part, Extreme) and part.path and not part.by_number):
            total = len(execution.reached(part.things, part.path).distinct().ends)
            if missing := total - len(execution.amounts(part.things, part.path)[0].ends):
                yield f"Left out: {missing:,} of {counted(total, 'value')}, no numbers or dates."


LIKELY = 0.5  # probability from which on the value of a query is the answer if quotations of passages agree
SURE = 0.65  # probability from which on a query's value or a reader's span is the answer, or "no" of what is unrecorded
CERTAIN = 0.9  # probability from which on a query that finds nothing is the answer that there is none
RECORDED = 0.5  # probability from which on the value of a query is the answer over a graph, which else does not say


@dataclass(frozen=True, eq=False)
class AskedQuery:
    """A query with the probability that it is what the question asks; `result`: None before it is executed."""

    query: Query
    probability: float
    result: QueryResult | None = None

    @property
    def words(self) -> str:
        """The query in English words."""
        return words(self.query)

    @property
    def notation(self) -> str:
        """The query as text, as `graphwright query` takes it."""
        return notation(self.query)

    def to_dict(self) -> dict[str, Any]:
        """Return the query as JSON values."""
        return {"query": self.notation, "words": self.words, "probability": round(self.probability, 4)}
