"""Confidence intervals and significance tests compared with scipy, and the summary of a run."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from operator import mul
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from graphwright.errors import OptionError
from graphwright.evaluate.asking import Results, Row
from graphwright.evaluate.entries import ComparedMethod, entries
from graphwright.evaluate.measures import select_measures
from graphwright.evaluate.statistics import bootstrap_interval, holm, paired_test, summarised
from graphwright.models import HashEncoder, OverlapCrossEncoder

RNG = np.random.default_rng(7)
RECALL = RNG.choice([0, 0.5, 1], 120, p=[0.2, 0.3, 0.5])
BETTER = np.clip(RECALL + RNG.choice([0, 0.5, -0.5], 120, p=[0.5, 0.4, 0.1]), 0, 1)


def test_interval_equals_scipy() -> None:
    ours = bootstrap_interval(RECALL)
    theirs = stats.bootstrap(
        (RECALL,), np.mean, n_resamples=10_000, method="percentile", random_state=3
    ).confidence_interval
    assert ours == pytest.approx(tuple(theirs), abs=0.006)


def theirs(a, b, resamples=10_000) -> float:
    return stats.permutation_test(
        (a, b), lambda x, y, axis: np.mean(x - y, axis=axis), permutation_type="samples", vectorized=True,
        n_resamples=resamples, random_state=5,
    ).pvalue  # fmt: skip


def test_test_of_many_questions_equals_scipy() -> None:
    p = paired_test(RECALL, BETTER)
    assert 0.001 < p < 0.2
    assert p == pytest.approx(theirs(RECALL, BETTER), abs=0.012)
    assert paired_test(BETTER, RECALL) == p


SOME = [(1, 0), (0.5, 1), (1, 1), (1, 0.25), (0.75, 0), (0.5, 0), (0, 0.5), (1, 0.5), (1, 0)]


@pytest.mark.parametrize("few", range(2, 10))
def test_test_of_few_questions_equals_exact_scipy(few) -> None:
    a, b = np.array(SOME[:few]).T
    assert paired_test(a, b) == pytest.approx(theirs(a, b))


sixths = st.sampled_from([Fraction(n, 6) for n in range(7)])


@given(st.lists(st.tuples(sixths, sixths), min_size=1, max_size=7))
def test_exact_test_treats_rounded_sums_as_equal(pairs) -> None:
    differences = [a - b for a, b in pairs]
    sums = [abs(sum(map(mul, differences, signs))) for signs in product((1, -1), repeat=len(pairs))]
    p = Fraction(sum(item >= abs(sum(differences)) for item in sums), len(sums))
    a, b = (list(map(float, column)) for column in zip(*pairs, strict=True))
    assert paired_test(a, b) == pytest.approx(float(p))


def test_random_p_value_is_positive() -> None:
    assert paired_test(np.ones(100), np.zeros(100)) == 1 / 10_001


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: bootstrap_interval([]), "0 values"),
        (lambda: bootstrap_interval([0.5, float("nan")]), r"values\[1\] is nan"),
        (lambda: paired_test([1, 0], [1]), "2 a and 1 b"),
    ],
)
def test_invalid_values_raise(call, says) -> None:
    with pytest.raises(OptionError, match=says):
        call()


def test_holm_corrects_for_comparisons() -> None:
    assert holm([]) == [] and holm([0.2]) == [0.2]
    assert holm([0.01, 0.02, 0.03, 0.04]) == pytest.approx([0.04, 0.06, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def test_ratio_of_sums_has_interval() -> None:
    above, below = [2.0, 0.0, 2.0, 4.0] * 40, [2.0, 2.0, 4.0, 4.0] * 40
    low, high = bootstrap_interval(above, below)
    assert low < sum(above) / sum(below) < high and (low, high) == bootstrap_interval(above, below)
    assert bootstrap_interval([0, 0], [0, 0]) == (0.0, 0.0)
    drawn = [random.Random(seed).choices(range(160), k=160) for seed in range(2_000)]
    plain = np.quantile([sum(above[i] for i in some) / sum(below[i] for i in some) for some in drawn], [0.025, 0.975])
    assert (low, high) == pytest.approx(tuple(plain), abs=0.01)
    with pytest.raises(OptionError, match="1 values and 2 denominators"):
        bootstrap_interval([1], [1, 2])


MEASURES = select_measures(["recall@5", "micro f1"])
MANIFEST = {
    "settings": {"seed": 0},
    "baseline": "bm25",
    **dict.fromkeys(("graphwright", "commit", "data", "encoder", "llm", "extractor", "machine", "started"), ""),
}


def row(method: str, at: int, recall: float, pair: tuple[float, float] = (0, 0), **more: Any) -> Row:
    counts = dict.fromkeys(("texts", "tokens", "calls", "prompt_tokens", "completion_tokens", "cost"), 1)
    return {
        "method": method, "question": f"q{at}", "type": "a" if at < 2 else "b", "hops": at % 2 + 1, "answers": at,
        "entities": 1, "metrics": {"recall@5": recall}, "ratios": {"micro f1": list(pair)}, "seconds": 0.01 * (at + 1),
        "model_seconds": 0.001, **counts, "steps": [], **more,
    }  # fmt: skip


def made(tmp_path: Path, names: Sequence[str | ComparedMethod], rows: list[Row]) -> dict[str, Any]:
    listed = entries(names)
    manifest = {**MANIFEST, "methods": {entry.name: "…" for entry in listed}, "baseline": listed[0].name}
    results = Results(tmp_path / "rows.jsonl", [e.name for e in listed], [f"q{at}" for at in range(4)])
    with results.writing() as add:
        for item in rows:
            add(item)
    subject: Any = SimpleNamespace(measures=MEASURES, primary="recall@5")
    return summarised(manifest, listed, subject, results)


def test_means_and_costs_equal_rows(tmp_path: Path) -> None:
    rows = [row("bm25", at, at / 4, (2.0 * at, 4.0)) for at in range(4)]
    of = made(tmp_path, ["bm25"], rows)["methods"]["bm25"]
    assert of["metrics"]["recall@5"]["mean"] == pytest.approx(0.375)
    assert of["metrics"]["micro f1"]["mean"] == pytest.approx(12 / 16)
    assert of["metrics"]["micro f1"]["low"] < 12 / 16 < of["metrics"]["micro f1"]["high"]
    assert (of["milliseconds"]["p50"], of["milliseconds"]["mean"]) == (25.0, 25.0)
    assert of["breakdown"]["type"]["a"] == {
        "questions": 2,
        "metrics": {"recall@5": pytest.approx(0.125), "micro f1": pytest.approx(0.25)},
    }
    assert set(of["breakdown"]) == {"type", "hops", "answers"}, "all have one entity"
    assert set(of["breakdown"]["answers"]) == {"0", "1", "2-4"}
    assert of["against_baseline"] is None and of["failed"] == 0


def test_groups_without_name_are_unknown(tmp_path: Path) -> None:
    rows = [row("bm25", at, at / 4, type=kind) for at, kind in enumerate(("", "unknown", "a", ""))]
    of = made(tmp_path, ["bm25"], rows)["methods"]["bm25"]
    groups = of["breakdown"]["type"]
    assert {name: group["questions"] for name, group in groups.items()} == {"a": 1, "unknown": 3}
    for part in of["breakdown"].values():
        total = sum(group["questions"] * group["metrics"]["recall@5"] for group in part.values())
        assert total / 4 == pytest.approx(of["metrics"]["recall@5"]["mean"])


def test_object_options_are_shown(tmp_path: Path) -> None:
    models = [OverlapCrossEncoder(), HashEncoder()]
    listed = [ComparedMethod(name, "rerank", {"cross_encoder": of}) for name, of in zip("ab", models, strict=True)]
    rows = [row(name, at, 0.5) for name in "ab" for at in range(4)]
    result = json.loads(json.dumps(made(tmp_path, listed, rows)))
    assert [of["options"] for of in result["methods"].values()] == [{"cross_encoder": repr(model)} for model in models]


def test_differences_are_tested_and_corrected(tmp_path: Path) -> None:
    names = ["bm25", "vector", "ppr"]
    values = {"bm25": 0.0, "vector": 1.0, "ppr": 0.5}
    rows = [row(name, at, values[name]) for name in names for at in range(4)]
    methods = made(tmp_path, names, rows)["methods"]
    against = methods["vector"]["against_baseline"]["recall@5"]
    assert against == {"difference": 1.0, "p": 0.125, "corrected": 0.25}
    assert "micro f1" not in methods["ppr"]["against_baseline"], "no mean of questions"


def test_failures_are_counted_in_summary(tmp_path: Path) -> None:
    rows = [row("bm25", at, 0.0, **({"error": "ModelError: gone"} if at else {})) for at in range(4)]
    assert made(tmp_path, ["bm25"], rows)["methods"]["bm25"]["failed"] == 3


def test_loop_steps_are_summed_and_averaged(tmp_path: Path) -> None:
    def step(seconds: float, record: float | None) -> Row:
        return {"operator": "A()", "seconds": seconds, "held": record}

    rows = [row("bm25", at, 0.0, steps=[step(0.001, 0.0), step(0.002, 0.5)] if at < 2 else []) for at in range(4)]
    (result,) = made(tmp_path, ["bm25"], rows)["methods"]["bm25"]["steps"]
    assert result == {"operator": "A()", "p50": 1.5, "p95": 3.0, "mean": 1.5, "held": 0.5}
