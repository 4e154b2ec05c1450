"""Rows of a table that sum up the rows above them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from graphwright.data.records.grid import CellRow
from graphwright.text.numbers import amount_of, decimal_of

_ROUNDING = 1e-9  # share of a sum
_DIGITS = "0123456789"


class _Sum:
    """The sum of the numbers of a column, how many they are, both up to the last total too, and the last two."""

    __slots__ = ("base", "base_rows", "last", "rows", "step", "total")

    def __init__(self) -> None:
        self.total = self.base = self.last = 0.0
        self.rows = self.base_rows = 0
        self.step: float | None = None

    def add(self, number: float) -> None:
        self.step = number - self.last if self.rows else None
        self.total, self.rows, self.last = self.total + number, self.rows + 1, number

    def equals(self, number: float, decimals: int, *, since_total: bool) -> bool:
        """Return whether a number is the sum of all, or of those since the last total, up to rounded decimals."""
        base, rows = (self.base, self.rows - self.base_rows) if since_total else (0.0, self.rows)
        rounding = rows / 2 * 10.0**-decimals if decimals else 0.0
        return rows > 1 and abs(number - self.total + base) <= rounding + _ROUNDING * abs(number)

    def counts_up(self, number: float) -> bool:
        return self.step is not None and abs(number - self.last - self.step) <= _ROUNDING * abs(number)


class Totals:
    """Sums of the columns of one table, row by row, to recognise the rows that repeat them.

    A row is a total if the file says so, or if each of its numbers is the sum of the numbers above it (above it up to
    the last total), and this is no accident: two columns agree, the row is emphasised, or a cell is blank where the
    rows above have one; for the last row, three rows above are enough. `columns`: texts of each column, which decide
    about decimal signs.
    """

    def __init__(self, columns: Mapping[int, Sequence[str]]) -> None:
        every = decimal_of([text for texts in columns.values() for text in texts])
        self.decimal = {column: decimal_of(texts, every) for column, texts in columns.items()}
        self.sums: dict[int, _Sum] = {}  # by column
        self.filled: set[int] | None = None  # columns with a text in each row
        self.others: set[int] = set()  # columns with texts that are no numbers
        self.is_bold = False  # whether a row that is no total is emphasised

    def read(self, row: CellRow, *, is_last: bool) -> bool:
        """Return whether a row is a total, and add one that is none to the sums."""
        columns = {column for column, text in enumerate(row.cells) if text}
        read = {c: _number(row.cells[c], self.decimal.get(c, ".")) for c in columns - self.others}
        numbers = {column: number for column, number in read.items() if number is not None}
        is_marked = bool(self.filled and self.filled - columns) or (row.bold and not self.is_bold)
        if row.is_sum or self._agree(numbers, is_marked, is_last):
            for column_sum in self.sums.values():
                column_sum.base, column_sum.base_rows = column_sum.total, column_sum.rows
            return True
        for column, (number, _) in numbers.items():
            if column not in self.sums:
                self.sums[column] = _Sum()
            self.sums[column].add(number)
        if len(numbers) < len(read):
            self.others |= read.keys() - numbers.keys()
        self.is_bold = self.is_bold or row.bold
        self.filled = columns if self.filled is None else self.filled & columns
        return False

    def _agree(self, numbers: Mapping[int, tuple[float, int]], is_marked: bool, is_last: bool) -> bool:
        """Return whether each number of a row is the sum of its column, and this is no accident."""
        known = [(self.sums[column], *number) for column, number in numbers.items() if column in self.sums]
        if not known or not any(
            all(column.equals(number, decimals, since_total=since_total) for column, number, decimals in known)
            for since_total in (True, False)
        ):
            return False
        sums_up = [(column, number) for column, number, _ in known if number]
        telling = sum(not column.counts_up(number) for column, number in sums_up)
        rows = max(column.rows for column, *_ in known)
        at_end = is_last and telling > 0 and (rows > 2 or len(sums_up) > 1)
        return telling > 1 or (bool(sums_up) and is_marked) or at_end


@lru_cache(maxsize=1 << 14)
def _number(text: str, decimal: str) -> tuple[float, int] | None:
    """Return the number that a text is, and how many decimals it has; None for another text."""
    amount = amount_of(text, decimal)
    if amount is None:
        return None
    after = text.rpartition(decimal)[2] if decimal in text else ""
    return amount.number, len(after) - len(after.lstrip(_DIGITS))
