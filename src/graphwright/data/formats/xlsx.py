"""Excel workbooks: the rows of the tables on their sheets as sentences and records, by openpyxl."""

from __future__ import annotations

import re
import warnings
import zipfile
from collections.abc import Iterator
from typing import Any

from graphwright.data.formats.format import Extracted, File, Format, TextBuilder, UnreadableError
from graphwright.data.formats.parsing.office_package import (
    SheetXml,
    cell_value,
    has_folder,
    office_package,
    read_sheet_xml,
)
from graphwright.data.formats.parsing.xml import checked_title
from graphwright.data.records.grid import CellRow, cell_text, side_by_side
from graphwright.data.records.table import Head, Note, Row, Table

_MAX_CELLS = 100_000_000  # of a workbook, with the empty cells before the last one of each row
_MAX_MERGED = 1_000_000  # cells of a sheet that repeat a merged one
_MAX_NAMED = 8  # hidden rows or columns
_DEFAULT_NAME = re.compile(r"[^\W\d_]+ ?\d{1,3}")  # of a sheet, in the language of the program: Sheet1


def read(file: File) -> Iterator[Extracted]:
    """Yield the text of a workbook: a heading for each sheet, and a sentence for each row, whose places are its cells.

    Formulas are read by the values that they had when the file was saved. Hidden sheets, rows and columns are left out,
    and named; rows that only a filter or a closed group puts out of view are read.
    """
    from openpyxl import load_workbook

    builder = TextBuilder()
    with office_package(file) as source, warnings.catch_warnings(), zipfile.ZipFile(source) as archive:
        warnings.filterwarnings("ignore", module="openpyxl")  # for unsupported parts without text
        workbook: Any = load_workbook(source, read_only=True, data_only=True, keep_links=False)
        shown = [sheet for sheet in workbook.worksheets if sheet.sheet_state == "visible"]
        hidden = [sheet.title for sheet in workbook.worksheets if sheet.sheet_state != "visible"]
        gaps = [f"hidden sheets left out: {', '.join(hidden)}"] if hidden else []
        cells = unvalued = 0
        for sheet in shown:
            reader = _Sheet(sheet, read_sheet_xml(archive, sheet._worksheet_path), cells)
            reader.write(builder)
            cells, unvalued = reader.cells, unvalued + reader.xml.unvalued
            gaps += reader.hidden()
        properties = workbook.properties
        workbook.close()
    metadata = {"author": properties.creator} if properties.creator not in (None, "openpyxl") else {}
    gaps += [f"formulas without a value: {unvalued:,}; open and save it in Excel"] if unvalued else []
    yield builder.extracted(
        checked_title(properties.title or "", builder.text), metadata=metadata, gaps="; ".join(gaps)
    )


class _Sheet:
    """Reader of one sheet; `cells` counts those of the workbook, empty ones included."""

    def __init__(self, sheet: Any, xml: SheetXml, cells: int) -> None:
        self.sheet, self.xml, self.cells = sheet, xml, cells
        self.left_out = set[int](), set[int]()  # hidden rows and columns with a text
        self.merged: dict[int, dict[int, tuple[int, int]]] = {}  # by row and column from 0 the cell that it repeats
        rest = _MAX_MERGED
        for first, top, last, bottom in xml.merged:
            for row in range(top, bottom + 1):
                rest -= last - first + 1
                if rest < 0:
                    return
                self.merged.setdefault(row, {}).update(dict.fromkeys(range(first - 1, last), (top, first - 1)))

    def rows(self) -> Iterator[CellRow]:
        """Yield the rows with their numbers from 1, merged cells filled."""
        self.sheet.reset_dimensions()  # the recorded dimensions may be wrong
        texts: dict[tuple[int, int], str] = {}  # of merged cells
        for number, row in enumerate(self.sheet.iter_rows(), start=1):
            self.cells += len(row) + 1
            if self.cells > _MAX_CELLS:
                raise UnreadableError(f"more than {_MAX_CELLS:,} cells, with empty ones; save the tables as CSV")
            cells = [_text(cell) for cell in row]
            bold = any(cells) and all(cell.font.b for cell, text in zip(row, cells, strict=True) if text)
            merged = self.merged.get(number, {})
            cells += [""] * (max(merged, default=-1) + 1 - len(cells))
            for column, origin in merged.items():
                texts.setdefault(origin, cells[column])
                cells[column] = texts[origin]
            left = frozenset(column for column, origin in merged.items() if column > origin[1])
            above = frozenset(column for column, origin in merged.items() if number > origin[0])
            yield CellRow(number, cells, left, above, bold, number in self.xml.sums)

    def _shown(self, item: Row | Note) -> Row | Note | None:
        """Return a row or a line without what is hidden, None if that is all."""
        if not (self.xml.columns or self.xml.rows):
            return item
        area = item.area if isinstance(item, Row) else None
        places = ((item.number + at, area[1] + 1) if area else (item.number, at + 1) for at in range(len(item.cells)))
        cells = []
        for text, (row, column) in zip(item.cells, places, strict=True):
            is_hidden = row in self.xml.rows, column in self.xml.columns
            for number, kind, hidden in zip((row, column), self.left_out, is_hidden, strict=True):
                kind.update([number] if hidden and text else ())
            cells.append("" if any(is_hidden) else text)
        return item._replace(cells=cells) if any(cells) else None

    def hidden(self) -> Iterator[str]:
        """Yield what was left out of the sheet."""
        from openpyxl.utils import get_column_letter

        rows, columns = map(sorted, self.left_out)
        for kind, names in (("rows", list(map(str, rows))), ("columns", list(map(get_column_letter, columns)))):
            if names:
                more = ", …" if len(names) > _MAX_NAMED else ""
                yield f"hidden {kind} of {self.sheet.title} left out: {', '.join(names[:_MAX_NAMED])}{more}"

    def write(self, builder: TextBuilder) -> None:
        """Add the tables of the sheet and the lines around them."""
        from openpyxl.utils import get_column_letter

        builder.blank()
        name, heads, is_empty, first_row = self.sheet.title, list[Head](), True, len(builder.records)
        items = map(self._shown, Table(side_by_side(self.rows()), is_sheet=True).items())
        for item in (item for item in items if item is not None):
            filled = [column for column, text in enumerate(item.cells) if text]
            area = item.area if isinstance(item, Row) else None
            first, last, end = area or (filled[0], filled[-1], item.number)
            builder.place(f"{name}!{get_column_letter(first + 1)}{item.number}:{get_column_letter(last + 1)}{end}")
            if is_empty:  # so that the heading lies in the cells of the first row
                builder.heading(name, 1)
                is_empty = False
            if isinstance(item, Row) and item.head not in heads:
                heads.append(item.head)
                builder.begin_table()
            builder.row(item, (item.head.title if isinstance(item, Row) else "") or name)
        if len(heads) == 1 and not _DEFAULT_NAME.fullmatch(name):
            builder.types.rename(first_row, name)


def _text(cell: Any) -> str:
    return "" if cell.value is None else cell_text(cell_value(cell.value, cell.number_format))


FORMATS = (
    Format("Excel workbook", (".xlsx", ".xlsm", ".xltx", ".xltm"), read, binary=True, by_members=has_folder("xl/")),
)
