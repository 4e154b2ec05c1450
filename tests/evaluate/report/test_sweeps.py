"""Varied options as curves."""

from __future__ import annotations

import re
from typing import Any

import pytest
from graphwright.evaluate.report.sweeps import sweeps
from tests.evaluate.report.small_run import row, summary


def run(options: list[dict[str, Any]], option: str) -> dict[str, Any]:
    held = [row(f"m{at}", "q0", recall=at / 10) for at in range(len(options))]
    of = summary(held)
    for at, given in enumerate(options):
        of["methods"][f"m{at}"]["options"] = given
    points = [{"value": given[option], "name": f"m{at}"} for at, given in enumerate(options)]
    of["sweeps"] = [{"method": "ppr", "option": option, "points": points}]
    return of


def tips(of: dict[str, Any], metric: str = "recall@5") -> list[str]:
    part = sweeps(of)
    assert part is not None
    return [tip for tip in re.findall(r"<title>(.*?)</title>", part, re.DOTALL) if metric in tip]


def test_every_point_says_its_value_and_its_figure() -> None:
    of = run([{"restart": value} for value in (0.15, 0.5, 0.9)], "restart")
    assert tips(of) == [
        "ppr, restart = 0.15\nrecall@5 0.0 %",
        "ppr, restart = 0.5\nrecall@5 10.0 %",
        "ppr, restart = 0.9\nrecall@5 20.0 %",
    ]


def test_methods_that_differ_in_more_than_the_option_are_curves_of_their_own() -> None:
    of = run([{"k": k, "mode": mode} for mode in ("a", "b") for k in (1, 2)], "k")
    part = sweeps(of)
    assert part is not None and part.count('class="curve c0"') == part.count('class="curve c1"') == 3 + 1
    assert "ppr<wbr/>(mode=a)" in part and tips(of)[-1] == "ppr(mode=b), k = 2\nrecall@5 30.0 %"


@pytest.mark.parametrize("values", [["slow", "fast"], [True, False], [None, 5]])
def test_values_that_are_no_numbers_are_places(values: list[Any]) -> None:
    part = sweeps(run([{"mode": value} for value in values], "mode"))
    assert part is not None and all(f">{value}</text>" in part for value in values)


def test_no_varied_option_gives_no_part() -> None:
    assert sweeps(summary([row("ppr", "q0")])) is None
    assert sweeps(run([{"k": 1}], "k")) is None  # one point is no curve
