"""Dates and times as files write them: ISO, with points or slashes, with names of months, and with times of day."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterable
from typing import NamedTuple

from graphwright.text.month_names import month_of

DAY = 1 / 372
"""Length of a day in years; a year has twelve months of 31 days, so that bounds of periods are exact."""
_TIME = (
    r"(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d)(?:[.,]\d+)?)?\s?(?P<half>[ap]\.?m\.?)?"
    r"\s?(?P<zone>z|utc|gmt|[+-]\d{2}:?\d{2})?(?: ?\([a-z]{2,5}\))?"
)
_NUMBERS = re.compile(r"(?P<first>\d{1,2})(?P<sign>[./-])\s?(?P<second>\d{1,2})(?P=sign)\s?(?P<year>\d{4}|\d{2})")
_ISO = re.compile(
    r"(?P<year>[+-]?\d{4,6})(?:[-/](?P<month>\d{1,2})|(?P<sign>[-/.])(?P<m>\d{1,2})(?P=sign)(?P<day>\d{1,2}))"
)
_MONTH_OF_YEAR = re.compile(r"(?P<month>\d{1,2})/(?P<year>\d{4})")
_CHARACTERS = re.compile(r"(?P<year>\d{1,4})[年년] ?(?:(?P<month>\d{1,2})[月월] ?(?:(?P<day>\d{1,2})[日일])?)?")
_QUARTER = re.compile(r"(?:q(?P<a>[1-4])[ /-]?(?P<year>\d{4})|(?P<other>\d{4})[ /-]?q(?P<b>[1-4]))")
_YEAR = re.compile(r"(?:c\. ?|ca\.? ?|~ ?)?(?P<year>[12]\d{3})")
_DECADE = re.compile(r"(\d{3}0)['’]?s")
_ERA = re.compile(
    r"(?P<year>\d{1,5}) ?(?P<era>b\.?c\.?(?:e\.?)?|v\. ?(?:chr\.?|u\. ?z\.?)|av\. ?j\.?-c\.?|a\.? ?c\.?|до н\. ?э\.?"
    r"|c\.?e\.?|a\.?d\.?|n\. ?chr\.?|ap\. ?j\.?-c\.?|d\.? ?c\.?|н\. ?э\.?)"
)
_AFTER = ("c", "ad", "a.d", "n", "ap", "d", "н")  # beginnings of eras that count forwards
_WRITTEN = re.compile(r"\d+|[^\W\d_]+\.?|[^\w\s]|_")
_SIGNS = ",.-/º'’"
_JOINING = 3  # letters of a word between the parts of a date, at most: "3rd", "de", "of", "1er"
_WITH_TIME = re.compile(rf"(?P<date>.+?)(?:[t ,]|, | at | um )\s?{_TIME}", re.DOTALL)


class Period(NamedTuple):
    """A period in years: its beginning, and the moment after its end."""

    low: float
    high: float


def period_of(text: str, day_first: bool = True) -> Period | None:
    """Return the period that a text in lower case denotes, a year, a month, a day or a moment; None for another text.

    `day_first`: whether 3/5/2024 is the third of May. A year alone has four digits from 1000 on.

    >>> period_of("may 2024") == Period(2024 + 4 / 12, 2024 + 5 / 12), period_of("44 bc")
    (True, Period(low=-43.0, high=-42.0))
    >>> period_of("3. märz 2024") == period_of("2024-03-03") == period_of("3/3/24"), period_of("13/13/2024")
    (True, None)
    """
    date = _date_of(text, day_first)
    if date is not None:
        return date
    match = _WITH_TIME.fullmatch(text) if ":" in text else None
    day = _date_of(match["date"], day_first) if match else None
    if match is None or day is None or day.high - day.low > 2 * DAY:
        return None
    return _moment(day, match)


def day_first_of(texts: Iterable[str]) -> bool | None:
    """Return whether dates of a column begin with the day, by a number above 12; None if none decides."""
    for text in texts:
        if (match := _NUMBERS.match(text)) and match["sign"] != ".":
            first, second = int(match["first"]), int(match["second"])
            if (first > 12) != (second > 12):
                return first > 12
    return None


def _date_of(text: str, day_first: bool) -> Period | None:
    if match := _NUMBERS.fullmatch(text):
        first, second = int(match["first"]), int(match["second"])
        day, month = (first, second) if day_first or match["sign"] == "." else (second, first)
        return _period(full_year(match["year"]), month, day)
    for pattern in (_ISO, _MONTH_OF_YEAR, _CHARACTERS):
        if match := pattern.fullmatch(text):
            parts = {name: int(value) for name, value in match.groupdict().items() if value and name != "sign"}
            return _period(parts["year"], parts.get("month", parts.get("m", 0)), parts.get("day", 0))
    if match := _QUARTER.fullmatch(text):
        first = 3 * int(match["a"] or match["b"]) - 2
        year = int(match["year"] or match["other"])
        return Period(_start(year, first, 1), _start(year, first + 3, 1))
    if match := _YEAR.fullmatch(text):
        return _period(int(match["year"]))
    if match := _DECADE.fullmatch(text):
        return Period(float(match[1]), float(match[1]) + 10)
    if match := _ERA.fullmatch(text):
        year = int(match["year"])
        return _period(year if match["era"].startswith(_AFTER) else 1 - year)
    return _written(text)


def full_year(digits: str) -> int:
    """Return a year; one of two digits is from 1969 to 2068, as in POSIX."""
    return int(digits) if len(digits) > 2 else int(digits) + (1900 if int(digits) > 68 else 2000)


def _written(text: str) -> Period | None:
    """Return the period of a date with the name of a month: one name, a year, perhaps a day, and short words."""
    parts = _WRITTEN.findall(text)
    words = [part for part in parts if part[0].isalpha()]
    months, numbers = [m for m in map(month_of, words) if m], [part for part in parts if part.isdigit()]
    if len(months) != 1 or not 1 <= len(numbers) <= 2:
        return None
    others = [word for word in words[not numbers or words[0] == parts[0] :] if not month_of(word)]
    signs = [part for part in parts if not part[0].isalnum()]
    if any(len(word) > _JOINING for word in others) or not set(signs) <= set(_SIGNS):
        return None
    years, days = [n for n in numbers if len(n) > 2], [n for n in numbers if len(n) <= 2]
    if not years and len(days) == 2 and "-" in signs:  # 3-May-24
        days, years = days[:1], [str(full_year(days[1]))]
    return _period(int(years[0]), months[0], int(days[0]) if days else 0) if len(years) == 1 else None


def _period(year: int, month: int = 0, day: int = 0) -> Period | None:
    """Return the period of a year, a month or a day; None for one that no calendar has."""
    if not month:
        return Period(float(year), float(year + 1)) if not day else None
    if month > 12 or day > (monthrange(year, month)[1] if 1 <= year <= 9999 else 31):
        return None
    if not day:
        return Period(_start(year, month, 1), _start(year, month + 1, 1))
    return Period(_start(year, month, day), _start(year, month, day + 1))


def _start(year: int, month: int, day: int) -> float:
    """Return the beginning of a day in years."""
    months = month - 1 + (day - 1) // 31
    return year + months // 12 + (months % 12) / 12 + ((day - 1) % 31) * DAY


def _moment(day: Period, match: re.Match[str]) -> Period:
    """Return the minute or second of a day; midnight to the second is how programs write a day without a time."""
    hour, minute, second = int(match["hour"]), int(match["minute"]), int(match["second"] or 0)
    if match["second"] and not (hour or minute or second):
        return day
    if match["half"]:
        hour = hour % 12 + (12 if match["half"].startswith("p") else 0)
    zone = match["zone"] or ""
    if zone[:1] in ("+", "-"):
        shift = int(zone[1:3]) * 60 + int(zone[-2:])
        minute -= shift if zone[0] == "+" else -shift
    seconds = hour * 3600 + minute * 60 + second
    length = 1 if match["second"] else 60
    return Period(day.low + seconds / 86400 * DAY, day.low + (seconds + length) / 86400 * DAY)
