"""Rows of a table that sum up the rows above them."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from itertools import chain

from graphwright.data.records.grid import CellRow, has_digit

_POINT = re.compile(r"[+-]?(?:\d{1,3}(?:[ ,'’\u00a0\u202f]\d{3})+|\d+)?(?:\.\d+)?")
_COMMA = re.compile(r"[+-]?(?:\d{1,3}(?:[ .'’\u00a0\u202f]\d{3})+|\d+)?(?:,\d+)?")
_AROUND = re.compile(r"^(?:[^\w+.,-]{1,3}|[^\W\d]{1,4}\s)\s*|(?<=\d)[^\d]{0,12}$")  # a currency or a unit
_SEPARATORS = re.compile(r"[ '’\u00a0\u202f]")
_SIGNS = str.maketrans("−–", "--")
_MAX_DIGITS = 30


class _Sum:
    """The sum of the numbers of a column, how many they are, both up to the last total too, and the last two."""

    __slots__ = ("base", "base_rows", "last", "rows", "step", "total")

    def __init__(self) -> None:
        self.total = self.base = self.last = Decimal(0)
        self.rows = self.base_rows = 0
        self.step: Decimal | None = None

    def add(self, number: Decimal) -> None:
        self.step = number - self.last if self.rows else None
        self.total, self.rows, self.last = self.total + number, self.rows + 1, number

    def equals(self, number: Decimal, *, since_total: bool) -> bool:
        """Return whether a number is the sum of all, or of those since the last total, up to rounded decimals."""
        rows = self.rows - self.base_rows if since_total else self.rows
        difference = abs(number - self.total + (self.base if since_total else 0))
        if rows < 2 or not difference:
            return rows > 1
        digits = -int(number.as_tuple().exponent)
        return digits > 0 and difference <= Decimal(rows) / 2 * Decimal(10) ** -digits

    def counts_up(self, number: Decimal) -> bool:
        return self.step is not None and number - self.last == self.step


class Totals:
    """Sums of the columns of one table, row by row, to recognise the rows that repeat them.

    A row is a total if the file says so, or if each of its numbers is the sum of the numbers above it (above it up to
    the last total), and this is no accident: two columns agree, the row is emphasised, or a cell is blank where the
    rows above have one; for the last row, three rows above are enough. Numbers are read with a decimal point, and with
    a decimal comma.
    """

    def __init__(self) -> None:
        self.sums: tuple[dict[int, _Sum], dict[int, _Sum]] = {}, {}  # with points, with commas; by column
        self.filled: set[int] | None = None  # columns with a text in each row
        self.others: set[int] = set()  # columns with texts that are no numbers
        self.is_bold = False  # whether a row that is no total is emphasised

    def read(self, row: CellRow, *, is_last: bool) -> bool:
        """Return whether a row is a total, and add one that is none to the sums."""
        columns = {column for column, text in enumerate(row.cells) if text}
        readings = {column: _numbers(row.cells[column]) for column in columns - self.others}
        numbers = [{column: n for column, both in readings.items() if (n := both[at]) is not None} for at in (0, 1)]
        is_marked = bool(self.filled and self.filled - columns) or (row.bold and not self.is_bold)
        if row.is_sum or any(map(_agree, numbers, self.sums, (is_marked,) * 2, (is_last,) * 2)):
            for column_sum in chain(self.sums[0].values(), self.sums[1].values()):
                column_sum.base, column_sum.base_rows = column_sum.total, column_sum.rows
            return True
        for found, sums in zip(numbers, self.sums, strict=True):
            for column, number in found.items():
                sums.setdefault(column, _Sum()).add(number)
        self.others |= {column for column, both in readings.items() if both == (None, None)}
        self.is_bold = self.is_bold or row.bold
        self.filled = columns if self.filled is None else self.filled & columns
        return False


def _agree(numbers: dict[int, Decimal], sums: dict[int, _Sum], is_marked: bool, is_last: bool) -> bool:
    """Return whether each number of a row is the sum of its column, and this is no accident."""
    known = [(sums[column], number) for column, number in numbers.items() if column in sums]
    if not known or not any(
        all(column.equals(number, since_total=since_total) for column, number in known) for since_total in (True, False)
    ):
        return False
    sums_up = [(column, number) for column, number in known if number]
    telling = sum(not column.counts_up(number) for column, number in sums_up)
    rows = max(column.rows for column, _ in known)
    at_end = is_last and telling > 0 and (rows > 2 or len(sums_up) > 1)
    return telling > 1 or (bool(sums_up) and is_marked) or at_end


@lru_cache(maxsize=1 << 12)
def _numbers(text: str) -> tuple[Decimal | None, Decimal | None]:
    """Return a text as a number with a decimal point, and as one with a decimal comma; None if it is none."""
    if len(text) > _MAX_DIGITS or not has_digit(text):
        return None, None
    text = _AROUND.sub("", text.translate(_SIGNS))
    point = Decimal(_SEPARATORS.sub("", text.replace(",", ""))) if _POINT.fullmatch(text) else None
    comma = text.replace(".", "").replace(",", ".")
    return point, Decimal(_SEPARATORS.sub("", comma)) if _COMMA.fullmatch(text) else None
