"""A run in figures: each method's metrics with intervals, its cost, its difference to a baseline, and breakdowns."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from graphwright.evaluate.entries import Entry, plain
from graphwright.evaluate.experiment import Subject
from graphwright.evaluate.measures import Measure
from graphwright.evaluate.results import Results, Row
from graphwright.evaluate.statistics import bootstrap_interval, holm, paired_test, ratio_interval

__all__ = ["summarised"]

_KEPT = ("graphwright", "commit", "data", "encoder", "llm", "extractor", "settings", "baseline", "machine", "started")
_MEANS = ("texts", "tokens", "calls", "prompt_tokens", "completion_tokens", "cost")
_GROUPS: Mapping[str, Callable[[Row], str]] = {
    "type": lambda row: str(row["type"]),
    "hops": lambda row: "" if row["hops"] is None else str(row["hops"]),
    "answers": lambda row: _some(row["answers"]),
    "entities": lambda row: _some(row["entities"]),
}
_MOST_GROUPS = 40


def summarised(
    manifest: Mapping[str, Any], entries: Sequence[Entry], subject: Subject, results: Results
) -> dict[str, Any]:
    """Return the summary of a finished run, as JSON holds it.

    For each method `metrics` (mean, and the ends of its 95 % bootstrap interval over questions), `milliseconds` and
    `model_milliseconds` of a question (p50, p95, mean), those of each of its `steps` with the share of what should be
    found that is `held` after it, means of tokens, calls and money, `peak_mb`, and `breakdown` by what is known of
    questions. `against_baseline`: for each metric that is a mean the difference and the p-value of the paired
    randomisation test, alone and `corrected` for the number of methods (Holm). `sweeps`: the grids.
    """
    seed = int(manifest["settings"]["seed"])
    rows = {entry.name: results.of(entry.name) for entry in entries}
    # Of few questions that were drawn none may have what a metric needs, and a method may not.
    measures = [measure for measure in subject.measures if any(_measured(of, measure) for of in rows.values())]
    names = [measure.name for measure in measures]
    against = _against(rows, manifest["baseline"], measures, seed)
    methods = {}
    for entry in entries:
        of = rows[entry.name]
        methods[entry.name] = {
            "method": entry.method if isinstance(entry.method, str) else entry.name,
            "options": {name: _shown(value) for name, value in entry.options.items()},
            "expression": manifest["methods"][entry.name],
            "questions": len(of),
            "failed": sum("error" in row for row in of),
            "errors": dict(Counter(row["error"] for row in of if "error" in row)),
            "metrics": {m.name: _interval(of, m.name, seed) for m in measures if _measured(of, m)},
            "against_baseline": against.get(entry.name),
            "milliseconds": _times([row["seconds"] for row in of]),
            "model_milliseconds": _times([row["model_seconds"] for row in of]),
            **{name: float(np.mean([row[name] for row in of])) for name in _MEANS},
            "peak_mb": max((row["peak_mb"] for row in of if row["peak_mb"] is not None), default=None),
            "steps": _steps(of),
            "breakdown": _breakdown(of, measures),
        }
    return {
        **{name: manifest[name] for name in _KEPT},
        "primary": subject.primary if subject.primary in names else names[0],
        "metrics": [{"name": m.name, "about": m.about, "kind": m.kind} for m in measures],
        "methods": methods,
        "sweeps": _sweeps(entries),
    }


def _shown(value: object) -> object:
    """Return a value as JSON can hold it: an object as the text that shows it."""
    return value if plain(value) else repr(value)


def _interval(rows: Sequence[Row], metric: str, seed: int) -> dict[str, float]:
    mean = _mean(rows, metric)
    if _divided(rows, metric):
        above, below = zip(*_pairs(rows, metric), strict=True)
        low, high = ratio_interval(above, below, seed=seed)
    else:
        low, high = bootstrap_interval(_values(rows, metric), seed=seed)
    return {"mean": mean, "low": low, "high": high}


def _measured(rows: Iterable[Row], measure: Measure) -> bool:
    """Whether any of the questions has a metric."""
    return any(measure.name in row["metrics"] or measure.name in row.get("ratios", {}) for row in rows)


def _divided(rows: Iterable[Row], metric: str) -> bool:
    """Whether a metric is one whose sums are divided."""
    return any(metric in row.get("ratios", {}) for row in rows)


def _pairs(rows: Iterable[Row], metric: str) -> list[tuple[float, float]]:
    return [tuple(row["ratios"][metric]) for row in rows if metric in row.get("ratios", {})]


def _values(rows: Iterable[Row], metric: str) -> list[float]:
    """Return what a metric is of the questions that have it: not all have answers, or gold documents."""
    return [row["metrics"][metric] for row in rows if metric in row["metrics"]]


def _mean(rows: Sequence[Row], metric: str) -> float:
    if _divided(rows, metric):
        above, below = np.sum(_pairs(rows, metric), axis=0)
        return float(above / below) if below else 0.0
    return float(np.mean(_values(rows, metric)))


def _against(
    rows: Mapping[str, Sequence[Row]], baseline: str, measures: Sequence[Measure], seed: int
) -> dict[str, dict[str, Any]]:
    """Return by method and metric what it is ahead of the baseline by, and how likely that is by chance."""
    found: dict[str, dict[str, Any]] = {name: {} for name in rows if name != baseline}
    for measure in measures:
        if _divided(rows[baseline], measure.name) or not _measured(rows[baseline], measure):
            continue
        others = [name for name in found if _measured(rows[name], measure)]
        base = _values(rows[baseline], measure.name)
        tests = [paired_test(_values(rows[name], measure.name), base, seed=seed) for name in others]
        for name, p, corrected in zip(others, tests, holm(tests), strict=True):
            difference = float(np.mean(_values(rows[name], measure.name)) - np.mean(base))
            found[name][measure.name] = {"difference": difference, "p": p, "corrected": corrected}
    return found


def _breakdown(rows: Sequence[Row], measures: Sequence[Measure]) -> dict[str, Any]:
    """Return the metrics of groups of questions, where there are several groups and not too many."""
    found = {}
    for name, group_of in _GROUPS.items():
        groups = defaultdict[str, list[Row]](list)
        for row in rows:
            groups[group_of(row) or "unknown"].append(row)
        if 1 < len(groups) <= _MOST_GROUPS:
            found[name] = {
                group: {
                    "questions": len(some),
                    "metrics": {m.name: _mean(some, m.name) for m in measures if _measured(some, m)},
                }
                for group, some in sorted(groups.items())
            }
    return found


def _some(count: int) -> str:
    return str(count) if count < 2 else "2-4" if count < 5 else "5+"


def _steps(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the times of each step, in the order of the first question that had it; those of a loop are added up.

    Questions that a step was not done for count as 0 in its times, and not in what it holds.
    """
    seconds: dict[str, dict[int, float]] = {}
    held: dict[str, dict[int, float]] = {}
    for at, row in enumerate(rows):
        for step in row["steps"]:
            name = step["operator"]
            seconds.setdefault(name, {})[at] = seconds.get(name, {}).get(at, 0.0) + step["seconds"]
            if step["held"] is not None:
                held.setdefault(name, {})[at] = step["held"]
    return [
        {
            "operator": name,
            **_times([of.get(at, 0.0) for at in range(len(rows))]),
            "held": float(np.mean(list(held[name].values()))) if name in held else None,
        }
        for name, of in seconds.items()
    ]


def _times(seconds: Sequence[float]) -> dict[str, float]:
    p50, p95 = 1000 * np.percentile(seconds, [50, 95])
    return {"p50": round(float(p50), 3), "p95": round(float(p95), 3), "mean": round(1000 * float(np.mean(seconds)), 3)}


def _sweeps(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Return the points of each option that a grid varies, the other options of the grid being the same."""
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for entry in entries:
        for option in entry.swept:
            rest = tuple((name, repr(entry.options[name])) for name in entry.swept if name != option)
            point = {"value": _shown(entry.options[option]), "name": entry.name}
            found.setdefault((entry.of, option, rest), []).append(point)
    return [
        {"method": of, "option": option, "with": dict(rest), "points": points}
        for (of, option, rest), points in found.items()
        if len(points) > 1
    ]
