"""Files of extractions made beforehand (open information extraction), and errors for invalid ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from graphwright.data.document import Skipped
from graphwright.data.records.openie import OpenieRecord, read_openie
from graphwright.errors import DataError

TRIPLES = [["A", "is", "B"], ["A", "is"], ["A", "", "B"], "A is B", ["A", 1, "B"], [" B ", "of\n the", "C"]]
KEPT = (("A", "is", "B"), ("B", "of the", "C"))


def read(path: Path) -> tuple[list[OpenieRecord], list[Skipped]]:
    skipped: list[Skipped] = []
    return list(read_openie(path, skipped.append)), skipped


def test_read_openie_json_lines_are_read(tmp_path: Path) -> None:
    path = tmp_path / "openie.jsonl"
    path.write_text(
        json.dumps({"id": "p0", "entities": ["A", " A", None, "B"], "triples": TRIPLES})
        + '\n{"id": 1, "entities": ["C"]}\n'
    )
    records, skipped = read(path)
    assert records == [OpenieRecord("p0", ("A", "B"), KEPT), OpenieRecord("1", ("C",))]
    assert skipped == [Skipped(f"{path}:1", "triples that are not three texts: 4")]


@pytest.mark.parametrize("indent", [None, 2])
def test_read_openie_file_of_hipporag_is_read(tmp_path: Path, indent: int | None) -> None:
    path = tmp_path / "openie_results.json"
    docs = [
        {"idx": "chunk-1", "passage": "T\ntext", "extracted_entities": ["A"], "extracted_triples": TRIPLES},
        {"idx": "chunk-2", "passage": "U", "extracted_entities": [], "extracted_triples": []},
    ]
    path.write_text(json.dumps({"docs": docs, "avg_ent_chars": 1.5}, indent=indent))
    records, skipped = read(path)
    assert records == [OpenieRecord("chunk-1", ("A",), KEPT), OpenieRecord("chunk-2")]
    assert len(skipped) == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r":2: not JSON"),
        ('{"entities": []}', r":2: no id; it has entities"),
        ('{"id": "b", "text": "x"}', r":2: passage 'b' has neither entities nor triples; it has id, text"),
        ('{"id": "b", "triples": "x"}', r":2: passage 'b': entities and triples must be lists"),
        ('{"id": "a", "triples": []}', r":2: passage 'a' was already given at 1"),
    ],
)
def test_read_openie_bad_record_is_named(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "openie.jsonl"
    path.write_text('{"id": "a", "triples": []}\n' + line)
    with pytest.raises(DataError, match=r"openie\.jsonl" + message):
        read(path)


def test_read_openie_missing_or_empty_file_raises(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read(tmp_path / "none.jsonl")
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(DataError, match="no extractions in it"):
        read(tmp_path / "empty.jsonl")
