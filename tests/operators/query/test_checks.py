"""Checks of queries: unknown relations, types and names."""

import pytest

from graphwright.errors import OptionError
from graphwright.operators.query.checks import check
from graphwright.operators.query.parse_notation import parse_notation
from graphwright.search.facts import Facts

FACTS = Facts.of_rows(
    [
        {"name": "Ida Berger", "Start Date": "2024-05-01", "city": "Graz", "salary": "5"},
        {"name": "Udo", "city": "Linz"},
    ],
    "employees",
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("employees.salery", "There is no relation 'salery'. Did you mean 'salary'?"),
        ("largest(employees by [start date])", "There is no relation 'start date'. Did you mean [Start Date]?"),
        ("count(employee)", "There is no type 'employee'. Did you mean 'employees'?"),
        ('"Ida Bergr".~name', "Nothing is named 'Ida Bergr'. Did you mean 'Ida Berger'?"),
        ("employees where count(children) > 2", "There is no relation 'children'."),
        ("employees where city = graz", "There is no relation 'graz'. A text stands in double quotes."),
        ("employees where city = (towns)", "There is no type 'towns'."),
    ],
)
def test_check_unknown_name_raises_with_near_ones(text: str, message: str) -> None:
    with pytest.raises(OptionError) as error:
        check(parse_notation(text), FACTS)
    assert str(error.value).startswith(message)


def test_check_unknown_value_gives_a_note() -> None:
    (note,) = check(parse_notation('employees where city = "Gratz"'), FACTS)
    assert note == "No value of city is 'Gratz'. Did you mean 'Graz'?"


def test_check_known_names_gives_no_notes() -> None:
    assert check(parse_notation('employees where city = "graz" and [Start Date] > 2020 and salary != 3'), FACTS) == ()


def test_check_text_that_has_no_order_gives_a_note() -> None:
    assert check(parse_notation('employees where salary > "much"'), FACTS) == (
        "'much' is no number or date, so nothing is more or less than it.",
    )
    assert check(parse_notation('employees where [Start Date] > "May 2024"'), FACTS) == ()
