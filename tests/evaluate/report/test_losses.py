"""What is lost on the way, and what was lost to what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.evaluate.report.small_run import row, summary, text, written

from graphwright import Keep, PersonalizedPageRank, ShortestPaths, ToPassages, VectorIndex, VectorSearch
from graphwright.evaluate.report.figures import score, signed
from graphwright.evaluate.report.losses import Stage, inputs_of_steps, losses
from graphwright.operators import LinkEntities, Repeat
from graphwright.operators.control import Reached
from graphwright.operators.fusion import ScoreSum
from graphwright.operators.operator import Operator

INDEX = VectorIndex.from_array([[1.0], [0.0]])


def shown(expression: str, held: dict[str, float | None]) -> list[tuple[str, str, str, bool]]:
    """Return of each step its name, what it holds, what it adds, and whether it is marked."""
    of: dict[str, Any] = summary([row("ppr", "q0")])
    steps = [{"operator": name, "p50": 1, "p95": 1, "mean": 1, "held": value} for name, value in held.items()]
    of["methods"]["ppr"] |= {"expression": expression, "steps": steps}
    return [(*figures(stage), stage.worst) for stage in losses(of)["ppr"]]


def figures(stage: Stage) -> tuple[str, str, str]:
    """Return the name of a stage, its share, and its change."""
    share = "–" if stage.share is None else score(stage.share, True)
    return stage.name, share, "" if stage.change is None else signed(stage.change, True)


def test_a_step_is_compared_with_the_one_before_that_holds_something() -> None:
    found = shown("A() >> B() >> C() >> D()", {"A()": 0.5, "B()": None, "C()": 0.9, "D()": 0.4})
    assert [one[:3] for one in found] == [
        ("A", "50.0", ""),
        ("B", "–", ""),
        ("C", "90.0", "+40.0"),
        ("D", "40.0", "−50.0"),
    ]
    assert [one[0] for one in found if one[3]] == ["D"]


def test_what_branches_hold_is_not_lost_from_one_to_the_other() -> None:
    expression = "A() >> (B() % 5 >> C() | Keep()) >> D()"
    found = shown(expression, {"A()": 0.8, "B() % 5": 0.95, "C()": 0.94, "Keep()": 0.8, "D()": 0.86})
    assert [one[2] for one in found] == ["", "+15.0", "−1.0", "", "−8.0"]
    assert [one[0] for one in found if one[3]] == ["D"]


def test_a_fusion_is_compared_with_the_part_that_holds_most() -> None:
    parts = {"A() % 200": 1.0, "B() % 200": 0.988}
    found = shown("S(A() % 200, B() % 200) % 20 >> C()", {**parts, "S(A() % 200, B() % 200) % 20": 0.938, "C()": 0.938})
    assert [one[2] for one in found] == ["", "", "−6.2", ""]
    assert [one[0] for one in found if one[3]] == ["S"]


def test_of_what_is_done_instead_a_step_is_compared_with_the_one_that_holds_most() -> None:
    held = {"A()": 0.5, "B()": 0.9, "D()": 0.7, "C()": 0.8}  # in the order of the first question that had each
    assert [one[2] for one in shown("OrElse(A() >> B(), C()) >> D()", held)] == ["", "+40.0", "−20.0", ""]


def test_steps_that_hold_nothing_are_looked_past_in_any_order() -> None:
    found = shown("X(A()) >> B() >> Once(B() >> C())", {"B()": None, "C()": 0.5, "A()": None})
    assert [one[2] for one in found] == ["", "", ""]


def test_what_is_lost_in_answering_is_shown_last_and_never_marked(tmp_path: Path) -> None:
    of = summary([row("ppr", "q0", recall=0.5)])
    of["metrics"][1] |= {"kind": "answer"}
    last = losses(of)["ppr"][-1]
    assert figures(last) == ("answer: ndcg@10", "25.0", "−35.0")  # 60.0 after the last step
    assert last.is_answer and not last.worst
    section = written(tmp_path, [row("ppr", "q0")], of).css_first("#losses")
    assert "but ndcg@10 of the answers" in text(section)


def test_the_answer_is_compared_with_the_end_of_the_method_whichever_step_is_seen_last() -> None:
    of = summary([row("ppr", "q0", recall=0.5)])
    of["metrics"][1] |= {"kind": "answer"}
    held = {"A()": 0.9, "D()": 0.7, "C()": 0.8}
    steps = [{"operator": name, "p50": 1, "p95": 1, "mean": 1, "held": value} for name, value in held.items()]
    of["methods"]["ppr"] |= {"expression": "OrElse(A(), C()) >> D()", "steps": steps}
    assert figures(losses(of)["ppr"][-1])[2] == "−45.0"


def test_nothing_is_marked_where_nothing_is_lost() -> None:
    assert not any(one[3] for one in shown("A() >> B()", {"A()": 0.5, "B()": 0.5}))


def test_no_part_where_it_is_not_known_what_steps_hold() -> None:
    of = summary([row("ppr", "q0")])
    for step in of["methods"]["ppr"]["steps"]:
        step["held"] = None
    assert losses(of) == {}


LINK, KEEP, SOURCES, PATHS = LinkEntities(), Keep(), ToPassages(), ShortestPaths()
WALK, SEARCH = PersonalizedPageRank() % 9, VectorSearch(INDEX) % 5


@pytest.mark.parametrize(
    ("operator", "steps", "expected"),
    [
        (LINK >> SEARCH >> SOURCES, [LINK, SEARCH, SOURCES], [(), (0,), (1,)]),
        (LINK >> (WALK | KEEP) >> SOURCES, [LINK, WALK, KEEP, SOURCES], [(), (0,), (0,), (1, 2)]),
        (
            LINK >> ScoreSum(KEEP, WALK >> PATHS) >> SOURCES,
            [LINK, KEEP, WALK, PATHS, ScoreSum(KEEP, WALK >> PATHS), SOURCES],
            [(), (0,), (0,), (2,), (1, 3), (4,)],
        ),
        ((LINK >> WALK | SEARCH) % 3 >> SOURCES, [LINK, WALK, SEARCH, SOURCES], [(), (0,), (), (1, 2)]),
        (
            LINK >> (KEEP | (WALK | SEARCH) >> PATHS),
            [LINK, KEEP, WALK, SEARCH, PATHS],
            [(), (0,), (0,), (0,), (2, 3)],
        ),
        (SEARCH >> Repeat(WALK, until=Reached(9)) >> SOURCES, [SEARCH, WALK, SOURCES], [(), (0,), (1,)]),
    ],
)
def test_the_steps_of_a_pipeline_take_what_those_before_them_give(
    operator: Operator, steps: list[Operator], expected: list[tuple[int, ...]]
) -> None:
    assert inputs_of_steps(repr(operator), [repr(step) for step in steps]) == expected


@pytest.mark.parametrize("expression", ["", "A( >> B()", "'A() | B()", "((", ")) | (", "C()"])
def test_an_expression_that_tells_nothing_leaves_steps_in_a_row(expression: str) -> None:
    assert inputs_of_steps(expression, ["A()", "B()", "D()"]) == [(), (0,), (1,)]


def test_symbols_in_quotes_and_arguments_part_nothing() -> None:
    steps = ["A('x | y >> z')", "B(C() >> D() | E())", 'F("\\"|")']
    assert inputs_of_steps(" >> ".join(steps), steps) == [(), (0,), (1,)]
