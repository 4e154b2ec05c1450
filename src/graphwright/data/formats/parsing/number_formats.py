"""Values of the cells of Excel as text that does not depend on a locale."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any

_DIGITS = 15  # of a number that Excel keeps
_CURRENCY = re.compile(r"\[\$([^\]-]*)(?:-[^\]]*)?\]")
_LITERAL = re.compile(r'"([^"]*)"|\\(.)')
_HIDDEN = re.compile(r"\[[^\]]*\]|_.|\*.")  # colours, conditions and padding
_PLACES = re.compile(r"[#0?.,/]+(?:[Ee][+-]?[0#?]+)?|General|@", re.IGNORECASE)
_QUOTED = "\ue000"  # stands for a quoted text, so that its letters are no codes


def cell_value(value: Any, form: str = "General") -> str:
    """Return a value as text: dates in ISO 8601, percent, and units and currencies by the number format.

    Numbers have a decimal point, no separators of thousands, and all of their digits.

    >>> cell_value(3.0), cell_value(datetime(2024, 5, 1)), cell_value(None), cell_value(True)
    ('3', '2024-05-01', '', 'true')
    >>> cell_value(0.125, "0%"), cell_value(1200, '#,##0.00 "km"'), cell_value(-3.1, "[$€-407] #,##0.00")
    ('12.5%', '1200 km', '-€ 3.1')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        prefix, suffix = _around(form)
        is_percent = "%" in prefix + suffix
        return f"{'-' * (value < 0)}{prefix}{_digits(abs(value), 100 if is_percent else 1)}{suffix}".strip()
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ", _unit(value.second))
    if isinstance(value, timedelta):
        hours, seconds = divmod(round(value.total_seconds()), 3600)
        return f"{hours}:{seconds // 60:02}:{seconds % 60:02}"
    if isinstance(value, time):
        return value.isoformat(_unit(value.second))
    return value.isoformat() if isinstance(value, date) else str(value)


def _unit(seconds: int) -> str:
    """Return the smallest unit in which a time is written."""
    return "seconds" if seconds else "minutes"


def _digits(number: float, factor: int) -> str:
    """Return a number times a factor in decimal notation; very large and small ones in that of Python."""
    if isinstance(number, float) and not 1e-9 <= number < 1e15 and number:
        return str(number * factor)
    text = f"{Decimal(f'{number:.{_DIGITS}g}' if isinstance(number, float) else number) * factor:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


@lru_cache(maxsize=1024)
def _around(form: str) -> tuple[str, str]:
    """Return what a number format writes before and after a number."""
    if form == "General":
        return "", ""
    quoted: list[str] = []

    def keep(match: re.Match[str]) -> str:
        quoted.append(match[1] or (match[2] if match.lastindex == 2 else ""))
        return _QUOTED

    first = _HIDDEN.sub("", _LITERAL.sub(keep, _CURRENCY.sub(lambda match: f'"{match[1]}"', form)).partition(";")[0])
    parts = _PLACES.split(first)
    if len(parts) < 2:
        return "", ""
    texts = []
    for part in (parts[0], parts[-1]):
        texts.append("".join(quoted.pop(0) if sign == _QUOTED and quoted else sign for sign in part))
        if part is parts[0]:  # quoted texts between two groups of digits are left out
            del quoted[: max(0, len(quoted) - parts[-1].count(_QUOTED))]
    return texts[0].replace("\xa0", " "), texts[1].replace("\xa0", " ")
