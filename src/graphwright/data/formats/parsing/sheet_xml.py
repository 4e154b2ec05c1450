"""Parts of a worksheet that openpyxl does not read row by row: merged cells and formulas, from its XML."""

from __future__ import annotations

import re
from typing import NamedTuple

_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\s[^>]*?ref="([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})"')
_FORMULA = re.compile(
    rb'<(?:\w+:)?c\s[^>]*?r="([A-Z]{1,3})(\d{1,7})"[^>]*>\s*<(?:\w+:)?f\b[^>]*?(?:/>|>([^<]*)</(?:\w+:)?f>)'
    rb"\s*(<(?:\w+:)?v>[^<])?"
)
_SUM = re.compile(rb"(?:SUM|SUBTOTAL|AGGREGATE)\((?:\d+,){0,2}\$?([A-Z]{1,3})\$?(\d+):\$?([A-Z]{1,3})\$?(\d+)\)")


class SheetXml(NamedTuple):
    """Merged ranges (first column, first row, last column, last row; from 1), and what formulas say.

    `sums`: the rows with a sum of a column above. `unvalued`: how many formulas have no value in the file.
    """

    merged: tuple[tuple[int, int, int, int], ...]
    sums: frozenset[int]
    unvalued: int


def sheet_xml(data: bytes) -> SheetXml:
    """Read the merged cells and the formulas of a worksheet.

    >>> sheet_xml(b'<c r="B5"><f>SUM(B2:B4)</f><v></v></c><mergeCell ref="A1:B2"/>')
    SheetXml(merged=((1, 1, 2, 2),), sums=frozenset({5}), unvalued=1)
    """
    merged, sums, unvalued = [], set[int](), 0
    for first, top, last, bottom in (match.groups() for match in _MERGED.finditer(data)):
        merged.append((_column(first), int(top), _column(last), int(bottom)))
    for match in _FORMULA.finditer(data):
        total = _SUM.fullmatch(match[3] or b"")
        if total and total[1] == total[3] == match[1] and int(total[4]) < int(match[2]) != int(total[2]):
            sums.add(int(match[2]))
        unvalued += match[4] is None
    return SheetXml(tuple(merged), frozenset(sums), unvalued)


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number
