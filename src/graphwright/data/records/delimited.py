"""Tables of CSV and TSV in the dialects of the programs that write them."""

from __future__ import annotations

import csv
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import chain, groupby, islice
from pathlib import Path
from statistics import mode
from typing import Any, NamedTuple, TypeVar

from graphwright.data.decoding import lines, suffix_of
from graphwright.data.records.grid import CellRow, cell_text
from graphwright.data.records.header import are_pairs, header_evidence
from graphwright.data.records.record import Record
from graphwright.data.records.table import SAMPLE, Note, Row, Table
from graphwright.errors import DataError
from graphwright.text.characters import clean

TEXT_FIELDS = (  # names of the fields that hold a text
    "text", "contents", "content", "body", "passage", "paragraph", "paragraphs", "document", "abstract",
)  # fmt: skip
_MAX_CELL = 128 * 2**20  # characters, as of a document; the csv module's own limit is 131,072
_MAX_SAMPLE = 1_000_000  # characters of the lines by which a dialect is detected
_MIN_TABLE = 2  # rows, without the header, of a table above a wider one
_MARKS = ",;\t|^~"
_ONE_COLUMN = "\x1f"  # a delimiter that no file has
_QUOTED = re.compile(r'"[^"]*+"')
_ESCAPED_QUOTE = re.compile(r'\\"(?=[^,;\t|\n])')
_DECLARED = re.compile(r'\ufeff?"?sep=(.)"?\s*', re.IGNORECASE)  # of Excel, before the header
Item = TypeVar("Item")
_cell_limit = threading.Lock()


class Dialect(NamedTuple):
    """A dialect of CSV: what divides cells, what stands around them, and what before a quote in a cell, "" for none."""

    delimiter: str
    quote: str = '"'
    escape: str = ""


class TableRecord(dict[str, Any]):
    """A row of a table: the text of each cell, as it is written, by the name of its column."""

    def __init__(self, row: Row, names: Sequence[str]) -> None:
        super().__init__(zip(names, row.cells, strict=False))
        self.row = row

    @cached_property
    def sentence(self) -> tuple[str, Record]:
        """The row as a sentence, and its record."""
        return self.row._replace(cells=list(map(cell_text, self.values()))).sentence()

    def only(self, names: Sequence[str]) -> str:
        """Return the cells of some columns as a sentence."""
        if len(names) == len(self):
            return self.sentence[0]
        cells = [cell_text(text) if name in names else "" for name, text in self.items()]
        return self.row._replace(cells=cells).sentence()[0]


def read_table(path: Path) -> Iterator[tuple[int, TableRecord | Note | str]]:
    """Yield the rows of a table with their lines, the lines around it as notes, and for a broken row its error text.

    The delimiter is a tab in a `.tsv`, else that of a line `sep=;`, else the one of , ; tab | ^ ~ that divides most
    lines into the same number of cells. Cells may be in single quotes, and quotes in cells escaped by a backslash. What
    stands in the lines above the widest block of lines is no table. The first line of the table names the columns,
    unless the values below say otherwise; columns without a name are "column 3".
    """
    source = lines(path)
    sample = list(_first(source, len))
    declared = _DECLARED.fullmatch(sample[0]) if sample else None
    skipped = int(declared is not None)
    known = declared[1] if declared else "\t" if suffix_of(path) == ".tsv" else ""
    dialect = _dialect(sample[skipped:], known)
    rows: Iterator[CellRow] = (
        CellRow(number + skipped, [_cell(cell) for cell in cells])
        for number, cells in table_rows(chain(sample[skipped:], source), dialect, f"{path}, ")
        if not _is_rule("".join(cells))
    )
    head = list(_first(rows, lambda row: sum(map(len, row.cells))))
    if all(len(row.cells) > 2 and not (row.cells[0] or row.cells[-1]) for row in head if any(row.cells)):
        head, rows = [*map(_unframed, head)], map(_unframed, rows)
    above = _above(head)
    lines_above = [": ".join(filter(None, map(cell_text, row.cells))) for row in head[:above]]
    if any(lines_above):
        yield head[0].number, Note(head[0].number, ["\n".join(filter(None, lines_above))])
    table = Table(chain(_with_corner(head[above:]), rows), assume=lambda row: True, is_sheet=True, min_columns=1)
    for item in table.items():
        yield item.number, item if isinstance(item, Note) else _record(item)


def table_of(lines: Sequence[str]) -> list[CellRow] | None:
    """Return the rows of a text all of whose lines are those of one table with a header; None for another text.

    >>> [row.cells for row in table_of(["river\\tkm", "Mur\\t464", "Enns\\t254"]) or ()]
    [['river', 'km'], ['Mur', '464'], ['Enns', '254']]
    """
    lines = [line for line in lines if line.strip() and not _is_rule(line)]
    dialect = _dialect(lines, "")
    share, width = _regularity(lines, dialect)
    if share < 1 or width < (2 if dialect.delimiter == "\t" else 3) or len(lines) <= _MIN_TABLE:
        return None
    if dialect.delimiter in ",;" and any(f"{dialect.delimiter} " in _QUOTED.sub("", line) for line in lines):
        return None  # prose
    rows = [CellRow(number, [cell.strip() for cell in cells]) for number, cells in table_rows(lines, dialect)]
    if not any(row.cells[0] or row.cells[-1] for row in rows):
        rows = [*map(_unframed, rows)]
    return rows if header_evidence(rows) > 0 else None


def _is_rule(text: str) -> bool:
    """Return whether a row is the line between the rows of a table that a program draws."""
    return ("---" in text or "===" in text) and not text.strip("-+=:| \t")


def _unframed(row: CellRow) -> CellRow:
    """Return a row without its outer cells, as a delimiter stands before the first and behind the last."""
    return row._replace(cells=row.cells[1:-1])


def _cell(text: str) -> str:
    """Return a cell in the normal form of characters, without the blanks around it."""
    return (text if text.isascii() else clean(text)).strip("\ufeff \t\xa0\r\n")


def _first(items: Iterator[Item], size: Callable[[Item], int]) -> Iterator[Item]:
    """Yield the first items, fewer if they are large, so that memory stays bounded."""
    total = 0
    for item in islice(items, SAMPLE):
        yield item
        total += size(item)
        if total > _MAX_SAMPLE:
            return


def _record(row: Row) -> TableRecord | str:
    """Return a row as a record, or the reason why it is none."""
    width = len(row.head.names)
    if width and any(row.cells[width:]):
        return f"{len(row.cells)} cells in a table of {width} columns"
    return TableRecord(row, [row.head.field(column) for column in range(width or len(row.cells))])


def _above(rows: Sequence[CellRow]) -> int:
    """Return the number of rows above the first table: a block with a header, or the widest; blank rows divide them.

    The first rows of a block stand above its table if they have another number of cells, and the next one is a header.
    """
    widths: list[tuple[float, int]] = []
    at = 0
    for has_text, group in groupby(rows, key=lambda row: any(row.cells)):
        block = list(group)
        if has_text:
            width = mode(len(row.cells) for row in block)
            lead = next(number for number, row in enumerate(block) if len(row.cells) == width)
            lead = lead if len(block) - lead > _MIN_TABLE and header_evidence(block[lead:]) > 0 else 0
            table = block[lead:]
            if width > 1 and len(table) > _MIN_TABLE and header_evidence(table) > 0 and not are_pairs(table):
                widths.append((len(rows), -at - lead))
            widths.append((width, -at - lead))
        at += len(block)
    return -max(widths, default=(0, 0))[1]


def _with_corner(rows: Sequence[CellRow]) -> Iterator[CellRow]:
    """Put a blank before column names that are one fewer than the cells of each row, as R writes row names."""
    widths = {len(row.cells) for row in rows[1:] if any(row.cells)}
    has_names = len(widths) == 1 and all(row.cells[-1] for row in rows[1:] if any(row.cells))
    for number, row in enumerate(rows):
        is_short = number == 0 and has_names and len(row.cells) + 1 in widths
        yield row._replace(cells=["", *row.cells]) if is_short else row


def _dialect(sample: Sequence[str], delimiter: str) -> Dialect:
    """Return the dialect that divides most lines into the same number of cells; `delimiter`: "" if it is not known."""
    if not delimiter and sample and sample[0].strip("\ufeff \"'").lower() in TEXT_FIELDS:
        return Dialect(_ONE_COLUMN)
    marks, escapes, quotes = delimiter or _MARKS, [""], ['"']
    if any(map(_ESCAPED_QUOTE.search, sample)):
        escapes.insert(0, "\\")
    if 2 * sum(line.startswith("'") for line in sample) > len(sample):
        quotes.insert(0, "'")
    dialects = (Dialect(mark, quote, escape) for quote in quotes for escape in escapes for mark in marks)
    return max(dialects, key=lambda dialect: _regularity(sample, dialect))


def _regularity(sample: Sequence[str], dialect: Dialect) -> tuple[float, int]:
    """Return the share of the rows that have the usual number of cells, and this number; 0 for a single cell."""
    widths: Counter[int] = Counter()
    with suppress(DataError):  # a quotation mark that is not closed: reported when the rows are read
        widths.update(len(cells) for _, cells in table_rows(sample, dialect) if any(cells))
    width = max(widths, key=lambda width: widths[width] * (width > 1) * width, default=1)
    return (widths[width] / widths.total(), width) if width > 1 else (0.0, 1)


def table_rows(source: Iterable[str], dialect: Dialect, place: str = "") -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a table in CSV with the numbers of their first lines.

    Raises DataError, which begins with `place`, for a cell of more than 128 million characters: a quotation mark that
    is not closed makes one cell of the rest of a file.
    """
    delimiter, quote, escape = dialect
    reader = csv.reader(
        (f"{line}\n" for line in source),
        delimiter=delimiter,
        quotechar=quote,
        escapechar=escape or None,
        skipinitialspace=True,
    )
    while True:
        number = reader.line_num + 1
        with _cell_limit:  # the csv module has one limit per process: it is raised for this row only
            limit = csv.field_size_limit(_MAX_CELL)
            try:
                row = next(reader, None)
            except csv.Error as error:
                raise DataError(f"{place}line {number:,}: {error}. Is a quotation mark not closed?") from error
            finally:
                csv.field_size_limit(limit)
        if row is None:
            return
        yield number, row


def split_row(line: str, delimiter: str) -> list[str]:
    """Return the cells of one line of CSV."""
    return next(table_rows((line,), Dialect(delimiter)), (0, list[str]()))[1]
