"""What a run is said to show, in words."""

from __future__ import annotations

from typing import Any

import pytest
from tests.evaluate.report.small_run import row, summary

from graphwright.evaluate.report.figures import ranked
from graphwright.evaluate.report.reading import heading, reading


def run(*methods: tuple[str, float, float, float], primary: str = "recall@5", **more: Any) -> dict[str, Any]:
    """Return the summary of methods: name, mean of the primary metric, seconds, corrected p."""
    held = [row(name, "q0", recall=mean, seconds=seconds) for name, mean, seconds, _ in methods]
    found = summary(held, **more)
    for name, mean, _, p in methods:
        of = found["methods"][name]
        if of["against_baseline"]:
            difference = mean - methods[0][1]
            of["against_baseline"][primary] = {"difference": difference, "p": p / 2, "corrected": p}
        of["metrics"][primary] = {"mean": mean, "low": mean - 0.1, "high": mean + 0.1}
    found["primary"] = primary
    return found


def test_a_method_that_is_surely_better_is_said_to_be() -> None:
    first, *rest = reading(run(("vector", 0.794, 0.0056, 1), ("ppr", 0.934, 0.009, 0.0004)))
    assert first == (
        "ppr finds 93.4 % of the gold documents in its first five, 14.0 points more than vector (p < 0.001), "
        "and takes 9.0 ms a question, 1.6 times as long as vector."
    )
    assert rest == ["The fastest is vector: 5.6 ms, and 79.4 %."]


def test_a_difference_that_may_be_chance_is_called_that() -> None:
    first = reading(run(("vector", 0.60, 0.01, 1), ("ppr", 0.62, 0.005, 0.412)))[0]
    assert first == (
        "ppr finds 62.0 % of the gold documents in its first five, 2.0 points more than vector: that may well be "
        "chance (p = 0.412). It takes 5.0 ms a question, 50 % of the time of vector."
    )


def test_the_corrected_p_counts_where_there_is_one() -> None:
    of = run(("vector", 0.60, 0.01, 1), ("ppr", 0.62, 0.01, 0.06))
    assert "may well be chance (p = 0.060)" in reading(of)[0]  # alone it would be 0.03
    del of["methods"]["ppr"]["against_baseline"]["recall@5"]["corrected"]
    assert "(p = 0.030)" in reading(of)[0] and "chance" not in reading(of)[0]


def test_a_baseline_that_nothing_beats_comes_first() -> None:
    said = reading(run(("vector", 0.9, 0.01, 1), ("ppr", 0.8, 0.02, 0.2), ("bm25", 0.5, 0.001, 0.001)))
    assert said[0].startswith("vector, the baseline, comes first: it finds 90.0 % of the gold documents")
    assert said[1] == "The next, ppr, has 10.0 points less: that may well be chance (p = 0.200)."
    assert said[2] == (
        "Beyond chance (p < 0.05, corrected for many comparisons) none is better than vector and one is worse; one "
        "cannot be told apart from it by one question."
    )
    assert said[3] == "The fastest is bm25: 1.0 ms, and 50.0 %."


def test_methods_that_were_not_tested_against_each_other_are_not_said_to_differ() -> None:
    said = reading(run(("vector", 0.5, 0.01, 1), ("ppr", 0.8, 0.02, 0.001), ("bm25", 0.79, 0.001, 0.001)))
    assert said[1] == "Next is bm25 with 79.0 %; these two were not tested against each other."
    assert said[2] == "Beyond chance (p < 0.05, corrected for many comparisons) two are better than vector."


def test_where_nothing_is_sure_that_is_said() -> None:
    methods = [("vector", 0.5, 0.01, 1), ("ppr", 0.6, 0.02, 0.3), ("bm25", 0.4, 0.02, 0.06)]
    tail = "can be told apart from vector by one question (p ≥ 0.05, corrected for many comparisons)."
    assert f"Neither of the two others {tail}" in reading(run(*methods))
    assert f"None of the three others {tail}" in reading(run(*methods, ("hyde", 0.5, 0.02, 1)))


def test_of_equals_the_faster_one_comes_first() -> None:
    assert reading(run(("a", 0.1, 1, 1), ("b", 0.8, 0.02, 0.5), ("c", 0.8, 0.01, 0.5)))[0].startswith("c finds")


@pytest.mark.parametrize(
    ("primary", "said"),
    [
        ("recall@100", "finds 50.0 % of the gold documents in its first 100"),
        ("recall@1", "finds 50.0 % of the gold documents in its first place"),
        ("exact match", "answers 50.0 % of the questions exactly as accepted"),
        ("hits@1", "has an accepted answer in first place for 50.0 % of the questions"),
        ("subgraph f1", "reaches 50.0 % in subgraph f1"),
    ],
)
def test_metrics_are_put_in_words(primary: str, said: str) -> None:
    assert f"ppr {said} (95 % interval 40.0 to 60.0)" in reading(run(("ppr", 0.5, 0.01, 1), primary=primary))[0]


def test_a_metric_that_is_no_share_has_no_percent() -> None:
    assert (
        "reaches 12.500 in length (95 % interval 12.400 to 12.600)"
        in reading(run(("ppr", 12.5, 0.01, 1), primary="length"))[0]
    )


def test_failures_are_told() -> None:
    of = run(("vector", 0.5, 0.01, 1), ("ppr", 0.8, 0.02, 0.001))
    of["methods"]["ppr"] |= {"failed": 3, "questions": 9, "errors": {"ModelError: no reply.": 2, "DataError: no": 1}}
    assert reading(of)[-1] == "ppr failed on three questions, counted as 0, most often: ModelError: no reply."
    del of["methods"]["ppr"]["errors"]
    assert reading(of)[-1] == "ppr failed on three questions, counted as 0."


def broken(of: dict[str, Any], *names: str) -> dict[str, Any]:
    for name in names:
        of["methods"][name] |= {"failed": 9, "questions": 9, "errors": {"ModelError: no reply": 9}}
        of["methods"][name]["metrics"]["recall@5"] = {"mean": 0.0, "low": 0.0, "high": 0.0}
    return of


def test_of_a_method_that_did_nothing_but_fail_no_conclusion_is_drawn() -> None:
    said = reading(broken(run(("vector", 0.5, 0.02, 1), ("ppr", 0, 0.001, 0.001)), "ppr"))
    assert said == [
        "vector finds 50.0 % of the gold documents in its first five (95 % interval 40.0 to 60.0), in 20 ms a "
        "question.",
        "ppr failed on every one of nine questions, so that nothing is known of its quality: ModelError: no reply.",
    ]


def test_nothing_is_said_to_be_better_than_a_baseline_that_failed() -> None:
    said = reading(broken(run(("vector", 0, 0.02, 1), ("ppr", 0.5, 0.01, 0.001), ("bm25", 0.4, 0.01, 0.001)), "vector"))
    assert said[0] == "ppr finds 50.0 % of the gold documents in its first five, in 10 ms a question."
    assert not any("than vector" in one or "Beyond chance" in one for one in said)


def test_where_all_failed_that_is_all_there_is_to_say() -> None:
    names = ("vector", "ppr", "bm25", "hyde")
    said = reading(broken(run(*((name, 0, 0.02, 1) for name in names)), *names))
    assert said == [
        "All 4 methods failed on every question, so that nothing is known of their quality.",
        "vector: ModelError: no reply.",
    ]


def test_methods_that_reach_the_same_are_said_to() -> None:
    said = reading(run(("ppr", 1.0, 0.02, 1), ("vector", 1.0, 0.005, 1)))
    assert said == [
        "vector finds 100.0 % of the gold documents in its first five; ppr, the baseline, finds exactly as much, on "
        "every question. vector takes 5.0 ms a question, 25 % of the time of ppr."
    ]
    said = reading(run(("ppr", 0.5, 0.02, 1), ("vector", 0.5, 0.05, 1)))
    assert said[0] == (
        "ppr, the baseline, finds 50.0 % of the gold documents in its first five, in 20 ms a question; vector finds "
        "exactly as much."
    )
    said = reading(run(("ppr", 0.5, 0.02, 1), ("a", 0.6, 0.05, 0.2), ("b", 0.6, 0.06, 0.2)))
    assert said[1] == "b finds exactly as much."


def test_where_nothing_was_found_nothing_comes_first() -> None:
    assert reading(run(("ppr", 0, 0.02, 1), ("vector", 0, 0.005, 1))) == [
        "Nothing was found: recall@5 of each of the methods is 0.0 %."
    ]
    assert reading(run(("ppr", 0, 0.02, 1))) == ["Nothing was found: recall@5 of ppr is 0.0 %."]


def test_lead_and_tables_have_equals_in_the_same_order() -> None:
    of = run(("a", 0.8, 0.03, 1), ("b", 0.8, 0.02, 0.5), ("c", 0.8, 0.01, 0.5))
    assert ranked(of) == ["c", "b", "a"] and reading(of)[0].startswith("c finds")


def test_times_within_a_tenth_are_the_same() -> None:
    said = reading(run(("a", 0.5, 0.05, 1), ("b", 0.8, 0.0105, 0.01), ("c", 0.6, 0.01, 0.01)))
    assert said[-1] == "Equally fast, to within a tenth, are b and c."
    said = reading(run(("a", 0.5, 0.0105, 1), ("b", 0.8, 0.09, 0.01), ("c", 0.6, 0.01, 0.01)))
    assert said[-1] == "The fastest are c with 60.0 % and a with 50.0 %: equally fast to within a tenth, 10 ms."


def test_where_nothing_was_measured_nothing_is_ranked() -> None:
    of = run(("vector", 0.5, 0.01, 1))
    of["primary"] = "accuracy"
    assert reading(of) == ["No method has accuracy, so that there is nothing to rank them by."]


def test_heading_says_what_was_searched() -> None:
    graph = run(
        ("a", 0.5, 0.01, 1), ("b", 0.5, 0.01, 1), data={"name": "films", "nodes": 43234, "edges": 9, "questions": 2}
    )
    assert heading(graph) == "Two methods compared on two questions over the graph of films, 43,234 nodes and 9 edges."
    asked = {"name": "asked.jsonl", "over": "index", "documents": 0, "nodes": 20, "edges": 30, "questions": 1}
    indexed = run(("a", 0.5, 0.01, 1), data=asked)
    assert heading(indexed) == "a measured on one question of asked.jsonl over an index of 20 nodes and 30 edges."
    alone = run(("a", 0.5, 0.01, 1), data={"name": "asked", "questions": 1})
    assert heading(alone) == "a measured on one question of asked."
