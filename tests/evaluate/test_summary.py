"""A run in figures, from rows that are known."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from graphwright.evaluate.asking import Results, Row
from graphwright.evaluate.entries import entries
from graphwright.evaluate.measures import select_measures
from graphwright.evaluate.summary import summarised
from graphwright.models import HashEncoder, OverlapCrossEncoder

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


def made(tmp_path: Path, names: list[str], rows: list[Row], sweep: Any = None) -> dict[str, Any]:
    listed = entries(names, sweep)
    manifest = {**MANIFEST, "methods": {entry.name: "…" for entry in listed}, "baseline": listed[0].name}
    results = Results(tmp_path / "rows.jsonl", [e.name for e in listed], [f"q{at}" for at in range(4)])
    with results.writing() as add:
        for one in rows:
            add(one)
    subject: Any = SimpleNamespace(measures=MEASURES, primary="recall@5")
    return summarised(manifest, listed, subject, results)


def test_means_costs_and_breakdowns_are_those_of_the_rows(tmp_path: Path) -> None:
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


def test_groups_add_up_where_some_have_no_name_and_one_is_called_unknown(tmp_path: Path) -> None:
    rows = [row("bm25", at, at / 4, type=kind) for at, kind in enumerate(("", "unknown", "a", ""))]
    of = made(tmp_path, ["bm25"], rows)["methods"]["bm25"]
    groups = of["breakdown"]["type"]
    assert {name: group["questions"] for name, group in groups.items()} == {"a": 1, "unknown": 3}
    for part in of["breakdown"].values():
        total = sum(group["questions"] * group["metrics"]["recall@5"] for group in part.values())
        assert total / 4 == pytest.approx(of["metrics"]["recall@5"]["mean"])


def test_options_that_are_objects_are_shown(tmp_path: Path) -> None:
    models = [OverlapCrossEncoder(), HashEncoder()]
    names = [f"rerank(cross_encoder={model!r})" for model in models]
    rows = [row(name, at, 0.5) for name in names for at in range(4)]
    found = json.loads(json.dumps(made(tmp_path, ["rerank"], rows, {"cross_encoder": models})))
    assert [of["options"] for of in found["methods"].values()] == [{"cross_encoder": repr(model)} for model in models]
    assert [point["value"] for point in found["sweeps"][0]["points"]] == list(map(repr, models))


def test_differences_are_tested_and_corrected_for_the_number_of_methods(tmp_path: Path) -> None:
    names = ["bm25", "vector", "ppr"]
    values = {"bm25": 0.0, "vector": 1.0, "ppr": 0.5}
    rows = [row(name, at, values[name]) for name in names for at in range(4)]
    methods = made(tmp_path, names, rows)["methods"]
    against = methods["vector"]["against_baseline"]["recall@5"]
    assert against == {"difference": 1.0, "p": 0.125, "corrected": 0.25}
    assert "micro f1" not in methods["ppr"]["against_baseline"], "no mean of questions"


def test_failures_are_counted(tmp_path: Path) -> None:
    rows = [row("bm25", at, 0.0, **({"error": "ModelError: gone"} if at else {})) for at in range(4)]
    assert made(tmp_path, ["bm25"], rows)["methods"]["bm25"]["failed"] == 3


def test_steps_of_a_loop_are_added_up_and_what_they_hold_is_averaged_where_they_ran(tmp_path: Path) -> None:
    def step(seconds: float, held: float | None) -> Row:
        return {"operator": "A()", "seconds": seconds, "held": held}

    rows = [row("bm25", at, 0.0, steps=[step(0.001, 0.0), step(0.002, 0.5)] if at < 2 else []) for at in range(4)]
    (found,) = made(tmp_path, ["bm25"], rows)["methods"]["bm25"]["steps"]
    assert found == {"operator": "A()", "p50": 1.5, "p95": 3.0, "mean": 1.5, "held": 0.5}


def test_a_grid_has_a_curve_for_each_option_the_others_being_the_same(tmp_path: Path) -> None:
    sweep = {"restart": (0.3, 0.5), "top_k": (5, 9)}
    names = [f"ppr(restart={r}, top_k={p})" for r in (0.3, 0.5) for p in (5, 9)]
    rows = [row(name, at, 0.5) for name in names for at in range(4)]
    curves = made(tmp_path, ["ppr"], rows, sweep)["sweeps"]
    assert [(c["method"], c["option"], c["with"], [p["value"] for p in c["points"]]) for c in curves] == [
        ("ppr", "restart", {"top_k": "5"}, [0.3, 0.5]),
        ("ppr", "top_k", {"restart": "0.3"}, [5, 9]),
        ("ppr", "restart", {"top_k": "9"}, [0.3, 0.5]),
        ("ppr", "top_k", {"restart": "0.5"}, [5, 9]),
    ]
