"""Values inside running text, and differences of two values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.text.value_search import difference, values_in


def found(text: str) -> list[tuple[str, str]]:
    return [(text[value.start : value.end], value.value.unit) for value in values_in(text)]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("It weighs 1.9 kg and its battery holds 4.0 Ah.", [("1.9 kg", "kg"), ("4.0 Ah", "Ah")]),
        ("Kurt Land (19 February 1913 – 6 July 1997)", [("19 February 1913", ""), ("6 July 1997", "")]),
        ("born June 9, 1956, in Graz", [("June 9, 1956", "")]),
        ("Costs EUR 300 or $1.2 million; 15% off", [("EUR 300", "EUR"), ("$1.2 million", "USD"), ("15%", "%")]),
        ("a 3-day trip", []),
        ("nothing at all", []),
    ],
)
def test_values_in_text_gives_values_with_units(text: str, values: list[tuple[str, str]]) -> None:
    assert found(text) == values


def test_values_in_count_that_may_be_a_year_gives_both() -> None:
    kinds = [value.value.kind for value in values_in("with 1200 seats")]
    assert kinds == ["number", "date"]


@given(st.text(max_size=80))
def test_values_in_any_text_gives_values_in_order_within_it(text: str) -> None:
    starts = [value.start for value in values_in(text)]
    assert starts == sorted(starts) and all(0 <= value.start < value.end <= len(text) for value in values_in(text))


@pytest.mark.parametrize(
    ("text", "apart"),
    [
        ("2 km, 500 m", 1.5),
        ("3 EUR, 2 USD", None),
        ("3 seats, 1 seat", 2.0),
        ("3 seats, 2 kg", None),
        ("2004, 2001", 3.0),
        ("4 May 2012, 2012", None),
        ("2012, 2012", 0.0),
        ("12 May 2012, 12 kg", None),
    ],
)
def test_difference_of_two_values_is_none_where_they_do_not_compare(text: str, apart: float | None) -> None:
    a, b = (value.value for value in values_in(text))
    assert difference(a, b) == (None if apart is None else pytest.approx(apart))
