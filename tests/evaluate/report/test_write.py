"""A whole report: its files, tables of results and TREC runs, each whole or not at all."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluate.report.small_run import HOSTILE, METRICS, questions, row, rows, summary, text, written

from graphwright.evaluate.report.write import run_file, trec_lines, write_report


def test_report_is_a_page_markdown_tables_and_a_run_of_each_method(tmp_path: Path) -> None:
    written(tmp_path, rows())
    found = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    runs = ["runs/bm25.trec", "runs/ppr.trec", "runs/vector.trec"]
    assert found == ["report.html", "report.md", "results.csv", *runs]


def test_a_report_that_fails_leaves_the_one_before_it_and_no_drafts(tmp_path: Path) -> None:
    written(tmp_path, rows())
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    def broken() -> Iterator[dict[str, Any]]:
        yield rows()[0]
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
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


def test_page_tells_how_to_run_it_again(tmp_path: Path) -> None:
    of = summary(rows(), index={"texts": 1234})
    said = text(written(tmp_path, rows(), of).css_first("#repeat"))
    assert "1234" in said and "abc123" in said and "graphwright evaluate experiment.toml --out AGAIN" in said


def test_a_run_without_a_result_yet_has_a_report(tmp_path: Path) -> None:
    write_report(tmp_path, summary(rows()), [], questions())
    assert (tmp_path / "results.csv").read_text(encoding="utf-8").startswith("method,question,type")
    assert not (tmp_path / "runs").exists()


def read(folder: Path, held: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Write the report and return the rows of its table."""
    written(folder, held)
    with (folder / "results.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_csv_holds_every_result(tmp_path: Path) -> None:
    held = [row("a,\"b\"\nc; 'd'", "q0", answer=None, type="=1+1"), *rows()]
    found = read(tmp_path, held)
    assert len(found) == len(held)
    assert found[0]["method"] == held[0]["method"] and found[0]["answer"] == "" and found[0]["found"] == ""
    for line, one in zip(found, held, strict=True):
        names = ("method", "question", "type", "hops", "answers", "entities", "seconds", "tokens", "cost")
        assert {name: line[name] for name in names} == {name: str(one[name]) for name in names}
        assert {name: float(line[name]) for name in METRICS} == one["metrics"]
        assert (line["gold"], line["documents"], line["error"]) == ("2", "3", "")
    assert (found[1]["found"], found[1]["answer"]) == ("True", "River 1, as it seems.")


def test_duckdb_reads_the_table(tmp_path: Path) -> None:
    written(tmp_path, rows())
    query = f'SELECT method FROM \'{tmp_path}/results.csv\' WHERE "recall@5" = 1 AND "found" GROUP BY method'
    assert duckdb.sql(query).fetchall()


def test_a_metric_that_a_question_lacks_is_empty(tmp_path: Path) -> None:
    lacking = row("ppr", "q0", metrics={"recall@5": 0.5}, hops=None)
    write_report(tmp_path, summary(rows()), [lacking], questions())
    with (tmp_path / "results.csv").open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    assert found[0]["recall@5"] == "0.5" and found[0]["ndcg@10"] == "" and found[0]["hops"] == ""


def test_failed_questions_say_why(tmp_path: Path) -> None:
    failure = {"documents": [], "answer": None, "metrics": dict.fromkeys(METRICS, 0.0)}
    found = read(tmp_path, [row("ppr", "q0", error="BudgetError: spent", **failure)])
    assert found[0]["error"] == "BudgetError: spent" and found[0]["documents"] == "0"


def test_code_points_that_no_file_can_hold_are_replaced(tmp_path: Path) -> None:
    found = read(tmp_path, [row("half \ud800", "q0", type="nul\x00")])
    assert found[0]["method"] == "half \ufffd" and found[0]["type"] == "nul\ufffd"


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
    written(tmp_path, held)
    found = {key: ranked for path in (tmp_path / "runs").iterdir() for key, ranked in read_runs(path).items()}
    assert found == {(one["method"], one["question"]): one["documents"] for one in held}
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {"vector.trec", "ppr.trec", "bm25.trec"}


def test_methods_that_rank_nothing_have_no_run(tmp_path: Path) -> None:
    written(tmp_path, [row("cot", "q0", documents=[])])
    assert not (tmp_path / "runs").exists()


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
