"""Write the report of a run: a self-contained page, Markdown, CSV and TREC runs."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape

from graphwright.errors import cut
from graphwright.evaluate.figures import (
    LEVEL,
    clean,
    heading,
    is_share,
    metric_names,
    milliseconds,
    number,
    p_value,
    ranked,
    reading,
    score,
)
from graphwright.evaluate.results import question_data, write_csv, write_runs
from graphwright.evaluate.tables import Column, group_means, groupings, leaderboard, markdown
from graphwright.files import write_text

Summary = Mapping[str, Any]

_BREAKS = re.compile(r"(?<=[^\s(])(?=\()|(?<=[,/|_])(?=[^\s,/|_])|(?<=[a-z])(?=[A-Z])")
_ELSEWHERE = {"methods", "metrics", "sweeps", "judge", "statistics"}  # parts that other sections show
_MAX_FAILURES = 20  # rows of the table of failures
_GROUPINGS = {
    "type": "By type of question",
    "hops": "By number of hops",
    "answers": "By number of accepted answers",
    "entities": "By number of given entities",
}


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


def page(
    summary: Summary,
    rows: Sequence[Mapping[str, Any]],
    questions: Mapping[str, Mapping[str, Any]],
    runs: Mapping[str, str],
) -> str:
    """Return the page. `rows` and `questions` as in `write_report`; `runs`: the TREC run of each ranking method."""
    metrics = metric_names(summary)
    columns = leaderboard(summary)
    failures = [(row["method"], questions[row["question"]]["text"], row["error"]) for row in rows if "error" in row]
    context = {
        "summary": summary,
        "names": ranked(summary),
        "metrics": metrics,
        "style": Markup(_asset("page.css")),
        "script": Markup(_asset("page.js")),
        "policy": _policy(),
        "heading": heading(summary).rstrip("."),
        "reading": reading(summary),
        "columns": columns,
        "winners": [column.winners() for column in columns],
        "intervals": [_interval_styles(column) for column in columns],
        "column_groups": [(name, len(list(group))) for name, group in groupby(columns, lambda column: column.group)],
        "steps": any(method["steps"] for method in summary["methods"].values()),
        "breakdowns": {m: [_breakdown(summary, m, *item) for item in groupings(summary).items()] for m in metrics},
        "judge": summary.get("judge"),
        "questions": question_data(summary, rows, questions),
        "failures": failures[:_MAX_FAILURES],
        "more_failures": max(len(failures) - _MAX_FAILURES, 0),
        "facts": list(_facts(summary)),
        "runs": runs,
        "percent": {name: is_share(summary, name) for name in metrics},
        "level": LEVEL,
    }
    return environment().get_template("page.html.j2").render(context)


@cache
def environment() -> Environment:
    """Return the environment of the templates: every text is escaped and cleaned."""
    loader = PackageLoader(__package__)
    environment = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, finalize=_finalized)
    environment.filters |= {function.__name__: function for function in (milliseconds, number, p_value, score, cut)}
    environment.filters |= {"thousands": lambda count: f"{count:,}", "named": _named}
    return environment


def _finalized(value: Any) -> Any:
    """Return a value as a template prints it."""
    if value is None:
        return ""
    if isinstance(value, str) and not isinstance(value, Markup):
        return clean(value)
    return number(value) if isinstance(value, float) else value


def _named(name: str) -> Markup:
    """Return a name isolated from the text around it, with places for line breaks.

    >>> _named("ppr(restart=0.5)")
    Markup('<bdi>ppr<wbr>(restart=0.5)</bdi>')
    """
    parts = Markup("<wbr>").join(escape(clean(part)) for part in _BREAKS.split(name))
    return Markup("<bdi>{}</bdi>").format(parts)


def _asset(name: str) -> str:
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8").strip()


def _policy() -> str:
    """Return the content security policy: the page loads nothing, and runs its own script only."""
    digest = base64.b64encode(hashlib.sha256(_asset("page.js").encode()).digest()).decode()
    allowed = f"style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


def _interval_styles(column: Column) -> list[str]:
    """Return the style of each cell's interval bar, on a scale from the lowest to the highest end in the column."""
    ends = [end for cell in column.cells for end in (cell.low, cell.high) if end is not None]
    low, span = min(ends, default=0.0), max(ends, default=0.0) - min(ends, default=0.0)
    styles = []
    for cell in column.cells:
        values = {"low": cell.low, "high": cell.high, "mean": cell.value}
        places = [f"--{name}:{number(100 * (v - low) / span)}%" for name, v in values.items() if v is not None and span]
        styles.append(";".join(places) if len(places) == 3 else "")
    return styles


def _breakdown(summary: Summary, metric: str, name: str, groups: Mapping[str, int]) -> dict[str, Any]:
    """Return the table of a grouping of the questions: a cell for each method and group, the best ones marked."""
    means = group_means(summary, metric, name)
    columns = [{mean for mean in column if mean is not None} for column in zip(*means.values(), strict=True)]
    best = [max(column) if len(column) > 1 else None for column in columns]
    top = max((max(column) for column in columns if column), default=0.0) or 1.0
    percent = is_share(summary, metric)

    def cell(mean: float | None, most: float | None) -> dict[str, Any] | None:
        if mean is None:
            return None
        return {"text": score(mean, percent), "best": mean == most, "level": max(100 * mean / top, 0.0)}

    rows = {method: list(map(cell, row, best)) for method, row in means.items()}
    return {"name": name, "title": _GROUPINGS[name], "groups": groups, "rows": rows}


def _facts(value: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Yield the leaves of a nested mapping with their names."""
    for key, leaf in value.items():
        name = f"{before} {key}".strip().replace("_", " ")
        if not before and key in _ELSEWHERE:
            continue
        if isinstance(leaf, Mapping):
            yield from _facts(leaf, name)
        elif leaf not in (None, "", [], ()):
            yield name, " · ".join(map(str, leaf)) if isinstance(leaf, list | tuple) else str(leaf)
