"""Results of queries: what is found, and the facts that support it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from graphwright.graph.evidence import Ints
from graphwright.operators.query.execution import Execution
from graphwright.operators.query.notation import notation
from graphwright.operators.query.query import Aggregate, Count, Difference, Exists, Query
from graphwright.operators.query.reached import Amounts, Reached
from graphwright.operators.query.support import Support, Supported
from graphwright.operators.query.words import words
from graphwright.search.facts import Facts
from graphwright.text.values import DATE

SUPPORTED = 10
"""Things whose support is given one by one; of more the number of statements and records."""
SHOWN = 1_000
"""Things that `names` and `to_dict` give at most."""
Value: TypeAlias = str | float | int | bool | None


@dataclass(frozen=True, eq=False)
class QueryResult:
    """What a query gives, and the facts that support it.

    `value`: a number, yes or no, or the text of a smallest or largest value that is no number; None for a set and where
    no value exists. `unit`: the unit of the number, if all values have it. `is_set`: whether the query gives things.
    `things`: the ids that are found, or counted, or whose values are taken; `names` are the names of the first 1,000.
    `support`: the facts for each of the first ten things; `support_count`: the number of all statements and records
    that hold. `notes`: what else to know, such as values that are no numbers.
    """

    query: Query
    value: Value
    unit: str
    is_set: bool
    things: Ints
    names: tuple[str, ...]
    support: tuple[Supported, ...]
    support_count: int
    notes: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is found, or there is no value."""
        return not len(self.things) if self.is_set else self.value is None

    @property
    def words(self) -> str:
        """The query in English words."""
        return words(self.query)

    @property
    def notation(self) -> str:
        """The query as text."""
        return notation(self.query)


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
    held = facts.units(support.numbers(query, things))
    names = tuple(facts.texts(things[:SHOWN]))
    first = support.of_first(query, SUPPORTED)
    if isinstance(result, np.ndarray):
        return QueryResult(query, None, "", True, things, names, first, len(held))
    unit, notes = _typed(query, execution)
    value = _dated(query, execution) or _rounded(result)
    return QueryResult(query, value, unit, False, things, names, first, len(held), notes)


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
    """Return the unit that all values of a query have, and notes about those that are left out."""
    if isinstance(query, Difference):
        units = {_typed(part, execution)[0] for part in (query.first, query.second)}
        return (units.pop() if len(units) == 1 else ""), ()
    if isinstance(query, Count | Exists):
        return "", ()
    things, path = (query.things, query.path) if isinstance(query, Aggregate) else (query, ())
    pairs, amounts = execution.amounts(things, path)
    missing = len(execution.reached(things, path).distinct().ends) - len(pairs.ends)
    left_out = (f"{missing:,} of {missing + len(pairs.ends):,} values are left out: they are no numbers or dates.",)
    return _unit(execution, pairs, amounts), left_out if missing else ()


def _unit(execution: Execution, pairs: Reached, amounts: Amounts) -> str:
    if len(amounts.kind) and amounts.kind[0] == DATE:
        return "years"
    if pairs.positions is None or pairs.is_inverse:
        return ""
    units = set(execution.facts.values(pairs.relation, pairs.positions).units)
    return units.pop() if len(units) == 1 else ""
