"""Typed values at the ends of paths, and their comparison."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.evidence import Ints
from graphwright.operators.query.query import Comparison
from graphwright.operators.query.reached import Bools, Floats, Reached
from graphwright.search.facts import Facts
from graphwright.text.names import normal_form
from graphwright.text.numbers import conversion
from graphwright.text.values import DATE, NUMBER, TEXT, TypedValues, typed_values

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
    def main_kind(self) -> Bools:
        """Which values are of the kind that most of them have, numbers or dates; none if all are texts."""
        numbers, dates = np.count_nonzero(self.kind == NUMBER), np.count_nonzero(self.kind == DATE)
        chosen: Bools = self.kind == (NUMBER if numbers >= dates else DATE)
        return chosen

    def compared(self, comparison: Comparison, text: str) -> Bools:
        """Return which values compare so with a text; with "!=" those that are equal, as with "="."""
        return self.against(comparison, Amounts(*_wanted(text)))

    def against(self, comparison: Comparison, other: Amounts) -> Bools:
        """Return which values compare so with other ones, one for each or one for all; units are converted."""
        factors = np.array([[_factor(unit, own) for own in self.units] for unit in other.units])[other.unit, self.unit]
        low, high = other.low * factors, other.high * factors
        meets = (self.kind == other.kind) & (self.kind != TEXT) & self._lie(comparison, low, high)
        is_plain = np.array([not unit for unit in other.units])[other.unit] & (other.low == np.floor(other.low))
        is_year = (other.kind == NUMBER) & is_plain & (other.low >= _YEARS[0]) & (other.low <= _YEARS[1])
        meets |= (self.kind == DATE) & is_year & self._lie(comparison, other.low, other.low + 1)
        is_year = (other.kind == DATE) & (other.high - other.low == 1)
        plain: Bools = meets | ((self.kind == NUMBER) & is_year & self._lie(comparison, other.low, other.low))
        return plain

    def _lie(self, comparison: Comparison, first: Floats, last: Floats) -> Bools:
        """Return which values lie so to an interval; a period is later than another if it begins at its end.

        Equal are two of which one contains the other.
        """
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


def _factor(unit: str, other: str) -> float:
    """Return what a number of a unit is multiplied by for another one, NaN if they are not of one dimension."""
    factor = conversion(unit, other)
    return np.nan if factor is None else factor


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
