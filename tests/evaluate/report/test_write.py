"""A whole report: which files it has, and that each is there whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.evaluate.report.small_run import questions, rows, summary, text, written

from graphwright.errors import DataError
from graphwright.evaluate.report.write import write_report


def test_report_is_a_page_markdown_tables_and_a_run_of_each_method(tmp_path: Path) -> None:
    written(tmp_path, rows())
    found = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    runs = ["runs/bm25.trec", "runs/ppr.trec", "runs/vector.trec"]
    assert found == ["report.html", "report.md", "results.csv", "results.parquet", *runs]


def test_results_are_read_once(tmp_path: Path) -> None:
    held = rows()
    write_report(tmp_path, summary(held), iter(held), questions())
    assert duckdb.sql(f"SELECT count(*) FROM '{tmp_path}/results.parquet'").fetchall() == [(len(held),)]
    assert len((tmp_path / "runs/ppr.trec").read_text().splitlines()) == 3 * 6


def test_a_report_that_fails_leaves_the_one_before_it_and_no_drafts(tmp_path: Path) -> None:
    written(tmp_path, rows())
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    def broken() -> Iterator[dict[str, Any]]:
        yield rows()[0]
        raise OSError("the disk is gone")

    with pytest.raises(DataError, match="the disk is gone"):
        write_report(tmp_path, summary(rows()), broken(), questions())
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_report_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    written(tmp_path, rows(("vector", "ppr")))
    page = written(tmp_path, rows(("vector", "bm25")))
    assert "ppr" not in text(page.css_first("#leaderboard"))
    assert "ppr" not in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_a_folder_with_letters_that_stand_for_others_is_written_to(tmp_path: Path) -> None:
    out = tmp_path / "it's [a] *run*?"
    written(out, rows())
    assert (out / "results.csv").read_text(encoding="utf-8").count("\n") == len(rows()) + 1
    assert (out / "results.parquet").stat().st_size > 0


def test_page_tells_what_the_manifest_knows_and_how_to_run_it_again(tmp_path: Path) -> None:
    manifest = {"commit": "fffe12", "index": {"texts": 1234}, "models": {"reader": "minilm-reading"}}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    assert "--out" not in text(written(tmp_path, rows()).css_first("#repeat"))
    (tmp_path / "experiment.toml").write_text("", encoding="utf-8")
    said = text(written(tmp_path, rows()).css_first("#repeat"))
    assert "1,234" in said and "minilm-reading" in said and "abc123" in said
    assert "graphwright evaluate experiment.toml --out AGAIN" in said


def test_a_manifest_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("[1", encoding="utf-8")
    assert "abc123" in text(written(tmp_path, rows()).css_first("#repeat"))


def test_a_run_without_a_result_yet_has_a_report(tmp_path: Path) -> None:
    write_report(tmp_path, summary(rows()), [], questions())
    assert (tmp_path / "results.csv").read_text(encoding="utf-8").startswith("method,question,type")
    assert not (tmp_path / "runs").exists()
