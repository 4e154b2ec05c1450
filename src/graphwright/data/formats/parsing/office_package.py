"""Parts of Office files: opening of packages, numbers of paragraphs, forms of numbers, cells of sheets."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any, BinaryIO, NamedTuple
from zipfile import ZipFile

from graphwright.data.formats.archives import checked_zip
from graphwright.data.formats.format import File
from graphwright.data.formats.parsing.xml import refuse_entities_in
from graphwright.text.numbers import list_number

_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/")
_TRANSITIONAL = rb"http://schemas.openxmlformats.org/\1/2006/"


@contextmanager
def office_package(file: File) -> Iterator[BinaryIO]:
    """Open a package for a library that reads only the transitional form.

    Of a package in the strict form, a copy in memory gets the namespaces of the transitional form. Raises
    UnreadableError if the archive is damaged, encrypted or too large, or if its XML declares entities.
    """
    with checked_zip(file) as archive:
        refuse_entities_in(archive)
        if "_rels/.rels" in archive.namelist() and _STRICT.search(archive.read("_rels/.rels")):
            yield _transitional(archive)
            return
    with file.open() as source:
        yield source


def _transitional(archive: zipfile.ZipFile) -> BinaryIO:
    copy = io.BytesIO()
    with zipfile.ZipFile(copy, "w") as target:
        for member in archive.infolist():
            content = archive.read(member)
            if member.filename.endswith((".xml", ".rels")):
                content = _STRICT.sub(_TRANSITIONAL, content)
            target.writestr(member.filename, content)
    copy.seek(0)
    return copy


def has_folder(name: str) -> Callable[[zipfile.ZipFile], bool]:
    """Return a function that checks whether an archive is a package with a folder, such as `word/`."""
    return lambda archive: (
        "[Content_Types].xml" in (names := archive.namelist()) and any(member.startswith(name) for member in names)
    )


W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_MAX_LEVELS = 9


class _Level(NamedTuple):
    """A level of a list: the form of its numbers, its text ("%1.%2" for 4.2), and its first number."""

    form: str
    text: str
    first: int


class Numbering:
    """Counters of the lists of a document; `numbering` and `styles` are the roots of its parts, None for none."""

    def __init__(self, numbering: Any, styles: Any) -> None:
        self.levels: dict[str, dict[int, _Level]] = {}
        self.lists: dict[str, str] = {}
        for node in () if numbering is None else numbering:
            if node.tag == f"{W}abstractNum":
                self.levels[node.get(f"{W}abstractNumId", "")] = dict(map(_level, node.iterchildren(f"{W}lvl")))
            elif node.tag == f"{W}num":
                self.lists[node.get(f"{W}numId", "")] = value_of(node.find(f"{W}abstractNumId"))
        self.counts: dict[str, list[int]] = {}
        found = () if styles is None else styles.iter(f"{W}style")
        self.styles = {style.get(f"{W}styleId", ""): style for style in found}

    def label(self, paragraph: Any) -> str:
        """Count a paragraph; return its number as shown, "-" for a bullet, "" for a paragraph of no list."""
        number, level = self._place(paragraph)
        name = self.lists.get(number, "")
        levels = self.levels.get(name, {})
        if level not in levels:
            return ""
        counts = self.counts.setdefault(name, [0] * _MAX_LEVELS)
        counts[level] = counts[level] + 1 if counts[level] else levels[level].first
        counts[level + 1 :] = [0] * (_MAX_LEVELS - level - 1)
        if levels[level].form == "bullet":
            return "-"

        def shown(match: re.Match[str]) -> str:
            at = int(match[1]) - 1
            known = levels.get(at)
            return "" if known is None else list_number(counts[at] or known.first, known.form)

        return re.sub(r"%([1-9])", shown, levels[level].text).strip()

    def depth(self, paragraph: Any, label: str) -> int:
        """Return an item's depth from 0: by a style such as "List Bullet 2", a bullet by its level, not of 4.2."""
        style = self.styles.get(value_of(paragraph.find(f"{W}pPr/{W}pStyle")))
        name = "" if style is None else value_of(style.find(f"{W}name"))
        by_style = int(name[-1]) - 1 if name.startswith("List ") and name[-1] in "2345" else 0
        return max(self._place(paragraph)[1] if label == "-" else 0, by_style)

    def _place(self, paragraph: Any) -> tuple[str, int]:
        """Return the list and the level of a paragraph, by itself or by its style and those that it is based on."""
        number = level = ""
        node, seen = paragraph, set[str]()
        while node is not None:
            place = node.find(f"{W}pPr/{W}numPr")
            if place is not None:
                number = number or value_of(place.find(f"{W}numId"))
                level = level or value_of(place.find(f"{W}ilvl"))
            parent = value_of(node.find(f"{W}pPr/{W}pStyle" if node is paragraph else f"{W}basedOn"))
            node = None if number or parent in seen else self.styles.get(parent)
            seen.add(parent)
        return number, int(level) if level.isdigit() else 0


def _level(node: Any) -> tuple[int, _Level]:
    level, first = node.get(f"{W}ilvl", ""), value_of(node.find(f"{W}start"))
    form, text = value_of(node.find(f"{W}numFmt")), value_of(node.find(f"{W}lvlText"))
    at = int(level) if level.isdigit() and int(level) < _MAX_LEVELS else 0
    return at, _Level(form, text, int(first) if first.isdigit() else 1)


def value_of(node: Any) -> str:
    """Return the attribute `val` of an element, "" for none."""
    return "" if node is None else node.get(f"{W}val", "")


_DIGITS = 15  # of a number that Excel keeps
_CURRENCY = re.compile(r"\[\$([^\]-]*)(?:-[^\]]*)?\]")
_LITERAL = re.compile(r'"([^"]*)"|\\(.)')
_HIDDEN = re.compile(r"\[[^\]]*\]|_.|\*.")  # colours, conditions and padding
_PLACES = re.compile(r"[#0?.,/]+(?:[Ee][+-]?[0#?]+)?|General|@", re.IGNORECASE)
_QUOTED = "\ue000"  # stands for a quoted text, so that its letters are no codes


def cell_value(value: Any, form: str = "General") -> str:
    """Return a value as text: dates in ISO 8601, percent, and units and currencies by the number format.

    Numbers have a decimal point, no separators of thousands, and all of their digits.

    >>> cell_value(3.0), cell_value(datetime(2024, 5, 1)), cell_value(None), cell_value(True), cell_value(42, "00000")
    ('3', '2024-05-01', '', 'true', '00042')
    >>> cell_value(0.125, "0%"), cell_value(1200, '#,##0.00 "km"'), cell_value(-3.1, "[$€-407] #,##0.00")
    ('12.5%', '1200 km', '-€ 3.1')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        prefix, suffix = _around(form)
        is_percent, places = "%" in prefix + suffix, "".join(_PLACES.findall(_LITERAL.sub("", form).partition(";")[0]))
        digits = _digits(abs(value), 100 if is_percent else 1).zfill(len(places) if {*places} == {"0"} else 0)
        return f"{'-' * (value < 0)}{prefix}{digits}{suffix}".strip()
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


_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\s[^>]*?ref="([A-Z]{1,3}\d{1,7}:[A-Z]{1,3}\d{1,7})"')
_FORMULA = re.compile(
    rb'<(?:\w+:)?c\s[^>]*?r="([A-Z]{1,3})(\d{1,7})"[^>]*>\s*<(?:\w+:)?f\b[^>]*?(?:/>|>([^<]*)</(?:\w+:)?f>)'
    rb"\s*(<(?:\w+:)?v>[^<])?"
)
_SUM = re.compile(rb"(?:SUM|SUBTOTAL|AGGREGATE)\((?:\d+,){0,2}\$?([A-Z]{1,3})\$?(\d+):\$?([A-Z]{1,3})\$?(\d+)\)")
_INVISIBLE = rb'<(?:\w+:)?%s\s(?=[^>]*?\bhidden="(?:1|true)")(?![^>]*?\boutlineLevel=)([^>]*)>'
_ROW, _COLUMN = re.compile(_INVISIBLE % b"row"), re.compile(_INVISIBLE % b"col")
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
    from openpyxl.utils import range_boundaries

    merged = tuple(range_boundaries(cells.decode()) for cells in _MERGED.findall(data))
    sums, unvalued = set[int](), 0
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
    return SheetXml(merged, frozenset(sums), unvalued, frozenset(rows), frozenset(columns))


def _number(attributes: bytes, name: str) -> int:
    """Return an attribute that is a number, 0 without one."""
    match = re.search(rf'\b{name}="(\d{{1,7}})"'.encode(), attributes)
    return int(match[1]) if match else 0
