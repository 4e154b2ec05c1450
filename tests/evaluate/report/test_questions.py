"""What the page's script gets of the results: which questions, how much of each."""

from __future__ import annotations

import json
from typing import Any

from tests.evaluate.report.small_run import METRICS, questions, row, rows, summary

from graphwright.evaluate.report.questions import question_data


def taken(held: list[dict[str, Any]], room: int = 1 << 20, **more: Any) -> dict[str, Any]:
    found = question_data(summary(held), [{**one, **more} for one in held], questions(50), room)
    data: dict[str, Any] = json.loads(found.json)
    assert (found.listed, found.detailed) == (len(data["questions"]), len(data["rows"]))
    return data


def test_every_result_is_there_with_its_metrics_ranks_and_steps() -> None:
    held = rows()
    found = taken(held)
    assert found["metrics"] == list(METRICS)
    for one in held:
        at, method = int(one["question"][1:]), found["methods"].index(one["method"])
        shown = found["rows"][str(at)][method]
        assert shown["m"] == [one["metrics"][name] for name in METRICS]
        assert shown["r"] == [2, 1]  # of the gold documents, in the order of the gold
        assert shown["d"] == [["d 1", 0.75], [f"d{at}", 0.5], ["d9", 0.25]]
        assert [found["operators"][step[0]] for step in shown["s"]] == [s["operator"] for s in one["steps"]]
        assert [step[2] for step in shown["s"]] == [None, 0.9, 0.6]
        assert shown["a"]["c"] == [["d 1", 2, 9, "River 1", "a → r → b"]]


def test_what_a_judge_said_of_an_answer_stands_with_it() -> None:
    for judged, shown in (
        ((1.0, "It is accepted."), [1, "It is accepted."]),
        ((0.5, "x" * 999), [0.5, "x" * 239 + "…"]),
    ):
        assert taken(rows()[:1], judged=judged)["rows"]["0"][0]["a"]["j"] == shown
    assert taken(rows()[:1])["rows"]["0"][0]["a"]["j"] is None


def test_gold_that_was_not_found_has_no_rank() -> None:
    found = taken([row("ppr", "q1", documents=[["d9", 1.0], ["d1", 0.5]])])
    assert found["rows"]["0"][0]["r"] == [2, 0]


def test_where_room_is_short_those_that_methods_differ_on_most_can_be_opened() -> None:
    held = [row("a", f"q{at}", recall=0.5) for at in range(10)]
    held += [row("b", f"q{at}", recall=1.0 if at == 7 else 0.6 if at == 3 else 0.5) for at in range(10)]
    one = taken(held)
    size = max(len(json.dumps(of)) for of in one["rows"].values())
    found = taken(held, room=3 * size)
    assert list(found["rows"])[:2] == ["7", "3"] and len(found["rows"]) < 5
    assert len(found["questions"]) == 10 and all(None not in question["v"] for question in found["questions"])


def test_failed_questions_come_before_all_others() -> None:
    held = [row("a", f"q{at}", recall=float(at == 2)) for at in range(4)]
    held += [row("b", f"q{at}", recall=0.0) for at in range(4)]
    held[5]["error"] = "ModelError: no reply"
    assert next(iter(taken(held)["rows"])) == "1"


def test_long_texts_and_lists_are_cut_and_counted() -> None:
    many = [[f"d{at}", 1 / (at + 1)] for at in range(100)]
    evidence = [{"text": "word " * 500, "score": 0.5}] * 10
    found = taken([row("ppr", "q0", documents=many, evidence=evidence)])["rows"]["0"][0]
    assert len(found["d"]) == 10 and found["n"] == [100, 10]
    assert len(found["p"]) == 5 and len(found["p"][0][0]) == 240 and found["p"][0][0].endswith("…")


def test_scores_that_are_no_numbers_are_left_out() -> None:
    documents = [["a", float("inf")], ["b", float("nan")]]
    assert taken([row("ppr", "q0", documents=documents)])["rows"]["0"][0]["d"] == [["a", None], ["b", None]]


def test_methods_that_differ_in_which_questions_they_were_asked_are_shown() -> None:
    found = taken([row("a", "q0"), row("a", "q1"), row("b", "q1")])
    order = found["methods"]
    assert found["rows"]["0"][order.index("b")] is None and found["rows"]["0"][order.index("a")] is not None
