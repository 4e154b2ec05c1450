"""Filters of documents: values, and ranges of numbers and dates."""

from __future__ import annotations

import pytest

from graphwright.errors import OptionError
from graphwright.index.filter import Filter, Range


@pytest.mark.parametrize(
    ("bounds", "inside", "outside"),
    [
        ({"at_least": "9.5"}, ["9.5", "10", "1e3"], ["9.4", "-10", "cheap", ""]),
        ({"more_than": "9"}, ["9.01"], ["9", "8"]),
        ({"at_most": "100"}, ["100", "99", "-5"], ["100.5", "2024-01-01"]),
        ({"less_than": "100"}, ["99.9"], ["100"]),
        ({"at_least": "2024"}, ["2024", "2025", "2024-01-01", "3 May 2024"], ["2023", "2023-12-31"]),
        ({"at_most": "2024"}, ["2024-12-31", "2024-12-31T23:59:59+02:00", "2023"], ["2025-01-01"]),
        ({"more_than": "2024"}, ["2025-01-01", "2025"], ["2024-12-31", "2024"]),
        ({"less_than": "2024"}, ["2023-12-31"], ["2024-01-01"]),
        ({"at_least": "2024-03", "less_than": "2024-06"}, ["2024-03-01", "2024-05-31"], ["2024-02-29", "2024-06-01"]),
        ({"at_most": "2024-03"}, ["2024-03-31"], ["2024-04-01"]),
        ({"at_most": "2024-03-05", "at_least": "2024-03-05"}, ["2024-03-05", "2024-03-05T10:00"], ["2024-03-06"]),
    ],
)
def test_a_range_has_the_values_within_its_bounds(
    bounds: dict[str, str], inside: list[str], outside: list[str]
) -> None:
    condition = Filter(metadata={"x": bounds})
    assert [value for value in inside + outside if condition.passes("a", {"x": value})] == inside
    assert not condition.passes("a", {})


def test_numbers_are_equal_however_they_are_written() -> None:
    assert Filter(metadata={"price": 10}).passes("a", {"price": "10.0"})
    assert not Filter(metadata={"price": 10}).passes("a", {"price": "10 EUR"})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, "no bound"),
        ({"at_lest": 3}, "no 'at_lest'. Did you mean 'at_least'"),
        ({"at_least": "soon"}, "'soon' bounds nothing; give a number such as 9.5, or a date"),
    ],
)
def test_a_wrong_range_is_refused(value: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        Range.of(value)


@pytest.mark.parametrize(
    ("metadata", "hint"),
    [
        ({"citty": "Graz"}, "Did you mean 'City'?"),
        ({"year": "1900", "City": "graz"}, "Did you mean 'Graz'?"),
        ({"City": "Graz", "year": Range(more_than="1950")}, "metadata has the names City, year."),
        ({"height": "3"}, "metadata has the names City, year."),
    ],
)
def test_where_nothing_passes_what_may_have_been_meant_is_named(metadata: dict[str, str | Range], hint: str) -> None:
    known = [{"City": "Graz", "year": "1900"}, {"City": "Vienna"}]
    assert hint in Filter(metadata=metadata).hint(known)


def test_a_filter_says_what_it_passes() -> None:
    filter = Filter(metadata={"year": Range(at_least="2020", less_than="2024"), "kind": "memo"})
    assert str(filter) == "with kind=memo with year at least 2020 and less than 2024"
    assert hash(filter) == hash(
        Filter.of({"metadata": {"kind": "memo", "year": {"at_least": 2020, "less_than": 2024}}})
    )
