"""The files of a report: a CSV table, and TREC runs.

The report as Markdown: its sections agree with the summary, and no text of a run breaks a table.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluate.small_run import HOSTILE, METRICS, row, rows, summary, written

from graphwright.evaluate.report import run_file, trec_lines, write_report
from graphwright.evaluate.tables import milliseconds, ranked


def test_report_writes_tables_and_runs(tmp_path: Path) -> None:
    written(tmp_path, rows())
    result = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    runs = ["runs/bm25.trec", "runs/ppr.trec", "runs/vector.trec"]
    assert result == ["report.md", "results.csv", *runs]


def test_failed_report_keeps_previous_one(tmp_path: Path) -> None:
    written(tmp_path, rows())
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    def broken() -> Iterator[dict[str, Any]]:
        yield rows()[0]
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        write_report(tmp_path, summary(rows()), broken())
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_run_without_results_has_report(tmp_path: Path) -> None:
    write_report(tmp_path, summary(rows()), [])
    assert (tmp_path / "results.csv").read_text(encoding="utf-8").startswith("method,question,type")
    assert not (tmp_path / "runs").exists()


def read(folder: Path, record: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Write the report and return the rows of its table."""
    written(folder, record)
    with (folder / "results.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_csv_has_every_result(tmp_path: Path) -> None:
    record = [row("a,\"b\"\nc; 'd'", "q0", answer=None, type="=1+1"), *rows()]
    result = read(tmp_path, record)
    assert len(result) == len(record)
    assert result[0]["method"] == record[0]["method"] and result[0]["answer"] == "" and result[0]["found"] == ""
    for line, item in zip(result, record, strict=True):
        names = ("method", "question", "type", "hops", "answers", "entities", "seconds", "tokens", "cost")
        assert {name: line[name] for name in names} == {name: str(item[name]) for name in names}
        assert {name: float(line[name]) for name in METRICS} == item["metrics"]
        assert (line["gold"], line["documents"], line["error"]) == ("2", "3", "")
    assert (result[1]["found"], result[1]["answer"]) == ("True", "River 1, as it seems.")


def test_missing_metric_is_empty(tmp_path: Path) -> None:
    lacking = row("ppr", "q0", metrics={"recall@5": 0.5}, hops=None)
    write_report(tmp_path, summary(rows()), [lacking])
    with (tmp_path / "results.csv").open(encoding="utf-8", newline="") as file:
        result = list(csv.DictReader(file))
    assert result[0]["recall@5"] == "0.5" and result[0]["ndcg@10"] == "" and result[0]["hops"] == ""


def test_failed_questions_have_reason(tmp_path: Path) -> None:
    failure = {"documents": [], "answer": None, "metrics": dict.fromkeys(METRICS, 0.0)}
    result = read(tmp_path, [row("ppr", "q0", error="BudgetError: spent", **failure)])
    assert result[0]["error"] == "BudgetError: spent" and result[0]["documents"] == "0"


def test_unpaired_surrogates_are_replaced(tmp_path: Path) -> None:
    result = read(tmp_path, [row("half \ud800", "q0", type="nul\x00")])
    assert result[0]["method"] == "half \ufffd" and result[0]["type"] == "nul\ufffd"


def read_runs(path: Path) -> dict[tuple[str, str], list[list[object]]]:
    """Return rankings by method and question, as tools for TREC runs read them: fields parted by white space."""
    result: dict[tuple[str, str], list[list[object]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        question, q0, document, rank, score, tag = line.split()
        assert q0 == "Q0"
        ranked = result.setdefault((unquote(tag), unquote(question)), [])
        ranked.append([unquote(document), float(score)])
        assert int(rank) == len(ranked)
    return result


def test_run_files_have_rankings_in_any_order(tmp_path: Path) -> None:
    record = sorted(rows(), key=lambda item: item["question"])
    written(tmp_path, record)
    result = {key: ranked for path in (tmp_path / "runs").iterdir() for key, ranked in read_runs(path).items()}
    assert result == {(item["method"], item["question"]): item["documents"] for item in record}
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {"vector.trec", "ppr.trec", "bm25.trec"}


def test_method_without_ranking_has_no_run_file(tmp_path: Path) -> None:
    written(tmp_path, [row("cot", "q0", documents=[])])
    assert not (tmp_path / "runs").exists()


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.floats(allow_nan=False))
def test_any_id_and_score_round_trips(name: str, score: float) -> None:
    given = {"method": name, "question": name, "documents": [[name, score]]}
    (line,) = trec_lines(given)
    question, _, document, rank, written, tag = line.split()
    assert [unquote(field) for field in (question, document, tag)] == [name] * 3
    assert float(written) == score and rank == "1"


@pytest.mark.parametrize("name", [*HOSTILE, "CON", "con", "PPR", "ppr ", ".hidden", "-rf", "", "a/b\\c:d", "p" * 500])
def test_file_names_are_portable(name: str) -> None:
    result = run_file(name)
    assert result.isascii() and result == result.lower() and len(result) < 80
    assert result.endswith(".trec") and result.count(".") == 1
    assert all(letter.isalnum() or letter in "-_." for letter in result) and result[0].isalnum()
    assert result.partition(".")[0] not in {"con", "prn", "aux", "nul"}


@given(st.sets(st.text(min_size=1), min_size=2, max_size=5))
def test_every_method_has_own_file(names: set[str]) -> None:
    assert len({run_file(name) for name in names}) == len(names)


def sections(report: str) -> dict[str, list[list[str]]]:
    """Return the rows of the table of each section, the header first."""
    tables: dict[str, list[list[str]]] = {}
    for part in report.split("\n## ")[1:]:
        lines = [line for line in part.splitlines() if line.startswith("| ")]
        split = [[cell.strip().replace("\\", "") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
        tables[part.splitlines()[0].replace("\\", "")] = [split[0], *split[2:]]
    return tables


def judged(methods: list[str]) -> dict[str, Any]:
    record = {"mean": 0.6, "low": 0.5, "high": 0.7, "questions": 6}
    wins = {name: {"diversity": {"mean": 0.7, "low": 0.6, "high": 0.8, "p": 0.01, "ties": 0.2}} for name in methods}
    figures = {"model": "m7", "accuracy": dict.fromkeys(methods, record), "wins": wins, "against": methods[0]}
    return {**figures, "position bias": 0.25, "unreadable": 2}


def test_steps_and_groups_match_summary(tmp_path: Path) -> None:
    of = summary(rows())
    tables = sections(written(tmp_path, rows(), of))
    for name in ranked(of):
        steps = tables[f"Steps of {name}"][1:]
        assert [step[-1] for step in steps] == ["–", "90.0", "60.0"]
        assert [step[3] for step in steps] == [milliseconds(step["mean"]) for step in of["methods"][name]["steps"]]
    header, *lines = tables["recall@5 by type"]
    assert header == ["recall@5, %", "bridge (3)", "comparison (3)"]
    for name, *means in lines:
        groups = of["methods"][name]["breakdown"]["type"]
        assert means == [f"{100 * groups[group]['metrics']['recall@5']:.1f}" for group in ("bridge", "comparison")]


def test_judged_answers_have_shares_and_win_rates(tmp_path: Path) -> None:
    report = written(tmp_path, rows(), summary(rows(), judge=judged(["vector", "ppr"])))
    tables = sections(report)
    assert tables["Right answers"] == [
        ["method", "right, %", "questions"], ["vector", "60.0", "6"], ["ppr", "60.0", "6"],
    ]  # fmt: skip
    assert tables["Win rates against vector, %"][2] == ["ppr", "70.0 (p = 0.010, 20 % ties)"]
    assert "Judge: m7. 2 replies" in report and "25.0 % of the verdicts" in report


def test_failed_questions_show_error(tmp_path: Path) -> None:
    failed = row("ppr", "q5", error="BudgetError: 100 tokens are spent")
    tables = sections(written(tmp_path, [*rows(), failed], summary(rows())))
    assert tables["Questions with errors"][1:] == [["ppr", "q5", "BudgetError: 100 tokens are spent"]]
    assert "Questions with errors" not in sections(written(tmp_path, rows()))


def test_report_names_expressions_and_facts(tmp_path: Path) -> None:
    tables = sections(written(tmp_path, rows(), summary(rows(), index={"texts": 1234})))
    assert tables["Methods"][1][1] == "LinkEntities() >> VectorSearch(VectorIndex(9 × 4, 1f)) % 20 >> ToPassages()"
    assert {("index texts", "1234"), ("commit", "abc123")} <= {tuple(line) for line in tables["The run"]}


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_breaks_no_table(text: str, tmp_path: Path) -> None:
    record = [row(text, "q0", type=text, error=text), row("ppr", "q0", recall=0.1, type="b")]
    of = summary(record, judge=judged([text, "ppr"]), index={text: text})
    of["methods"][text]["steps"][0]["operator"] = text
    for table in sections(written(tmp_path, record, of)).values():
        assert {len(line) for line in table} == {len(table[0])}
