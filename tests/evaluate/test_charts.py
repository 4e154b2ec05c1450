"""Charts: axes, marks, Pareto front, curves and labels."""

from __future__ import annotations

import itertools
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.evaluate.charts import (
    Axis,
    Chart,
    Mark,
    Scale,
    curves,
    pareto_front,
    scatter,
)
from graphwright.evaluate.report import environment

SVG = "{http://www.w3.org/2000/svg}"
COST, QUALITY = Scale("ms", "{:g}".format, log=True), Scale("recall", "{:g}".format, limits=(0, 1))
PLAIN = Scale("x", str)


def mark(name: str, x: float, y: float) -> Mark:
    return Mark(name, x, y, max(y - 0.1, 0), min(y + 0.1, 1), f"{name} here")


def drawn(chart: Chart) -> ElementTree.Element:
    """Return a chart as it is drawn."""
    template: Any = environment().get_template("chart.svg.j2").module
    return ElementTree.fromstring(template.draw(chart))


def spots(chart: Chart) -> dict[str, tuple[float, float]]:
    """Return where the marks of a chart lie, by their tips."""
    result = {}
    for group in drawn(chart).iter(f"{SVG}g"):
        shape, title = group.find(f"{SVG}circle"), group.find(f"{SVG}title")
        if shape is not None and title is not None:
            result[title.text or ""] = (float(shape.attrib["cx"]), float(shape.attrib["cy"]))
    return result


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12))
def test_front_holds_undominated_points(points: list[tuple[int, int]]) -> None:
    marks = [mark(str(at), x, y) for at, (x, y) in enumerate(points)]
    unbeaten = {
        at for at, (x, y) in enumerate(points) if not any((u <= x and v > y) or (u < x and v >= y) for u, v in points)
    }
    assert set(pareto_front(marks)) == unbeaten
    costs = [points[at][0] for at in pareto_front(marks)]
    assert costs == sorted(costs)


def test_chart_points_lie_by_cost_and_quality() -> None:
    chart = scatter([mark("a", 1, 0.2), mark("b", 10, 0.4), mark("c", 100, 0.8)], COST, QUALITY)
    a, b, c = (spots(chart)[f"{name} here"] for name in "abc")
    assert b[0] - a[0] == pytest.approx(c[0] - b[0], abs=0.05)  # ratios
    assert a[1] - b[1] == pytest.approx((b[1] - c[1]) / 2, abs=0.05)  # upwards


def test_zero_cost_has_place_on_ratio_scale() -> None:
    chart = scatter([mark("a", 0, 0.2), mark("b", 1, 0.4), mark("c", 1000, 0.8)], COST, QUALITY)
    result = spots(chart)
    assert result["a here"][0] < result["b here"][0] < result["c here"][0]
    assert "0" in [item.text for item in drawn(chart).iter(f"{SVG}text")]


def test_front_and_baseline_are_named() -> None:
    marks = [mark(f"method-{at}", 1 + at % 5, 0.5 + at / 1000) for at in range(40)]
    chart = scatter(marks, COST, QUALITY, baseline="method-7")
    names = {item.text for item in drawn(chart).iter(f"{SVG}text")}
    assert {marks[at].name for at in pareto_front(marks)} | {"method-7"} <= names
    kinds = [item.get("class") for item in drawn(chart).iter(f"{SVG}g")]
    assert kinds.count("mark baseline") == 1 and kinds.count("mark front") == len(pareto_front(marks))


def test_marks_and_names_stay_in_chart() -> None:
    marks = [mark("a-rather-long-name-of-a-method", x, y) for x, y in itertools.product((1, 1000), (0.0, 1.0))]
    for item in drawn(scatter(marks, COST, QUALITY)).iter(f"{SVG}circle"):
        assert 0 <= float(item.attrib["cx"]) <= 480 and 0 <= float(item.attrib["cy"]) <= 340


def test_single_and_equal_points_are_drawn() -> None:
    assert len(spots(scatter([mark("a", 5, 0.5)], COST, QUALITY))) == 1
    alike = [Mark(name, 5, 0.5, 0.5, 0.5, name) for name in "abc"]
    assert len(spots(scatter(alike, Scale("MB", "{:g}".format), QUALITY))) == 3


def test_curves_have_band_and_shape() -> None:
    lines = [[mark(f"{name}{x}", x, 0.1 * x + 0.1 * at) for x in (1, 2, 3)] for at, name in enumerate("abc")]
    root = drawn(curves(lines, "k", ["1", "2", "3", "4"], QUALITY))
    groups = [item for item in root.iter(f"{SVG}g") if (item.get("class") or "").startswith("curve")]
    assert [item.get("class") for item in groups] == ["curve c0", "curve c1", "curve c2"]
    assert all(item.find(f"{SVG}polygon") is not None for item in groups)
    shapes = [
        next(child.tag for child in item.iter() if child.tag in {f"{SVG}circle", f"{SVG}rect", f"{SVG}path"})
        for item in groups
    ]
    assert len(set(shapes)) == 3


def test_non_numeric_values_are_placed_side_by_side() -> None:
    line = [mark("slow", 0, 0.5), mark("fast", 1, 0.7)]
    chart = curves([line], "mode", ["slow", "fast"], QUALITY)
    names = [item.text for item in drawn(chart).iter(f"{SVG}text")]
    assert "slow" in names and "fast" in names


VALUES = st.lists(st.floats(0, 1e6, allow_subnormal=False), min_size=1, max_size=8)


@given(VALUES, st.booleans())
def test_values_lie_on_axis_in_order(values: list[float], log: bool) -> None:
    values = [value for value in values if value == 0 or value > 1e-6] or [1.0]
    axis = Axis.over(values, 10, 110, Scale("x", str, log))
    at = [axis.at(value) for value in sorted(values)]
    assert all(10 - 1e-6 <= item <= 110 + 1e-6 for item in at)
    assert at == sorted(at)


@given(VALUES, st.booleans())
def test_ticks_are_few_and_ascending(values: list[float], log: bool) -> None:
    values = [value for value in values if value == 0 or value > 1e-6] or [1.0]
    axis = Axis.over(values, 0, 100, Scale("x", str, log))
    ticks = axis.ticks(6)
    assert len(ticks) <= 7 and ticks == sorted(ticks)
    assert all(-1e-6 <= axis.at(tick) <= 100 + 1e-6 for tick in ticks)


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ((0.0, 1.0), [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        ((61.8, 78.2), [65, 70, 75]),
        ((5, 5), [4.8, 4.9, 5.0, 5.1, 5.2]),
    ],
)
def test_ticks_are_round(values: tuple[float, float], ticks: list[float]) -> None:
    assert Axis.over(values, 0, 1, PLAIN).ticks(9) == pytest.approx(ticks)


def test_narrow_ratio_range_has_steps() -> None:
    assert Axis.over([388, 445], 0, 100, COST).ticks(8) == [300, 350, 400, 450, 500, 550]
