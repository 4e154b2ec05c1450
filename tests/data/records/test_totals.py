"""Rows that sum up the rows above them."""

from __future__ import annotations

import pytest
from tests.data.records.test_grid import grid

from graphwright.data.records.grid import CellRow
from graphwright.data.records.totals import TAIL, Totals


def totals(rows: list[CellRow]) -> list[int]:
    """The numbers of the rows that are totals."""
    width = max(len(row.cells) for row in rows)
    reader = Totals({column: [row.cell(column) for row in rows] for column in range(width)})
    return [
        row.number
        for at, row in enumerate(rows)
        if reader.read(row, rows[at + 1 :] if len(rows) - at <= TAIL else None)
    ]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["North|10|1", "South|20|5", "All|30|6"], [2]),  # two columns agree
        (["North|10", "South|25", "West|5", "All|40"], [3]),  # the last row of several
        (["North|Ada|10", "South|Ben|25", "All||35"], [2]),  # a cell is blank
        (["A|1", "B|2", "C|3"], []),  # may be chance
        (["A|0", "B|1", "C|2", "D|3"], []),
        (["A|1.000,50", "B|2.000,25", "C|10,00", "D|3.010,75"], [3]),
        (["A|1,000.50", "B|2,000.25", "C|10.00", "D|3,010.75"], [3]),
        (["A|€ 1.5", "B|€ 2", "C|€ 4", "D|€ 7.5"], [3]),
        (["A|1.200", "B|800", "C|1.100", "D|3.100"], [3]),  # a point for thousands
        (["A|1'200", "B|(800)", "C|1'100", "D|1'500"], [3]),  # a negative number in brackets
        (["A|33.3%|1", "B|33.3%|1", "C|33.4%|4", "D|100%|6"], [3]),
        (["a|x|1", "b|x|2", "||3", "c|x|4", "d|x|6", "||10", "||13"], [2, 5, 6]),  # sums of groups, and of all
        (["1|Ink|x|3", "2|Pen|x|4", "3|Pad|x|5", "||net|12", "||tax|2.4", "||gross|14.4"], [3, 4, 5]),
        (["1|10", "2|20", "3|40"], []),
        (["a||0", "b|x|0", "c||0"], []),
    ],
)
def test_totals_rows_that_repeat_sums_are_found(lines: list[str], expected: list[int]) -> None:
    assert totals(grid(*lines)) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["Elk|120|4", "Bear|95|11", "Lynx|18|6", "Ø|77.67|7"], [3]),
        (["Brest|1210,5", "Nice|733,1", "Lyon|832,0", "Moyenne|925,2"], [3]),  # finer than chance, in one column
        (["Ann|78|85", "Ben|64|91", "Cem|90|70", "Best|90|91"], [3]),  # of two rows
        (["A|1.2|50", "B|3.4|70", "C|1.9|60", "low|1.2|50", "high|3.4|70", "mid|1.9|60"], [3, 4, 5]),
        (["A|464", "B|254", "C|250", "All|968", "Each|322.67"], [3, 4]),
        (["A|x|10|5", "B|x|12|8", "C|x|17|4", "||13|5.67", "D|y|20|3", "E|y|31|2", "F|y|37|9", "||29.3|4.67"], [3, 7]),
        (["A|464", "B|254", "C|749", "D|749"], []),  # repeats a row
        (["A|5|5", "B|4|5", "C|3|4", "D|5|3", "E|5|5"], []),  # marks of a scale
        (["A|10|20", "B|30|60", "C|29|58", "D|23|46"], []),  # columns that rise alike tell once
        (["A|12", "B|17", "C|15", "D|15"], []),
        (["A|1000", "B|1001", "C|1040", "D|1001"], []),  # repeats the row in the middle
    ],
)
def test_totals_rows_that_are_means_or_extremes_are_found(lines: list[str], expected: list[int]) -> None:
    assert totals(grid(*lines)) == expected


def test_totals_emphasised_row_needs_only_two_rows_above() -> None:
    first, second, third = grid("A|10", "B|25", "All|35")
    assert totals([first, second, third]) == []
    assert totals([first, second, third._replace(bold=True)]) == [2]
    assert totals([row._replace(bold=True) for row in (first, second, third)]) == []


def test_totals_row_with_a_formula_is_one() -> None:
    first, second = grid("A|10", "All|")
    assert totals([first, second._replace(is_sum=True)]) == [1]


@pytest.mark.parametrize(
    ("last", "expected"),
    [("Total||4 bees", [4]), ("4 in all||", [4]), ("Total||5 bees", []), ("Dora|Linz|4 bees", []), ("Dora||", [])],
)
def test_totals_last_row_that_counts_the_rows_is_one(last: str, expected: list[int]) -> None:
    rows = grid("Ada|Graz|queen", "Ben|Linz|drone", "Cem|Wels|worker", "Ida|Enns|worker", last)
    assert totals(rows) == expected


def test_totals_last_row_of_a_column_of_numbers_counts_nothing() -> None:
    assert totals(grid("7|Ada|x", "9|Ben|x", "5|Cem|x", "3|Ida|")) == []
