"""Grids of cells as files have them, with merged cells filled."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from graphwright.text.characters import clean

MAX_SPAN = 1_000  # maximum columns or rows that one cell spans
_NUMBER = re.compile(r"[\s\d.,:%‰$£¥\u20a0-\u20cf+()/'’−–-]*\d[\s\d.,:%‰$£¥\u20a0-\u20cf+()/'’−–-]*")
_DIGIT = re.compile(r"\d")
_DIGITS = re.compile(r"\d[\d.,]*")


class Cell(NamedTuple):
    """A cell: its text, the columns and rows it spans; `above`: it continues the cell above; `bold`: emphasised."""

    text: str
    columns: int = 1
    rows: int = 1
    above: bool = False
    bold: bool = False


class CellRow(NamedTuple):
    """A row of a grid: its number in the file, and the text of each column, "" for none.

    `left`, `above`: the columns that repeat the text of a merged cell that begins to the left, or above. `bold`: all
    its texts are emphasised. `is_sum`: the file says that it sums up the rows above.
    """

    number: int
    cells: Sequence[str]
    left: frozenset[int] = frozenset()
    above: frozenset[int] = frozenset()
    bold: bool = False
    is_sum: bool = False

    def cell(self, column: int) -> str:
        """Return the text of a column, "" for a column that the row lacks."""
        return self.cells[column] if column < len(self.cells) else ""

    def filled(self) -> list[int]:
        """Return the columns with a text, each merged cell once."""
        return [column for column, text in enumerate(self.cells) if text and column not in self.left]


def cell_text(text: str) -> str:
    """Return the text of a cell in one line."""
    return " ".join(clean(text).split())


def is_number(text: str) -> bool:
    """Return whether a text is a number, an amount, a date or a time in digits.

    >>> is_number("1.249,50"), is_number("€ 12"), is_number("2024-05-01"), is_number("464 km"), is_number("-")
    (True, True, True, False, False)
    """
    return _NUMBER.fullmatch(text) is not None


def has_digit(text: str) -> bool:
    """Return whether a text has a digit."""
    return _DIGIT.search(text) is not None


def kind_of(text: str) -> str:
    """Return the kind of a value: the signs of a number or a date, or whether a text has digits.

    >>> kind_of("1,200.5"), kind_of("2024-05-01"), kind_of("464 km"), kind_of("Graz")
    ('9', '9-9-9', 'digits', 'text')
    """
    if is_number(text):
        return _DIGITS.sub("9", text)
    return "digits" if has_digit(text) else "text"


def spread(rows: Iterable[Sequence[Cell]]) -> Iterator[CellRow]:
    """Yield the rows of a grid: the text of a cell stands in each column and row that it spans.

    >>> [row.cells for row in spread([[Cell("Plant", rows=2), Cell("t", columns=2)], [Cell("Plan"), Cell("Actual")]])]
    [['Plant', 't', 't'], ['Plant', 'Plan', 'Actual']]
    """
    reaching: dict[int, tuple[str, int]] = {}  # the cells that reach down, by column, with the rows left to them
    previous: list[str] = []
    for number, row in enumerate(rows):
        texts: list[str] = []
        left, above = set[int](), set[int]()
        following: dict[int, tuple[str, int]] = {}
        cells = iter(row)
        while True:
            column = len(texts)
            if column in reaching:
                text, rest = reaching.pop(column)
                texts.append(text)
                above.add(column)
                if rest > 1:
                    following[column] = text, rest - 1
            elif (cell := next(cells, None)) is not None:
                text = (previous[column] if column < len(previous) else "") if cell.above else cell_text(cell.text)
                span = range(column, column + max(1, min(cell.columns, MAX_SPAN)))
                texts += [text] * len(span)
                left.update(span[1:])
                above.update(span if cell.above else ())
                if cell.rows > 1:
                    following |= dict.fromkeys(span, (text, min(cell.rows, MAX_SPAN) - 1))
            elif any(at > column for at in reaching):
                texts.append("")
            else:
                break
        bold = all(cell.bold for cell in row if cell.text.strip())
        yield CellRow(number, texts, frozenset(left), frozenset(above), bold and any(cell.bold for cell in row))
        previous, reaching = texts, following


def side_by_side(rows: Iterable[CellRow]) -> Iterator[CellRow]:
    """Yield the rows of a sheet so that tables beside each other come one after the other, with a blank row between.

    Tables stand beside each other where a column is blank in all rows between two blank rows, and there are at least
    two columns and two rows on either side of it. Columns keep their numbers.
    """
    for blank, group in groupby(rows, key=lambda row: not any(row.cells)):
        block = list(group)
        parts = [] if blank or len(block) < 2 else _parts(block)
        for at, (first, end) in enumerate(parts):
            if at:
                yield CellRow(block[0].number, ())
            for row in block:
                if any(row.cells[first:end]):
                    yield row._replace(cells=["" if c < first else text for c, text in enumerate(row.cells[:end])])
        if not parts:
            yield from block


def _parts(block: Sequence[CellRow]) -> list[tuple[int, int]]:
    """Return the first column and the end of each table in a block, none for a single one."""
    used = {column for row in block for column, text in enumerate(row.cells) if text}
    runs = [list(run) for is_used, run in groupby(range(max(used) + 1), key=used.__contains__) if is_used]
    tables = [(run[0], run[-1] + 1) for run in runs]
    full = all(end - first > 1 and sum(any(row.cells[first:end]) for row in block) > 1 for first, end in tables)
    return tables if len(tables) > 1 and full else []
