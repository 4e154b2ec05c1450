"""Execution of queries over facts: sets of things are ascending arrays of ids; records have an order."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from graphwright.errors import OptionError
from graphwright.graph.evidence import Ints
from graphwright.kernels.ranking import sorted_distinct
from graphwright.operators.query import query as q
from graphwright.operators.query.reached import (
    COMPARED,
    Amounts,
    Bools,
    Floats,
    Reached,
    closure,
    decisive,
    fields_compared,
    pair_counts,
    reached,
    value_kind,
)
from graphwright.search.facts import Facts
from graphwright.text.names import normal_form
from graphwright.text.values import DATE, TEXT

_NONE = np.empty(0, np.int64)


def record_sequence(facts: Facts) -> tuple[Ints, Ints]:
    """Return the records that are no copies, those of a type in a document together, and the group of each."""
    records, passages = facts.records, facts.columns.passages
    if records is None:
        return _NONE, _NONE
    kept = np.flatnonzero(~records.is_copy)
    group = records.type[kept].astype(np.int64)
    if passages is not None:
        rows = np.searchsorted(passages.nodes, records.chunk[kept])
        group += len(records.types) * passages.document[rows].astype(np.int64)
    order = np.argsort(group, kind="stable")
    return facts.first_record + kept[order], group[order]


def neighbours(facts: Facts, sequence: tuple[Ints, Ints], records: Ints, offset: int) -> Ints:
    """Return the records that stand `offset` places after some records in their group, ascending."""
    order, group = sequence
    place = np.full(len(facts), -1)
    place[order] = np.arange(len(order))
    at = place[records]
    there = at + offset
    inside = (at >= 0) & (there >= 0) & (there < len(order))
    at, there = at[inside], there[inside]
    return np.sort(order[there[group[at] == group[there]]])


Result: TypeAlias = "Ints | float | bool | None"  # ascending ids, a number, yes or no; None if there is none


class Execution:
    """Execution of queries over the facts of one snapshot; sets are computed once each.

    >>> facts = Facts.of_rows([{"city": "Graz", "rivers": "1"}, {"city": "Linz", "rivers": "2"}], "cities")
    >>> Execution(facts).result(q.Aggregate("sum", q.OfType("cities"), (q.Step("rivers"),)))
    3.0
    """

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.known: dict[q.Things, Ints] = {}

    def result(self, query: q.Query) -> Result:
        """Return what a query gives."""
        if isinstance(query, q.Count):
            return len(self.things(query.things))
        if isinstance(query, q.Exists):
            return bool(len(self.things(query.things))) != query.negated
        if isinstance(query, q.Aggregate):
            return self._aggregate(query)
        if isinstance(query, q.Difference):
            return self._difference(query)
        return self.things(query)

    def things(self, query: q.Things) -> Ints:
        """Return the ascending ids of a set of things."""
        found = self.known.get(query)  # once: its hash is that of all its parts
        if found is None:
            found = self.known[query] = self._things(query)
        return found

    def _things(self, query: q.Things) -> Ints:
        if type(query) not in _SETS:
            raise OptionError(f"{query!r} is not a set of things.")
        return _SETS[type(query)](self, query)

    def _everything(self, query: q.Everything) -> Ints:
        is_end = np.zeros(len(self.facts), bool)
        for relation in map(self.facts.relation, self.facts.relations):
            is_end[relation.subjects] = True
            is_end[relation.objects] = True
        return np.flatnonzero(is_end)

    def _follow(self, query: q.Follow) -> Ints:
        if query.step.times == 1:
            return sorted_distinct(self.reached(query.things, (query.step,)).ends)
        return closure(self.facts, self._starts(query.things, (query.step,)), query.step)

    def _extreme(self, query: q.Extreme) -> Ints:
        rank = slice(query.count - 1, query.count)
        if not query.path and not query.by_number:
            records = self._records(query.things)
            records = records[::-1] if query.largest else records
            return np.sort(records[rank if query.is_rank else slice(query.count)])
        things, values = self._orders(query)
        if not len(things):
            return _NONE
        values = values if query.largest else -values
        if query.is_rank:
            return things[np.isin(values, -np.unique(-values)[rank])]
        last = np.partition(values, -min(query.count, len(values)))[-min(query.count, len(values))]
        chosen: Ints = things[values >= last]
        return chosen

    def _orders(self, query: q.Extreme) -> tuple[Ints, Floats]:
        """Return the things that an extreme chooses from, and the value of each: of several the extreme one."""
        if query.by_number:
            pairs, things = self.reached(query.things, query.path), self.things(query.things)
            ids, counts = pair_counts(pairs.starts, pairs.ends, len(self.facts))
            numbers = np.zeros(len(things))
            numbers[np.searchsorted(things, ids)] = counts
            return things, numbers
        pairs, amounts = self.amounts(query.things, query.path)
        things, first = np.unique(pairs.starts, return_index=True)
        if not len(things):
            return _NONE, np.empty(0)
        reduce, values = (np.maximum, amounts.high) if query.largest else (np.minimum, amounts.low)
        return things, reduce.reduceat(values, first)

    def _frequent(self, query: q.Frequent) -> Ints:
        pairs = self.reached(query.things, (query.step,))
        ends, counts = pair_counts(pairs.ends, pairs.starts, len(self.facts))
        if not len(ends):
            return _NONE
        chosen: Ints = ends[counts == (counts.max() if query.largest else counts.min())]
        return chosen

    def _neighbour(self, query: q.Neighbour) -> Ints:
        return neighbours(self.facts, self._sequence, self._records(query.things), query.offset)

    @cached_property
    def _sequence(self) -> tuple[Ints, Ints]:
        return record_sequence(self.facts)

    def _records(self, query: q.Things) -> Ints:
        things = self.things(query)
        return things[(things >= self.facts.first_record) & (things < self.facts.first_value)]

    def reached(self, query: q.Things, path: q.Path) -> Reached:
        """Return what a path reaches from each thing of a set; a path without steps keeps how values were reached."""
        if path:
            return reached(self.facts, self._starts(query, path), path)
        if isinstance(query, q.Follow) and not query.step.inverse:
            pairs = self.reached(query.things, (query.step,))
            assert pairs.positions is not None
            ends, first = np.unique(pairs.ends, return_index=True)
            return Reached(ends, ends, ends, pairs.relation, pairs.positions[first])
        if isinstance(query, q.Where | q.Extreme):
            within, things = self.reached(query.things, ()), self.things(query)
            return within.chosen(np.isin(within.ends, things))
        return reached(self.facts, self.things(query), ())

    def _starts(self, query: q.Things, path: q.Path) -> Ints:
        """Return the things of a set from which a path may lead somewhere; of everything only those."""
        if not isinstance(query, q.Everything) or not path:
            return self.things(query)
        relation = self.facts.relation(path[0].relation)
        return sorted_distinct(relation.objects if path[0].inverse else relation.subjects)

    def amounts(self, query: q.Things, path: q.Path) -> tuple[Reached, Amounts]:
        """Return the values that a path reaches: of the kind that most of them have, numbers or dates."""
        pairs = self.reached(query, path).distinct()
        amounts = Amounts.of(self.facts, pairs)
        chosen = amounts.main_kind
        return pairs.chosen(chosen), amounts.chosen(chosen)

    def _aggregate(self, query: q.Aggregate) -> float | None:
        amounts = self.amounts(query.things, query.path)[1]
        if not len(amounts.low) or amounts.is_vague or (query.function in ("sum", "mean") and amounts.kind[0] == DATE):
            return None
        ends = {"max": amounts.high, "min": amounts.low}
        return float(getattr(ends.get(query.function, (amounts.low + amounts.high) / 2), query.function)())

    def _difference(self, query: q.Difference) -> float | None:
        first, second = self._amount(query.first), self._amount(query.second)
        if first is None or second is None or first.kind[0] != second.kind[0]:
            return None
        is_alike = first.one_unit == second.one_unit or not (first.one_unit and second.one_unit)
        return float(abs(first.low[0] - second.low[0])) if is_alike else None

    def _amount(self, query: q.Query) -> Amounts | None:
        """Return the one value that a query gives; None if it gives none, or several."""
        if isinstance(query, q.Count | q.Exists | q.Difference | q.Aggregate):
            result = self.result(query)
            if result is None:
                return None
            number = Amounts.of_number(float(result))
            if not isinstance(query, q.Aggregate):
                return number
            first = self.amounts(query.things, query.path)[1].chosen(np.arange(1))
            return first._replace(low=number.low, high=number.high)
        amounts = Amounts.of(self.facts, self.reached(query, ()))
        return amounts if len(amounts.low) == 1 and amounts.kind[0] != TEXT and not amounts.is_vague else None

    def _where(self, query: q.Things, condition: q.Condition) -> Ints:
        if isinstance(condition, q.Or):
            return np.union1d(self._where(query, condition.first), self._where(query, condition.second))
        pairs = self.met(self.reached(query, condition.path), condition)
        if isinstance(condition, q.Counted):
            ids, counts = pair_counts(pairs.starts, pairs.ends, len(self.facts))
            if not COMPARED[condition.comparison](0, condition.number):
                holding: Ints = ids[COMPARED[condition.comparison](counts, condition.number)]
                return holding
            failing = ids[~COMPARED[condition.comparison](counts, condition.number)]
            return np.setdiff1d(self.things(query), failing, assume_unique=True)
        meeting = sorted_distinct(pairs.starts)
        if is_negative(condition):
            return np.setdiff1d(self.things(query), meeting, assume_unique=True)
        return meeting

    def met(self, pairs: Reached, condition: q.Single) -> Reached:
        """Return the ends of a condition's path that meet it; of a negative one those that it rules out."""
        if isinstance(condition, q.Fields):
            others = reached(self.facts, sorted_distinct(pairs.starts), condition.other)
            return pairs.chosen(fields_compared(self.facts, pairs, condition.comparison, others))
        return pairs.chosen(self.meets(pairs, condition)) if isinstance(condition, q.Compare) else pairs

    def meets(self, pairs: Reached, condition: q.Compare) -> Bools:
        """Return which ends of a condition's path meet it; of "!=" those that are equal."""
        value, comparison = condition.value, condition.comparison
        if comparison == "contains":
            return self._contains(pairs.ends, value)
        if comparison not in ("=", "!="):
            return self._ordered(pairs, comparison, value, is_place=not condition.path)
        if not isinstance(value, str):
            return np.isin(pairs.ends, self.things(value))
        named: Bools = np.isin(pairs.ends, self.facts.find(value))
        if value_kind(value) == TEXT:
            return named
        amounts = Amounts.of(self.facts, pairs)  # the names of -1 and 1 are equal in normal form, their values are not
        signed: Bools = (amounts.low < 0) == value.startswith("-")
        return (named & signed) | amounts.compared("=", amounts.plain(value))

    def _ordered(self, pairs: Reached, comparison: q.Comparison, value: str | q.Things, is_place: bool) -> Bools:
        """Return which ends compare so with a value, or with each of a set; `is_place`: records by their places."""
        if isinstance(value, str):
            amounts = Amounts.of(self.facts, pairs)
            return amounts.compared(comparison, amounts.plain(value))
        records = self._records(value)
        if is_place and len(records) and comparison in (">", "<"):
            is_record = (pairs.ends >= self.facts.first_record) & (pairs.ends < self.facts.first_value)
            beyond: Bools = pairs.ends > records[-1] if comparison == ">" else pairs.ends < records[0]
            return is_record & beyond
        text = decisive(self.facts.texts(self.things(value)), comparison)
        return Amounts.of(self.facts, pairs).compared(comparison, text) if text else np.zeros(len(pairs.ends), bool)

    def _contains(self, ends: Ints, value: str | q.Things) -> Bools:
        """Return which things have a text in their name, or one of the names of a set."""
        texts = [value] if isinstance(value, str) else self.facts.texts(self.things(value))
        parts = [normal_form(text) for text in texts]
        distinct, place = np.unique(ends, return_inverse=True)
        names = map(normal_form, self.facts.texts(distinct))
        held: Bools = np.array([any(part in name for part in parts) for name in names], bool)[place]
        return held


def is_negative(condition: q.Condition) -> bool:
    """Return whether a condition holds for things of which nothing is known."""
    return condition.negated if isinstance(condition, q.Has) else getattr(condition, "comparison", "") == "!="


_SETS: dict[type, Callable[[Execution, Any], Ints]] = {  # how each kind of set is computed
    q.Named: lambda self, query: self.facts.find(query.name),
    q.OfType: lambda self, query: self.facts.of_type(query.type),
    q.Everything: Execution._everything,
    q.Follow: Execution._follow,
    q.Where: lambda self, query: self._where(query.things, query.condition),
    q.Both: lambda self, query: np.intersect1d(self.things(query.first), self.things(query.second), True),
    q.Either: lambda self, query: np.union1d(self.things(query.first), self.things(query.second)),
    q.Except: lambda self, query: np.setdiff1d(self.things(query.first), self.things(query.second), True),
    q.Extreme: Execution._extreme,
    q.Frequent: Execution._frequent,
    q.Neighbour: Execution._neighbour,
}
