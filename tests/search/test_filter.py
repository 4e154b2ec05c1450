"""Filters of documents: values, and ranges of numbers and dates."""

from __future__ import annotations

import pytest

from graphwright.errors import OptionError
from graphwright.search.filter import Filter, Range


def _passes(condition: Filter, value: str) -> bool:
    return bool(condition.passing({"a": {"x": value}}))


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
def test_range_includes_values_within_bounds(bounds: dict[str, str], inside: list[str], outside: list[str]) -> None:
    condition = Filter(metadata={"x": bounds})
    assert [value for value in inside + outside if _passes(condition, value)] == inside
    assert not condition.passing({"a": {}})


def test_numbers_match_in_any_notation() -> None:
    assert _passes(Filter(metadata={"x": 10}), "10.0")
    assert not _passes(Filter(metadata={"x": 10}), "10 EUR")


@pytest.mark.parametrize(
    ("rows", "bounds", "expected"),
    [
        (["1.249,50", "89,90", "2.480", "a"], {"at_least": "1000"}, ["1.249,50", "2.480"]),
        (["1,249.50", "2,480", "89.90"], {"more_than": "1000"}, ["1,249.50", "2,480"]),
        (["CHF 12'400.00", "CHF 950.00"], {"less_than": "1000"}, ["CHF 950.00"]),
        (["(1,200)", "300", "-5"], {"less_than": "0"}, ["(1,200)", "-5"]),
        (["31.12.2024", "04.03.2025", "17.07.2025"], {"at_least": "2025-04"}, ["17.07.2025"]),
        (["03/25/2024", "04/05/2024"], {"at_least": "2024-04-04", "at_most": "2024-04-06"}, ["04/05/2024"]),
        (["3 km", "400 m"], {"at_least": "1 km"}, ["3 km"]),
    ],
)
def test_range_reads_values_as_their_column_writes_them(
    rows: list[str], bounds: dict[str, str], expected: list[str]
) -> None:
    documents = {f"a.csv#{number}": {"x": row} for number, row in enumerate(rows)}
    passing = Filter(metadata={"x": bounds}).passing(documents)
    assert [documents[id]["x"] for id in passing] == expected


def test_filter_reads_each_file_by_its_own_format() -> None:
    documents = {"a.csv#1": {"x": "1.250"}, "a.csv#2": {"x": "3,5"}, "b.csv#1": {"x": "1.250"}, "b.csv#2": {"x": "2.5"}}
    assert Filter(metadata={"x": {"at_least": "1000"}}).passing(documents) == ["a.csv#1"]


@pytest.mark.parametrize(
    ("wanted", "inside", "outside"),
    [
        ("2024", ["2024", "2024-02-29", "3 May 2024", "2024-12-31T23:59:59"], ["2023-12-31", "2025-01-01", "2025"]),
        ("2024-02", ["2024-02-01", "2024-02-29T18:00", "29 February 2024", "2024-02"], ["2024-03-01", "2024", "2.2"]),
        ("2024-02-01", ["2024-02-01", "2024-02-01T18:00"], ["2024-02-02", "2024-02"]),
        ("1200", ["1200", "1200.0", "1200-05"], ["1201", "1200 km"]),
        ("3 km", ["3 km"], ["3", "3.0 km"]),
    ],
)
def test_date_matches_its_year_and_month(wanted: str, inside: list[str], outside: list[str]) -> None:
    condition = Filter(metadata={"x": wanted})
    assert [value for value in inside + outside if _passes(condition, value)] == inside


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, "no bound"),
        ({"at_lest": 3}, "no 'at_lest'. Did you mean 'at_least'"),
        ({"at_least": "soon"}, "'soon' bounds nothing; give a number such as 9.5, or a date"),
    ],
)
def test_invalid_range_raises(value: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        Range.of(value)


_KNOWN = {
    "people/petra-novak.txt": {"City": "Graz", "year": "1900"},
    "people/otto.txt": {"City": "Vienna"},
    "mail/1": {"from": "otto@example.org"},
}
_ALL = "metadata has the names City, from, year."


@pytest.mark.parametrize(
    ("filter", "hint"),
    [
        (Filter(metadata={"citty": "Graz"}), "Did you mean 'City'?"),
        (Filter(metadata={"year": "1900", "City": "graz"}), "Did you mean 'Graz'?"),
        (Filter(metadata={"City": "Graz", "year": Range(more_than="1950")}), _ALL),
        (Filter(metadata={"height": "3"}), _ALL),
        (Filter(folder="peple"), "Did you mean 'people'?"),
        (Filter(documents=["people/petra_novak.txt"]), "Did you mean 'people/petra-novak.txt'?"),
        # What is suggested lies inside the rest of the filter.
        (Filter(folder="people", metadata={"fromm": "x"}), "metadata has the names City, year."),
        (Filter(folder="people", metadata={"City": "Viena"}), "Did you mean 'Vienna'?"),
        (Filter(documents=["mail/1"], folder="peple"), "Ids are paths"),
        (Filter(documents=["mail/1"], metadata={"City": "Viena"}), "metadata has the names from."),
        (Filter(documents=[], metadata={"City": "Viena"}), "rows' own ids."),
    ],
)
def test_filter_without_match_suggests_fields(filter: Filter, hint: str) -> None:
    assert hint in filter.hint(_KNOWN)


def test_filter_repr_lists_conditions() -> None:
    filter = Filter(metadata={"year": Range(at_least="2020", less_than="2024"), "kind": "memo"})
    assert str(filter) == "with kind=memo with year at least 2020 and less than 2024"
    assert hash(filter) == hash(
        Filter.of({"metadata": {"kind": "memo", "year": {"at_least": 2020, "less_than": 2024}}})
    )
