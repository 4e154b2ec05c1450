"""The order of methods, and remarks on a run.

Result tables for terminals and as Markdown.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.evaluate.small_run import HOSTILE, METRICS, row, rows, summary

from graphwright.evaluate.tables import groupings, heading, leaderboard, markdown, ranked, remarks, terminal


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
    assert list(remarks(of)) == []
    (sentence,) = list(remarks({**of, "statistics": False}))
    assert "graphwright[stats]" in sentence


def test_failures_are_reported() -> None:
    of = run(("vector", 0.5, 0.01, 1), ("ppr", 0.8, 0.02, 0.001))
    of["methods"]["ppr"] |= {"failed": 3, "questions": 9, "errors": {"ModelError: no reply.": 2, "DataError: no": 1}}
    assert list(remarks(of))[-1] == "ppr failed on 3 questions, counted as 0, most often: ModelError: no reply."


def broken(of: dict[str, Any], *names: str) -> dict[str, Any]:
    for name in names:
        of["methods"][name] |= {"failed": 9, "questions": 9, "errors": {"ModelError: no reply": 9}}
        of["methods"][name]["metrics"]["recall@5"] = {"mean": 0.0, "low": 0.0, "high": 0.0}
    return of


def test_failed_method_is_last_and_named() -> None:
    of = broken(run(("vector", 0.5, 0.02, 1), ("ppr", 0, 0.001, 0.001)), "ppr")
    assert ranked(of) == ["vector", "ppr"]
    says = "ppr failed on every question, so that nothing is known of its quality: ModelError: no reply."
    assert list(remarks(of)) == [says]


def test_many_failures_are_counted() -> None:
    names = ("vector", "ppr", "bm25", "hyde")
    sentences = list(remarks(broken(run(*((name, 0, 0.02, 1) for name in names)), *names)))
    assert len(sentences) == 4 and all("failed on every question" in sentence for sentence in sentences[:3])
    assert sentences[3] == "1 more failed on some or all questions."


def test_heading_names_searched_corpus() -> None:
    films = {"name": "films", "over": "graph", "nodes": 43234, "edges": 9, "questions": 2}
    graph = run(("a", 0.5, 0.01, 1), ("b", 0.5, 0.01, 1), data=films)
    assert heading(graph) == "2 methods compared on 2 questions over the graph of films, 43,234 nodes and 9 edges."
    asked = {"name": "asked.jsonl", "over": "index", "documents": 0, "nodes": 20, "edges": 30, "questions": 1}
    indexed = run(("a", 0.5, 0.01, 1), data=asked)
    assert heading(indexed) == "a measured on 1 question of asked.jsonl over an index of 20 nodes and 30 edges."


def tables(text: str) -> list[list[list[str]]]:
    """Return the tables of a Markdown text, cells parted as its readers part them."""
    result: list[list[list[str]]] = [[]]
    for line in text.splitlines():
        if line.startswith("|"):
            result[-1].append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
        elif result[-1]:
            result.append([])
    return [table for table in result if table]


def test_terminal_table_starts_with_primary_metric() -> None:
    of = summary(rows())
    heading, (header, *body) = terminal(of)
    assert heading.startswith("3 methods compared on 6 questions over the 9 documents of rivers. ")
    costs = ["p50 ms", "p95 ms", "encoder tokens"]
    assert header == ["method", "recall@5, %", "against vector", *costs, "calls of models", "ndcg@10, %"]
    for name, value, *_ in body:
        result = of["methods"][name]["metrics"]["recall@5"]
        assert value == f"{100 * result['mean']:.1f} ({100 * result['low']:.1f}–{100 * result['high']:.1f})"
    assert all(len(line) == len(header) for line in body)


@pytest.mark.parametrize("width", [20, 60, 80, 100, 200])
def test_terminal_table_fits_width(width: int) -> None:
    of = summary(rows())
    heading, table = terminal(of, width)
    assert {"method", "recall@5, %", "against vector", "p50 ms"} <= set(table[0])
    longest = sum(max(map(len, column)) + 3 for column in zip(*table, strict=True))
    assert longest - 3 <= max(width, 80)
    assert ("The report has" in heading) == ("exact match, %" not in table[0])


def test_terminal_names_failures_with_their_cause() -> None:
    of = summary(rows())
    of["methods"]["ppr"] |= {"failed": 2, "errors": {"BudgetError: spent": 1, "ModelError: a|b": 3}}
    heading, table = terminal(of)
    assert "ppr failed on 2 questions, counted as 0, most often: ModelError: a|b." in heading
    assert "ppr (2 failed)" in [line[0] for line in table]


def test_failed_method_has_no_figures() -> None:
    of = summary(rows())
    of["methods"]["ppr"] |= {"failed": 6, "milliseconds": {"p50": 0.1, "p95": 0.1, "mean": 0.1}}
    assert ranked(of)[-1] == "ppr" and {column.texts[-1] for column in leaderboard(of)} == {"–"}


def test_fully_failed_run_lists_names() -> None:
    of = summary(rows())
    for method in of["methods"].values():
        method["failed"] = 6
    assert terminal(of)[1] == [["method"], *([f"{name} (6 failed)"] for name in ranked(of))]


def test_terminal_has_shares_of_right_answers() -> None:
    right = {"vector": {"mean": 0.25, "low": 0.1, "high": 0.5, "questions": 8}, "ppr": {"mean": 0.75, "questions": 8}}
    of = summary(rows(), judge={"model": "gpt", "accuracy": right, "wins": {}, "against": "vector"})
    header, *lines = terminal(of)[1]
    assert {line[0]: line[header.index("right, %")] for line in lines} == {
        "vector": "25.0 (10.0–50.0)", "ppr": "75.0", "bm25": "–",
    }  # fmt: skip


def test_markdown_has_every_figure_of_leaderboard() -> None:
    of = summary(rows())
    (board,) = tables(markdown(of))
    assert board[0][:3] == ["method", "recall@5, %", "against vector"]
    assert [line[0] for line in board[2:]] == ranked(of)
    assert {len(line) for line in board} == {len(board[0])}
    for line in board[2:]:
        mean = of["methods"][line[0]]["metrics"]["ndcg@10"]["mean"]
        assert line[board[0].index("ndcg@10, %")].startswith(f"{100 * mean:.1f} (")


def test_markdown_heading_keeps_names_with_underscores() -> None:
    of = summary(rows())
    of["data"]["name"] = "2hop_dev#3"
    assert markdown(of).splitlines()[0].endswith(" of 2hop_dev#3.")


@pytest.mark.parametrize("name", HOSTILE)
def test_markdown_escapes_hostile_names(name: str) -> None:
    record = [row(name, "q0"), row("ppr", "q0", recall=0.1)]
    of = summary(record)
    of["methods"][name]["steps"][0]["operator"] = name
    text = markdown(of)
    text.encode()
    assert {len(line) for line in tables(text)[0]} == {len(tables(text)[0][0])}
    assert not re.search(r"(?<!\\)<[a-z/]", re.sub(r"`[^\n]*`", "", text))


def test_llm_costs_are_columns() -> None:
    record = [row("a", "q0"), row("b", "q0", prompt_tokens=900, completion_tokens=50, cost=0.0021)]
    names = {column.name: column for column in leaderboard(summary(record))}
    assert names["LLM tokens"].texts == ["0", "950"]
    assert names["money"].texts == ["0", "0.0021"]
    assert not {"LLM tokens", "money"} & {column.name for column in leaderboard(summary(record[:1]))}


def test_missing_metric_is_dash_and_last() -> None:
    of = summary(rows())
    del of["methods"]["vector"]["metrics"]["recall@5"]
    assert ranked(of)[-1] == "vector"
    assert leaderboard(of)[0].texts[-1] == "–"


def test_groups_are_ordered_by_number() -> None:
    of = summary(rows())
    counts = {
        group: {"questions": 1, "metrics": dict.fromkeys(METRICS, 0.5)} for group in ("unknown", "10", "5+", "2-4", "2")
    }
    of["methods"]["ppr"]["breakdown"] = {"hops": counts}
    assert list(groupings(of)["hops"]) == ["2", "2-4", "5+", "10", "unknown"]
