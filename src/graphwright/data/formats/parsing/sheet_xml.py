"""Parts of a worksheet that openpyxl does not read row by row: merged and hidden cells, and formulas, from its XML."""

from __future__ import annotations

import posixpath
import re
from typing import NamedTuple
from zipfile import ZipFile

_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\s[^>]*?ref="([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})"')
_FORMULA = re.compile(
    rb'<(?:\w+:)?c\s[^>]*?r="([A-Z]{1,3})(\d{1,7})"[^>]*>\s*<(?:\w+:)?f\b[^>]*?(?:/>|>([^<]*)</(?:\w+:)?f>)'
    rb"\s*(<(?:\w+:)?v>[^<])?"
)
_SUM = re.compile(rb"(?:SUM|SUBTOTAL|AGGREGATE)\((?:\d+,){0,2}\$?([A-Z]{1,3})\$?(\d+):\$?([A-Z]{1,3})\$?(\d+)\)")
_HIDDEN = rb'<(?:\w+:)?%s\s(?=[^>]*?\bhidden="(?:1|true)")(?![^>]*?\boutlineLevel=)([^>]*)>'
_ROW, _COLUMN = re.compile(_HIDDEN % b"row"), re.compile(_HIDDEN % b"col")
_FILTER = re.compile(rb'<(?:\w+:)?autoFilter\s[^>]*?ref="\$?[A-Z]+\$?(\d+):\$?[A-Z]+\$?(\d+)"[^>]*(?<!/)>')
_TABLE_PART = re.compile(rb'Target="([^"]*tables/[^"]+)"')
_MAX_COLUMNS = 16_384


class SheetXml(NamedTuple):
    """Merged ranges (first column, first row, last column, last row; from 1), and what formulas say.

    `sums`: the rows with a sum of a column above. `unvalued`: how many formulas have no value in the file. `rows`,
    `columns`: those that are hidden, but for rows that a filter or a closed group puts out of view.
    """

    merged: tuple[tuple[int, int, int, int], ...]
    sums: frozenset[int]
    unvalued: int
    rows: frozenset[int] = frozenset()
    columns: frozenset[int] = frozenset()


def read_sheet_xml(archive: ZipFile, path: str) -> SheetXml:
    """Read a worksheet of a workbook, with the filters of its tables, which are files of their own."""
    folder, name = posixpath.split(path)
    relations = f"{folder}/_rels/{name}.rels"
    targets = _TABLE_PART.findall(archive.read(relations)) if relations in archive.namelist() else []
    paths = (posixpath.normpath(posixpath.join("/", folder, target.decode())).lstrip("/") for target in targets)
    tables = [archive.read(table) for table in paths if table in archive.namelist()]
    return sheet_xml(archive.read(path), b"".join(tables))


def sheet_xml(data: bytes, tables: bytes = b"") -> SheetXml:
    """Read the merged and hidden cells and the formulas of a worksheet; `tables`: the XML of its tables.

    >>> sheet_xml(b'<c r="B5"><f>SUM(B2:B4)</f><v></v></c><mergeCell ref="A1:B2"/>')[:3]
    (((1, 1, 2, 2),), frozenset({5}), 1)
    >>> sheet_xml(b'<col min="2" max="3" hidden="1"/><row r="4" hidden="1"><row r="9" hidden="1" outlineLevel="1">')[3:]
    (frozenset({4}), frozenset({2, 3}))
    """
    merged, sums, unvalued = [], set[int](), 0
    for first, top, last, bottom in (match.groups() for match in _MERGED.finditer(data)):
        merged.append((_column(first), int(top), _column(last), int(bottom)))
    for match in _FORMULA.finditer(data):
        total = _SUM.fullmatch(match[3] or b"")
        if total and total[1] == total[3] == match[1] and int(total[4]) < int(match[2]) != int(total[2]):
            sums.add(int(match[2]))
        unvalued += match[4] is None
    filters = [(int(top), int(bottom)) for top, bottom in _FILTER.findall(data + tables)]
    hidden = (_number(row, "r") for row in _ROW.findall(data))
    rows = {row for row in hidden if row and not any(top <= row <= bottom for top, bottom in filters)}
    spans = ((_number(column, "min"), _number(column, "max")) for column in _COLUMN.findall(data))
    columns = {column for first, last in spans if first for column in range(first, min(last, _MAX_COLUMNS) + 1)}
    return SheetXml(tuple(merged), frozenset(sums), unvalued, frozenset(rows), frozenset(columns))


def _number(attributes: bytes, name: str) -> int:
    """Return an attribute that is a number, 0 without one."""
    match = re.search(rf'\b{name}="(\d{{1,7}})"'.encode(), attributes)
    return int(match[1]) if match else 0


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number
