"""The report of a run: page, Markdown, table of results, and TREC runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from graphwright.evaluate.report.figures import metric_names
from graphwright.evaluate.report.page import page
from graphwright.evaluate.report.results import write_csv, write_runs
from graphwright.evaluate.report.tables import markdown
from graphwright.files import write_text

__all__ = ["write_report"]


def write_report(
    out: str | Path,
    summary: Mapping[str, Any],
    rows: Iterable[Mapping[str, Any]],
    questions: Mapping[str, Mapping[str, Any]],
) -> None:
    """Write `report.html`, `report.md`, `results.csv` and `runs/*.trec` into a run's folder.

    `summary`: the contents of `summary.json`. `rows`: the results of the run; a row may have, as "judged", the
    Verdict of a judge on its answer. `questions`: "text", "answers" and "gold" of each
    question by its id. Each file is written atomically, the page last, and replaces an earlier one.
    """
    out, rows = Path(out), list(rows)
    out.mkdir(parents=True, exist_ok=True)
    runs = write_runs(out / "runs", rows)
    write_csv(out / "results.csv", rows, metric_names(summary))
    write_text(out / "report.md", markdown(summary))
    write_text(out / "report.html", page(summary, rows, questions, runs))
