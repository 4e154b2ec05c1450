"""Records read from JSON lines, JSON and Parquet."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from graphwright.data.records.read import json_value, read_records
from graphwright.errors import DataError

RECORDS = [{"id": 1, "graph": [["a", "r", "b"]], "at": {"title": "x"}}, {"id": 2, "graph": [], "at": {"title": "y"}}]


def parquet(path: Path, lines: Path) -> Path:
    with duckdb.connect() as db:
        db.execute(f"COPY (SELECT * FROM read_json('{lines}')) TO '{path}' (FORMAT parquet)")
    return path


def test_read_records_every_kind_of_file_gives_same(tmp_path: Path) -> None:
    lines = tmp_path / "q.jsonl"
    lines.write_text("\n".join(map(json.dumps, RECORDS)))
    whole = tmp_path / "q.json"
    whole.write_text(json.dumps({"data": RECORDS}))
    packed = parquet(tmp_path / "q[1].parquet", lines)
    other = tmp_path / "other.jsonl"
    other.write_text('{"id": 3}')
    parquet(tmp_path / "q1.parquet", other)  # which the name of the first must not mean
    for path in (lines, whole, packed):
        assert list(read_records(path, ("question",))) == [(1, RECORDS[0]), (2, RECORDS[1])]


def test_read_records_many_rows_of_parquet_keep_their_places(tmp_path: Path) -> None:
    lines = tmp_path / "q.jsonl"
    lines.write_text("\n".join(json.dumps({"id": i}) for i in range(200)))
    result = list(read_records(parquet(tmp_path / "q.parquet", lines), ()))
    assert result == [(i + 1, {"id": i}) for i in range(200)]


def test_read_records_damaged_parquet_is_named(tmp_path: Path) -> None:
    path = tmp_path / "q.parquet"
    path.write_text("no parquet")
    with pytest.raises(DataError, match=r"q\.parquet: not a readable Parquet file: .*Fetch the file again"):
        list(read_records(path, ()))


def test_json_value_comments_and_last_commas_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('// settings\n{"url": "http://a.b/c", /* two */ "ports": [1, 2,],\n}\n')
    assert json_value(path) == {"url": "http://a.b/c", "ports": [1, 2]}
    path.write_text('{"url": "http://a.b"')
    assert json_value(path).startswith("not JSON")
