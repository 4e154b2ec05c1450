"""Notation of queries: exact round trip, and errors with their place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.operators.query.queries import queries, things

from graphwright.errors import OptionError
from graphwright.operators.query.notation import KEYWORDS, notation
from graphwright.operators.query.parse_notation import MAX_TOKENS, parse_notation
from graphwright.operators.query.query import (
    ANY,
    Aggregate,
    Compare,
    Count,
    Either,
    Extreme,
    Fields,
    Follow,
    Has,
    Named,
    OfType,
    Or,
    Query,
    Step,
    Where,
)

_NAMES = st.one_of(
    st.sampled_from((*sorted(KEYWORDS), "films", "release year", "naïve", "x-y", "a.b", "~a", "]", "[", '"', "年", "")),
    st.text(max_size=5),
)
_VALUES = st.one_of(st.sampled_from(("2000", "-3", "1.5", "2024-05-01", "1,5", "12%", "3.", "+1", "12 km")), _NAMES)
_DATES = st.sampled_from(("", "", "now", "2019", "2019-06-01", "May 2019", "1.5.2019"))
_QUERIES = queries(things(_NAMES, _NAMES, _NAMES, _VALUES, dates=_DATES), _NAMES)


@given(_QUERIES)
def test_parse_notation_any_query_gives_it_back(query: Query) -> None:
    assert parse_notation(notation(query)) == query


def _is(path: str, value: str) -> Compare:
    return Compare((Step(path),), "=", value)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ('"Heat" . directed_by . ~wrote', Follow(Follow(Named("Heat"), Step("directed_by")), Step("wrote", True))),
        ("COUNT( films WHERE has no [end date] )", Count(Where(OfType("films"), Has((Step("end date"),), True)))),
        ("sum(orders.amount)", Aggregate("sum", OfType("orders"), (Step("amount"),))),
        ("sum((orders.amount))", Aggregate("sum", Follow(OfType("orders"), Step("amount")), ())),
        ("last(3 tickets)", Extreme(OfType("tickets"), (), True, 3)),
        (
            'a where x = "1" and y = 2 union b where y = 3',
            Either(Where(Where(OfType("a"), _is("x", "1")), _is("y", "2")), Where(OfType("b"), _is("y", "3"))),
        ),
        ("films where a = 1 or b = 2", Where(OfType("films"), Or(_is("a", "1"), _is("b", "2")))),
        ("films where budget < spent", Where(OfType("films"), Fields((Step("budget"),), "<", (Step("spent"),)))),
        ('"Ida".parent+.on@2019', Follow(Follow(Named("Ida"), Step("parent", times=ANY)), Step("on", at="2019"))),
        ("largest(2nd a by count(b))", Extreme(OfType("a"), (Step("b"),), True, 2, True, True)),
        ('films where title = "say ""hi"""', Where(OfType("films"), _is("title", 'say "hi"'))),
    ],
)
def test_parse_notation_typed_text_gives_the_query(text: str, query: Query) -> None:
    assert parse_notation(text) == query


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "at its end: a set"),
        ("films where", "at its end: the name of a relation is expected"),
        ("films where year > 2000 or year < 1990 and color = 1", "at character 40, 'and': conditions with \"or\""),
        ("films where a = 1 and b = 2 or c = 3", "stand in parentheses"),
        ("films where status = 'open'", "at character 22"),
        ('"Ida".works_for@soon', "a date is expected, such as 2019, 2019-06-01 or now"),
        ('"Ida".parent{2,3}', "a step is taken once or more"),
        ("count(films", r"at its end: '\)' is expected"),
        ('films where name = "Heat', "at character 20, '\"Heat': this cannot be read; the quote is not closed"),
        ("films where [release year > 3", "the bracket is not closed"),
        ("films where name = 'Heat'", 'names and values stand in double quotes, as in "Graz"'),
        ("cuont(films)", "no function 'cuont'. Did you mean 'count'"),
        ("count(films) where year = 3", "at character 14"),
        ("largest(films)", "'by' is expected"),
        ("largest(2.5 films by year)", "a number is expected"),
        ("count(count(films))", "count gives a number"),
        ("sum(films.by)", r"in square brackets \[by\] is a name"),
        ("films where count(actors) > many", "a whole number is expected"),
        ("films; drop", "at character 6, '; drop': this cannot be read"),
        ("most_frequent(films)", "a step such as .name is expected"),
        ("a" + ".b" * MAX_TOKENS, "more than 300 words"),
    ],
)
def test_parse_notation_unreadable_text_raises_with_its_place(text: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        parse_notation(text)


@pytest.mark.parametrize("text", ["(" * (MAX_TOKENS - 1) + "a", "next(" * (MAX_TOKENS // 2)])
def test_parse_notation_deep_nesting_raises_no_recursion_error(text: str) -> None:
    with pytest.raises(OptionError, match="at its end"):
        parse_notation(text)
