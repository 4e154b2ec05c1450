"""The paired comparison of answers from two lists of passages."""

from __future__ import annotations

from typing import Any

import pytest
from answer_passages import compared, page


def row(before: tuple[float, float], now: tuple[float, float]) -> dict[str, Any]:
    """Return a row of a question: F1 and confidence of both sides."""
    sides = {"before": before, "now": now}
    return {side: {"f1": f1, "score": score, "gold_read": 1} for side, (f1, score) in sides.items()}


@pytest.fixture
def rows() -> list[dict[str, Any]]:
    """Sixteen questions that only the second side answers rightly, with a confidence of 0.3."""
    return [row((0.5, 0.6), (1.0, 0.3)) for _ in range(16)]


def test_f1_counts_from_the_confidence(rows: list[dict[str, Any]]) -> None:
    result = compared(rows)
    always, sure = result["F1 if always answered"], result["F1 from 0.5"]
    assert (always["before"], always["now"], always["difference"]) == (50, 100, 50)
    assert (sure["before"], sure["now"], sure["difference"]) == (50, 0, -50)
    assert result["F1 from 0.2"]["now"] == 100 and result["right, %"]["before"] == 0
    assert always["interval"] == [50, 50] and always["p"] < 0.01


def test_equal_lists_differ_in_nothing() -> None:
    result = compared([row((score, score), (score, score)) for score in (0.0, 0.4, 0.9)])
    assert all(
        result[measure]["difference"] == 0 and result[measure]["p"] == 1 for measure in result if "F1" in measure
    )


def test_page_has_a_line_for_each_set_and_measure(rows: list[dict[str, Any]]) -> None:
    lines = page({"a set": compared(rows)}).splitlines()
    assert sum(line.startswith("| a set | 16 |") for line in lines) == 4
    assert any("+50.0 (+50.0 to +50.0)" in line for line in lines)
