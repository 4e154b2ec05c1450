"""Support of results: the facts that hold for what a query gives, edges of the graph and fields of records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from graphwright.graph.evidence import Ints
from graphwright.kernels.ranking import sorted_distinct
from graphwright.operators.query import query as q
from graphwright.operators.query.checks import is_dated
from graphwright.operators.query.execution import Execution, is_negative
from graphwright.operators.query.reached import Amounts, Reached, reached, trail
from graphwright.search.statement_times import statement_times_of

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

    def things(self, query: q.Query) -> Ints:
        """Return the things that a query gives, counts, or takes values from, ascending; of a difference none."""
        if isinstance(query, q.Difference):
            return _NONE
        if isinstance(query, q.Aggregate):
            return sorted_distinct(self._values(query).starts)
        return self.execution.things(query.things if isinstance(query, q.Count | q.Exists) else query)

    def dates(self, query: q.Query, things: Ints) -> list[tuple[float, str]]:
        """Return since when each of some ascending things is what the last step leads to, and what says so.

        The latest beginning of statements, or at a date of rows, that lead to it; -inf and "" where they have no dates.
        """
        times, records = statement_times_of(self.facts.columns), self.facts.records
        undated = [(-np.inf, "")] * len(things)
        if records is None or not isinstance(query, q.Follow) or query.step.times != 1:
            return undated
        pairs = self.execution.reached(query.things, (query.step,))
        facts, edges = self._numbers(pairs), len(self.facts.columns.heads)
        shown = facts < (edges + len(records.record) if is_dated(query) else edges)
        found = dict(zip(things.tolist(), undated, strict=True))
        for end, fact in zip(pairs.ends[shown].tolist(), facts[shown].tolist(), strict=True):
            if end in found:
                own = times.of_edge(fact) if fact < edges else times.of_record(int(records.record[fact - edges]))
                found[end] = max(found[end], (times.since(own), times.label(records, own)))
        return [found[thing] for thing in things.tolist()]

    def of_first(self, query: q.Query, limit: int) -> tuple[Supported, ...]:
        """Return the support of the first `limit` things; without any, what holds at other times, or of both sets."""
        if isinstance(query, q.Difference):
            return (*self.of_first(query.first, limit), *self.of_first(query.second, limit))
        found = tuple(self._of_thing(query, thing) for thing in self.things(query)[:limit].tolist())
        if found or not isinstance(query, q.Exists):
            return found
        always = q.dated(query.things, "", self.facts.relations)
        parts = (self.of_first(part, limit) for part in (always, *_compared(query)))
        return tuple(supported for part in parts for supported in part if supported.facts)

    def _of_thing(self, query: q.Query, thing: int) -> Supported:
        things = np.array([thing])
        numbers = self.numbers(query, things)
        return Supported(
            thing, tuple(dict.fromkeys((numbers if len(numbers) else self._first_fields(things)).tolist()))
        )

    def numbers(self, query: q.Query, things: Ints) -> Ints:
        """Return the facts that hold for these things of a result, those of the first steps first; repeats are kept."""
        if isinstance(query, q.Difference):
            return _joined([self.numbers(part, self.things(part)) for part in (query.first, query.second)])
        if isinstance(query, q.Aggregate):
            pairs = self._values(query)
            pairs = pairs.chosen(np.isin(pairs.starts, things))
            return _joined([*self._of(query.things, things), *self._walked(things, query.path, pairs)])
        return _joined(self._of(query.things if isinstance(query, q.Count | q.Exists) else query, things))

    def _values(self, query: q.Aggregate) -> Reached:
        """Return the values that an aggregate is computed from: of the smallest or largest, those equal to it."""
        pairs, amounts = self.execution.amounts(query.things, query.path)
        if query.function in ("min", "max") and len(amounts.low):
            values = amounts.low if query.function == "min" else amounts.high
            return pairs.chosen(values == getattr(values, query.function)())
        return pairs

    def _of(self, query: q.Things, things: Ints) -> Parts:
        of = _OF.get(type(query))
        return [self._first_fields(things)] if of is None else of(self, query, things)

    def _of_type(self, query: q.OfType, things: Ints) -> Parts:
        parts = [self._first_fields(things)]
        classes = self.facts.find(query.type)
        for name in self.facts.type_relations:
            pairs = reached(self.facts, things, (q.Step(name),))
            parts.append(self._numbers(pairs.chosen(np.isin(pairs.ends, classes))))
        return parts

    def _of_step(self, query: q.Follow | q.Frequent, things: Ints) -> Parts:
        pairs = self.execution.reached(query.things, (query.step,))
        pairs = pairs.chosen(np.isin(pairs.ends, things))
        return [*self._of(query.things, sorted_distinct(pairs.starts)), self._numbers(pairs, query.step)]

    def _of_extreme(self, query: q.Extreme, things: Ints) -> Parts:
        pairs = reached(self.facts, things, query.path)
        if query.path and not query.by_number:
            pairs = pairs.chosen(Amounts.of(self.facts, pairs).main_kind)
        return [*self._of(query.things, things), *self._walked(things, query.path, pairs)]

    def _of_neighbour(self, query: q.Neighbour, things: Ints) -> Parts:
        inner = self.execution.things(query.things)
        return [*self._of(query.things, inner), self._first_fields(things)]

    def _of_both(self, query: q.Both | q.Either, things: Ints) -> Parts:
        parts = (query.first, query.second)
        return [
            facts for part in parts for facts in self._of(part, np.intersect1d(things, self.execution.things(part)))
        ]

    def _of_condition(self, condition: q.Condition, things: Ints) -> Parts:
        """Return the facts by which things meet a condition; of a negative one all on its path, which do not fail."""
        if isinstance(condition, q.Or):
            return [*self._of_condition(condition.first, things), *self._of_condition(condition.second, things)]
        pairs = reached(self.facts, things, condition.path)
        if not isinstance(condition, q.Compare | q.Fields) or is_negative(condition):
            return self._walked(things, condition.path, pairs)
        pairs = self.execution.met(pairs, condition)
        parts = self._walked(things, condition.path, pairs)
        if isinstance(condition, q.Fields):
            others = reached(self.facts, sorted_distinct(pairs.starts), condition.other)
            parts += self._walked(sorted_distinct(pairs.starts), condition.other, others)
        elif not isinstance(condition.value, str):
            is_equal = condition.comparison == "="
            parts += self._of(
                condition.value, sorted_distinct(pairs.ends) if is_equal else self.execution.things(condition.value)
            )
        return parts

    def _walked(self, things: Ints, path: q.Path, last: Reached) -> Parts:
        """Return the facts along a path that lead from things to the ends of its last step."""
        parts = [self._numbers(last, path[-1])] if path else []
        wanted = sorted_distinct(last.near)
        for at in range(len(path) - 1, 0, -1):
            pairs = reached(self.facts, things, path[:at])
            pairs = pairs.chosen(np.isin(pairs.ends, wanted))
            parts.insert(0, self._numbers(pairs, path[at - 1]))
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

    def _numbers(self, pairs: Reached, step: q.Step | None = None) -> Ints:
        """Return the numbers of the last facts of paths; of a step that is taken once or more, of all that it takes."""
        if pairs.positions is None:
            return _NONE
        positions = pairs.positions if step is None or step.times == 1 else trail(self.facts, pairs, step)
        return self.facts.relation(pairs.relation).fact(positions)


_OF: dict[type, Callable[[Support, Any, Ints], Parts]] = {  # what holds for things of each set; else the records
    q.OfType: Support._of_type,
    q.Follow: Support._of_step,
    q.Frequent: Support._of_step,
    q.Where: lambda self, query, things: self._of(query.things, things) + self._of_condition(query.condition, things),
    q.Extreme: Support._of_extreme,
    q.Neighbour: Support._of_neighbour,
    q.Both: Support._of_both,
    q.Either: Support._of_both,
    q.Except: lambda self, query, things: self._of(query.first, things),
}


def _compared(query: q.Exists) -> tuple[q.Things, ...]:
    """Return the sets that are compared with one another; of what is named or meets another condition, with a value.

    First comes what a named thing has where the other set is of those with something else.
    Where it is asked whether there is none, the values of all that could be among them.
    """
    things, starts = query.things, q.Named | q.Follow | q.Where
    if isinstance(things, q.Both):
        first, second = things.first, things.second
        return (*_instead(first, second), *_instead(second, first), first, second)
    if query.negated and isinstance(things, q.Except):
        return (things.second,)
    if not isinstance(things, q.Where) or not (query.negated or isinstance(things.things, starts)):
        return ()
    if not isinstance(things.condition, q.Compare) or not things.condition.path:
        return ()
    value, having = things.condition.value, q.Where(things.things, q.Has(things.condition.path))
    return (having,) if isinstance(value, str) else (having, value)


def _instead(named: q.Things, other: q.Things) -> tuple[q.Things, ...]:
    """Return what a named thing has by the relation that the things of a set have; nothing without one."""
    while isinstance(other, q.Except):
        other = other.first
    if not isinstance(named, q.Named) or not isinstance(other, q.Follow) or not other.step.inverse:
        return ()
    return (q.Follow(named, other.step._replace(inverse=False)),)


def _joined(parts: Parts) -> Ints:
    return np.concatenate(parts) if parts else _NONE
