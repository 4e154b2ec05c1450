"""Execution of queries over facts: sets of things are ascending arrays of ids, steps are lookups in ordered facts."""

from __future__ import annotations

from functools import singledispatchmethod
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import OptionError
from graphwright.graph.evidence import Ints
from graphwright.operators.query.query import (
    Aggregate,
    Both,
    Compare,
    Comparison,
    Condition,
    Count,
    Counted,
    Difference,
    Either,
    Everything,
    Except,
    Exists,
    Extreme,
    Follow,
    Frequent,
    Has,
    Named,
    Neighbour,
    OfType,
    Path,
    Query,
    Things,
    Where,
)
from graphwright.search.facts import Facts
from graphwright.text.names import normal_form
from graphwright.text.values import DATE, NUMBER, TEXT, typed_values

_NONE = np.empty(0, np.int64)
Result: TypeAlias = "Ints | float | bool | None"
"""Ascending ids of things, a number, yes or no, or None where a value does not exist."""


class Reached(NamedTuple):
    """What paths reach: pairs of a start and an end, with the fact of the last step (-1 for a path without steps)."""

    starts: Ints
    ends: Ints
    relation: str
    positions: Ints
    """Positions of the last step's facts in the facts of its relation."""


def execute(query: Query, facts: Facts) -> Result:
    """Return what a query gives.

    >>> facts = Facts.of_rows([{"city": "Graz", "rivers": "1"}, {"city": "Linz", "rivers": "2"}], "cities")
    >>> execute(Count(OfType("cities")), facts), execute(Aggregate("sum", OfType("cities"), (Step("rivers"),)), facts)
    (2, 3.0)
    """
    return Execution(facts).result(query)


class Execution:
    """Execution of queries over the facts of one snapshot; sets are computed once each."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self._known: dict[Things, Ints] = {}

    def result(self, query: Query) -> Result:
        """Return what a query gives."""
        if isinstance(query, Count):
            return len(self.things(query.things))
        if isinstance(query, Exists):
            return bool(len(self.things(query.things)))
        if isinstance(query, Aggregate):
            return self._aggregate(query)
        if isinstance(query, Difference):
            return self._difference(query)
        return self.things(query)

    def things(self, query: Things) -> Ints:
        """Return the ascending ids of a set of things."""
        if query not in self._known:
            self._known[query] = self._things(query)
        return self._known[query]

    @singledispatchmethod
    def _things(self, query: Things) -> Ints:
        raise OptionError(f"{query!r} is not a set of things.")

    @_things.register
    def _(self, query: Named) -> Ints:
        return self.facts.find(query.name)

    @_things.register
    def _(self, query: OfType) -> Ints:
        return self.facts.of_type(query.type)

    @_things.register
    def _(self, query: Everything) -> Ints:
        ends = [end for name in self.facts.relations for end in self.facts.relation(name)[:2]]
        return np.unique(np.concatenate(ends)) if ends else _NONE

    @_things.register
    def _(self, query: Follow) -> Ints:
        return np.unique(self.reached(self.things(query.things), (query.step,)).ends)

    @_things.register
    def _(self, query: Where) -> Ints:
        things = self.things(query.things)
        return things[self._holds(things, query.condition)]

    @_things.register
    def _(self, query: Both) -> Ints:
        return np.intersect1d(self.things(query.first), self.things(query.second), assume_unique=True)

    @_things.register
    def _(self, query: Either) -> Ints:
        return np.union1d(self.things(query.first), self.things(query.second))

    @_things.register
    def _(self, query: Except) -> Ints:
        return np.setdiff1d(self.things(query.first), self.things(query.second), assume_unique=True)

    @_things.register
    def _(self, query: Extreme) -> Ints:
        things = self.things(query.things)
        starts, low, high = self._amounts(things, query.path)
        if not len(starts):
            return _NONE
        value = high if query.largest else low
        order = np.argsort(-value if query.largest else value, kind="stable")
        _, first = np.unique(starts[order], return_index=True)
        best = order[np.sort(first)]  # the best value of each thing, best first
        last = value[best[min(query.count, len(best)) - 1]]
        chosen = starts[best[value[best] >= last if query.largest else value[best] <= last]]
        return np.sort(chosen)

    @_things.register
    def _(self, query: Frequent) -> Ints:
        reached = self.reached(self.things(query.things), (query.step,))
        pairs = np.unique(np.stack((reached.ends, reached.starts)), axis=1)
        ends, counts = np.unique(pairs[0], return_counts=True)
        if not len(ends):
            return _NONE
        chosen: Ints = ends[counts == (counts.max() if query.largest else counts.min())]
        return chosen

    @_things.register
    def _(self, query: Neighbour) -> Ints:
        things = self.things(query.things)
        first, end = self.facts.first_record, self.facts.first_value
        records = things[(things >= first) & (things < end)] + query.offset
        return records[(records >= first) & (records < end)]

    def reached(self, things: Ints, path: Path) -> Reached:
        """Return what a path reaches from each of some things."""
        starts, ends, relation, positions = things, things, "", np.full(len(things), -1)
        for step in path:
            facts = self.facts.relation(step.relation)
            distinct, place = np.unique(ends, return_inverse=True)
            found = facts.matching(distinct, step.inverse)
            near, far = (facts.objects, facts.subjects) if step.inverse else (facts.subjects, facts.objects)
            # join the pairs so far with the facts found, both by the thing between them
            group = np.searchsorted(distinct, near[found])
            order = np.argsort(place, kind="stable")
            counts = np.bincount(place, minlength=len(distinct))
            begin = np.concatenate(([0], np.cumsum(counts)[:-1])) if len(distinct) else _NONE
            repeat = counts[group]
            offsets = np.arange(int(repeat.sum())) - np.repeat(np.cumsum(repeat) - repeat, repeat)
            pairs = order[np.repeat(begin[group], repeat) + offsets] if len(group) else _NONE
            positions = np.repeat(found, repeat)
            starts, ends, relation = starts[pairs], far[positions], step.relation
        return Reached(starts, ends, relation, positions)

    def _values(self, reached: Reached) -> tuple[NDArray[np.uint8], NDArray[np.float64], NDArray[np.float64]]:
        """Return the kind and the bounds of the value at the end of each path."""
        if reached.relation and len(reached.positions):
            values = self.facts.values(reached.relation)
            at = reached.positions
            return values.kind[at], values.low[at], values.high[at]
        values = typed_values(self.facts.texts(reached.ends.tolist()))
        return values.kind, values.low, values.high

    def _amounts(self, things: Ints, path: Path) -> tuple[Ints, NDArray[np.float64], NDArray[np.float64]]:
        """Return things with the bounds of the values that a path reaches: of the kind that most of them have."""
        if not path:
            return things, things.astype(float), things.astype(float)
        reached = self.reached(things, path)
        kind, low, high = self._values(reached)
        numbers, dates = np.count_nonzero(kind == NUMBER), np.count_nonzero(kind == DATE)
        chosen = (kind == (NUMBER if numbers >= dates else DATE)) if numbers or dates else np.zeros(len(kind), bool)
        return reached.starts[chosen], low[chosen], high[chosen]

    def _aggregate(self, query: Aggregate) -> float | None:
        things = self.things(query.things)
        reached = self.reached(things, query.path)
        kind, low, _ = self._values(reached)
        amounts = low[kind != TEXT]
        if not len(amounts):
            return None
        return float({"sum": np.sum, "mean": np.mean, "min": np.min, "max": np.max}[query.function](amounts))

    def _difference(self, query: Difference) -> float | None:
        amounts = [self._amount(part) for part in (query.first, query.second)]
        return None if amounts[0] is None or amounts[1] is None else abs(amounts[0] - amounts[1])

    def _amount(self, query: Query) -> float | None:
        """Return the one amount that a query gives; None if it gives none, or several."""
        result = self.result(query)
        if not isinstance(result, np.ndarray):
            return None if result is None else float(result)
        values = typed_values(self.facts.texts(result.tolist()))
        return float(values.low[0]) if len(result) == 1 and values.kind[0] != TEXT else None

    def _holds(self, things: Ints, condition: Condition) -> NDArray[np.bool_]:
        """Return which things meet a condition."""
        reached = self.reached(things, condition.path)
        if isinstance(condition, Has):
            has: NDArray[np.bool_] = np.isin(things, reached.starts) != condition.negated
            return has
        if isinstance(condition, Counted):
            pairs = np.unique(np.stack((reached.starts, reached.ends)), axis=1)
            counts = np.bincount(np.searchsorted(things, pairs[0]), minlength=len(things))
            return _compared(counts, condition.comparison, condition.number, condition.number)
        meets = self._meets(reached, condition)
        if condition.comparison == "!=":
            return ~np.isin(things, reached.starts[meets])
        return np.isin(things, reached.starts[meets])

    def _meets(self, reached: Reached, condition: Compare) -> NDArray[np.bool_]:
        """Return which values meet a comparison; for "!=" those that are equal."""
        if not isinstance(condition.value, str):
            return np.isin(reached.ends, self.things(condition.value))
        if condition.comparison == "contains":
            part = normal_form(condition.value)
            texts = self.facts.texts(reached.ends.tolist())
            return np.array([part in normal_form(text) for text in texts], bool)
        kind, low, high = self._values(reached)
        wanted = typed_values([condition.value])
        same = kind == wanted.kind[0]
        if condition.comparison in ("=", "!="):
            if wanted.kind[0] == TEXT:
                return np.isin(reached.ends, self.facts.find(condition.value))
            inside = (low >= wanted.low[0]) & (high <= wanted.high[0])
            return same & (inside | ((low <= wanted.low[0]) & (high >= wanted.high[0])))
        if wanted.kind[0] == TEXT:
            return np.zeros(len(kind), bool)
        return same & _compared(low, condition.comparison, wanted.low[0], wanted.high[0], high)


def _compared(
    low: NDArray[np.float64] | Ints,
    comparison: Comparison,
    wanted_low: float,
    wanted_high: float,
    high: NDArray[np.float64] | None = None,
) -> NDArray[np.bool_]:
    """Return which intervals lie so to a wanted one; a period is later than another if it begins at its end."""
    high = low if high is None else high
    held = {
        "=": low == wanted_low,
        "!=": low != wanted_low,
        ">": (low >= wanted_high) & (low > wanted_low),
        ">=": low >= wanted_low,
        "<": (high <= wanted_low) & (low < wanted_low),
        "<=": high <= wanted_high,
    }
    result: NDArray[np.bool_] = held[comparison]
    return result
