"""Writes the report of a run into its folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from graphwright.evaluate.report.asked import Asked
from graphwright.evaluate.report.choice import metrics_of
from graphwright.evaluate.report.page import page
from graphwright.evaluate.report.results import Flat
from graphwright.evaluate.report.tables import markdown
from graphwright.evaluate.report.trec import Runs
from graphwright.files import scratch, whole, write_text

__all__ = ["write_report"]

_AGAIN = "graphwright evaluate experiment.toml --out AGAIN"


def write_report(
    out: str | Path,
    summary: Mapping[str, Any],
    rows: Iterable[Mapping[str, Any]],
    questions: Mapping[str, Mapping[str, Any]],
) -> None:
    """Write `report.html`, `report.md`, `results.parquet`, `results.csv` and `runs/*.trec` into a run's folder.

    `summary` is what `summary.json` holds, `rows` the results of the run, read once and one at a time; `questions` has
    "text", "answers" and "gold" of each question by its id. A row may have, as "judged", what a judge said of its
    answer: a number, 1 where it is right, and why. Where the folder has a `manifest.json`, the page says what
    that says, and of an `experiment.toml` how to run it again. Each file is written whole or not at all, the page last;
    one that is there already is replaced.
    """
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    flat = Flat(metrics_of(summary))
    with closing(Asked(summary, questions)) as asked:
        with Runs.writing(out / "runs") as runs, scratch(out / "results") as held:
            with held.open("w", encoding="utf-8", newline="\n") as lines:
                for row in rows:
                    lines.write(flat.line(row))
                    runs.add(row)
                    asked.add(row)
            with whole(out / "results.parquet") as parquet, whole(out / "results.csv") as csv:
                flat.write(held, parquet, csv)
        summary = {**summary, "methods": _with_errors(summary["methods"], asked.errors)}
        write_text(out / "report.md", markdown(summary))
        write_text(out / "report.html", page(summary, _manifest(out), asked, runs.files))


def _with_errors(methods: Mapping[str, Any], errors: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    return {name: {**of, "errors": of.get("errors") or errors.get(name, {})} for name, of in methods.items()}


def _manifest(out: Path) -> dict[str, Any]:
    """Return what the run's manifest says, as far as there is one, and the command that repeats the run."""
    try:
        found = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = {}
    about = found if isinstance(found, dict) else {}
    return ({"command": _AGAIN} if (out / "experiment.toml").exists() else {}) | about
