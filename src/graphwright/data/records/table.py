"""Tables of any format as records: a header that names the columns, rows, totals, and the lines around them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby, islice
from typing import NamedTuple

from graphwright.data.records.grid import CellRow, has_digit, kind_of
from graphwright.data.records.header import (
    Assumption,
    are_pairs,
    column_names,
    header_depth,
    header_evidence,
    may_name_columns,
    title_depth,
)
from graphwright.data.records.record import Field, Record
from graphwright.data.records.totals import TAIL, Totals

SAMPLE = 200  # rows of a table by which its header is found
_VALUES = 0.8  # share of texts with a digit in a column of values


class Head(NamedTuple):
    """A table's head: column names from column `start` of the grid on, unnamed ones "column 3", and its title."""

    names: tuple[str, ...]
    start: int = 0
    title: str = ""

    def field(self, column: int) -> str:
        """Return the name of the fields of a column of the grid."""
        name = self.names[column] if column < len(self.names) else ""
        return name or f"column {column - self.start + 1}"


class Note(NamedTuple):
    """A line beside the rows of a table, such as its title; `number`: its row in the file."""

    number: int
    cells: Sequence[str]

    @property
    def text(self) -> str:
        """The texts of the line."""
        return " | ".join(filter(None, self.cells))


class Row(NamedTuple):
    """A row of a table below its head; `number`: its row in the file, `is_copy`: whether it is a total.

    `area`: first column, last column and last row of a row that is written as several, of a name and a value each.
    """

    number: int
    head: Head
    cells: Sequence[str]
    is_copy: bool = False
    area: tuple[int, int, int] | None = None

    def sentence(self) -> tuple[str, Record]:
        """Return the row as a sentence, and its record, without a type, whose fields have their places in the sentence.

        >>> Row(0, Head(("River", "Source", "km")), ["Mur", "", "464"]).sentence()[0]
        'River: Mur; km: 464.'
        >>> Row(0, Head(()), ["Mur", "464"]).sentence()[0]
        'Mur | 464'
        """
        names, is_named = self.head.names, any(self.head.names)
        parts: list[str] = []
        fields: list[Field] = []
        size = 0
        for column, text in enumerate(self.cells):
            if text:
                name = names[column] if column < len(names) else ""
                before = ("; " if is_named else " | ") * bool(parts) + (f"{name}: " if name else "")
                start = size + len(before)
                size = start + len(text)
                parts += before, text
                fields.append(Field(name or self.head.field(column), text, start, size))
        end = "." if is_named and parts and parts[-1][-1] not in ".!?" else ""
        return "".join((*parts, end)), Record("", tuple(fields), 0, size + len(end), self.is_copy)


@dataclass(frozen=True)
class Table:
    """A table as it is read: the rows of its grid, and what its file says about them.

    `header`: the number of rows that the file declares as its header, None if it declares none: then it is found, and
    `assume` decides where values do not tell. A declared header without text says that no row names the columns, as
    Markdown writes a list of names and values. `is_sheet`: blank rows may divide it into several tables. `min_columns`:
    the columns of a table; what has fewer is lines of text. `title`: its name, if the file gives it one.
    """

    rows: Iterable[CellRow]
    header: int | None = None
    assume: Assumption = may_name_columns
    is_sheet: bool = False
    min_columns: int = 2
    title: str = ""

    def items(self, reader: TableReader | None = None) -> Iterator[Row | Note]:
        """Yield the rows below the header, without repetitions of it, and the lines around them, in their order.

        Rows are read as they are needed. `reader`: of the table that goes on with these rows.

        >>> table = Table([CellRow(0, ["River", "km"]), CellRow(1, ["Mur", "464"]), CellRow(2, ["Enns", "254"])])
        >>> [item.sentence()[0] for item in table.items()]
        ['River: Mur; km: 464.', 'River: Enns; km: 254.']
        """
        head, table = list(islice(all_rows := iter(self.rows), self.header or 0)), self
        is_nameless = bool(head) and not any(any(row.cells) for row in head)
        if is_nameless:
            table = replace(self, header=0)
        reader = reader or TableReader(table, is_nameless)
        rows = (row for row in chain(head, all_rows) if self.is_sheet or any(row.cells))
        rows = (row for row in rows if not any(row.cells) or not row.above.issuperset(row.filled()))
        for has_text, block in groupby(rows, key=lambda row: any(row.cells)):
            if has_text:
                yield from reader.block(block)
        yield from reader.without_rows()


class TableReader:
    """Reader of the blocks of a sheet, which blank rows divide; it has the head of the current table."""

    def __init__(self, table: Table, is_nameless: bool = False) -> None:
        self.table = table
        self.is_nameless = is_nameless  # whether the file says that no row names the columns
        self.head: Head | None = None
        self.header: list[CellRow] = []
        self.values: set[int] = set()  # columns of values, by the first rows
        self.columns: set[int] = set()  # with a text in the first rows
        self.width = 0
        self.is_outline, self.group = False, ""  # whether a text of the first column stands for blanks below; the last
        self.totals = Totals({})
        self.unused: list[CellRow] = []  # a header without rows so far
        self.end = -SAMPLE  # the last row of the current table
        self.lines: Sequence[CellRow] = ()  # the last block, if it is lines of text

    def block(self, block: Iterator[CellRow]) -> Iterator[Row | Note]:
        """Yield the rows of a block: of the current table, of a new one, or lines of text."""
        sample = list(islice(block, SAMPLE))
        rows = chain(sample, block)
        lines, self.lines = self.lines, ()
        if self.head is not None and self._is_note(sample):
            self.lines = sample
            yield from map(_note, rows)
        elif self.goes_on(sample):
            yield from self._rows(rows)
        else:
            yield from self._new_table(sample, rows, lines)

    def _is_note(self, sample: Sequence[CellRow]) -> bool:
        """Return whether a block has one cell in each row, below a table of several columns."""
        return self.width > 1 and all(len(row.cells) - min(row.filled()) == 1 for row in sample)

    def goes_on(self, sample: Sequence[CellRow]) -> bool:
        """Return whether a block belongs to the current table: its columns hold the same kinds of texts."""
        if self.head is None:
            return False
        columns = {column for row in sample for column in row.filled()}
        if sample[0].cells in [row.cells for row in self.header]:
            return True
        if (
            min(columns) < self.head.start
            or columns.isdisjoint(self.columns)
            or (len(sample) > 1 and header_evidence(sample[title_depth(sample) :]) > 0)
        ):
            return False
        if self.values:
            return all(has_digit(row.cell(column)) or not row.cell(column) for row in sample for column in self.values)
        return len(columns) == sum(map(bool, self.head.names or sample[0].cells))

    def _new_table(
        self, sample: Sequence[CellRow], rows: Iterator[CellRow], lines: Sequence[CellRow]
    ) -> Iterator[Row | Note]:
        yield from self.without_rows()
        table, title = self.table, self.table.title
        is_near = lines and sample[0].number - lines[-1].number < lines[0].number - self.end
        depth = title_depth(sample) if table.header is None else 0
        for row in islice(rows, depth):
            note = _note(row)
            title = title or note.text
            yield note
        title = title or (_note(lines[0]).text if is_near else "")
        sample = sample[depth:]
        columns = {column for row in sample for column, text in enumerate(row.cells) if text}
        if len(columns) < table.min_columns:
            self.lines = sample
            yield from map(_note, rows)
            return
        may_be_form = (table.header is None or self.is_nameless) and table.min_columns > 1 and len(sample) < SAMPLE
        if may_be_form and are_pairs(sample, self.is_nameless):
            yield _form(list(rows), title)
            return
        depth = header_depth(sample, table.assume, table.header)
        self.header = list(islice(rows, depth))
        names = column_names(self.header) if self.header else ()
        self.head = Head(names, min(columns), title)
        texts = {column: [text for row in sample[depth:] if (text := row.cell(column))] for column in columns}
        self.columns, self.width, self.totals = columns, max(columns) + 1, Totals(texts)
        self.values = {
            column for column, cells in texts.items() if cells and sum(map(has_digit, cells)) >= _VALUES * len(cells)
        }
        self.is_outline, self.group = _is_outline([row.cell(min(columns)) for row in sample[depth:]]), ""
        self.unused = self.header
        yield from self._rows(rows)

    def _is_line(self, row: CellRow, below: Sequence[CellRow]) -> bool:
        """Return whether a row of one text is a line of text."""
        is_foot = len(row.cells) == 1 and (not below or len(below[0].cells) == 1)
        is_across = len(row.left) + 1 >= self.width - (self.head.start if self.head else 0)
        return is_foot or is_across or (row.bold and not self.totals.is_bold) or bool(self._copied_header(below))

    def _copied_header(self, rows: Sequence[CellRow]) -> list[CellRow]:
        """Return the rows at the start of these that repeat the header; one of several may have other names."""
        if not self.header or len(rows) < len(self.header):
            return []
        copy = list(islice(rows, len(self.header)))
        same = [row.cells == own.cells for row, own in zip(copy, self.header, strict=True)]
        return copy if all(same) or (any(same) and all(map(_are_alike, copy, self.header))) else []

    def without_rows(self) -> Iterator[Note]:
        """Yield the header of the current table if no row follows it."""
        yield from map(_note, self.unused)
        self.unused = []

    def _rows(self, rows: Iterator[CellRow]) -> Iterator[Row | Note]:
        """Yield rows of the current table; a line of one cell across it, emphasised, or at the end is no row."""
        assert self.head is not None
        repeated = [row.cells for row in self.header]
        ahead, above = deque(islice(rows, TAIL)), ""
        while ahead:
            if copy := self._copied_header(ahead):
                if [row.cells for row in copy] != repeated:
                    yield from self.without_rows()
                    self.unused = copy
                self.head = self.head._replace(names=column_names(copy), title=above or self.head.title)
                self.header, repeated = copy, [row.cells for row in copy]
                for _ in copy:
                    ahead.popleft()
                ahead.extend(islice(rows, len(copy)))
                continue
            row = ahead.popleft()
            ahead.extend(islice(rows, 1))
            if row.cells in repeated:
                continue
            start = self.head.start
            if self.is_outline and row.filled() == [start] and ahead and not ahead[0].cell(start):
                self.group = row.cells[start]
                continue
            if self.width - start > 1 and len(row.filled()) == 1 and self._is_line(row, ahead):
                above = _note(row).text
                yield _note(row)
            else:
                above = ""
                self.unused, self.end = [], row.number
                rest = list(ahead) if len(ahead) < TAIL else None
                is_total, cells = self.totals.read(row, rest), row.cells
                if self.is_outline and not is_total:
                    self.group = row.cell(start) or self.group
                    cells = [*cells[:start], self.group, *cells[start + 1 :]]
                yield Row(row.number, self.head, cells, is_total)


def _are_alike(row: CellRow, other: CellRow) -> bool:
    """Return whether two rows have texts of the same kinds in the same columns."""
    return [kind_of(text) for text in row.cells] == [kind_of(text) for text in other.cells]


def _is_outline(texts: Sequence[str]) -> bool:
    """Return whether texts of a first column stand for the blanks below them: they differ, and most are blank."""
    given = [text for text in texts if text]
    return bool(texts[:1] == given[:1]) and 1 < len({*given}) == len(given) <= (len(texts) - 1) / 2


def _form(rows: Sequence[CellRow], title: str) -> Row:
    """Return rows of a name and a value as one row of a table whose columns have these names."""
    first, second = rows[0].filled()
    names = column_names([CellRow(0, [row.cells[first] for row in rows])])
    values = [row.cells[second] for row in rows]
    return Row(rows[0].number, Head(names, 0, title), values, area=(first, second, rows[-1].number))


def _note(row: CellRow) -> Note:
    return Note(row.number, ["" if column in row.left else text for column, text in enumerate(row.cells)])
