"""Results as Parquet and CSV, read back."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import duckdb
import pytest
from graphwright.evaluate.report.results import Flat
from tests.evaluate.report.small_run import METRICS, row, rows


def read(path: Path) -> list[dict[str, Any]]:
    found = duckdb.sql(f"SELECT * FROM '{path}'")
    return [dict(zip(found.columns, line, strict=True)) for line in found.fetchall()]


def both(folder: Path, held: list[dict[str, Any]], metrics: tuple[str, ...] = METRICS) -> list[dict[str, Any]]:
    """Write both files and return what the Parquet file holds."""
    flat = Flat(metrics)
    lines = folder / "lines"
    lines.write_text("".join(map(flat.line, held)), encoding="utf-8")
    flat.write(lines, folder / "results.parquet", folder / "results.csv")
    return read(folder / "results.parquet")


def test_parquet_holds_every_result(tmp_path: Path) -> None:
    held = rows()
    found = both(tmp_path, held)
    assert len(found) == len(held)
    for line, one in zip(found, held, strict=True):
        names = ("method", "question", "type", "hops", "answers", "entities", "seconds", "tokens", "cost", "peak_mb")
        assert {name: line[name] for name in names} == {name: one[name] for name in names}
        assert {name: line[name] for name in METRICS} == one["metrics"]
        assert (line["gold"], line["documents"], line["found"]) == (2, 3, True)
        assert line["answer"] == "River 1, as it seems." and line["error"] is None


def test_csv_holds_the_same(tmp_path: Path) -> None:
    odd = row("a,\"b\"\nc; 'd'", "q0", answer=None, type="=1+1")
    found = both(tmp_path, [odd, *rows()])
    with (tmp_path / "results.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["method"] for line in lines] == [line["method"] for line in found]
    assert lines[0]["method"] == odd["method"] and lines[0]["answer"] == "" and lines[0]["found"] == ""
    for line, one in zip(lines, found, strict=True):
        assert [float(line[name]) for name in METRICS] == pytest.approx([one[name] for name in METRICS])
        assert float(line["seconds"]) == one["seconds"]


def test_a_metric_that_a_question_lacks_is_null(tmp_path: Path) -> None:
    found = both(tmp_path, [row("ppr", "q0", metrics={"recall@5": 0.5}, peak_mb=None, hops=None)])
    assert found[0]["recall@5"] == 0.5 and found[0]["ndcg@10"] is None
    assert found[0]["peak_mb"] is None and found[0]["hops"] is None


def test_failed_questions_say_why(tmp_path: Path) -> None:
    failed = row(
        "ppr", "q0", error="BudgetError: spent", documents=[], answer=None, metrics=dict.fromkeys(METRICS, 0.0)
    )
    found = both(tmp_path, [failed])
    assert found[0]["error"] == "BudgetError: spent" and found[0]["documents"] == 0


def test_names_that_differ_in_case_alone_or_are_taken_get_columns_of_their_own(tmp_path: Path) -> None:
    names = ("Answer", "hit", "Hit", 'it\'s "odd"', "metric hit")
    values = dict(zip(names, (0.1, 0.2, 0.3, 0.4, 0.5), strict=True))
    found = both(tmp_path, [row("ppr", "q0", metrics=values)], names)
    assert found[0]["metric Answer"] == 0.1 and found[0]["hit"] == 0.2 and found[0]["metric Hit"] == 0.3
    assert found[0]['it\'s "odd"'] == 0.4 and found[0]["metric metric hit"] == 0.5
    assert found[0]["answer"] == "River 1, as it seems."


def test_what_no_file_can_hold_is_written_as_that(tmp_path: Path) -> None:
    found = both(tmp_path, [row("half \ud800", "q0", type="nul\x00", seconds=float("nan"))])
    assert found[0]["method"] == "half \ufffd" and found[0]["type"] == "nul\ufffd" and found[0]["seconds"] is None
