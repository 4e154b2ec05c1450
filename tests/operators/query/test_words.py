"""Queries in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.operators.query.queries import queries, things

from graphwright.operators.query.parse_notation import parse_notation
from graphwright.operators.query.query import Query
from graphwright.operators.query.words import words

_NAMES = st.text(min_size=1, max_size=4)


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ('"Heat".directed_by.born_in', "the born in of the directed by of Heat"),
        ('"Tom Hanks".~starred_actors', "those whose starred actors is Tom Hanks"),
        ('films where director.birthPlace = "Graz"', "films whose birth place of director is Graz"),
        ("races where boat.~name.length > 9", "races whose length of those whose name is their boat is more than 9"),
        ("count(tickets where has no owner)", "the number of tickets that have no value of owner"),
        ("tickets where count(tag) >= 2", "tickets whose number of tag is at least 2"),
        ("sum((orders where paid = \"no\").amount)", "the sum of the amount of (orders whose paid is no)"),
        ("mean(everything)", "the mean of all things"),
        ("last(2 mails)", "the last 2 of mails"),
        ("smallest(rivers by length)", "the one with the smallest length of rivers"),
        ("most_frequent(films.director)", "the most frequent director of films"),
        ('previous("a")', "the record before a"),
        ("exists(a where x < 3)", "whether there is any of a whose x is less than 3"),
        ("none(a where x < 3)", "whether there is none of a whose x is less than 3"),
        ('a where [due date] >= "2024-02" and x < "2024-03-01"',
         "a whose due date is not before 2024-02 and whose x is before 2024-03-01"),
        ('largest(peaks by [Height (m)])', "the one with the largest Height (m) of peaks"),
        ("(a union b) except c", "(a or b) except c"),
        ('difference("a".x, count(b))', "the difference between the x of a and the number of b"),
        ('films where director = (films.writer)', "films whose director is one of the writer of films"),
    ],
)  # fmt: skip
def test_words_query_gives_a_phrase(text: str, phrase: str) -> None:
    assert words(parse_notation(text)) == phrase


@given(queries(things(_NAMES, _NAMES, _NAMES, _NAMES), _NAMES))
def test_words_any_query_gives_a_phrase(query: Query) -> None:
    assert words(query)
