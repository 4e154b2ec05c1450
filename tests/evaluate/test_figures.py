"""The order of methods, and remarks on a run."""

from __future__ import annotations

from typing import Any

from tests.evaluate.small_run import row, summary

from graphwright.evaluate.figures import heading, ranked, remarks


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


def test_methods_are_ordered_by_metric_then_speed() -> None:
    assert ranked(run(("a", 0.8, 0.03, 1), ("b", 0.8, 0.02, 0.5), ("c", 0.8, 0.01, 0.5), ("d", 0.9, 1, 1))) == [*"dcba"]


def test_missing_statistics_name_extra() -> None:
    of = run(("vector", 0.60, 0.01, 1), ("ppr", 0.62, 0.01, 1))
    assert remarks(of) == []
    (sentence,) = remarks({**of, "statistics": False})
    assert "graphwright[stats]" in sentence


def test_failures_are_reported() -> None:
    of = run(("vector", 0.5, 0.01, 1), ("ppr", 0.8, 0.02, 0.001))
    of["methods"]["ppr"] |= {"failed": 3, "questions": 9, "errors": {"ModelError: no reply.": 2, "DataError: no": 1}}
    assert remarks(of)[-1] == "ppr failed on 3 questions, counted as 0, most often: ModelError: no reply."


def broken(of: dict[str, Any], *names: str) -> dict[str, Any]:
    for name in names:
        of["methods"][name] |= {"failed": 9, "questions": 9, "errors": {"ModelError: no reply": 9}}
        of["methods"][name]["metrics"]["recall@5"] = {"mean": 0.0, "low": 0.0, "high": 0.0}
    return of


def test_failed_method_is_last_and_named() -> None:
    of = broken(run(("vector", 0.5, 0.02, 1), ("ppr", 0, 0.001, 0.001)), "ppr")
    assert ranked(of) == ["vector", "ppr"]
    says = "ppr failed on every question, so that nothing is known of its quality: ModelError: no reply."
    assert remarks(of) == [says]


def test_many_failures_are_counted() -> None:
    names = ("vector", "ppr", "bm25", "hyde")
    sentences = remarks(broken(run(*((name, 0, 0.02, 1) for name in names)), *names))
    assert len(sentences) == 4 and all("failed on every question" in sentence for sentence in sentences[:3])
    assert sentences[3] == "1 more failed on some or all questions."


def test_heading_names_searched_corpus() -> None:
    films = {"name": "films", "over": "graph", "nodes": 43234, "edges": 9, "questions": 2}
    graph = run(("a", 0.5, 0.01, 1), ("b", 0.5, 0.01, 1), data=films)
    assert heading(graph) == "2 methods compared on 2 questions over the graph of films, 43,234 nodes and 9 edges."
    asked = {"name": "asked.jsonl", "over": "index", "documents": 0, "nodes": 20, "edges": 30, "questions": 1}
    indexed = run(("a", 0.5, 0.01, 1), data=asked)
    assert heading(indexed) == "a measured on 1 question of asked.jsonl over an index of 20 nodes and 30 edges."
