"""Paths over facts: what they reach from some things, and the typed values at their ends."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.evidence import Ints
from graphwright.operators.query.query import Comparison, Path, Step
from graphwright.search.facts import Facts
from graphwright.text.numbers import conversion
from graphwright.text.values import DATE, NUMBER, TEXT, TypedValues, typed_values

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
_SHARE = 16  # of the facts of a relation; to read the values of fewer takes less time than those of all
_YEARS = (1, 9999)  # numbers that a date is compared with as years


class Reached(NamedTuple):
    """The ends of paths: pairs of a start and an end, in order of the starts.

    `relation`: the last step's, "" for a path without steps; `positions`: its fact in the facts of that relation;
    `near`: the thing that the last step left from; `is_inverse`: whether it leads to subjects; `is_repeated`: whether
    some fact may be stated twice.
    """

    starts: Ints
    near: Ints
    ends: Ints
    relation: str = ""
    positions: Ints | None = None
    is_inverse: bool = False
    is_repeated: bool = False

    def chosen(self, mask: Bools) -> Reached:
        """Return the pairs that a mask chooses."""
        at = np.flatnonzero(mask)
        return self.taken(at, self.starts[at])

    def taken(self, at: Ints, starts: Ints) -> Reached:
        """Return the pairs at positions, with other starts."""
        positions = None if self.positions is None else self.positions[at]
        return self._replace(starts=starts, near=self.near[at], ends=self.ends[at], positions=positions)

    def distinct(self) -> Reached:
        """Return the pairs, those by a fact that is stated twice once."""
        if not self.is_repeated:
            return self
        first = np.unique(np.stack((self.starts, self.near, self.ends)), axis=1, return_index=True)[1]
        mask = np.zeros(len(self.starts), bool)
        mask[first] = True
        return self.chosen(mask)


def reached(facts: Facts, things: Ints, path: Path) -> Reached:
    """Return what a path reaches from each of some ascending things; without steps, the things themselves."""
    pairs = Reached(things, things, things)
    for at, step in enumerate(path):
        pairs = _stepped(facts, things, step) if at == 0 else _joined(pairs, facts, step)
    return pairs


def _stepped(facts: Facts, things: Ints, step: Step) -> Reached:
    """Return what a step reaches from ascending things."""
    relation = facts.relation(step.relation)
    positions = relation.matching(things, step.inverse)
    subjects, objects = relation.subject(positions), relation.object(positions)
    starts, ends = (objects, subjects) if step.inverse else (subjects, objects)
    return Reached(starts, starts, ends, step.relation, positions, step.inverse, relation.is_repeated)


def _joined(pairs: Reached, facts: Facts, step: Step) -> Reached:
    """Return the pairs of which each end is replaced by what a step reaches from it; pairs count once."""
    starts, ends = _distinct(pairs.starts, pairs.ends, len(facts))
    middle, group = np.unique(ends, return_inverse=True)
    stepped = _stepped(facts, middle, step)
    # the facts of each thing in the middle are consecutive: repeat them for every start that reaches it
    first = np.searchsorted(stepped.starts, middle)
    counts = (np.searchsorted(stepped.starts, middle, side="right") - first)[group]
    offsets = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    at = np.repeat(first[group], counts) + offsets
    return stepped.taken(at, np.repeat(starts, counts))


def _distinct(first: Ints, second: Ints, size: int) -> tuple[Ints, Ints]:
    """Return the distinct pairs of two columns of things below `size`, in order."""
    keys = np.unique(first * size + second)
    return keys // size, keys % size


def pair_counts(of: Ints, distinct: Ints, size: int) -> tuple[Ints, Ints]:
    """Return things, ascending, and with how many distinct others each is paired."""
    things, _ = _distinct(of, distinct, size)
    ids, counts = np.unique(things, return_counts=True)
    return ids, counts


class Amounts(NamedTuple):
    """Typed values, as in TypedValues: their kinds, bounds and units."""

    kind: NDArray[np.uint8]
    low: Floats
    high: Floats
    unit: NDArray[np.int32]
    units: tuple[str, ...]

    @classmethod
    def of(cls, facts: Facts, pairs: Reached) -> Amounts:
        """Return the values at the ends of paths, read as those of the column that they stand in."""
        if pairs.positions is None or pairs.is_inverse:
            values = typed_values(facts.texts(pairs.ends))
        elif len(pairs.positions) > len(facts.relation(pairs.relation)) // _SHARE:
            values = facts.values(pairs.relation).at(pairs.positions)
        else:
            values = facts.values(pairs.relation, pairs.positions)
        return cls(*values)

    @classmethod
    def of_number(cls, number: float) -> Amounts:
        """Return one number without a unit."""
        return cls(np.array([NUMBER], np.uint8), np.array([number]), np.array([number]), np.zeros(1, np.int32), ("",))

    def chosen(self, mask: Bools | Ints) -> Amounts:
        """Return the values that a mask or positions choose."""
        return Amounts(self.kind[mask], self.low[mask], self.high[mask], self.unit[mask], self.units)

    @property
    def one_unit(self) -> str:
        """The unit that all values have, of dates years; "" if they have several."""
        if len(self.kind) and self.kind[0] == DATE:
            return "years"
        units = np.unique(self.unit)
        return self.units[units[0]] if len(units) == 1 else ""

    @property
    def main_kind(self) -> Bools:
        """Which values are of the kind that most of them have, numbers or dates; none if all are texts."""
        numbers, dates = np.count_nonzero(self.kind == NUMBER), np.count_nonzero(self.kind == DATE)
        chosen: Bools = self.kind == (NUMBER if numbers >= dates else DATE)
        return chosen

    def compared(self, comparison: Comparison, text: str) -> Bools:
        """Return which values compare so with a text; with "!=" those that are equal, as with "="."""
        wanted = _wanted(text)
        kind, low, high = int(wanted.kind[0]), float(wanted.low[0]), float(wanted.high[0])
        unit = wanted.units[wanted.unit[0]]
        factors = np.array([np.nan if (f := conversion(unit, other)) is None else f for other in self.units])[self.unit]
        meets = self._lie(comparison, kind, low * factors, high * factors)
        if kind == NUMBER and not unit and low == int(low) and _YEARS[0] <= low <= _YEARS[1]:
            return meets | self._lie(comparison, DATE, low, low + 1)
        if kind == DATE and high - low == 1:
            return meets | self._lie(comparison, NUMBER, low, low)
        return meets

    def _lie(self, comparison: Comparison, kind: int, first: float | Floats, last: float | Floats) -> Bools:
        """Return which values of a kind lie so to an interval; a period is later than another if it begins at its end.

        Equal are two of which one contains the other.
        """
        low, high = self.low, self.high
        if kind == TEXT:
            return np.zeros(len(low), bool)
        held = {
            ">": lambda: (low >= last) & (low > first),
            ">=": lambda: low >= first,
            "<": lambda: (high <= first) & (low < first),
            "<=": lambda: high <= last,
        }
        equal = lambda: ((low >= first) & (high <= last)) | ((low <= first) & (high >= last))  # noqa: E731
        meets: Bools = (self.kind == kind) & held.get(comparison, equal)()
        return meets


def decisive(texts: Sequence[str], comparison: Comparison) -> list[str]:
    """Return, of values that any may be compared with, those that decide: of each kind the easiest to pass.

    >>> decisive(["12", "7", "Graz"], ">"), decisive(["12", "7"], "<")
    (['7'], ['12'])
    """
    values = typed_values(texts)
    keys = {">": values.high, ">=": values.low, "<": -values.low, "<=": -values.high}[comparison]
    chosen = [np.flatnonzero(values.kind == kind) for kind in (NUMBER, DATE)]
    return [texts[at[np.lexsort((values.low[at], keys[at]))[0]]] for at in chosen if len(at)]


@lru_cache(1024)
def _wanted(text: str) -> TypedValues:
    return typed_values([text])


def value_kind(text: str) -> int:
    """Return the kind of a value: TEXT, NUMBER or DATE."""
    return int(_wanted(text).kind[0])
