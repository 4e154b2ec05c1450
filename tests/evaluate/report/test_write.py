"""A whole report: its files, tables of results and TREC runs, each whole or not at all."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluate.report.small_run import HOSTILE, METRICS, questions, row, rows, summary, text, written

from graphwright.errors import DataError
from graphwright.evaluate.report.write import ResultTable, TrecRuns, run_file, trec_lines, write_report


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


def read(path: Path) -> list[dict[str, Any]]:
    found = duckdb.sql(f"SELECT * FROM '{path}'")
    return [dict(zip(found.columns, line, strict=True)) for line in found.fetchall()]


def both(folder: Path, held: list[dict[str, Any]], metrics: tuple[str, ...] = METRICS) -> list[dict[str, Any]]:
    """Write both files and return what the Parquet file holds."""
    flat = ResultTable(metrics)
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


def read_runs(path: Path) -> dict[tuple[str, str], list[list[object]]]:
    """Return rankings by method and question, as tools for TREC runs read them: fields parted by white space."""
    found: dict[tuple[str, str], list[list[object]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        question, q0, document, rank, score, tag = line.split()
        assert q0 == "Q0"
        ranked = found.setdefault((unquote(tag), unquote(question)), [])
        ranked.append([unquote(document), float(score)])
        assert int(rank) == len(ranked)
    return found


def test_runs_hold_the_rankings_whichever_order_results_come_in(tmp_path: Path) -> None:
    held = sorted(rows(), key=lambda one: one["question"])
    with TrecRuns.writing(tmp_path / "runs") as runs:
        for one in held:
            runs.add(one)
    found = {key: ranked for path in (tmp_path / "runs").iterdir() for key, ranked in read_runs(path).items()}
    assert found == {(one["method"], one["question"]): one["documents"] for one in held}
    assert runs.files == {name: f"{name}.trec" for name in ("vector", "ppr", "bm25")}


def test_methods_that_rank_nothing_have_no_run(tmp_path: Path) -> None:
    with TrecRuns.writing(tmp_path / "runs") as runs:
        runs.add(row("cot", "q0", documents=[]))
    assert runs.files == {} and not (tmp_path / "runs").exists()


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.floats(allow_nan=False))
def test_any_id_and_score_is_read_back(name: str, score: float) -> None:
    given = {"method": name, "question": name, "documents": [[name, score]]}
    (line,) = trec_lines(given)
    question, _, document, rank, written, tag = line.split()
    assert [unquote(field) for field in (question, document, tag)] == [name] * 3
    assert float(written) == score and rank == "1"


@pytest.mark.parametrize("name", [*HOSTILE, "CON", "con", "PPR", "ppr ", ".hidden", "-rf", "", "a/b\\c:d", "p" * 500])
def test_file_names_are_safe_on_every_system(name: str) -> None:
    found = run_file(name)
    assert found.isascii() and found == found.lower() and len(found) < 80
    assert found.endswith(".trec") and found.count(".") == 1
    assert all(letter.isalnum() or letter in "-_." for letter in found) and found[0].isalnum()
    assert found.partition(".")[0] not in {"con", "prn", "aux", "nul"}


@given(st.sets(st.text(min_size=1), min_size=2, max_size=5))
def test_every_method_has_a_file_of_its_own(names: set[str]) -> None:
    assert len({run_file(name) for name in names}) == len(names)
