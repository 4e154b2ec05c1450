"""Dates and times inside texts, in one form: 2024-05-01, 2024-05-01 09:30 or 2024-05-01 09:30:15."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from graphwright.text.dates import full_year
from graphwright.text.month_names import month_of

_NAME = r"(?P<name>[^\W\d_]{3,}\.?)"
_DATES = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?<!\d)(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})(?!\d)",
        r"(?<!\d)(?P<year>\d{4})[年년] ?(?P<month>\d{1,2})[月월] ?(?P<day>\d{1,2})[日일]",
        r"(?<![\d.])(?P<first>\d{1,2})(?P<mark>[./-])\s?(?P<second>\d{1,2})(?P=mark)\s?(?P<year>\d{4}|\d{2})(?!\d)",
        rf"(?<!\d)(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.|er|º)?[ -](?:de )?{_NAME}(?:,| de)?[ -](?P<year>\d{{4}})(?!\d)",
        rf"(?<!\d)(?P<day>\d{{1,2}})-{_NAME}-(?P<year>\d{{2}})(?!\d)",
        rf"\b{_NAME} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<year>\d{{4}})(?!\d)",
    )
]
HALVES = {
    "上午": "a", "午前": "a", "오전": "a", "凌晨": "a", "清晨": "a", "早上": "a", "下午": "p", "午後": "p", "오후": "p",
    "中午": "p", "晚上": "p",
}  # fmt: skip
"""Whether the hours of the clock that follow a name of a part of the day are those before noon (a) or after (p)."""
_CLOCK = re.compile(
    rf"(?:(?P<noon>{'|'.join(HALVES)})\s?)?"
    r"(?<![\d.:])(?P<hour>\d{1,2})(?::|(?:\.|h)(?=\d\d\b))(?P<minute>\d\d)(?:[:.](?P<second>\d\d))?(?!\d)"
    r"\s*(?P<half>[ap]\.?\s?m\b|[صم]\b)?",
    re.IGNORECASE,
)
_EPOCH = re.compile(r"(?P<seconds>1\d{9})(?:\.\d+|\d{3})?")  # seconds, with a fraction or in thousandths


def first_day(text: str) -> re.Match[str] | None:
    """Return the first date in a text that names a day, with its parts as groups; None for none.

    >>> first_day("Date: Mon, 3 May 2021 09:00")[0], first_day("since 1999"), first_day("room 3 of 2021")
    ('3 May 2021', None, None)
    """
    matches = (match for pattern in _DATES for match in pattern.finditer(text))
    days = (match for match in matches if month_of(match.groupdict().get("name", "May")))
    return min(days, key=lambda match: match.start(), default=None)


def date_text(text: str, day_first: bool | None = None) -> str:
    """Return the first date in a text, with the time of day that follows; "" for none.

    `day_first`: the order of 05/04/24; by default the day is first, unless the time is one of twelve hours. Seconds
    since 1970 are in UTC; any other time is as written.

    >>> date_text("14.05.26, 18:02:11"), date_text("5/4/24, 6:02 PM"), date_text("1767200400.000100")
    ('2026-05-14 18:02:11', '2024-05-04 18:02', '2025-12-31 17:00')
    >>> date_text("Am Di., 3. März 2026 um 11:00 Uhr"), date_text("2024-05-01T09:30:00Z"), date_text("room 12.5")
    ('2026-03-03 11:00', '2024-05-01 09:30', '')
    """
    text = text.strip()
    if epoch := _EPOCH.fullmatch(text):
        return _written(datetime.fromtimestamp(int(epoch["seconds"]), UTC), True)
    match = first_day(text)
    if match is None:
        return ""
    clock = _CLOCK.search(text, match.end(), match.end() + 20) or _CLOCK.search(text, 0, match.start())
    parts = match.groupdict()
    if "first" in parts:
        swapped = _swapped(parts, day_first, clock)
        parts["day"], parts["month"] = (parts["second"], parts["first"])[:: -1 if not swapped else 1]
    month = month_of(parts["name"]) if "name" in parts else int(parts["month"])
    try:
        date = datetime(full_year(parts["year"]), month, int(parts["day"]), *_time(clock))
    except ValueError:
        return ""
    return _written(date, clock is not None)


def _swapped(parts: dict[str, str], day_first: bool | None, clock: re.Match[str] | None) -> bool:
    """Return whether a date in numbers begins with the month."""
    first, second = int(parts["first"]), int(parts["second"])
    if max(first, second) > 12:
        return second > 12
    if day_first is not None:
        return not day_first
    return parts["mark"] == "/" and clock is not None and clock["half"] is not None


def _time(clock: re.Match[str] | None) -> tuple[int, int, int]:
    if clock is None:
        return 0, 0, 0
    hour, half = int(clock["hour"]), (clock["half"] or HALVES.get(clock["noon"], "")).lower()
    if half:
        hour = hour % 12 + (12 if half.startswith(("p", "م")) else 0)
    return hour, int(clock["minute"]), int(clock["second"] or 0)


def _written(date: datetime, timed: bool) -> str:
    return f"{date:%Y-%m-%d %H:%M:%S}".removesuffix(":00") if timed else f"{date:%Y-%m-%d}"
