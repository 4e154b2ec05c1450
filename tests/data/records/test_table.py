"""Tables as records: blocks of a sheet, repeated headers, notes, and spans."""

from __future__ import annotations

from tests.data.records.test_grid import grid

from graphwright.data.records.grid import Cell, spread
from graphwright.data.records.table import Note, Table


def lines(table: Table) -> list[str]:
    return [item.text if isinstance(item, Note) else item.sentence()[0] for item in table.items()]


def test_table_repeated_header_and_blank_rows_are_left_out() -> None:
    rows = grid("River|km", "Mur|464", "|", "River|km", "Enns|254")
    expected = ["River: Mur; km: 464.", "River: Enns; km: 254."]
    assert lines(Table(rows)) == lines(Table(rows, is_sheet=True)) == expected


def test_table_repeated_header_with_other_groups_or_units_names_the_rows_below() -> None:
    years = grid("Plant|2023|", "|Plan|Actual", "Graz|1|2", "Linz|5|4", "Plant|2021|", "|Plan|Actual", "Wien|7|8")
    assert lines(Table(years, is_sheet=True)) == [
        "Plant: Graz; 2023 / Plan: 1; 2023 / Actual: 2.", "Plant: Linz; 2023 / Plan: 5; 2023 / Actual: 4.",
        "Plant: Wien; 2021 / Plan: 7; 2021 / Actual: 8.",
    ]  # fmt: skip
    units = grid("Item|Price", "|EUR", "Bolt|1", "Nut|2", "Item|Price", "|USD", "Saw|12")
    assert lines(Table(units))[-2:] == ["Item: Nut; Price / EUR: 2.", "Item: Saw; Price / USD: 12."]


def test_table_line_above_a_repeated_header_is_the_title_of_what_follows() -> None:
    rows = grid("North||", "Plant|t|", "|Plan|Actual", "Graz|1|2", "South||", "Plant|t|", "|Plan|Actual", "Wien|7|8")
    items = list(Table(rows, is_sheet=True).items())
    assert [item.text for item in items if isinstance(item, Note)] == ["North", "South"]
    assert [item.head.title for item in items if not isinstance(item, Note)] == ["North", "South"]


def test_table_headers_without_rows_are_lines() -> None:
    assert lines(Table(grid("Item|2023|", "|a|b", "Item|2021|", "|a|b"), header=2)) == [
        "Item | 2023", "a | b", "Item | 2021", "a | b"
    ]  # fmt: skip


def test_table_sheet_of_two_tables_names_each_by_its_header() -> None:
    rows = grid("Report 2026", "", "Plant|Output|Scrap", "Graz|120|3", "Linz|80|1", "", "Shift|Lead", "Early|Tora")
    assert lines(Table(rows, is_sheet=True)) == [
        "Report 2026", "Plant: Graz; Output: 120; Scrap: 3.", "Plant: Linz; Output: 80; Scrap: 1.",
        "Shift: Early; Lead: Tora.",
    ]  # fmt: skip


def test_table_blank_row_between_rows_of_one_kind_divides_nothing() -> None:
    rows = grid("Plant|Output", "Graz|120", "", "Linz|80", "", "Source: ERP")
    table = Table(rows, is_sheet=True)
    assert lines(table) == ["Plant: Graz; Output: 120.", "Plant: Linz; Output: 80.", "Source: ERP"]


def test_table_line_across_all_columns_is_a_note() -> None:
    rows = spread([[Cell("River"), Cell("km")], [Cell("Styria", columns=2)], [Cell("Mur"), Cell("464")]])
    assert lines(Table(rows)) == ["Styria", "River: Mur; km: 464."]


def test_table_without_rows_keeps_its_header() -> None:
    assert lines(Table(grid("River|km"))) == ["River | km"]


def test_table_without_header_has_numbered_columns() -> None:
    (row, *_) = Table(grid("Mur|464", "Enns|254", "Drau|749")).items()
    assert not isinstance(row, Note)
    text, record = row.sentence()
    assert (text, [field.name for field in record.fields]) == ("Mur | 464", ["column 1", "column 2"])
    assert [text[field.start : field.end] for field in record.fields] == ["Mur", "464"]


def test_table_form_is_one_row() -> None:
    (row,) = Table(grid("Customer:|Halden", "Date:|2024-03-01")).items()
    assert not isinstance(row, Note) and row.area == (0, 1, 1)
    assert row.sentence()[0] == "Customer: Halden; Date: 2024-03-01."


def test_table_declared_header_is_not_sought() -> None:
    assert lines(Table(grid("1|2", "3|4"), header=1)) == ["1: 3; 2: 4."]
    assert lines(Table(grid("River|km", "Mur|464"), header=0)) == ["River | km", "Mur | 464"]


def test_table_texts_of_first_column_stand_for_the_blanks_below_them() -> None:
    heads = grid("Valley|Hut|Beds", "Ötz||", "|Alpha|20", "|Beta|35", "Ziller||", "|Gamma|12", "|Delta|50")
    firsts = grid("Valley|Hut|Beds", "Ötz|Alpha|20", "|Beta|35", "|Eta|9", "Ziller|Gamma|12", "|Delta|50", "||126")
    expected = ["Valley: Ötz; Hut: Alpha; Beds: 20.", "Valley: Ötz; Hut: Beta; Beds: 35."]
    assert lines(Table(heads))[:2] == lines(Table(firsts))[:2] == expected
    assert lines(Table(heads))[3] == lines(Table(firsts))[4] == "Valley: Ziller; Hut: Delta; Beds: 50."
    assert lines(Table(firsts))[5] == "Beds: 126."


def test_table_declared_header_without_text_makes_two_columns_names_and_values() -> None:
    rows = grid("|", "Owner|Ann", "Lead|Jon", "Author|Ann")
    assert lines(Table(rows, header=1)) == ["Owner: Ann; Lead: Jon; Author: Ann."]


def test_table_declared_header_without_text_names_no_column_of_several() -> None:
    assert lines(Table(grid("||", "Ann|4|Graz", "Jon|5|Linz"), header=1)) == ["Ann | 4 | Graz", "Jon | 5 | Linz"]
