"""The order of methods, and sentences on a run."""

from __future__ import annotations

from typing import Any

import pytest
from tests.evaluate.small_run import row, summary

from graphwright.evaluate.figures import heading, ranked, reading


def run(*methods: tuple[str, float, float, float], primary: str = "recall@5", **more: Any) -> dict[str, Any]:
    """Return the summary of methods: name, mean of the primary metric, seconds, corrected p."""
    record = [row(name, "q0", recall=mean, seconds=seconds) for name, mean, seconds, _ in methods]
    result = summary(record, **more)
    for name, mean, _, p in methods:
        of = result["methods"][name]
        if of["against_baseline"]:
            difference = mean - methods[0][1]
            of["against_baseline"][primary] = {"difference": difference, "p": p / 2, "corrected": p}
        of["metrics"][primary] = {"mean": mean, "low": mean - 0.1, "high": mean + 0.1}
    result["primary"] = primary
    return result


def test_significant_difference_is_reported_with_p() -> None:
    assert reading(run(("vector", 0.794, 0.0056, 1), ("ppr", 0.934, 0.009, 0.0004))) == [
        "ppr finds 93.4 % of the gold documents in its first 5, 14.0 points more than vector (p < 0.001). It takes "
        "9.0 ms a question, and vector 5.6 ms.",
        "Next is vector with 79.4 %.",
        "Fastest is vector with 79.4 %, in 5.6 ms.",
    ]


def test_chance_difference_is_reported_as_such() -> None:
    first = reading(run(("vector", 0.60, 0.01, 1), ("ppr", 0.62, 0.005, 0.412)))[0]
    assert first == (
        "ppr finds 62.0 % of the gold documents in its first 5, 2.0 points more than vector, which may well be "
        "chance (p = 0.412). It takes 5.0 ms a question, and vector 10 ms."
    )


def test_reading_judges_by_corrected_p() -> None:
    of = run(("vector", 0.60, 0.01, 1), ("ppr", 0.62, 0.01, 0.06))
    assert "may well be chance (p = 0.060 corrected for many comparisons, p = 0.030 alone)" in reading(of)[0]


def test_differences_without_scipy_name_extra() -> None:
    of = run(("vector", 0.60, 0.01, 1), ("ppr", 0.62, 0.01, 1))
    of["methods"]["ppr"]["against_baseline"]["recall@5"] = {"difference": 0.02}
    of["statistics"] = False
    first, *_, last = reading(of)
    assert "2.0 points more than vector. It takes" in first and "graphwright[stats]" in last


def test_unbeaten_baseline_comes_first() -> None:
    sentences = reading(run(("vector", 0.9, 0.01, 1), ("ppr", 0.8, 0.02, 0.2), ("bm25", 0.5, 0.001, 0.001)))
    assert sentences[0].startswith("vector, the baseline, finds 90.0 % of the gold documents")
    assert sentences[1:] == [
        "Next is ppr with 80.0 %.",
        "Compared with vector, 0 of 2 methods are better, 1 worse and 1 not significantly different (p < 0.05, "
        "corrected for many comparisons).",
        "Fastest is bm25 with 50.0 %, in 1.0 ms.",
    ]


def test_equal_methods_are_ordered_by_speed() -> None:
    assert reading(run(("a", 0.1, 1, 1), ("b", 0.8, 0.02, 0.5), ("c", 0.8, 0.01, 0.5)))[0].startswith("c finds")


@pytest.mark.parametrize(
    ("primary", "message"),
    [
        ("recall@100", "finds 50.0 % of the gold documents in its first 100"),
        ("exact match", "reaches 50.0 % in exact match"),
        ("subgraph f1", "reaches 50.0 % in subgraph f1"),
    ],
)
def test_metrics_are_worded(primary: str, message: str) -> None:
    assert f"ppr {message} (95 % interval 40.0 to 60.0)" in reading(run(("ppr", 0.5, 0.01, 1), primary=primary))[0]


def test_other_metric_has_no_percent() -> None:
    assert (
        "reaches 12.500 in length (95 % interval 12.400 to 12.600)"
        in reading(run(("ppr", 12.5, 0.01, 1), primary="length"))[0]
    )


def test_failures_are_reported() -> None:
    of = run(("vector", 0.5, 0.01, 1), ("ppr", 0.8, 0.02, 0.001))
    of["methods"]["ppr"] |= {"failed": 3, "questions": 9, "errors": {"ModelError: no reply.": 2, "DataError: no": 1}}
    assert reading(of)[-1] == "ppr failed on 3 questions, counted as 0, most often: ModelError: no reply."


def broken(of: dict[str, Any], *names: str) -> dict[str, Any]:
    for name in names:
        of["methods"][name] |= {"failed": 9, "questions": 9, "errors": {"ModelError: no reply": 9}}
        of["methods"][name]["metrics"]["recall@5"] = {"mean": 0.0, "low": 0.0, "high": 0.0}
    return of


def test_failed_method_has_no_conclusion() -> None:
    assert reading(broken(run(("vector", 0.5, 0.02, 1), ("ppr", 0, 0.001, 0.001)), "ppr")) == [
        "vector finds 50.0 % of the gold documents in its first 5 (95 % interval 40.0 to 60.0), in 20 ms a question.",
        "ppr failed on every question, so that nothing is known of its quality: ModelError: no reply.",
    ]


def test_failed_baseline_has_no_comparison() -> None:
    of = broken(run(("vector", 0, 0.02, 1), ("ppr", 0.5, 0.01, 0.001), ("bm25", 0.4, 0.01, 0.001)), "vector")
    assert reading(of)[0] == "ppr finds 50.0 % of the gold documents in its first 5, in 10 ms a question."
    assert not any("vector" in sentence for sentence in reading(of)[:-1])


def test_many_failures_are_counted() -> None:
    names = ("vector", "ppr", "bm25", "hyde")
    sentences = reading(broken(run(*((name, 0, 0.02, 1) for name in names)), *names))
    assert len(sentences) == 4 and all("failed on every question" in sentence for sentence in sentences[:3])
    assert sentences[3] == "1 more failed on some or all questions."


def test_equal_results_are_called_equal() -> None:
    first, second = reading(run(("ppr", 1.0, 0.02, 1), ("vector", 1.0, 0.005, 1)))[:2]
    assert first == (
        "vector finds 100.0 % of the gold documents in its first 5, as much as ppr. It takes 5.0 ms a question, and "
        "ppr 20 ms."
    )
    assert second == "Next is ppr with 100.0 %."


def test_lead_and_tables_agree_on_order() -> None:
    of = run(("a", 0.8, 0.03, 1), ("b", 0.8, 0.02, 0.5), ("c", 0.8, 0.01, 0.5))
    assert ranked(of) == ["c", "b", "a"] and reading(of)[0].startswith("c finds")


def test_heading_names_searched_corpus() -> None:
    films = {"name": "films", "over": "graph", "nodes": 43234, "edges": 9, "questions": 2}
    graph = run(("a", 0.5, 0.01, 1), ("b", 0.5, 0.01, 1), data=films)
    assert heading(graph) == "2 methods compared on 2 questions over the graph of films, 43,234 nodes and 9 edges."
    asked = {"name": "asked.jsonl", "over": "index", "documents": 0, "nodes": 20, "edges": 30, "questions": 1}
    indexed = run(("a", 0.5, 0.01, 1), data=asked)
    assert heading(indexed) == "a measured on 1 question of asked.jsonl over an index of 20 nodes and 30 edges."
