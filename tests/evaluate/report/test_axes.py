"""Axes: values keep their order and their place, ticks are few and round."""

from __future__ import annotations

import math

import pytest
from graphwright.evaluate.report.axes import Axis
from hypothesis import given
from hypothesis import strategies as st

VALUES = st.lists(st.floats(0, 1e6, allow_subnormal=False), min_size=1, max_size=8)


@given(VALUES, st.booleans())
def test_every_value_lies_on_the_axis_in_order(values: list[float], log: bool) -> None:
    values = [value for value in values if value == 0 or value > 1e-6] or [1.0]
    axis = Axis.over(values, 10, 110, log=log)
    at = [axis.at(value) for value in sorted(values)]
    assert all(10 - 1e-6 <= one <= 110 + 1e-6 for one in at)
    assert at == sorted(at)


@given(VALUES, st.booleans())
def test_ticks_are_few_ascending_and_on_the_axis(values: list[float], log: bool) -> None:
    values = [value for value in values if value == 0 or value > 1e-6] or [1.0]
    axis = Axis.over(values, 0, 100, log=log)
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
    assert Axis.over(values, 0, 1).ticks(9) == pytest.approx(ticks)


def test_an_axis_does_not_pass_the_ends_it_is_given() -> None:
    axis = Axis.over([0.0, 1.0], 0, 1, within=(0, 1))
    assert (axis.low, axis.high) == (0, 1)


def test_ratios_are_distances_on_a_logarithmic_axis() -> None:
    axis = Axis.over([1, 100], 0, 100, log=True)
    assert axis.at(10) - axis.at(1) == pytest.approx(axis.at(100) - axis.at(10))
    assert axis.ticks(8) == [1, 2, 5, 10, 20, 50, 100] and not math.isnan(axis.at(0))


def test_a_narrow_range_of_ratios_is_marked_by_steps() -> None:
    assert Axis.over([388, 445], 0, 100, log=True).ticks(8) == [300, 350, 400, 450, 500, 550]
