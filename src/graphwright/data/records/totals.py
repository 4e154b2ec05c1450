"""Rows of a table that sum up the rows above them: their sums, means, medians or extremes."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import product
from math import gcd, prod
from statistics import fmean, median

from graphwright.data.records.grid import CellRow
from graphwright.text.numbers import amount_of, decimal_of

_ROUNDING = 1e-9  # share of a sum
_DIGITS = "0123456789"
TAIL = 6  # rows at the end of a table that may sum it up
_STATISTICS = sum, fmean, median, max, min
_MAX_VALUES, _FINEST = 10_000, 9  # numbers of a column of which other statistics are known; decimals of these
_CHANCES = 0.025, 0.1, 0.3  # of agreement, at most; of a row that is marked, or follows a total
_ONE_ROW = 0.2  # chance that a row repeats one above that is the largest, the smallest or in the middle


class _Sum:
    """The sum of the numbers of a column, how many they are, both up to the last total too, and the last of them."""

    __slots__ = ("base", "base_rows", "last", "rows", "total")

    def __init__(self) -> None:
        self.total = self.base = 0.0
        self.rows = self.base_rows = 0
        self.last = deque[float](maxlen=_MAX_VALUES)

    def add(self, number: float) -> None:
        self.total, self.rows = self.total + number, self.rows + 1
        self.last.append(number)

    def equals(self, number: float, decimals: int, *, since_total: bool) -> bool:
        """Return whether a number is the sum of all, or of those since the last total, up to rounded decimals."""
        base, rows = (self.base, self.rows - self.base_rows) if since_total else (0.0, self.rows)
        rounding = rows / 2 * 10.0**-decimals if decimals else 0.0
        return rows > 1 and abs(number - self.total + base) <= rounding + _ROUNDING * abs(number)

    def chance(self, which: int, number: float, decimals: int, first: int) -> tuple[Sequence[float], float] | None:
        """Return how probably a number is a statistic of those from `first` on by chance, None if it is none.

        Before it stands what columns share that agree together: how their values rise and fall, or where extremes are.
        """
        above = [*self.last] if self.rows == len(self.last) else []
        rounding = 10.0**-decimals / 2 * (1 if which else self.rows * bool(decimals)) + _ROUNDING * abs(number)
        if len(above) - first < 2 or abs(number - _STATISTICS[which](above[first:])) > rounding:
            return None
        at, *values = (round(value * 10**_FINEST) for value in (number, *above[first:]))
        low, span, repeated = min(values), max(max(values) - min(values), 1), len(values) - len({*values})
        step = gcd(*(value - low for value in values)) or span
        finest = max(10 ** max(_FINEST - decimals, 0), 0 if (at - low) % step else step) / span
        shared = [value == at if which > 2 else round((value - low) / span, 2) for value in values]
        chance = max(finest, (repeated + 1) / len(values) if repeated and at in values else 0)
        return shared, min(1.0, chance * (1 if len(values) > 2 else 10))

    def counts_up(self, number: float) -> bool:
        return len(self.last) > 1 and abs(number - 2 * self.last[-1] + self.last[-2]) <= _ROUNDING * abs(number)


class Totals:
    """Sums of the columns of one table, row by row, to recognise the rows that repeat them.

    A row is a total if the file says so, or if each of its numbers is the sum of the numbers above it (above it up to
    the last total), and this is no accident: two columns agree, the row is emphasised, or a cell is blank where the
    rows above have one; for the last row, three rows above are enough. So is one of means, medians or extremes where
    values as fine as those of the columns would hardly agree by chance; rows of different ones at the end of the table
    support each other. So is a last row that counts those above, as "16 boats" below texts, and at the end a row below
    a total that leaves blank what it does, as of a tax. `columns`: texts of each, which decide about decimal signs.
    """

    def __init__(self, columns: Mapping[int, Sequence[str]]) -> None:
        every = decimal_of([text for texts in columns.values() for text in texts])
        self.decimal = {column: decimal_of(texts, every) for column, texts in columns.items()}
        self.sums: dict[int, _Sum] = {}  # by column
        self.filled: set[int] | None = None  # columns with a text in each row
        self.others: set[int] = set()  # columns with texts that are no numbers
        self.is_bold = False  # whether a row that is no total is emphasised
        self.is_after = False  # whether the last row was a total
        self.rows = 0  # that are no totals
        self.summed: set[int] = set()  # columns of the last total, if one is blank that each row has

    def read(self, row: CellRow, rest: Sequence[CellRow] | None) -> bool:
        """Return whether a row is a total, and add one that is none to the sums; `rest`: those that follow, if few."""
        columns = {column for column, text in enumerate(row.cells) if text}
        numbers = self._numbers(row)
        is_marked = bool(self.filled and self.filled - columns) or (row.bold and not self.is_bold)
        may_sum_up = is_marked or self.is_after or rest is not None
        is_total = row.is_sum or self._agree(numbers, is_marked, rest == [])
        is_total = is_total or (rest == [] and is_marked and self._counts(row))
        is_total |= self.is_after and rest is not None and bool(numbers) and self.summed == columns
        if is_total or (may_sum_up and self._sums_up(row, is_marked, rest)):
            self.is_after, self.summed = True, columns if is_marked else set()
            return True
        for column_sum in self.sums.values() if self.is_after else ():
            column_sum.base, column_sum.base_rows = column_sum.total, column_sum.rows
        self.is_after, self.rows = False, self.rows + 1
        for column, (number, _) in numbers.items():
            self.sums.setdefault(column, _Sum()).add(number)
        self.others |= columns - numbers.keys()
        self.is_bold = self.is_bold or row.bold
        self.filled = columns if self.filled is None else self.filled & columns
        return False

    def _numbers(self, row: CellRow) -> dict[int, tuple[float, int]]:
        """Return the numbers of a row, and how many decimals each has, by column."""
        columns = {column for column, text in enumerate(row.cells) if text} - self.others
        read = {column: _number(row.cells[column], self.decimal.get(column, ".")) for column in columns}
        return {column: number for column, number in read.items() if number is not None}

    def _counts(self, row: CellRow) -> bool:
        """Return whether a row has numbers only where those above have none, and each is how many rows these are."""
        found = {a.number if c not in self.sums else None for c, text in enumerate(row.cells) if (a := amount_of(text))}
        return self.rows > 2 and found == {self.rows}

    def _sums_up(self, row: CellRow, is_marked: bool, rest: Sequence[CellRow] | None) -> bool:
        """Return whether each number of a row is the same statistic of its column, and this is no accident."""
        chances: dict[int, float] = {}
        for other in (row, *(rest or ())):
            which, chance = self._statistic(other)
            if which in chances or chance == 1:
                break
            chances[which] = chance
        return prod(chances.values()) <= _CHANCES[2 if self.is_after else is_marked] * (0.1 if rest is None else 1)

    def _statistic(self, row: CellRow) -> tuple[int, float]:
        """Return which statistic each number of a row is, and how probably by chance, 1 for none."""
        best, numbers = (-1, 1.0), self._numbers(row)
        columns = [(self.sums[column], number) for column, number in numbers.items() if column in self.sums]
        repeats = [number in above.last for above, (number, _) in columns] == [True]  # one column, as a median may
        for which, in_group in product(range(len(_STATISTICS)), (True, False)):
            found = [above.chance(which, *number, above.base_rows * in_group) for above, number in columns]
            chances = {tuple(result[0]): result[1] for result in found if result}
            is_row = len(chances) == 1 and which > (1 if repeats else 2)
            chance = max(prod(chances.values()), _ONE_ROW if is_row else 0)
            if None not in found and chance < best[1]:
                best = which, chance
        return best

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
