"""Tables of PDF pages: lines whose cells stand below each other, over one page or several."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from graphwright.data.formats.parsing.pdf_order import LEADERS, Cell, Line, column_of
from graphwright.data.records.grid import CellRow, cell_text, has_digit
from graphwright.data.records.table import Table

_LIST_MARK = re.compile(r"[•·▪◦‣⁃∙*–—-]|\(?\w{1,3}[.)]")
_MAX_CELL = 80  # characters of a cell, on average
_MIN_ALIGNED = 3  # cells of a line that are enough for a row
_MIN_PAIRS = 3  # rows of a table of two columns whose header is found by its values


class PageRow(NamedTuple):
    """A row of a table: its page, its lines, and the text of each column."""

    page: int
    lines: list[Line]
    cells: list[str]


@dataclass
class PageTable:
    """A table that may go on: the cells of its first line, and its rows so far."""

    columns: Sequence[Cell]
    rows: list[PageRow] = field(default_factory=list)

    def add(self, page: int, lines: Sequence[Line]) -> None:
        """Add lines of a page; the rest of a row whose text is wrapped is joined to it."""
        for line in lines:
            cells = [""] * len(self.columns)
            for cell in line.cells:
                cells[column_of(cell, self.columns)] = cell.text
            is_full = len(cells) > 2 and all(cells[1:])
            if self.rows and not cells[0] and not is_full:
                last = self.rows[-1]
                last.cells[:] = [f"{above} {below}".strip() for above, below in zip(last.cells, cells, strict=True)]
                last.lines.extend([line] if last.page == page else ())
            else:
                self.rows.append(PageRow(page, [line], cells))

    def table(self) -> Table:
        """Return the table; without bold type or values its first row is no header."""
        rows = [
            CellRow(number, list(map(cell_text, row.cells)), bold=all(line.bold for line in row.lines))
            for number, row in enumerate(self.rows)
        ]
        pairs = len(self.columns) == 2 and not rows[0].bold
        values = len(rows) > _MIN_PAIRS and all(has_digit(row.cells[1]) for row in rows[1:])
        return Table(rows, header=0 if pairs and not values else None, assume=lambda row: False)


def table_lines(page: Sequence[Line], at: int) -> Sequence[Line]:
    """Return the lines of a table that begins at a line: at least two with aligned cells; none without a table."""
    columns = page[at].cells
    if len(columns) < 2 or _LIST_MARK.fullmatch(columns[0].text) or LEADERS.search(page[at].text):
        return ()
    lines = [page[at], *_aligned(page[at:], columns)]
    lengths = [len(cell.text) for line in lines for cell in line.cells]
    cells = len(lines) * len(columns)
    return lines if _full(lines, columns) >= 2 and sum(lengths) <= _MAX_CELL * cells else ()


def continued_lines(page: Sequence[Line], columns: Sequence[Cell]) -> Sequence[Line]:
    """Return the lines at the top of a page that stand in the columns of a table on the page before."""
    if not page or len(page[0].cells) < 2 or not _fits(page[0], columns):
        return ()
    lines = [page[0], *_aligned(page, columns)]
    return lines if _full(lines, columns) else ()


def _full(lines: Sequence[Line], columns: Sequence[Cell]) -> int:
    """Return the number of lines with a cell in each column, or in three of them."""
    return sum(len(line.cells) >= min(len(columns), _MIN_ALIGNED) for line in lines)


def _aligned(lines: Sequence[Line], columns: Sequence[Cell]) -> Iterator[Line]:
    """Yield the lines after the first that stand in columns, up to the first that does not."""
    for before, line in pairwise(lines):
        tall = line.box[3] - line.box[1]
        if not -tall / 2 <= line.box[1] - before.box[3] <= 2 * tall or not _fits(line, columns):
            return
        if len(line.cells) < 2 and column_of(line.cells[0], columns) == 0:
            return
        yield line


def _fits(line: Line, columns: Sequence[Cell]) -> bool:
    """Return whether each cell of a line stands in a column of its own."""
    places = [column_of(cell, columns) for cell in line.cells]
    return len(set(places)) == len(places) and -1 not in places
