"""Values inside running text: numbers with their units, and dates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from graphwright.text.numbers import conversion
from graphwright.text.values import ColumnFormat, Value, value_of
from graphwright.text.words import words

_TOKEN = re.compile(r"[^\s()\[\]–—]+")
_OPEN = ColumnFormat(is_open=True)  # any word after a number may be its unit
_DIGIT = re.compile(r"\d")
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
        if counted and counted.value.unit:
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
