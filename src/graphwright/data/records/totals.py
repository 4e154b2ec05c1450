"""Rows of a table that sum up the rows above them."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

from graphwright.data.records.grid import CellRow

_POINT = re.compile(r"[+-]?(?:\d{1,3}(?:[ ,'’\u00a0\u202f]\d{3})+|\d+)?(?:\.\d+)?")
_COMMA = re.compile(r"[+-]?(?:\d{1,3}(?:[ .'’\u00a0\u202f]\d{3})+|\d+)?(?:,\d+)?")
_AROUND = re.compile(r"^(?:[^\w+.,-]{1,3}|[^\W\d]{1,4}\s)\s*|(?<=\d)[^\d]{0,12}$")  # a currency or a unit
_SIGNS = str.maketrans("−–", "--")
_MAX_DIGITS = 30


class _Sum(NamedTuple):
    """The sum of the numbers of a column so far, how many they are, and the last two."""

    total: Decimal = Decimal(0)
    rows: int = 0
    last: Decimal = Decimal(0)
    step: Decimal | None = None

    def plus(self, number: Decimal) -> _Sum:
        return _Sum(self.total + number, self.rows + 1, number, number - self.last if self.rows else None)

    def equals(self, number: Decimal) -> bool:
        """Return whether a number is the sum, up to the rounding of those with decimals."""
        digits = -int(number.as_tuple().exponent)
        tolerance = Decimal(self.rows) / 2 * Decimal(10) ** -digits if digits > 0 else Decimal(0)
        return self.rows > 1 and abs(number - self.total) <= tolerance

    def counts_up(self, number: Decimal) -> bool:
        return self.step is not None and number - self.last == self.step


class Totals:
    """Sums of the columns of one table, row by row, to recognise the rows that repeat them.

    A row is a total if the file says so, or if each of its numbers is the sum of the numbers above it (above the
    last total), and this is no accident: two columns agree, the row is emphasised, or a cell is blank where the rows
    above have one; for the last row, three rows above are enough. Numbers are read with a decimal point, and with a
    decimal comma.
    """

    def __init__(self) -> None:
        self.sums: dict[tuple[str, int], _Sum] = {}  # of all rows
        self.since: dict[tuple[str, int], _Sum] = {}  # since the last total
        self.filled: set[int] | None = None  # columns with a text in each row
        self.others: set[int] = set()  # columns with texts that are no numbers
        self.is_bold = False  # whether a row that is no total is emphasised

    def read(self, row: CellRow, *, is_last: bool) -> bool:
        """Return whether a row is a total, and add one that is none to the sums."""
        columns = {column for column, text in enumerate(row.cells) if text}
        numbers = {mark: _numbers(row, columns - self.others, mark) for mark in ".,"}
        sparse = bool(self.filled and self.filled - columns)
        if row.is_sum or any(
            _agree(numbers[mark], sums, mark, sparse or (row.bold and not self.is_bold), is_last)
            for sums in (self.since, self.sums)
            for mark in ".,"
        ):
            self.since = {}
            return True
        for mark in ".,":
            for column, number in numbers[mark].items():
                for sums in (self.since, self.sums):
                    sums[mark, column] = sums.get((mark, column), _Sum()).plus(number)
        self.others |= {column for column in columns if column not in numbers["."] and column not in numbers[","]}
        self.is_bold = self.is_bold or row.bold
        self.filled = columns if self.filled is None else self.filled & columns
        return False


def _agree(
    numbers: dict[int, Decimal], sums: dict[tuple[str, int], _Sum], mark: str, is_marked: bool, is_last: bool
) -> bool:
    """Return whether each number of a row is the sum of its column, and this is no accident."""
    known = {column: sums[mark, column] for column in numbers if (mark, column) in sums}
    if not known or not all(known[column].equals(numbers[column]) for column in known):
        return False
    sums_up = [column for column in known if numbers[column]]
    telling = [column for column in sums_up if not known[column].counts_up(numbers[column])]
    rows = max(total.rows for total in known.values())
    at_end = is_last and bool(telling) and (rows > 2 or len(sums_up) > 1)
    return len(telling) > 1 or (bool(sums_up) and is_marked) or at_end


def _numbers(row: CellRow, columns: set[int], mark: str) -> dict[int, Decimal]:
    """Return the numbers of a row by column, whose decimals follow `mark`."""
    numbers = {}
    for column in columns:
        text = _AROUND.sub("", row.cells[column].translate(_SIGNS)) if len(row.cells[column]) <= _MAX_DIGITS else ""
        if text and any(map(str.isdecimal, text)) and (_POINT if mark == "." else _COMMA).fullmatch(text):
            numbers[column] = Decimal(re.sub(r"[^\d.+-]", "", text if mark == "." else _swapped(text)))
    return numbers


def _swapped(text: str) -> str:
    return text.replace(".", "").replace(",", ".")
