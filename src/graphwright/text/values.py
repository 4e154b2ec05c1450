"""Values of literals: dates, numbers with or without a unit, and their order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Value(NamedTuple):
    """A date or a number that a text stands for; a date counts in years."""

    kind: Literal["date", "number"]
    amount: float
    precision: float
    """Length of the period that a date denotes, in years: of a year (1.0), a month or a day."""


_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH = "(?P<name>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\\.?"
_NUMBER = r"[-+−]?\d{1,3}(?:[,\u00a0\u202f]\d{3})+(?:\.\d+)?|[-+−]?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_DATES = [
    re.compile(r"(?P<year>-?\d{4})-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2}))?(?:[t ]\d.*)?"),
    re.compile(r"(?P<day>\d{1,2})[./](?P<month>\d{1,2})[./](?P<year>\d{4})"),
    re.compile(rf"(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)? )?{_MONTH},? (?P<year>\d{{3,4}})"),
    re.compile(rf"{_MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<year>\d{{3,4}})"),
    re.compile(r"(?:c\. ?|ca\.? ?)?(?P<year>[12]\d{3})"),
    re.compile(r"(?P<year>\d{1,4}) ?(?P<era>bce?|ce|ad)"),
]
# A number, perhaps after a currency sign, and a unit of at most two words after it.
_AMOUNT = re.compile(rf"[~≈<>]?\s?[$€£¥]?\s?(?P<number>{_NUMBER})\s?(?P<unit>%|[^\d\s]{{1,12}}(?: [^\d\s]{{1,12}})?)?")
_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}


def value_of(text: str) -> Value | None:
    """Return the date or the number that a text is, None for any other text.

    A number from 1000 to 2999 without a unit is a year.

    >>> value_of("1985-03-20").kind, value_of("20 March 851").kind, value_of("1999")
    ('date', 'date', Value(kind='date', amount=1999.0, precision=1.0))
    >>> value_of("453 km").amount, value_of("1,250,000").amount, value_of("3rd Rock"), value_of("Graz")
    (453.0, 1250000.0, None, None)
    """
    folded = text.strip().casefold()
    if len(folded) > 40 or not any(map(str.isdigit, folded)):
        return None
    for pattern in _DATES:
        if match := pattern.fullmatch(folded):
            return _date(match.groupdict())
    match = _AMOUNT.fullmatch(folded)
    if match is None or re.match(r"(?:st|nd|rd|th)\b", folded[match.end("number") :]):
        return None
    number = float(re.sub(r"[,\u00a0\u202f]", "", match["number"]).replace("−", "-"))
    return Value("number", number * _SCALES.get((match["unit"] or "").split(" ")[0], 1.0), 0.0)


def _date(parts: dict[str, str | None]) -> Value | None:
    year = int(parts["year"] or 0) * (-1 if (parts.get("era") or "").startswith("b") else 1)
    name, day = parts.get("name"), parts.get("day")
    month = _MONTHS.index(name) + 1 if name else int(parts.get("month") or 0)
    if month > 12 or int(day or 0) > 31:
        return None
    amount = year + max(month - 1, 0) / 12 + max(int(day or 1) - 1, 0) / 372
    return Value("date", amount, 1 / 372 if day else 1 / 12 if month else 1.0)


_DAY = re.compile(
    rf"\b(?:\d{{4}}-\d{{2}}-\d{{2}}|\d{{1,2}}(?:st|nd|rd|th|\.)? {_MONTH.replace('?P<name>', '?:')},? \d{{4}}"
    rf"|{_MONTH.replace('?P<name>', '?:')} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}})\b",
    re.IGNORECASE,
)


def first_day(text: str) -> str:
    """Return the first date in a text that names a day, as it stands there; "" for none.

    >>> first_day("Date: Mon, 3 May 2021 09:00"), first_day("since 1999")
    ('3 May 2021', '')
    """
    match = _DAY.search(text)
    return match[0] if match else ""


class TypedValues(NamedTuple):
    """The values of n texts of one column: numbers with a unit, dates as intervals, or neither.

    `kind: uint8[n]`: TEXT, NUMBER or DATE. `low`, `high: float64[n]`: of a number itself, of a date its first and last
    day in years; NaN for a text. `units`: of each number, "" for none.
    """

    kind: NDArray[np.uint8]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    units: tuple[str, ...]

    def at(self, positions: NDArray[np.int64]) -> TypedValues:
        """Return the values at positions."""
        units = tuple(self.units[at] for at in positions.tolist())
        return TypedValues(self.kind[positions], self.low[positions], self.high[positions], units)


TEXT, NUMBER, DATE = 0, 1, 2


def is_value(text: str) -> bool:
    """Return whether a text is a number or a date."""
    return value_of(text) is not None


class ColumnFormat(NamedTuple):
    """How a column writes its values."""


def column_format(texts: Sequence[str]) -> ColumnFormat:
    """Return how the texts of a column are written."""
    return ColumnFormat()


def typed_values(texts: Sequence[str], written: ColumnFormat | None = None) -> TypedValues:
    """Return the values of the texts of one column; what a text means may depend on the others.

    `written`: how the column writes its values, if `texts` are a part of it.

    >>> typed_values(["12 km", "May 2024", "Graz"]).kind.tolist()
    [1, 2, 0]
    """
    values = [value_of(text) for text in texts]
    kind = np.array([TEXT if v is None else NUMBER if v.kind == "number" else DATE for v in values], np.uint8)
    low = np.array([np.nan if v is None else v.amount for v in values], np.float64)
    high = np.array([np.nan if v is None else v.amount + v.precision for v in values], np.float64)
    return TypedValues(kind, low, high, ("",) * len(texts))
