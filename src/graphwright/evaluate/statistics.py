"""Summarise a run: metrics with bootstrap intervals, costs, and paired permutation tests against a baseline.

Intervals and tests are computed by scipy (extra `stats`), deterministic for a seed, and in blocks of bounded memory.
"""

from __future__ import annotations

import importlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.errors import OptionError, check_installed
from graphwright.evaluate.asking import Results, Row
from graphwright.evaluate.entries import ComparedMethod, plain
from graphwright.evaluate.experiment import Subject
from graphwright.evaluate.measures import Measure

Values = NDArray[np.float64]

_RESAMPLES = 10_000
_CELLS = 1 << 20  # numbers drawn at once
_DECIMALS = 9  # sums that differ by less are equal
_MEANS = ("texts", "tokens", "calls", "prompt_tokens", "completion_tokens", "cost")
_GROUPS: Mapping[str, Callable[[Row], str]] = {
    "type": lambda row: str(row["type"]),
    "hops": lambda row: "" if row["hops"] is None else str(row["hops"]),
    "answers": lambda row: _count_group(row["answers"]),
    "entities": lambda row: _count_group(row["entities"]),
}
_MAX_GROUPS = 40


def summarised(
    manifest: Mapping[str, Any], entries: Sequence[ComparedMethod], subject: Subject, results: Results
) -> dict[str, Any]:
    """Return the summary of a finished run, as JSON values.

    For each method `metrics` (mean and, with scipy, the 95 % bootstrap interval over questions), `milliseconds` and
    `model_milliseconds` of a question (p50, p95, mean), those of each of its `steps` with the recall after it (`held`),
    means of tokens, calls and money, and `breakdown` by groups of questions. `against_baseline`: for each metric that
    is a mean the difference and, with scipy, the p value of the paired permutation test, alone and `corrected` for the
    number of methods (Holm). `statistics`: whether there are intervals and p values.
    """
    seed = int(manifest["settings"]["seed"])
    rows = {entry.name: results.of(entry.name) for entry in entries}
    # Among few questions, none may have the gold data of a metric.
    measures = [measure for measure in subject.measures if any(_data(of, measure.name) for of in rows.values())]
    names = [measure.name for measure in measures]
    against = _against(rows, manifest["baseline"], measures, seed)
    methods = {
        entry.name: {
            "method": entry.method if isinstance(entry.method, str) else entry.name,
            "options": {name: value if plain(value) else repr(value) for name, value in entry.options.items()},
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
        "statistics": available(),
    }


def _figures(rows: Sequence[Row], measures: Sequence[Measure], seed: int) -> dict[str, Any]:
    return {
        "questions": len(rows),
        "failed": sum("error" in row for row in rows),
        "errors": dict(Counter(row["error"] for row in rows if "error" in row)),
        "metrics": {m.name: with_interval(*data, seed=seed) for m in measures if (data := _data(rows, m.name))},
        "milliseconds": _times([row["seconds"] for row in rows]),
        "model_milliseconds": _times([row["model_seconds"] for row in rows]),
        **{name: float(np.mean([row[name] for row in rows])) for name in _MEANS},
        "steps": _steps(rows),
        "breakdown": _breakdown(rows, measures),
    }


def _data(rows: Iterable[Row], metric: str) -> list[list[float]]:
    """Return the values of a metric, or numerators and denominators, of the questions that have it; [] without any."""
    pairs = [row["ratios"][metric] for row in rows if metric in row.get("ratios", {})]
    if pairs:
        return [list(column) for column in zip(*pairs, strict=True)]
    values = [row["metrics"][metric] for row in rows if metric in row["metrics"]]
    return [values] if values else []


def _against(
    rows: Mapping[str, Sequence[Row]], baseline: str, measures: Sequence[Measure], seed: int
) -> dict[str, dict[str, Any]]:
    """Return by method and metric the difference to the baseline, with its p values where scipy is installed."""
    differences: dict[str, dict[str, Any]] = {name: {} for name in rows if name != baseline}
    for measure in measures:
        data = {name: _data(method_rows, measure.name) for name, method_rows in rows.items()}
        if len(data[baseline]) != 1:  # missing, or a ratio
            continue
        base = data[baseline][0]
        values = {name: data[name][0] for name in differences if data[name]}
        p = {name: paired_test(scores, base, seed=seed) for name, scores in values.items()} if available() else {}
        corrected = dict(zip(p, holm(list(p.values())), strict=True))
        for name, scores in values.items():
            tested = {"p": p[name], "corrected": corrected[name]} if name in p else {}
            differences[name][measure.name] = {"difference": float(np.mean(scores) - np.mean(base)), **tested}
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
                    "metrics": {m.name: _mean(*data) for m in measures if (data := _data(members, m.name))},
                }
                for group, members in sorted(groups.items())
            }
    return breakdown


def _count_group(count: int) -> str:
    return str(count) if count < 2 else "2-4" if count < 5 else "5+"


def _steps(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the times of each step (0 where a question lacks it; those of a loop added up) and its mean recall."""
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
            **_times([by_row.get(at, 0.0) for at in range(len(rows))]),
            "held": float(np.mean(list(shares[name].values()))) if name in shares else None,
        }
        for name, by_row in seconds.items()
    ]


def _times(seconds: Sequence[float]) -> dict[str, float]:
    p50, p95 = 1000 * np.percentile(seconds, [50, 95])
    return {"p50": round(float(p50), 3), "p95": round(float(p95), 3), "mean": round(1000 * float(np.mean(seconds)), 3)}


def available() -> bool:
    """Return whether scipy is installed."""
    return find_spec("scipy") is not None


def bootstrap_interval(
    values: ArrayLike, denominators: ArrayLike | None = None, *, seed: int = 0
) -> tuple[float, float]:
    """Return the 95 % percentile bootstrap interval of the mean of `values`, one for each question (Efron, 1979).

    With `denominators`, the interval of Σ values / Σ denominators, such as micro F1; 0 / 0 counts as 0. Raises
    OptionError for values that are missing or not finite, and without scipy.

    >>> low, high = bootstrap_interval([0, 1] * 50); round(low, 1), round(high, 1)
    (0.4, 0.6)
    """
    data = _columns(values=values, **({} if denominators is None else {"denominators": denominators}))
    statistic: Callable[..., Any] = np.mean if denominators is None else _ratio
    if data[0].size == 1:
        value = float(statistic(*data, axis=-1))
        return value, value
    options: dict[str, Any] = {"n_resamples": _RESAMPLES, "batch": max(1, _CELLS // data[0].size), "vectorized": True}
    options |= {"paired": len(data) > 1, "confidence_level": 0.95, "method": "percentile", "random_state": seed}
    interval = _scipy().bootstrap(data, statistic, **options).confidence_interval
    return float(interval.low), float(interval.high)


def paired_test(a: ArrayLike, b: ArrayLike, *, seed: int = 0) -> float:
    """Return the two-sided p value of the difference of two methods on the same questions.

    Paired permutation test (Fisher, 1935; for retrieval Smucker, Allan and Carterette, 2007) of all patterns of signs,
    or of 10,000 random ones, the observed one included (Phipson and Smyth, 2010). Raises
    OptionError where a and b differ in length, for values that are not finite, and without scipy.

    >>> paired_test([1, 1, 1, 1, 1], [0, 0, 0, 0, 0])  # 2 of 2**5 patterns
    0.0625
    """
    first, second = _columns(a=a, b=b)
    difference = first - second
    difference = difference[difference != 0]  # zero differences have no sign
    size = difference.size
    if size < 2:
        return 1.0
    options: dict[str, Any] = {"vectorized": True, "alternative": "greater", "batch": max(1, _CELLS // size)}
    options |= {"n_resamples": _RESAMPLES}
    if size < 63 and 2**size <= _RESAMPLES:
        test = _scipy().permutation_test((difference,), _distance, permutation_type="samples", **options)
    else:
        rng, signs = np.random.default_rng(seed), np.array([-1, 1], np.int8)
        drawn = lambda size: difference * signs[rng.integers(0, 2, size, np.int8)]  # noqa: E731
        test = _scipy().monte_carlo_test(difference, drawn, _distance, **options)
    return float(test.pvalue)


def _distance(differences: Values, axis: int) -> Values:
    """Return the distance of the sum from 0; sums that differ by rounding only are made equal."""
    distance: Values = np.round(np.abs(differences.sum(axis=axis)), _DECIMALS)
    return distance


def holm(p: Sequence[float]) -> list[float]:
    """Return p values corrected for their number, in the order given (Holm, 1979).

    >>> holm([0.04, 0.01, 0.03])
    [0.06, 0.03, 0.06]
    """
    order = np.argsort(p, kind="stable")
    factors = np.arange(len(p), 0, -1)
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(np.maximum.accumulate(factors * np.asarray(p, float)[order]), 1.0)
    return [float(value) for value in corrected]


def with_interval(values: ArrayLike, denominators: ArrayLike | None = None, *, seed: int = 0) -> dict[str, float]:
    """Return "mean", and with scipy "low" and "high", of values or of a ratio of sums."""
    mean = _mean(values, denominators)
    if not available():
        return {"mean": mean}
    low, high = bootstrap_interval(values, denominators, seed=seed)
    return {"mean": mean, "low": low, "high": high}


def _mean(values: ArrayLike, denominators: ArrayLike | None = None) -> float:
    numerators = np.asarray(values, np.float64)
    return float(numerators.mean() if denominators is None else _ratio(numerators, np.asarray(denominators)))


def _ratio(numerators: Values, denominators: Values, axis: int = -1) -> Values:
    above, below = numerators.sum(axis=axis), denominators.sum(axis=axis)
    ratio: Values = np.divide(above, below, out=np.zeros_like(above), where=below != 0)
    return ratio


def _scipy() -> Any:
    check_installed("scipy", "stats", "An interval or a test")
    return importlib.import_module("scipy.stats")


def _columns(**columns: ArrayLike) -> tuple[Values, ...]:
    """Return the columns as arrays. Raises OptionError for different lengths, and for values that cannot be used."""
    arrays = {name: np.asarray(column, np.float64).reshape(-1) for name, column in columns.items()}
    sizes = [f"{array.size} {name}" for name, array in arrays.items()]
    if len({array.size for array in arrays.values()}) > 1 or not all(array.size for array in arrays.values()):
        raise OptionError(f"There are {' and '.join(sizes)}; give one value of each for every question.")
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            at = int(np.flatnonzero(~np.isfinite(array))[0])
            raise OptionError(f"{name}[{at}] is {array[at]}; leave questions without a value out.")
    return tuple(arrays.values())
