"""The report as Markdown: its sections agree with the summary, and no text of a run breaks a table."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.evaluate.small_run import HOSTILE, row, rows, summary, written

from graphwright.evaluate.figures import milliseconds, ranked


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
