"""Grids of cells: merged cells, and tables beside each other."""

from __future__ import annotations

from graphwright.data.records.grid import Cell, CellRow, side_by_side, spread


def test_spread_cells_over_rows_and_columns_are_repeated() -> None:
    rows = list(
        spread(
            [
                [Cell("Plant", rows=2), Cell("Output", columns=2), Cell("Since", rows=2)],
                [Cell("Plan"), Cell("Actual")],
                [Cell("Graz"), Cell("1"), Cell("2"), Cell("1998")],
            ]
        )
    )
    assert [row.cells for row in rows] == [
        ["Plant", "Output", "Output", "Since"],
        ["Plant", "Plan", "Actual", "Since"],
        ["Graz", "1", "2", "1998"],
    ]
    assert (rows[0].left, rows[1].above) == ({2}, {0, 3}) and rows[0].filled() == [0, 1, 3]


def test_spread_cell_that_continues_the_one_above_repeats_it() -> None:
    _, second = spread([[Cell("Austria"), Cell("Graz")], [Cell("", above=True), Cell("Linz")]])
    assert (second.cells, second.above) == (["Austria", "Linz"], {0})


def test_spread_row_is_bold_if_all_its_texts_are() -> None:
    rows = [[Cell("a", bold=True), Cell(" ")], [Cell("a", bold=True), Cell("b")], [Cell("")]]
    assert [row.bold for row in spread(rows)] == [True, False, False]


def grid(*lines: str) -> list[CellRow]:
    """Rows whose cells stand between bars."""
    return [CellRow(number, [cell.strip() for cell in line.split("|")]) for number, line in enumerate(lines)]


def test_side_by_side_tables_follow_each_other() -> None:
    rows = side_by_side(grid("a|b||c|d", "1|2||3|4", "|||5|6"))
    assert [(row.number, list(row.cells)) for row in rows] == [
        (0, ["a", "b"]), (1, ["1", "2"]), (0, []),
        (0, ["", "", "", "c", "d"]), (1, ["", "", "", "3", "4"]), (2, ["", "", "", "5", "6"]),
    ]  # fmt: skip


def test_side_by_side_blank_column_beside_one_column_divides_nothing() -> None:
    rows = grid("name||amount", "Anna||3", "", "Ben||4")
    assert list(side_by_side(rows)) == rows
