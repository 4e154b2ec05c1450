"""Support of results: the facts that hold for what a query gives, edges of the graph and fields of records."""

from __future__ import annotations

from functools import singledispatchmethod
from typing import NamedTuple, TypeAlias

import numpy as np

from graphwright.graph.evidence import Ints
from graphwright.kernels.ranking import sorted_distinct
from graphwright.operators.query.execution import Execution, is_negative
from graphwright.operators.query.query import (
    Aggregate,
    Both,
    Compare,
    Condition,
    Count,
    Difference,
    Either,
    Except,
    Exists,
    Extreme,
    Follow,
    Frequent,
    Neighbour,
    OfType,
    Path,
    Query,
    Step,
    Things,
    Where,
)
from graphwright.operators.query.reached import Amounts, Reached, reached

Parts: TypeAlias = list[Ints]
_NONE = np.empty(0, np.int64)


class Supported(NamedTuple):
    """A thing that a query gives, or that its value is computed from, and the facts that lead to it, in order.

    A fact is an edge, or m plus a field, where m is the number of edges.
    """

    thing: int
    facts: tuple[int, ...]


class Support:
    """The support of the results of an execution."""

    def __init__(self, execution: Execution) -> None:
        self.execution = execution
        self.facts = execution.facts

    def things(self, query: Query) -> Ints:
        """Return the things that a query gives, counts, or takes values from, ascending; of a difference none."""
        if isinstance(query, Difference):
            return _NONE
        if isinstance(query, Aggregate):
            return sorted_distinct(self._values(query).starts)
        return self.execution.things(query.things if isinstance(query, Count | Exists) else query)

    def of_first(self, query: Query, limit: int) -> tuple[Supported, ...]:
        """Return the support of the first `limit` things that a query gives or computes from.

        Of a "no", whether two sets have something in common, it is what holds for the things of each.
        """
        if isinstance(query, Difference):
            return (*self.of_first(query.first, limit), *self.of_first(query.second, limit))
        found = tuple(self._of_thing(query, thing) for thing in self.things(query)[:limit].tolist())
        if found or not (isinstance(query, Exists) and isinstance(query.things, Both)):
            return found
        parts = (self.of_first(part, limit) for part in (query.things.first, query.things.second))
        return tuple(supported for part in parts for supported in part if supported.facts)

    def _of_thing(self, query: Query, thing: int) -> Supported:
        things = np.array([thing])
        numbers = self.numbers(query, things)
        return Supported(
            thing, tuple(dict.fromkeys((numbers if len(numbers) else self._first_fields(things)).tolist()))
        )

    def numbers(self, query: Query, things: Ints) -> Ints:
        """Return the facts that hold for these things of a result, those of the first steps first; repeats are kept."""
        if isinstance(query, Difference):
            return _joined([self.numbers(part, self.things(part)) for part in (query.first, query.second)])
        if isinstance(query, Aggregate):
            pairs = self._values(query)
            pairs = pairs.chosen(np.isin(pairs.starts, things))
            return _joined([*self._of(query.things, things), *self._walked(things, query.path, pairs)])
        return _joined(self._of(query.things if isinstance(query, Count | Exists) else query, things))

    def _values(self, query: Aggregate) -> Reached:
        """Return the values that an aggregate is computed from: of the smallest or largest, those equal to it."""
        pairs, amounts = self.execution.amounts(query.things, query.path)
        if query.function in ("min", "max") and len(amounts.low):
            values = amounts.low if query.function == "min" else amounts.high
            return pairs.chosen(values == getattr(values, query.function)())
        return pairs

    @singledispatchmethod
    def _of(self, query: Things, things: Ints) -> Parts:
        """Return the facts that hold for things of a set."""
        return [self._first_fields(things)]

    @_of.register
    def _(self, query: OfType, things: Ints) -> Parts:
        parts = [self._first_fields(things)]
        classes = self.facts.find(query.type)
        for name in self.facts.type_relations:
            pairs = reached(self.facts, things, (Step(name),))
            parts.append(self._numbers(pairs.chosen(np.isin(pairs.ends, classes))))
        return parts

    @_of.register(Follow)
    @_of.register(Frequent)
    def _(self, query: Follow | Frequent, things: Ints) -> Parts:
        pairs = self.execution.reached(query.things, (query.step,))
        pairs = pairs.chosen(np.isin(pairs.ends, things))
        return [*self._of(query.things, sorted_distinct(pairs.starts)), self._numbers(pairs)]

    @_of.register
    def _(self, query: Where, things: Ints) -> Parts:
        return [*self._of(query.things, things), *self._of_condition(query.condition, things)]

    @_of.register
    def _(self, query: Extreme, things: Ints) -> Parts:
        pairs = reached(self.facts, things, query.path)
        pairs = pairs.chosen(Amounts.of(self.facts, pairs).main_kind) if query.path else pairs
        return [*self._of(query.things, things), *self._walked(things, query.path, pairs)]

    @_of.register
    def _(self, query: Neighbour, things: Ints) -> Parts:
        inner = self.execution.things(query.things)
        return [*self._of(query.things, inner), self._first_fields(things)]

    @_of.register(Both)
    @_of.register(Either)
    def _(self, query: Both | Either, things: Ints) -> Parts:
        parts = (query.first, query.second)
        return [
            facts for part in parts for facts in self._of(part, np.intersect1d(things, self.execution.things(part)))
        ]

    @_of.register
    def _(self, query: Except, things: Ints) -> Parts:
        return self._of(query.first, things)

    def _of_condition(self, condition: Condition, things: Ints) -> Parts:
        """Return the facts by which things meet a condition; of a negative one all on its path, which do not fail."""
        pairs = reached(self.facts, things, condition.path)
        if not isinstance(condition, Compare) or is_negative(condition):
            return self._walked(things, condition.path, pairs)
        pairs = pairs.chosen(self.execution.meets(pairs, condition))
        parts = self._walked(things, condition.path, pairs)
        if condition.comparison == "=" and not isinstance(condition.value, str):
            parts += self._of(condition.value, sorted_distinct(pairs.ends))
        return parts

    def _walked(self, things: Ints, path: Path, last: Reached) -> Parts:
        """Return the facts along a path that lead from things to the ends of its last step."""
        parts = [self._numbers(last)] if path else []
        wanted = sorted_distinct(last.near)
        for at in range(len(path) - 1, 0, -1):
            pairs = reached(self.facts, things, path[:at])
            pairs = pairs.chosen(np.isin(pairs.ends, wanted))
            parts.insert(0, self._numbers(pairs))
            wanted = sorted_distinct(pairs.near)
        return parts

    def _first_fields(self, things: Ints) -> Ints:
        """Return the first field of each record among things, which stands for the record."""
        records, first = self.facts.records, self.facts.first_record
        if records is None:
            return _NONE
        rows = things[(things >= first) & (things < self.facts.first_value)] - first
        fields = np.searchsorted(records.record, rows)
        inside = fields < len(records.record)
        fields, rows = fields[inside], rows[inside]
        numbers: Ints = len(self.facts.columns.heads) + fields[records.record[fields] == rows]
        return numbers

    def _numbers(self, pairs: Reached) -> Ints:
        """Return the numbers of the last facts of paths."""
        if pairs.positions is None:
            return _NONE
        return self.facts.relation(pairs.relation).fact(pairs.positions)


def _joined(parts: Parts) -> Ints:
    return np.concatenate(parts) if parts else _NONE
