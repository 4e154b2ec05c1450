"""Paths over facts: what they reach from some things, and the typed values at their ends."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import OptionError
from graphwright.graph.evidence import Ints
from graphwright.kernels.ranking import sorted_distinct
from graphwright.operators.query.query import Comparison, Path, Step
from graphwright.search.facts import Facts
from graphwright.text.names import normal_form
from graphwright.text.numbers import conversion
from graphwright.text.values import DATE, NUMBER, TEXT, TypedValues, typed_values

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
COMPARED: dict[Comparison, Callable[[Any, int], Any]] = {  # comparisons of numbers of things
    "=": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
MAX_PAIRS = 20_000_000  # pairs of things that a step which is taken any number of times may join
_GROUPS = re.compile(r"(?<![\d.,])(\d{1,3})[.,](\d{3})(?![.,]?\d)")
_ROUNDING = 1e-4  # of hundredths
_COLUMNS = ("starts", "near", "ends", "positions")
_NONE = np.empty(0, np.int64)


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
    """Return what a step reaches from ascending things; one that is taken several times reaches each end once."""
    if step.times != 1:
        pairs = _repeated(facts, things, step)
        return pairs._replace(near=pairs.starts)
    relation = facts.relation(step.relation)
    positions = relation.matching(things, step.inverse)
    if step.at:
        positions = positions[facts.hold(relation.fact(positions), step.at)]
    subjects, objects = relation.subject(positions), relation.object(positions)
    starts, ends = (objects, subjects) if step.inverse else (subjects, objects)
    return Reached(starts, starts, ends, step.relation, positions, step.inverse, relation.is_repeated)


def _repeated(facts: Facts, things: Ints, step: Step) -> Reached:
    """Return what a step that is taken once or more reaches from each thing, with the last fact on the shortest way."""
    level, size = reached(facts, things, ()), max(len(facts), 1)
    parts, known = [_stepped(facts, things[:0], step._replace(times=1))], _NONE
    for _ in range(step.times or size):
        level = _joined(level, facts, step._replace(times=1))
        keys, first = np.unique(level.starts * size + level.ends, return_index=True)
        is_new = ~np.isin(keys, known, assume_unique=True)
        level = level.taken(first[is_new], level.starts[first[is_new]])
        known = np.union1d(known, keys[is_new])
        if len(known) > MAX_PAIRS:
            raise OptionError(f"{step.relation} joins more than {MAX_PAIRS:,} pairs of things. Ask it of fewer things.")
        if not len(level.ends):
            break
        parts.append(level)
    starts, near, ends, positions = (np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS)
    order = np.argsort(starts, kind="stable")
    return Reached(starts[order], near[order], ends[order], step.relation, positions[order], step.inverse)


def trail(facts: Facts, pairs: Reached, step: Step) -> Ints:
    """Return the positions of the facts by which a step that is taken once or more leads to the ends of pairs."""
    size, wanted, parts = max(len(facts), 1), pairs.near * len(facts) + pairs.ends, list[Ints]()
    steps = _repeated(facts, sorted_distinct(pairs.near), step)
    while len(wanted):
        last = steps.chosen(np.isin(steps.starts * size + steps.ends, wanted))
        assert last.positions is not None
        parts.insert(0, last.positions)
        before = last.chosen(last.near != last.starts)
        wanted = np.setdiff1d(before.starts * size + before.near, wanted)
    return np.concatenate(parts) if parts else _NONE


def closure(facts: Facts, things: Ints, step: Step) -> Ints:
    """Return all that a step reaches from some things together which is taken once or more, ascending."""
    level, known = things, _NONE
    for _ in range(step.times or len(facts)):
        level = np.setdiff1d(_stepped(facts, level, step._replace(times=1)).ends, known)
        if not len(level):
            break
        known = np.union1d(known, level)
    return known


def _joined(pairs: Reached, facts: Facts, step: Step) -> Reached:
    """Return the pairs of which each end is replaced by what a step reaches from it; pairs count once."""
    starts, ends = _distinct(pairs.starts, pairs.ends, len(facts))
    middle, group = np.unique(ends, return_inverse=True)
    stepped = _stepped(facts, middle, step)
    # the facts of each thing in the middle are consecutive: repeat them for every start that reaches it
    first = np.searchsorted(stepped.starts, middle)
    counts = (np.searchsorted(stepped.starts, middle, side="right") - first)[group]
    offsets = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    return stepped.taken(np.repeat(first[group], counts) + offsets, np.repeat(starts, counts))


def _distinct(first: Ints, second: Ints, size: int) -> tuple[Ints, Ints]:
    """Return the distinct pairs of two columns of things below `size`, in order."""
    keys = np.unique(first * size + second)
    return keys // size, keys % size


def pair_counts(of: Ints, distinct: Ints, size: int) -> tuple[Ints, Ints]:
    """Return things, ascending, and with how many distinct others each is paired."""
    things, _ = _distinct(of, distinct, size)
    ids, counts = np.unique(things, return_counts=True)
    return ids, counts


_SHARE = 16  # of the facts of a relation; to read the values of fewer takes less time than those of all
_TURNED: dict[Comparison, Comparison] = {">": "<", ">=": "<=", "<": ">", "<=": ">="}
_YEARS = (1, 9999)  # numbers that a date is compared with as years


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
    def is_vague(self) -> bool:
        """Whether ends are a thousand times apart, as 1.500 may be 1.5 or 1500: its middle says nothing."""
        ends = np.sort(np.abs((self.low, self.high)), 0)[:, (self.kind == NUMBER) & (self.low != 0)]
        return bool((ends[1] > 999 * ends[0]).any())

    @property
    def main_kind(self) -> Bools:
        """Which values are of the kind that most of them have, numbers or dates; none if all are texts."""
        numbers, dates = np.count_nonzero(self.kind == NUMBER), np.count_nonzero(self.kind == DATE)
        chosen: Bools = self.kind == (NUMBER if numbers >= dates else DATE)
        return chosen

    def compared(self, comparison: Comparison, text: str) -> Bools:
        """Return which values compare so with a text; with "!=" those that are equal, as with "="."""
        return self.against(comparison, Amounts(*_wanted(text)))

    def plain(self, text: str) -> str:
        """Return a text that is compared with the values; 50.000 or 50,000 is 50000, unless some have thousandths."""
        numbers = 100 * self.low[self.kind == NUMBER]
        return text if (np.abs(numbers - np.round(numbers)) > _ROUNDING).any() else _GROUPS.sub(r"\1\2", text)

    def against(self, comparison: Comparison, other: Amounts) -> Bools:
        """Return which values compare so with other ones, one for each or one for all; units are converted."""
        # None, of units of two dimensions, becomes NaN.
        table = np.array([[conversion(unit, own) for own in self.units] for unit in other.units], np.float64)
        factors = table[other.unit, self.unit]
        low, high = other.low * factors, other.high * factors
        meets = (self.kind == other.kind) & (self.kind != TEXT) & self._lie(comparison, low, high)
        is_plain = np.array([not unit for unit in other.units])[other.unit] & (other.low == np.floor(other.low))
        is_year = (other.kind == NUMBER) & is_plain & (other.low >= _YEARS[0]) & (other.low <= _YEARS[1])
        meets |= (self.kind == DATE) & is_year & self._lie(comparison, other.low, other.low + 1)
        is_year = (other.kind == DATE) & (other.high - other.low == 1)
        plain: Bools = meets | ((self.kind == NUMBER) & is_year & self._lie(comparison, other.low, other.low))
        return plain

    def _lie(self, comparison: Comparison, first: Floats, last: Floats) -> Bools:
        """Return which values lie so to an interval. Later: from its end on; equal: one contains the other."""
        low, high = self.low, self.high
        held = {
            ">": lambda: (low >= last) & (low > first),
            ">=": lambda: low >= first,
            "<": lambda: (high <= first) & (low < first),
            "<=": lambda: high <= last,
        }
        equal = lambda: ((low >= first) & (high <= last)) | ((low <= first) & (high >= last))  # noqa: E731
        meets: Bools = held.get(comparison, equal)()
        return meets


def decisive(texts: Sequence[str], comparison: Comparison) -> str:
    """Return, of values that each is to be compared with, the one that decides; "" if they are not of one kind.

    >>> decisive(["12", "7", "9"], ">"), decisive(["12", "7"], "<"), decisive(["12", "Graz"], "<")
    ('12', '7', '')
    """
    values = typed_values(texts)
    if not texts or values.kind[0] == TEXT or (values.kind != values.kind[0]).any():
        return ""
    keys = {">": values.high, ">=": values.low, "<": -values.low, "<=": -values.high}[comparison]
    return texts[int(np.lexsort((values.low, keys))[-1])]


@lru_cache(1024)
def _wanted(text: str) -> TypedValues:
    return typed_values([text])


def value_kind(text: str) -> int:
    """Return the kind of a value: TEXT, NUMBER or DATE."""
    return int(_wanted(text).kind[0])


def fields_compared(facts: Facts, pairs: Reached, comparison: Comparison, others: Reached) -> Bools:
    """Return which ends compare so with one of the other ends of their start; with "!=" those that are equal."""
    first = np.searchsorted(others.starts, pairs.starts)
    counts = np.searchsorted(others.starts, pairs.starts, side="right") - first
    at = np.repeat(np.arange(len(counts)), counts)
    with_at = np.arange(len(at)) + np.repeat(first - np.cumsum(counts) + counts, counts)
    values, other = Amounts.of(facts, pairs).chosen(at), Amounts.of(facts, others).chosen(with_at)
    holds = values.against(comparison, other)
    holds |= (values.kind == NUMBER) & other.against(_TURNED.get(comparison, comparison), values)  # a year and a day
    if comparison in ("=", "!="):
        ends, other_ends = pairs.ends[at], others.ends[with_at]
        is_text = (values.kind == TEXT) & (other.kind == TEXT)
        holds |= (ends == other_ends) | (is_text & _named_alike(facts, ends, other_ends))
    some: Bools = np.bincount(at[holds], minlength=len(counts)) > 0
    return some


def _named_alike(facts: Facts, first: Ints, second: Ints) -> Bools:
    """Return which nodes and values have the same name, in its normal form."""
    things, place = np.unique(np.concatenate((first, second)), return_inverse=True)
    forms = np.unique([*map(normal_form, facts.texts(things)), ""], return_inverse=True)[1][:-1]
    is_record = (things >= facts.first_record) & (things < facts.first_value)
    code = np.where(is_record, -1 - things, forms)[place]
    alike: Bools = code[: len(first)] == code[len(first) :]
    return alike
