"""A run in one table: each method's metrics with intervals, its times, and its difference to a baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphwright.evaluate.results import METRICS, Results, Row
from graphwright.evaluate.statistics import bootstrap_interval, paired_test

__all__ = ["heading", "markdown", "step_table", "summarised", "table"]

TESTED = "recall@5"
_KEPT = ("graphwright", "data", "encoder", "extractor", "settings", "baseline")
Table = list[list[str]]


def summarised(manifest: Mapping[str, Any], results: Results) -> dict[str, Any]:
    """Return the summary of a finished run, as JSON holds it.

    For each method `metrics` (mean, and the ends of its 95 % bootstrap interval over questions),
    `milliseconds` and `model_milliseconds` of a question (p50, p95), the same for each of its `steps`, and
    `against_baseline`: the difference in recall@5 and the p-value of the paired randomisation test.
    """
    seed = manifest["settings"]["seed"]
    baseline = results.of(manifest["baseline"])
    methods = {}
    for name in manifest["methods"]:
        rows = results.of(name)
        methods[name] = {
            "metrics": {metric: _interval(rows, metric, seed) for metric in METRICS},
            "milliseconds": _times([row["seconds"] for row in rows]),
            "model_milliseconds": _times([row["model_seconds"] for row in rows]),
            "tokens": float(np.mean([row["tokens"] for row in rows])),
            "steps": _steps(rows),
            "against_baseline": None if name == manifest["baseline"] else _against(rows, baseline, seed),
        }
    return {
        **{name: manifest[name] for name in _KEPT},
        "methods": methods,
    }


def _interval(rows: Sequence[Row], metric: str, seed: int) -> dict[str, float]:
    values = [row[metric] for row in rows]
    low, high = bootstrap_interval(values, seed=seed)
    return {"mean": float(np.mean(values)), "low": low, "high": high}


def _against(rows: Sequence[Row], baseline: Sequence[Row], seed: int) -> dict[str, float]:
    ours, theirs = ([row[TESTED] for row in some] for some in (rows, baseline))
    return {
        "difference": float(np.mean(ours) - np.mean(theirs)),
        "p": paired_test(ours, theirs, seed=seed),
    }


def _steps(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the times of each step; one that runs several times for a question counts with their sum."""
    seconds: dict[str, dict[int, float]] = {}
    for at, row in enumerate(rows):
        for step in row["steps"]:
            of = seconds.setdefault(step["operator"], {})
            of[at] = of.get(at, 0.0) + step["seconds"]
    return [
        {"operator": operator, **_times([of.get(at, 0.0) for at in range(len(rows))])}
        for operator, of in seconds.items()
    ]


def _times(seconds: Sequence[float]) -> dict[str, float]:
    p50, p95 = 1000 * np.percentile(seconds, [50, 95])
    return {"p50": round(float(p50), 3), "p95": round(float(p95), 3)}


def heading(summary: Mapping[str, Any]) -> str:
    """Say in a sentence or two what was measured and how to read the table."""
    data, settings = summary["data"], summary["settings"]
    titles = "" if settings["titles"] else ", titles removed"
    return (
        f"{data['name']}: {data['questions']:,} questions, {data['documents']:,} documents; "
        f"{settings['extraction']} extraction{titles}; {', '.join(settings['embed'])} embedded by "
        f"{summary['encoder']}; graphwright {summary['graphwright']}. Means in percent with 95 % bootstrap "
        f"intervals over questions; times of one question, its encoding included; p: paired randomisation "
        f"test of {TESTED} against {summary['baseline']}."
    )


def table(summary: Mapping[str, Any]) -> Table:
    """Return the cells of the main table, the header first."""
    times = ("p50 ms", "p95 ms", "model p50 ms")
    header = ["method", *METRICS, *times, f"{TESTED} against {summary['baseline']}"]
    return [header, *(_cells(name, of) for name, of in summary["methods"].items())]


def _cells(name: str, of: Mapping[str, Any]) -> list[str]:
    percent = [
        f"{100 * of['metrics'][metric]['mean']:.1f} "
        f"({100 * of['metrics'][metric]['low']:.1f}–{100 * of['metrics'][metric]['high']:.1f})"
        for metric in METRICS
    ]
    times = [of["milliseconds"]["p50"], of["milliseconds"]["p95"], of["model_milliseconds"]["p50"]]
    against = of["against_baseline"]
    shown = "" if against is None else f"{100 * against['difference']:+.1f} (p {_p(against['p'])})"
    return [name, *percent, *(f"{time:.1f}" for time in times), shown]


def _p(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else "< 0.001"


def step_table(summary: Mapping[str, Any]) -> Table:
    """Return the cells of the table of steps, the header first."""
    rows = [
        [name, _escaped(step["operator"]), f"{step['p50']:.2f}", f"{step['p95']:.2f}"]
        for name, of in summary["methods"].items()
        for step in of["steps"]
    ]
    return [["method", "step", "p50 ms", "p95 ms"], *rows]


def _escaped(operator: str) -> str:
    return "`" + operator.replace("|", "\\|") + "`"


def markdown(summary: Mapping[str, Any]) -> str:
    """Return both tables as Markdown, under the heading."""
    return "\n\n".join([heading(summary), _markdown(table(summary)), _markdown(step_table(summary))]) + "\n"


def _markdown(rows: Table) -> str:
    header, *body = rows
    ruled = [header, ["---"] + ["---:"] * (len(header) - 1), *body]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in ruled)
