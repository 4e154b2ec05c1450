"""Excel workbooks: the rows of their sheets as sentences, by openpyxl."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from datetime import date, datetime, time
from typing import Any

from graphwright.data.formats.format import Extracted, File, Format, TextBuilder, UnreadableError
from graphwright.data.formats.parsing.office_package import has_folder, office_package
from graphwright.data.records.sentences import is_header, row_sentence

_MAX_CELLS = 100_000_000  # of a workbook, with the empty cells before the last one of each row


def read(file: File) -> Iterator[Extracted]:
    """Yield the text of a workbook: a heading for each sheet, and a sentence for each row, whose places are its cells.

    Formulas are read by the values that they had when the file was saved.
    """
    from openpyxl import load_workbook

    builder = TextBuilder()
    with office_package(file) as source, warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="openpyxl")  # for unsupported parts without text
        workbook: Any = load_workbook(source, read_only=True, data_only=True, keep_links=False)
        cells = 0
        for sheet in workbook.worksheets:
            cells = _add_sheet(sheet, builder, cells)
        properties = workbook.properties
        workbook.close()
    metadata = {"author": properties.creator} if properties.creator not in (None, "openpyxl") else {}
    yield builder.extracted(properties.title or "", metadata=metadata)


def _add_sheet(sheet: Any, builder: TextBuilder, count: int) -> int:
    """Add the rows of a sheet; return `count` plus the number of its cells, empty ones included."""
    from openpyxl.utils import get_column_letter

    sheet.reset_dimensions()  # the recorded dimensions may be wrong
    builder.blank()
    columns: list[str] | None = None
    is_empty = True
    for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
        count += len(row) + 1
        if count > _MAX_CELLS:
            raise UnreadableError(f"more than {_MAX_CELLS:,} cells, with empty ones; save the tables as CSV")
        cells = [_text(value) for value in row]
        filled = [at for at, cell in enumerate(cells) if cell.strip()]
        if not filled:
            continue
        first, last = filled[0], filled[-1]
        span = f"{get_column_letter(first + 1)}{number}:{get_column_letter(last + 1)}{number}"
        builder.place(f"{sheet.title}!{span}")
        if is_empty:  # so that the heading lies in the cells of the first row
            builder.heading(sheet.title, 1)
            is_empty = False
        if columns is None and is_header(cells[first : last + 1]):
            columns = cells
            builder.line(" | ".join(" ".join(cell.split()) for cell in cells[first : last + 1]))
        else:
            builder.line(row_sentence(columns, cells) if columns else " | ".join(cells[at] for at in filled))
    return count


def _text(value: Any) -> str:
    """Return a cell as text: whole numbers without a fraction, dates as written in ISO 8601.

    >>> _text(3.0), _text(datetime(2024, 5, 1)), _text(None), _text(True)
    ('3', '2024-05-01', '', 'true')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ", "seconds")
    return value.isoformat() if isinstance(value, date | time) else str(value)


FORMATS = (
    Format("Excel workbook", (".xlsx", ".xlsm", ".xltx", ".xltm"), read, binary=True, by_members=has_folder("xl/")),
)
