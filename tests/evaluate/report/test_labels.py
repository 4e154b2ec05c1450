"""Names beside marks: none hides another unless it must be there."""

from __future__ import annotations

import itertools

from graphwright.evaluate.report.labels import Box, Label, place, shortened, width
from hypothesis import given
from hypothesis import strategies as st

ROOM = Box(0, 0, 400, 300)


def box(label: Label, name: str) -> Box:
    return Box(label.x, label.y - 10, label.x + width(name), label.y + 3)


@given(st.lists(st.tuples(st.floats(20, 380), st.floats(20, 280)), min_size=1, max_size=40))
def test_names_that_need_not_be_there_hide_no_name_and_no_mark(marks: list[tuple[float, float]]) -> None:
    names = [f"method-{at}" for at in range(len(marks))]
    found = place(marks, names, range(len(marks)), 0, ROOM)
    boxes = {at: box(label, names[at]) for at, label in found.items()}
    for one, other in itertools.combinations(boxes.values(), 2):
        assert one.overlap(other) < 1
    for at, one in boxes.items():
        assert all(one.overlap(Box(x - 5, y - 5, x + 5, y + 5)) < 1 for x, y in marks), at


def test_names_that_are_needed_are_there_however_crowded() -> None:
    marks = [(200.0, 150.0)] * 30
    found = place(marks, ["a-long-name"] * 30, range(30), 5, ROOM)
    assert set(range(5)) <= set(found)


def test_a_name_at_the_right_border_stands_on_the_other_side() -> None:
    (label,) = place([(395.0, 150.0)], ["a-long-name"], [0], 1, ROOM).values()
    assert label.x + width("a-long-name") < 395


def test_long_names_keep_their_ends() -> None:
    name = "ppr(restart=0.5, pool=100, top_k=20)"
    assert len(shortened(name)) == 26 and shortened(name).startswith("ppr(restart") and shortened(name).endswith("=20)")
    assert shortened("bm25") == "bm25"
