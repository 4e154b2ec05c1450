"""Values of texts, as a column writes them and inside running text: numbers with a unit, and dates."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.text.dates import day_first_of, period_of
from graphwright.text.numbers import Amount, amount_of, conversion, decimal_of, folded_digits
from graphwright.text.words import words

TEXT, NUMBER, DATE = 0, 1, 2
_Decided = tuple[str, bool | None]  # the decimal sign, and whether days are first; "" and None if nothing decides
_MAX_LENGTH = 60  # characters of a value
_SAMPLE = 5000  # distinct texts of a column that decide how it is written, at most
_CLOCK = re.compile(r"-?(\d{1,3}):([0-5]\d)(?::([0-5]\d)(?:[.,](\d+))?)?(?: ?([ap])\.?m\.?)?", re.IGNORECASE)
_DIGIT = re.compile(r"\d")
_SECONDS = "s"
_EARLY_YEAR = re.compile(r"-?0\d{3}")  # as ISO 8601 has it
_MARKS = re.compile(r"(?<=\S)(?:\s?\[[^\[\]]{1,20}\]|\s?[*†‡§+]{1,3}|(?<=\d)[¹²³⁰⁴-⁹]{1,3}){1,5}$")  # 1871[2], 12.5*
_REMARK = re.compile(r"(?<=[^\s(])\s?\([^()]*\)$")  # 2,931 m (9,616 ft)
_WORD = re.compile(r"^(?:[^\W\d_]{1,12}(?:\.\s?|\s+)|[\u3041-\u9fff]{1,3}(?=\d))")  # c. 3,000 m
_NUMBER, _BESIDE = r"(\d[\d.,'’\s]{0,15}", r"([^\d–—-]{0,15}?)"
_RANGE = re.compile(rf"{_BESIDE}([-−]?{_NUMBER[1:]}?){_BESIDE}\s?[-–—]\s?{_BESIDE}{_NUMBER})(\D{{0,15}})")


class Value(NamedTuple):
    """A date or a number that a text stands for; a date counts in years."""

    kind: Literal["date", "number"]
    amount: float
    precision: float  # length of the period that a date denotes, in years: of a year (1.0), a month or a day
    unit: str = ""


class ColumnFormat(NamedTuple):
    """How a column writes its values.

    `decimal`: the decimal sign of 1,234, "" if nothing decides it; `day_first`: whether 3/5/2024 is the third of May;
    `with_dates`: whether a year alone is a date, as where no other numbers stand beside dates; `with_hours`: whether
    3:45 is hours and minutes, not minutes and seconds; `units`: those that numbers have, the most frequent first;
    `is_open`: whether any word may be a unit; `qualified`: units that allow words before a number, or another number.
    """

    decimal: str = "."
    day_first: bool = True
    with_dates: bool = False
    with_hours: bool = True
    units: tuple[str, ...] = ()
    is_open: bool = True
    qualified: tuple[str, ...] = ()


class TypedValues(NamedTuple):
    """The values of n texts of one column: numbers with a unit, dates as intervals, or neither.

    `kind: uint8[n]`: TEXT, NUMBER or DATE. `low`, `high: float64[n]`: of a number itself; of a date its beginning and
    the moment after its end, in years; NaN for a text. `unit: int32[n]` indexes `units`, whose first is "": none.
    """

    kind: NDArray[np.uint8]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    unit: NDArray[np.int32]
    units: tuple[str, ...] = ("",)

    def at(self, positions: NDArray[np.int64]) -> TypedValues:
        """Return the values at positions."""
        p = positions
        return TypedValues(self.kind[p], self.low[p], self.high[p], self.unit[p], self.units)


def column_format(texts: Sequence[str], otherwise: str = "") -> ColumnFormat:
    """Return how the texts of a column are written; `otherwise`: the decimal sign if none decides it.

    >>> written = column_format(["1.200,50 €", "3/25/2024", "12 km", "800 m", "3 km"])
    >>> written.decimal, written.day_first, written.units
    (',', False, ('km', 'EUR', 'm'))
    """
    folded = [_folded(text) for text in dict.fromkeys(texts) if _may_be_value(text)]
    numbers = dict.fromkeys(end for text in folded for ends in _readings(text) for end in ends)
    decimal, day_first = decimal_of(numbers, otherwise), day_first_of(folded) is not False
    bounds = {text: ends for text in folded if (ends := _bounds(text, decimal))}
    amounts = {text: low for text, (low, _, is_sure) in bounds.items() if is_sure or (low.unit and low.is_known)}
    units, known = Counter(a.unit for a in amounts.values()), {a.unit for a in amounts.values() if a.is_known}
    accepted = tuple(unit for unit, count in units.most_common() if unit and (count > 1 or unit in known))
    others = [text for text in folded if not _is_certain(amounts.get(text), text)]
    years = [text for text in folded if text.isdigit() and not _EARLY_YEAR.fullmatch(text)]
    only_years = len(years) == len(folded) - len(others)
    with_dates = only_years and any(period_of(text.lower(), day_first) for text in others)
    clocks = [clock for text in others if (clock := _CLOCK.fullmatch(text)) and not clock[5]]
    with_hours = not any(int(clock[1]) > 23 or clock[3] for clock in clocks)
    qualified = (*accepted, *[""] * (2 * sum(sure and not low.unit for low, _, sure in bounds.values()) > len(folded)))
    return ColumnFormat(decimal, day_first, with_dates, with_hours, accepted, len(folded) < 2, qualified)


def decided(texts: Sequence[str], is_column: bool = True) -> _Decided:
    """Return the decimal sign that texts decide, "" for none (see `decimal_of`), and whether days are first or None."""
    folded = [_folded(text) for text in dict.fromkeys(texts) if _may_be_value(text)]
    numbers = {end for text in folded if is_column or amount_of(text) for ends in _readings(text) for end in ends}
    return decimal_of(numbers, "", is_column), day_first_of(folded)


def format_of_part(column: ColumnFormat, texts: Sequence[str], *beside: Callable[[], _Decided]) -> ColumnFormat:
    """Return how a part of a column is written, by its texts, else by what is beside it, the nearest first.

    >>> column = column_format(["13/01/2024", "12,5", "01/31/2024"])
    >>> format_of_part(column, ["01/31/2024", "1.250", "2.5"])[:2], format_of_part(column, ["01/02/2024"])[:2]
    (('.', False), (',', True))
    """
    decimal, day_first = decided(texts)
    for other in beside if any(map(_may_be_value, texts)) else ():
        if not decimal or day_first is None:
            decimal, day_first = decimal or other()[0], other()[1] if day_first is None else day_first
    day_first = column.day_first if day_first is None else day_first
    return column._replace(decimal=decimal or column.decimal, day_first=day_first)


def joined_values(parts: Sequence[tuple[NDArray[np.int64], TypedValues]]) -> TypedValues:
    """Return the values of parts that have these positions in the whole."""
    units, size = {"": 0}, sum(len(at) for at, _ in parts)
    whole = TypedValues(np.empty(size, np.uint8), np.empty(size), np.empty(size), np.empty(size, np.int32))
    for at, part in parts:
        numbers = np.array([units.setdefault(unit, len(units)) for unit in part.units], np.int32)
        whole.kind[at], whole.low[at], whole.high[at], whole.unit[at] = *part[:3], numbers[part.unit]
    return whole._replace(units=tuple(units))


def _is_certain(amount: Amount | None, text: str) -> bool:
    """Return whether a text is a number and no date: "1850s" and "44 BC" may be either."""
    return amount is not None and amount.is_known and not (amount.unit == _SECONDS and text.endswith("0s"))


def typed_values(texts: Sequence[str], written: ColumnFormat | None = None) -> TypedValues:
    """Return the values of the texts of one column; what a text means may depend on the others.

    `written`: how the column writes its values, if `texts` are a part of it. Units of one dimension are converted to
    the most frequent one. A year alone is a number, in a column of dates a date. Words such as true and yes are texts.

    >>> values = typed_values(["12 km", "800 m", "May 2024", "Graz", "3 km"])
    >>> values.kind.tolist(), values.low[:2].tolist(), values.units[values.unit[1]]
    ([1, 1, 2, 0, 1], [12.0, 0.8], 'km')
    """
    distinct = dict.fromkeys(texts)
    written = written or column_format(list(distinct)[:: len(distinct) // _SAMPLE + 1], ".")
    rows = {text: at for at, text in enumerate(distinct)}
    values = [_typed(text, written) for text in distinct]
    units = {"": 0}
    at = np.fromiter((rows[text] for text in texts), np.int64, len(texts))
    kinds = np.array([TEXT if v is None else v.kind for v in values], np.uint8)
    bounds = np.array([(np.nan, np.nan) if v is None else (v.low, v.high) for v in values], np.float64).reshape(-1, 2)
    unit = np.array([0 if v is None else units.setdefault(v.unit, len(units)) for v in values], np.int32)
    return TypedValues(kinds[at], bounds[at, 0], bounds[at, 1], unit[at], tuple(units))


def _readings(text: str) -> Iterator[tuple[str, str]]:
    """Yield what a text may give as the ends of a range: all of it, then without a remark, and each word before it."""
    yield text, text
    text = _REMARK.sub("", text)
    while text:
        match = _RANGE.fullmatch(text)
        before, low, unit, other, high, after = match.groups() if match else ("", text, "", "", text, "")
        yield (before + low + (unit or after)).strip(), ((other or before) + high + after).strip()
        text = text[word.end() :] if (word := _WORD.match(text)) else ""


def _bounds(text: str, decimal: str) -> tuple[Amount, Amount, bool] | None:
    """Return the ends of the range that a text gives, or what a number may be, and whether it is that in any column."""
    signs = (decimal, decimal) if decimal else (".", "." if "," in text else ",")
    for at, ends in enumerate(_readings(text)):
        low, high = map(amount_of, ends, signs)
        if low and high and ends[0] == ends[1]:
            low, high = sorted((low, high))
        if low and high and low.unit == high.unit and low.number <= high.number:
            return low, high, at == 0 or (at == 1 and ends[0] == ends[1] and bool(low.unit) and low.is_known)
    return None


class _Typed(NamedTuple):
    kind: int
    low: float
    high: float
    unit: str = ""


def _typed(text: str, written: ColumnFormat) -> _Typed | None:
    """Return the value of a text in a column, None for none."""
    if not _may_be_value(text):
        return None
    folded = _folded(text)
    bounds = _bounds(folded, written.decimal)
    amount, last = bounds[:2] if bounds and (bounds[2] or bounds[0].unit in written.qualified) else (None, None)
    may_be_date = (
        not _is_certain(amount, folded) or not (bounds and bounds[2]) or (written.with_dates and folded.isdigit())
    )
    if written.with_dates and _EARLY_YEAR.fullmatch(folded):
        return _Typed(DATE, float(folded), float(folded) + 1)
    if may_be_date and (period := period_of(folded.lower(), written.day_first)):
        return _Typed(DATE, period.low, period.high)
    if clock := _CLOCK.fullmatch(folded):
        seconds = _seconds(clock, written.with_hours)
        return _Typed(NUMBER, seconds, seconds, _SECONDS)
    if amount is None or last is None or not (amount.is_known or written.is_open or amount.unit in written.units):
        return None
    for unit in written.units:
        if amount.unit and unit != amount.unit and (factor := conversion(amount.unit, unit)) is not None:
            return _Typed(NUMBER, amount.number * factor, last.number * factor, unit)
        if unit == amount.unit:
            break
    return _Typed(NUMBER, amount.number, last.number, amount.unit)


def _seconds(clock: re.Match[str], with_hours: bool) -> float:
    first, second, third = int(clock[1]), int(clock[2]), clock[3]
    if clock[5]:  # a time of day
        first = first % 12 + (12 if clock[5] in "pP" else 0)
    seconds = first * 3600 + second * 60 if third or clock[5] or with_hours else first * 60 + second
    return (seconds + int(third or 0) + float(f"0.{clock[4] or 0}")) * (-1 if clock[0].startswith("-") else 1)


def _may_be_value(text: str) -> bool:
    return len(text) <= _MAX_LENGTH and _DIGIT.search(text) is not None


def _folded(text: str) -> str:
    """Return a text without space around it and marks of notes after it, with digits as ASCII."""
    return folded_digits(_MARKS.sub("", text.strip()))


def is_value(text: str) -> bool:
    """Return whether a text is a number, perhaps with a known unit, or a date, and so names nothing.

    >>> is_value("12 km"), is_value("3 May 2024"), is_value("12 Angry Men")
    (True, True, False)
    """
    return _typed(text, _ALONE) is not None


_ALONE = ColumnFormat(is_open=False)
_WITH_YEARS = ColumnFormat(with_dates=True)


def value_of(text: str, written: ColumnFormat = _WITH_YEARS) -> Value | None:
    """Return the date or the number that a text is, None for any other text.

    `written`: how its column writes values; by default a number from 1000 to 2999 without a unit is a year, and one
    below 1000 with a zero before it.

    >>> value_of("1985-03-20").kind, value_of("20 March 851").kind, value_of("1999")[:3]
    ('date', 'date', ('date', 1999.0, 1.0))
    >>> value_of("453 km").amount, value_of("1,250,000").amount, value_of("3rd Rock"), value_of("Graz")
    (453.0, 1250000.0, None, None)
    """
    value = _typed(text, written)
    if value is None:
        return None
    return Value("date" if value.kind == DATE else "number", value.low, value.high - value.low, value.unit)


_TOKEN = re.compile(r"[^\s()\[\]–—]+")
_OPEN = ColumnFormat(is_open=True)  # any word after a number may be its unit
_KNOWN = ColumnFormat(with_dates=True, is_open=False)
_LONGEST = 4  # words of a value from its digits on
_YEAR, _MONTH, _DAY = 1, 2, 3
_DAYS = 0.01  # years
_AROUND = ".,;:!?\"'“”"


class FoundValue(NamedTuple):
    """A value, and its first and last character in a text."""

    start: int
    end: int
    value: Value


def values_in(text: str) -> Iterator[FoundValue]:
    """Yield the values of a text in order, the most exact at each place; of "1200 pages" also the year.

    >>> [(f.value.amount, f.value.unit) for f in values_in("Opened on 4 May 2012 (costs €3.50, weighs 2 kg).")]
    [(2012.34..., ''), (3.5, 'EUR'), (2.0, 'kg')]
    >>> [(f.value.amount, f.value.unit) for f in values_in("It costs 42 and that 58 crowns.")][:2]
    [(42.0, ''), (58.0, 'crowns')]
    """
    tokens = [match.span() for match in _TOKEN.finditer(text)]
    at = 0
    while at < len(tokens):
        found = list(_at(text, tokens, at)) if _DIGIT.search(text, *tokens[at]) else []
        yield from found
        end = max((each.end for each in found), default=0)
        at += 1
        while at < len(tokens) and tokens[at][0] < end:
            at += 1


def _at(text: str, tokens: Sequence[tuple[int, int]], at: int) -> Iterator[FoundValue]:
    """Yield the value whose first digits are in a token: the most exact, else a number with its next word and alone."""
    ends = [end for _, end in tokens[at : at + _LONGEST]]
    read = [_read(text, start, end) for start, _ in tokens[max(at - 1, 0) : at + 1] for end in ends]
    known = [found for found in read if found]
    sign = 1 if any(found.value.kind == "number" and found.value.unit for found in known) else -1  # "$1.2 million"
    best = max(known, key=lambda found: (_exactness(found.value), found.start, sign * found.end), default=None)
    if (best is None or _exactness(best.value) < _MONTH) and len(ends) > 1 and text[ends[0] - 1] not in _AROUND:
        counted = _read(text, tokens[at][0], ends[1], _OPEN)
        if counted and words(counted.value.unit):  # "and" counts nothing
            yield counted
            if best is not None and best.value.kind == "number":
                return
    if best is not None:
        yield best


def _exactness(value: Value) -> int:
    """Return how much a value says: 0 for a bare number, 1 for a year, 2 for a month, 3 for a day or a unit."""
    if value.kind == "number":
        return _DAY if value.unit else 0
    return _DAY if value.precision < _DAYS else _MONTH if value.precision < 1 else _YEAR


def _read(text: str, start: int, end: int, written: ColumnFormat = _KNOWN) -> FoundValue | None:
    shown = text[start:end]
    start += len(shown) - len(shown.lstrip(_AROUND))
    shown = shown.strip(_AROUND)
    value = value_of(shown, written)
    if value is None or (value.amount < 0 and shown[0].isdigit() and value.kind == "number"):  # "3-day"
        return None
    return FoundValue(start, start + len(shown), value)


def difference(a: Value, b: Value) -> float | None:
    """Return by how much a value exceeds another of its kind, in the unit of the first; None if they do not compare.

    Dates count in years, and do not compare where one period contains the other.

    >>> a, b, c = (found.value for found in values_in("2 km, 500 m, 3 seats"))
    >>> difference(a, b), difference(a, c)
    (1.5, None)
    """
    if a.kind != b.kind:
        return None
    if a.kind == "date":
        apart = a.amount - b.amount
        overlap = -a.precision < apart < b.precision
        return 0.0 if apart == 0 and a.precision == b.precision else None if overlap else apart
    factor = conversion(b.unit, a.unit) if bool(a.unit) == bool(b.unit) else None
    if factor is None and a.unit and words(a.unit) == words(b.unit):
        factor = 1.0
    return None if factor is None else a.amount - b.amount * factor
