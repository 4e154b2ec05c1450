"""Passages in rows of JSON lines and tables, and errors for invalid rows."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from graphwright.data.document import Document, Skipped
from graphwright.data.documents import read_documents
from graphwright.data.folders import ReadOptions
from graphwright.data.records.read import read_records
from graphwright.data.records.rows import MAX_PASSAGE, read_rows
from graphwright.errors import DataError


def write(path: Path, records: Iterable[Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def rows(path: Path) -> list[Document | Skipped]:
    """The rows of a file, without their records."""
    results = [result for _, result in read_rows(path, path.name)]
    return [replace(row, records=()) if isinstance(row, Document) else row for row in results]


def test_read_rows_field_names_of_every_spelling_are_read(tmp_path: Path) -> None:
    path = write(
        tmp_path / "c.jsonl",
        [
            {"_id": "b1", "title": " A\nTitle ", "text": "beir", "metadata": {"url": "u", "tags": ["x"]}, "year": 1999},
            {"idx": 7, "title": "Hippo", "passage": "rag", "ok": True, "none": None, "score": 0.5},
            {"ID": "c", "Contents": "pyserini"},
            {"content": "no id"},
            {"id": "p", "paragraphs": ["one", "two"]},
            {"id": "only", "title": "Only a title", "text": ""},
            {"id": "s", "text": "half \ud800 pair\r\nnul \0"},
            {"id": "long", "text": "x" * (MAX_PASSAGE + 1)},
        ],
    )
    assert rows(path) == [
        Document("b1", "beir", "A Title", {"url": "u", "year": "1999"}, whole=True),
        Document("c.jsonl#7", "rag", "Hippo", {"ok": "true", "score": "0.5"}, whole=True),
        Document("c", "pyserini", whole=True),
        Document("c.jsonl#4", "no id", whole=True),
        Document("p", "one\n\ntwo", whole=True),
        Document("only", "Only a title", "Only a title", whole=True),
        Document("s", "half \ufffd pair\nnul  ", whole=True),
        Document("long", "x" * (MAX_PASSAGE + 1), whole=False),
    ]


PASSAGES = [{"idx": i, "title": f"T{i}", "text": f"text {i}"} for i in range(3)]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("c.json", json.dumps(PASSAGES)),
        ("c.json", json.dumps({"version": 1, "docs": PASSAGES}, indent=1)),
        ("c.json", "\n".join(map(json.dumps, PASSAGES))),
        ("c.NDJSON", "\n\n" + "\r\n".join(map(json.dumps, PASSAGES))),
        ("c.jsonl.gz", "\n".join(map(json.dumps, PASSAGES))),
        ("c.csv", "idx,title,text\n0,T0,text 0\n1,T1,text 1\n2,T2,text 2\n"),
        ("c.csv", '\ufeffIdx;Title;Text\r\n0;T0;"text 0"\r\n\r\n1;T1;text 1\r\n2;T2;text 2'),
        ("c.tsv", "text\ttitle\tidx\rtext 0\tT0\t0\rtext 1\tT1\t1\rtext 2\tT2\t2"),
        ("c.csv.gz", "idx|title|text\n0|T0|text 0\n1|T1|text 1\n2|T2|text 2\n"),
    ],
)
def test_read_rows_every_kind_of_file_gives_same(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(content.encode()) if name.endswith("gz") else content.encode())
    assert rows(path) == [Document(f"{name}#{i}", f"text {i}", f"T{i}", whole=True) for i in range(3)]


def test_read_rows_quoted_cells_of_any_length_are_read(tmp_path: Path) -> None:
    csv.field_size_limit(131_072)
    texts = ['said "no", twice', "two\n\nparagraphs", "x" * 1_000_000]
    path = tmp_path / "t.csv"
    with path.open("w", newline="", encoding="cp1252") as file:
        writer = csv.writer(file)
        writer.writerows([("id", "text", "café"), *((i, text, "é") for i, text in enumerate(texts))])
    assert rows(path) == [
        Document(f"t.csv#{i}", text, "", {"café": "é"}, whole=len(text) <= MAX_PASSAGE) for i, text in enumerate(texts)
    ]
    assert csv.field_size_limit() == 131_072


def test_read_rows_broken_rows_are_named_by_line(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text('{"id": 1, "text": "a"}\n{"id": 2, "tex\n[1]\n"x"\n{"q": [{}]}\n{"text": " "}\n' + "[" * 99_999)
    good, *bad = rows(path)
    assert isinstance(good, Document)
    assert [(str(item.path).rpartition(":")[2], item.reason.split(" character")[0]) for item in bad] == [
        ("2", "not JSON: Unterminated string starting at"),
        ("3", "not a JSON object but list: [1]"),
        ("4", "not a JSON object but a string: 'x'"),
        ("5", "no value that is a text or a number; it has q"),
        ("6", "empty"),
        ("7", "not readable JSON: nested too deeply"),
    ]


@pytest.mark.parametrize(("broken", "refused"), [(10, False), (11, True)])
def test_read_rows_many_broken_rows_raise(tmp_path: Path, broken: int, refused: bool) -> None:
    records = [{"text": "x"}] * 500 + ["broken"] * broken
    path = write(tmp_path / "c.jsonl", records)
    if not refused:
        assert len(rows(path)) == 510
        return
    with pytest.raises(DataError, match=r"11 of 511 rows cannot be read.*c\.jsonl:501: not a JSON"):
        rows(path)
    assert len(rows(write(path, [{"text": "x"}] * 2000 + ["broken"] * 11))) == 2011


def test_read_rows_file_without_passages_is_skipped_once(tmp_path: Path) -> None:
    path = write(tmp_path / "questions.jsonl", [{"id": i, "question": "Why?", "gold_ids": ["a"]} for i in range(1000)])
    reason = "no documents: questions to evaluate on, not documents"
    assert rows(path) == [Skipped(str(path), reason)]
    path.write_text(" \n\n")
    assert rows(path) == [Skipped(str(path), "empty")]
    table = tmp_path / "t.csv"
    table.write_text("text,id\na,1\nb,2,3\n")
    assert rows(table)[1] == Skipped(f"{table}:3", "3 cells in a table of 2 columns", True)


def test_read_rows_column_without_name_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(",text,title\n0,Hello Graz.,T\n", encoding="utf-8")
    result = rows(tmp_path / "p.csv")
    assert [(d.text, d.title) for d in result if isinstance(d, Document)] == [("Hello Graz.", "T")]


def test_read_rows_long_header_is_read(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text(f"text,{'a' * 200_000}\nGraz lies on the Mur.,x\n")
    [(_, row)] = read_rows(file, "rows.csv")
    assert isinstance(row, Document) and row.text == "Graz lies on the Mur."


def test_read_documents_rows_without_text_become_sentences(tmp_path: Path) -> None:
    (tmp_path / "rivers.csv").write_text("River;Length;Source\nMur;464 km;Lungau\nEnns;;\n", encoding="utf-8")
    first, second = read_documents([tmp_path], print)
    assert (first.id, first.text, first.whole) == ("rivers.csv#2", "River: Mur; Length: 464 km; Source: Lungau.", True)
    assert (second.id, second.text) == ("rivers.csv#3", "River: Enns.")
    assert dict(first.metadata) == {"River": "Mur", "Length": "464 km", "Source": "Lungau"}


def of(tmp_path: Path, name: str, content: str, **options: Any) -> list[Document | Skipped]:
    (tmp_path / name).write_text(content, encoding="utf-8")
    results = [row for _, row in read_rows(tmp_path / name, name, ReadOptions(**options))]
    return [replace(row, records=()) if isinstance(row, Document) else row for row in results]


def test_read_rows_records_without_text_become_sentences(tmp_path: Path) -> None:
    record = {"sku": 7, "name": "Lamp", "tags": ["red", "tall"], "size": {"h": 3}, "parts": [{"x": 1}], "stock": True}
    [row] = of(tmp_path, "p.jsonl", json.dumps(record))
    assert isinstance(row, Document) and row.id == "p.jsonl#1" and row.title == "Lamp"
    assert row.text == "sku: 7; name: Lamp; tags: red, tall; size.h: 3; stock: true.\nparts: x: 1."
    assert dict(row.metadata) == {"sku": "7", "name": "Lamp", "stock": "true"}
    first, second = of(tmp_path, "p.json", json.dumps([record, record]))
    assert isinstance(first, Document) and isinstance(second, Document) and second.id == "p.json#2"
    [settings] = of(tmp_path, "package.json", json.dumps(record))
    assert isinstance(settings, Document) and (settings.id, settings.file) == ("package.json", True)
    assert settings.text.splitlines()[2:4] == ["tags: red, tall.", "size.h: 3."]


FAQ = "No,Question,Answer,Year\n1,Why?,Because.,2024\n2,How?,So.,2023\n"


def test_read_rows_named_columns_give_text_and_id(tmp_path: Path) -> None:
    first, _ = of(tmp_path, "f.csv", FAQ, text_columns=("question", "Answer"), id_column="no")
    assert first == Document(
        "1",
        "Question: Why?; Answer: Because.",
        "",
        {"No": "1", "Question": "Why?", "Answer": "Because.", "Year": "2024"},
        True,
    )
    first, _ = of(tmp_path, "f.csv", FAQ, text_columns=("Answer",))
    assert first == Document("f.csv#2", "Because.", "", {"No": "1", "Question": "Why?", "Year": "2024"}, whole=True)
    first, _ = of(tmp_path, "f.csv", FAQ, id_column="Question")
    assert isinstance(first, Document) and first.id == "Why?"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"text_columns": ("Body",)}, "no documents: no column 'Body'; it has No, Question, Answer, Year"),
        ({"id_column": "Key"}, "no documents: no id in a column 'Key'; it has No, Question, Answer, Year"),
    ],
)
def test_read_rows_missing_column_is_named(tmp_path: Path, options: dict[str, Any], reason: str) -> None:
    assert of(tmp_path, "f.csv", FAQ, **options) == [Skipped(str(tmp_path / "f.csv"), reason)]


def test_read_rows_links_between_numbers_stay_in_file(tmp_path: Path) -> None:
    first, second = of(tmp_path, "r.jsonl", '{"id": 1, "text": "a", "links": [2, "other"]}\n{"id": 2, "text": "b"}\n')
    assert isinstance(first, Document) and first.links == ("r.jsonl#2", "other")
    assert isinstance(second, Document) and second.id == "r.jsonl#2"
    [row] = of(tmp_path, "corpus.jsonl", '{"id": 1, "text": "a"}')
    assert isinstance(row, Document) and row.id == "1"  # a corpus, whose ids are those of the judgements


def test_read_rows_open_quotation_mark_fills_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphwright.data.records.delimited._MAX_CELL", 1_000)
    (tmp_path / "a.csv").write_text('id,text\na,First.\nb,"' + "Graz lies on the Mur.\n" * 100)
    (tmp_path / "b.csv").write_text("id,text\nc,Third.\n")
    skipped: list[Skipped] = []
    documents = list(read_documents([tmp_path], skipped.append))
    assert "c" in {document.id for document in documents}
    assert "line 3: field larger than field limit" in skipped[0].reason and "not closed?" in skipped[0].reason
    with pytest.raises(DataError, match=r"a\.csv, line 3"):
        list(read_records(tmp_path / "a.csv"))


def test_read_documents_rows_of_parquet_have_dates_as_texts_and_no_bytes(tmp_path: Path) -> None:
    with duckdb.connect() as db:
        row = "DATE '2024-06-03' AS day, 260.1::DECIMAL(5, 1) AS oxygen, 'NaN'::DOUBLE AS salinity, 'x'::BLOB AS raw"
        db.execute(f"COPY (SELECT {row}) TO '{tmp_path / 'sonde.parquet'}' (FORMAT parquet)")
    [document] = read_documents([tmp_path], print)
    assert (document.id, document.text) == ("sonde.parquet#1", "day: 2024-06-03; oxygen: 260.1.")
    assert [(record.type, [field[:2] for field in record.fields]) for record in document.records] == [
        ("sonde", [("day", "2024-06-03"), ("oxygen", "260.1")])
    ]


def test_read_documents_parquet_that_is_none_is_skipped_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("A text.", encoding="utf-8")
    (tmp_path / "b.parquet").write_bytes(b"no parquet")
    (tmp_path / "c.parquet").write_bytes(b"PAR1 cut off")
    skipped: list[Skipped] = []
    assert [document.id for document in read_documents([tmp_path], skipped.append)] == ["a.txt"]
    assert "not of the format Parquet" in skipped[0].reason and "not a readable Parquet file" in skipped[1].reason
