"""Summarise a run: metrics with intervals, costs, differences to a baseline, steps and breakdowns of each method."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from graphwright.evaluate.asking import Results, Row
from graphwright.evaluate.entries import Entry, plain
from graphwright.evaluate.experiment import Subject
from graphwright.evaluate.measures import Measure
from graphwright.evaluate.statistics import available, holm, paired_test, with_interval

__all__ = ["summarised"]

_MEANS = ("texts", "tokens", "calls", "prompt_tokens", "completion_tokens", "cost")
_GROUPS: Mapping[str, Callable[[Row], str]] = {
    "type": lambda row: str(row["type"]),
    "hops": lambda row: "" if row["hops"] is None else str(row["hops"]),
    "answers": lambda row: _count_group(row["answers"]),
    "entities": lambda row: _count_group(row["entities"]),
}
_MAX_GROUPS = 40


def summarised(
    manifest: Mapping[str, Any], entries: Sequence[Entry], subject: Subject, results: Results
) -> dict[str, Any]:
    """Return the summary of a finished run, as JSON values.

    For each method `metrics` (mean and, with scipy, the 95 % bootstrap interval over questions), `milliseconds` and
    `model_milliseconds` of a question (p50, p95, mean), those of each of its `steps` with the recall of gold nodes
    or documents after it (`held`), means of tokens, calls and money, and `breakdown` by groups of
    questions. `against_baseline`: for each metric that is a mean the difference and, with scipy, the p value of the
    paired permutation test, alone and `corrected` for the number of methods (Holm). `sweeps`: the grids. `statistics`:
    whether there are intervals and p values.
    """
    seed = int(manifest["settings"]["seed"])
    rows = {entry.name: results.of(entry.name) for entry in entries}
    # Among few questions, none may have the gold data of a metric.
    measures = [measure for measure in subject.measures if any(_has(of, measure) for of in rows.values())]
    names = [measure.name for measure in measures]
    against = _against(rows, manifest["baseline"], measures, seed)
    methods = {
        entry.name: {
            "method": entry.method if isinstance(entry.method, str) else entry.name,
            "options": {name: _json_value(value) for name, value in entry.options.items()},
            "expression": manifest["methods"][entry.name],
            "against_baseline": against.get(entry.name),
            **_figures(rows[entry.name], measures, seed),
        }
        for entry in entries
    }
    return {
        **manifest,
        "primary": subject.primary if subject.primary in names else names[0],
        "metrics": [{"name": m.name, "about": m.about, "kind": m.kind} for m in measures],
        "methods": methods,
        "sweeps": _sweeps(entries),
        "statistics": available(),
    }


def _figures(rows: Sequence[Row], measures: Sequence[Measure], seed: int) -> dict[str, Any]:
    """Return all figures of a method."""
    return {
        "questions": len(rows),
        "failed": sum("error" in row for row in rows),
        "errors": dict(Counter(row["error"] for row in rows if "error" in row)),
        "metrics": {m.name: _metric(rows, m.name, seed) for m in measures if _has(rows, m)},
        "milliseconds": _times([row["seconds"] for row in rows]),
        "model_milliseconds": _times([row["model_seconds"] for row in rows]),
        **{name: float(np.mean([row[name] for row in rows])) for name in _MEANS},
        "steps": _steps(rows),
        "breakdown": _breakdown(rows, measures),
    }


def _json_value(value: object) -> object:
    return value if plain(value) else repr(value)


def _metric(rows: Sequence[Row], metric: str, seed: int) -> Mapping[str, float]:
    if _is_ratio(rows, metric):
        numerators, denominators = zip(*_pairs(rows, metric), strict=True)
        return with_interval(numerators, denominators, seed)
    return with_interval(_values(rows, metric), seed=seed)


def _has(rows: Iterable[Row], measure: Measure) -> bool:
    """Return whether any question has a metric."""
    return any(measure.name in row["metrics"] or measure.name in row.get("ratios", {}) for row in rows)


def _is_ratio(rows: Iterable[Row], metric: str) -> bool:
    """Return whether a metric is a ratio of sums."""
    return any(metric in row.get("ratios", {}) for row in rows)


def _pairs(rows: Iterable[Row], metric: str) -> list[tuple[float, float]]:
    return [tuple(row["ratios"][metric]) for row in rows if metric in row.get("ratios", {})]


def _values(rows: Iterable[Row], metric: str) -> list[float]:
    """Return a metric of the questions that have it: not all have answers, or gold documents."""
    return [row["metrics"][metric] for row in rows if metric in row["metrics"]]


def _mean(rows: Sequence[Row], metric: str) -> float:
    if _is_ratio(rows, metric):
        above, below = np.sum(_pairs(rows, metric), axis=0)
        return float(above / below) if below else 0.0
    return float(np.mean(_values(rows, metric)))


def _against(
    rows: Mapping[str, Sequence[Row]], baseline: str, measures: Sequence[Measure], seed: int
) -> dict[str, dict[str, Any]]:
    """Return by method and metric the difference to the baseline, with its p values where scipy is installed."""
    differences: dict[str, dict[str, Any]] = {name: {} for name in rows if name != baseline}
    for measure in measures:
        if _is_ratio(rows[baseline], measure.name) or not _has(rows[baseline], measure):
            continue
        base = _values(rows[baseline], measure.name)
        values = {name: _values(rows[name], measure.name) for name in differences if _has(rows[name], measure)}
        p = {name: paired_test(of, base, seed=seed) for name, of in values.items()} if available() else {}
        corrected = dict(zip(p, holm(list(p.values())), strict=True))
        for name, of in values.items():
            tested = {"p": p[name], "corrected": corrected[name]} if name in p else {}
            differences[name][measure.name] = {"difference": float(np.mean(of) - np.mean(base)), **tested}
    return differences


def _breakdown(rows: Sequence[Row], measures: Sequence[Measure]) -> dict[str, Any]:
    """Return the metrics of groups of questions, where there are several groups and not too many."""
    breakdown = {}
    for name, group_of in _GROUPS.items():
        groups = defaultdict[str, list[Row]](list)
        for row in rows:
            groups[group_of(row) or "unknown"].append(row)
        if 1 < len(groups) <= _MAX_GROUPS:
            breakdown[name] = {
                group: {
                    "questions": len(members),
                    "metrics": {m.name: _mean(members, m.name) for m in measures if _has(members, m)},
                }
                for group, members in sorted(groups.items())
            }
    return breakdown


def _count_group(count: int) -> str:
    return str(count) if count < 2 else "2-4" if count < 5 else "5+"


def _steps(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the times of each step, in order of first appearance; the times of a loop are added up.

    A question without the step counts as 0 in its times, and not in its share.
    """
    seconds: defaultdict[str, Counter[int]] = defaultdict(Counter)
    shares: defaultdict[str, dict[int, float]] = defaultdict(dict)
    for at, row in enumerate(rows):
        for step in row["steps"]:
            seconds[step["operator"]][at] += step["seconds"]
            if step["held"] is not None:
                shares[step["operator"]][at] = step["held"]
    return [
        {
            "operator": name,
            **_times([of.get(at, 0.0) for at in range(len(rows))]),
            "held": float(np.mean(list(shares[name].values()))) if name in shares else None,
        }
        for name, of in seconds.items()
    ]


def _times(seconds: Sequence[float]) -> dict[str, float]:
    p50, p95 = 1000 * np.percentile(seconds, [50, 95])
    return {"p50": round(float(p50), 3), "p95": round(float(p95), 3), "mean": round(1000 * float(np.mean(seconds)), 3)}


def _sweeps(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Return the points of each option that a grid varies, the other options of the grid being the same."""
    sweeps: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for entry in entries:
        for option in entry.swept:
            rest = tuple((name, repr(entry.options[name])) for name in entry.swept if name != option)
            point = {"value": _json_value(entry.options[option]), "name": entry.name}
            sweeps.setdefault((entry.of, option, rest), []).append(point)
    return [
        {"method": of, "option": option, "with": dict(rest), "points": points}
        for (of, option, rest), points in sweeps.items()
        if len(points) > 1
    ]
