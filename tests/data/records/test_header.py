"""Headers of tables, by their values alone."""

from __future__ import annotations

import pytest
from tests.data.records.test_grid import grid

from graphwright.data.records.grid import Cell, CellRow, spread
from graphwright.data.records.header import are_pairs, column_names, header_depth, may_name_columns, title_depth


@pytest.mark.parametrize(
    ("lines", "depth"),
    [
        (["River|km", "Mur|464", "Enns|254"], 1),
        (["Mur|464", "Enns|254", "Drau|749"], 0),
        (["Name|City", "Anna|Graz", "Ben|Linz"], 1),
        (["red|Graz", "blue|Linz", "red|Wien"], 0),  # a text that recurs
        (["Country|2019|2020", "Austria|8.9|9", "Italy|60.1|59.9"], 1),  # years that count up
        (["Anna|2019|2020", "Ben|2018|2021", "Cleo|2001|2004"], 0),
        (["|Q1||Q2|", "Region|Sales|Units|Sales|Units", "North|1|2|3|4", "South|5|6|7|8"], 2),
        (["Plant|Output||Since", "|Plan|Actual|", "Graz|1|2|1998", "Linz|3|4|2001"], 2),
        (["River|Length", "|km", "Mur|464", "Enns|254"], 2),  # units
        (["id|mass|taken", "|mg|", "S1|12|2024-05-01", "S2|9|2024-05-02"], 2),  # units of numbers only
        (["Peak|Height|Huts|Climbed", "|m||", "Ortler|3905|4|1804", "Dom|4545|2|1858"], 2),  # of some values
        (["Peak|Height|Huts", "|none|", "Ortler|3905|4", "Dom|none|2"], 1),  # a value that recurs
        (["River|Length", "Mur|unknown", "Enns|254", "Drau|749"], 1),
        (["part|price", "KX-1|3", "KX-2|4"], 1),
        (["Plant|2023||2024|", "|Plan|Actual|Plan|Actual", "Graz|1|2|3|4", "Linz|5|6|7|8"], 2),  # years over groups
        (["Kind|Person||Place|", "|name|note|name|note", "a|Ada|x|Graz|y", "b|Bo|z|Linz|w"], 2),  # only texts
        (["Ada||Graz|", "Bo|Lux|Linz|Ring", "Cy|Oz|Wien|Am Hof", "Di|Ax|Enns|Weg"], 0),  # rows with gaps
        (["Code||Remark", "A1|Bolt|steel", "A2|Nut|brass", "A3|Pin|steel"], 1),  # a column without a name
    ],
)
def test_header_depth_is_found_by_the_values(lines: list[str], depth: int) -> None:
    assert header_depth(grid(*lines), may_name_columns) == depth


def test_header_depth_bold_row_names_columns() -> None:
    first, *rows = grid("yes|no", "yes|no", "no|no", "no|yes")
    assert header_depth([first, *rows], may_name_columns) == 0
    assert header_depth([first._replace(bold=True), *rows], may_name_columns) == 1


def test_column_names_with_a_colon_at_the_end_lose_it() -> None:
    assert column_names(grid("Syntax:|Default :|Höhe：|3:1")) == ("Syntax", "Default", "Höhe", "3:1")
    assert column_names([*grid("|Summer:|"), *grid("Bath:|Children:|Adults :")]) == (
        "Bath", "Summer / Children", "Summer / Adults"
    )  # fmt: skip


def test_column_names_repeated_ones_are_numbered() -> None:
    assert column_names(grid("a|b|a||a")) == ("a", "b", "a (2)", "", "a (3)")


@pytest.mark.parametrize(
    ("lines", "depth"),
    [
        (["Report", "Name|Amount", "Anna|3", "Ben|4"], 1),
        (["Report", "of|2024", "Name|Amount|Year", "Anna|3|1", "Ben|4|2", "Cleo|4|2"], 2),
        (["Name|Amount", "Anna|3", "Ben|"], 0),
        (["|Q1||Q2|", "Region|Sales|Units|Sales|Units", "North|1|2|3|4"], 0),
        (["one", "two", "three"], 0),
        (["Inventory||Printed:|2025-03-01", "Device|Serial|Year|Room", "Laser|X1|2019|A", "Pump|P7|2020|B"], 1),
        (["Anna||3|4", "Ben|1|2|5", "Cleo|1|7|8"], 0),
    ],
)
def test_title_depth_lines_above_the_header_are_found(lines: list[str], depth: int) -> None:
    assert title_depth(grid(*lines)) == depth


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["Customer:|Halden", "Seller:|Orsted"], True),
        (["Customer|Halden", "Date|2024-03-01", "Copies|3"], True),
        (["Item|Price", "Desk|120", "Lamp|30"], False),
        (["Shift|Lead", "Early|Tora", "Late|Emil"], False),
        (["a|b|c", "d|1|2"], False),
    ],
)
def test_are_pairs_values_of_several_kinds_are_those_of_a_form(lines: list[str], expected: bool) -> None:
    assert are_pairs(grid(*lines)) is expected


def test_may_name_columns_needs_different_short_texts() -> None:
    assert may_name_columns(CellRow(0, ["", "Graz", "Linz"]))
    assert not may_name_columns(CellRow(0, ["a", "A"])) and not may_name_columns(CellRow(0, ["a", "b" * 101]))


def test_header_depth_row_that_divides_a_declared_merged_name_is_header() -> None:
    rows = [CellRow(0, ["", "Price", "Price"], left=frozenset({2})), CellRow(1, ["Boat", "Day", "Week"])]
    values = [CellRow(2, ["Kayak", "20 euros", "90 euros"]), CellRow(3, ["Canoe", "30 euros", "120 euros"])]
    texts = [CellRow(2, ["Ida", "Graz", "Ring"]), CellRow(3, ["Bo", "Linz", "Gasse"])]
    assert header_depth([*rows, *values], lambda row: True, 1) == 2
    assert header_depth([*rows, *texts], lambda row: True, 1) == 1


def test_header_depth_row_that_divides_a_declared_name_beside_blanks_is_header() -> None:
    head = CellRow(0, ["Hive", "Honey", "", "Keeper"])
    values = [CellRow(2, ["H1", "12 kg", "9 kg", "Ida"]), CellRow(3, ["H2", "7 kg", "11 kg", "Bo"])]
    split, full = CellRow(1, ["", "May", "June", ""]), CellRow(1, ["H0", "none", "none", "Ada"])
    assert header_depth([head, split, *values], lambda row: True, 1) == 2
    assert column_names([head, split]) == ("Hive", "Honey / May", "Honey / June", "Keeper")
    assert header_depth([head, full, *values], lambda row: True, 1) == 1


def test_column_names_sign_of_a_comment_is_no_part_of_the_first() -> None:
    assert column_names([CellRow(0, ["#chrom", "# reads"]), CellRow(1, ["", ""])]) == ("chrom", "# reads")


def test_header_depth_groups_named_in_each_column_are_two_rows() -> None:
    groups = ["Region", "2023", "2023", "2024", "2024"]
    names = ["", "Plan", "Actual", "Plan", "Actual"]
    body = [["Nord", "10", "11", "12", "13"], ["Sued", "20", "21", "22", "23"]]
    rows = [CellRow(number, cells) for number, cells in enumerate([groups, names, *body])]
    assert header_depth(rows, may_name_columns) == 2
    assert column_names(rows[:2])[:3] == ("Region", "2023 / Plan", "2023 / Actual")
    answers = [["Ada", "yes", "yes"], ["Bo", "no", "no"], ["Cy", "no", "yes"], ["Di", "yes", "yes"]]
    assert header_depth([CellRow(number, cells) for number, cells in enumerate(answers)], may_name_columns) == 0


def test_header_depth_year_above_several_columns_is_a_name() -> None:
    spanned = spread(
        [
            [Cell("Item", columns=2, rows=3), Cell("2025", columns=4)],
            [Cell("Spring", columns=2), Cell("Autumn", columns=2)],
            [Cell("Budget"), Cell("Spent"), Cell("Budget"), Cell("Spent")],
            *[
                [Cell(text) for text in row.split(",")]
                for row in ("Stage,Wood,1 EUR,2 EUR,3 EUR,4 EUR", "Lights,Lamps,5 EUR,6 EUR,7 EUR,8 EUR")
            ],
        ]
    )
    rows = [row._replace(left=row.left | {1}) if row.above else row for row in spanned]  # as spreadsheets have them
    assert header_depth(rows, lambda row: False) == 3
    assert column_names(rows[:3])[-1] == "2025 / Autumn / Spent"
