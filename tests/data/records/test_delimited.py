"""CSV and TSV as spreadsheets and exports of several countries write them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from graphwright.data.document import Document
from graphwright.data.records.delimited import TableRecord, read_table
from graphwright.data.records.rows import read_rows
from graphwright.data.records.table import Note

LAMPS = "Artikel;Preis;Datum\nNora;1.249,50;31.12.2024\nFinn;89,90;04.03.2025\n"
FIRST = {"Artikel": "Nora", "Preis": "1.249,50", "Datum": "31.12.2024"}


def rows(path: Path) -> list[tuple[int, TableRecord | Note | str]]:
    return list(read_table(path))


@pytest.mark.parametrize(
    ("name", "data", "line"),
    [
        ("a.csv", LAMPS.encode(), 2),
        ("a.csv", LAMPS.replace("\n", "\r\n").encode("utf-8-sig"), 2),
        ("a.csv", ("sep=;\n" + LAMPS).encode("cp1252"), 3),
        ("a.csv", ('"sep=;"\r\n' + LAMPS).encode(), 3),
        ("a.csv", LAMPS.replace(";", "\t").encode("utf-16"), 2),
        ("a.tsv", LAMPS.replace(";", "\t").encode(), 2),
        ("a.csv", LAMPS.replace(";", "|").encode(), 2),
        ("a.csv", "\n".join(f'"{line}"'.replace(";", '","') for line in LAMPS.split("\n")[:3]).encode(), 2),
        ("a.csv", ("Lampen 2025\nStand;01.02.2025\n\n" + LAMPS).encode(), 5),
        ("a.csv", ("Lampen 2025;;\n" + LAMPS).encode(), 3),
        ("a.csv", LAMPS.replace(";", "^").encode(), 2),
        ("a.csv", ('"EXTF";700;21;"Lampen";13\n' + LAMPS).encode(), 3),  # as DATEV writes it
        ("a.csv", ("Stand;01.02.2025\n" + LAMPS).encode(), 3),
        ("a.csv", LAMPS.replace(";", " ; ").encode(), 2),
        ("a.csv", "\n".join(f'"{line}"'.replace(";", '", "') for line in LAMPS.split("\n")[:3]).encode(), 2),
        ("a.csv", re.sub("(?m)^(.+)$", r"|\1|", "+---+---+\n" + LAMPS.replace(";", " | ")).encode(), 3),
        ("a.csv", "\n".join(f"'{line}'".replace(";", "','") for line in LAMPS.split("\n")[:3]).encode(), 2),
    ],
)
def test_read_table_dialects_give_same_rows(tmp_path: Path, name: str, data: bytes, line: int) -> None:
    (tmp_path / name).write_bytes(data)
    records = [(number, row) for number, row in rows(tmp_path / name) if isinstance(row, TableRecord)]
    assert records[0] == (line, FIRST) and len(records) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('id,note\n1,"He said \\"no\\", twice"\n2,plain\n', 'He said "no", twice'),  # as MySQL writes it
        ("id;note\n'1';'Graz; Austria'\n'2';'it''s'\n", "Graz; Austria"),
        ('id,note\n1,"a ""b"", c"\n2,it\'s\n', 'a "b", c'),
        ("id,note\n1,'tis late\n2,'twas early\n3,no\n", "'tis late"),
    ],
)
def test_read_table_quotes_of_other_programs_are_read(tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    records = [row for _, row in rows(tmp_path / "a.csv") if isinstance(row, TableRecord)]
    assert records[0] == {"id": "1", "note": expected} and len(records) > 1


def test_read_table_names_of_rows_without_a_name_are_the_first_column(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('"mpg","cyl"\n"Mazda RX4",21,6\n"Valiant",18.1,4\n')  # as R writes it
    assert rows(tmp_path / "a.csv")[0] == (2, {"column 1": "Mazda RX4", "mpg": "21", "cyl": "6"})


def test_read_table_names_over_several_lines_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('name,"Allergies?\n(list them)"\nMia,nuts\nPer,none\n')
    assert rows(tmp_path / "a.csv")[0][1] == {"name": "Mia", "Allergies? (list them)": "nuts"}


def test_read_table_lines_above_are_a_note(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("Lampen 2025\nStand;01.02.2025\n\n" + LAMPS)
    number, note = rows(tmp_path / "a.csv")[0]
    assert isinstance(note, Note) and (number, note.text) == (1, "Lampen 2025\nStand: 01.02.2025")


def test_read_table_without_header_numbers_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("Mur,464\nEnns,254\n")
    assert rows(tmp_path / "a.csv") == [
        (1, {"column 1": "Mur", "column 2": "464"}), (2, {"column 1": "Enns", "column 2": "254"}),
    ]  # fmt: skip


def test_read_table_second_table_has_its_own_columns(tmp_path: Path) -> None:
    text = "name,score\nAnna,1\nBen,2\n\nname,score\nCleo,3\n\ncity,land,pop\nGraz,Austria,300000\n"
    (tmp_path / "a.csv").write_text(text)
    documents = [row for _, row in read_rows(tmp_path / "a.csv", "a.csv") if isinstance(row, Document)]
    assert [(document.id, document.text) for document in documents[2:]] == [
        ("a.csv#6", "name: Cleo; score: 3."),
        ("a.csv#9", "city: Graz; land: Austria; pop: 300000."),
    ]
    assert [document.records[0].type for document in documents] == ["a", "a", "a", "a 2"]


def test_read_table_row_that_is_too_long_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,2\n3,4,5\n6,7,,\n")
    result = [row for _, row in rows(tmp_path / "a.csv")]
    assert result == [{"a": "1", "b": "2"}, "3 cells in a table of 2 columns", {"a": "6", "b": "7"}]


def test_read_rows_records_of_table_have_places_in_text(tmp_path: Path) -> None:
    (tmp_path / "sales.csv").write_text("Region,Amount,Units\nNorth,10,1\nSouth,20,5\nAll,30,6\n")
    documents = [row for _, row in read_rows(tmp_path / "sales.csv", "x/sales.csv") if isinstance(row, Document)]
    for document in documents:
        (record,) = document.records
        assert (record.type, record.start, record.end) == ("sales", 0, len(document.text))
        assert [document.text[field.start : field.end] for field in record.fields] == [f.text for f in record.fields]
    assert [document.records[0].is_copy for document in documents] == [False, False, True]


def test_read_rows_passage_of_table_has_its_other_columns_as_fields(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,text,year\n1,It rises in 1999.,1999\n")
    [(_, document)] = read_rows(tmp_path / "a.csv", "a.csv")
    assert isinstance(document, Document)
    (record,) = document.records
    assert [(f.name, f.text, f.start, f.end) for f in record.fields] == [
        ("id", "1", 0, 0), ("text", "It rises in 1999.", 0, 17), ("year", "1999", 0, 0),
    ]  # fmt: skip
    (tmp_path / "a.csv").write_text("id,text\n1,It rises.\n")
    [(_, document)] = read_rows(tmp_path / "a.csv", "a.csv")
    assert isinstance(document, Document) and document.records == ()


def test_read_table_names_may_be_days_and_the_last_line_a_source(tmp_path: Path) -> None:
    text = "Country,2020-01-22,2020-01-23\nItaly,3,9\nFrance,1,1\nSource: WHO\n"
    (tmp_path / "a.csv").write_text(text)
    *records, (_, note) = rows(tmp_path / "a.csv")
    assert records[0] == (2, {"Country": "Italy", "2020-01-22": "3", "2020-01-23": "9"}) and len(records) == 2
    assert isinstance(note, Note) and note.text == "Source: WHO"
