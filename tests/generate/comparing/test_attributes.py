"""Facts read by rule: dates as they are written, lives, beginnings, counts, measures."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.generate.comparing.attributes import (
    Fact,
    asking,
    born,
    counted,
    country,
    dates,
    died,
    measured,
    started,
)


@given(st.dates(min_value=date(1000, 1, 1), max_value=date(2099, 12, 31)))
def test_a_date_is_read_however_it_is_written(day: date) -> None:
    month = day.strftime("%B")
    for written in (
        f"{day.day} {month} {day.year}",
        f"{month} {day.day}, {day.year}",
        f"{day.day}th of {month}, {day.year}",
    ):
        text = f"On ({written}) it rained, and later too."
        (found,) = dates(text)
        assert found.value == (day.year, day.month, day.day)
        assert text[found.start : found.end] == written
    assert [found.value for found in dates(f"in {month} {day.year}")] == [(day.year, day.month)]


def test_what_is_no_year_is_no_date() -> None:
    assert not list(dates("the 1920s, 1,850 people, 12345 votes, 3.1990, 45 miles"))


@pytest.mark.parametrize(
    ("text", "birth", "death"),
    [
        ("Ann Lee (born 6 October 1988) is a player.", (1988, 10, 6), None),
        ("Ann Lee( May 18, 1897 – September 3, 1991) was a poet.", (1897, 5, 18), (1991, 9, 3)),
        ("Ann Lee( 19 February 1913, Vienna – 13 July 1997 New York City) was it.", (1913, 2, 19), (1997, 7, 13)),
        ("Ann Lee (25 October 188910 November 1981) was a poet.", (1889, 10, 25), (1981, 11, 10)),
        ("Ann Lee( October 7, 1894 May 2, 1989) was a poet.", (1894, 10, 7), (1989, 5, 2)),
        ("Ann Lee (] ; born A. Lee; April 16 [O.S. April 4] 1896 – May 5, 1963) was it.", (1896, 4, 16), (1963, 5, 5)),
        ("Ann Lee(( born 2 November 1980) is a player.", (1980, 11, 2), None),
        ("Ann Lee (1869-1938) was a poet.", (1869,), (1938,)),
        ("Ann Lee (died 1532) was a nun.", None, (1532,)),
        ("Ann Lee was born on 3 May 1901 in Graz. She died in Linz on 4 June 1980.", (1901, 5, 3), (1980, 6, 4)),
        ("Ann Lee is a poet. A. B. Lee was born in M. Town in 1901.", (1901,), None),
        ("Ann Lee is a poet of the 1920s.", None, None),
        ("", None, None),
    ],
)  # fmt: skip
def test_a_life_is_read_from_its_beginning(text: str, birth: object, death: object) -> None:
    first, last = born(text), died(text)
    assert (first.value if first else None, last.value if last else None) == (birth, death)


@pytest.mark.parametrize(
    ("text", "begun"),
    [
        ("2012: Ice Age is a 2011 film.", (2011,)),
        ("Class is a 1983 film. It was released on July 22, 1983.", (1983, 7, 22)),
        ("Class is a 1983 film. It was released again on May 2, 1999.", (1983,)),
        ("Chic was a magazine started by L. Flynt, in 1976.", (1976,)),
        ("Guitar World is a magazine published since July 1980.", (1980, 7)),
        ("Archers are a band from Chapel Hill. They formed in 1991.", (1991,)),
        ("It is a bridge.", None),
    ],
)
def test_works_and_bodies_begin_when_they_are_said_to(text: str, begun: object) -> None:
    found = started(text)
    assert (found.value if found else None) == begun


def test_counts_and_measures() -> None:
    text = "An opera in four acts, a 76-storey tower, about 1,250 species, nine singles titles, 25 doubles titles."
    for noun, number in (
        ("acts", 4),
        ("stories", 76),
        ("species", 1250),
        ("singles titles", 9),
        ("doubles titles", 25),
    ):
        found = counted(text, noun)
        assert found is not None and found.value == number
        assert text[found.start : found.end].startswith(("four", "76", "1,250", "nine", "25"))
    assert counted("It has acts, and 4 scenes of many an act.", "acts") is None
    heights = [measured(text, "length") for text in ("It is 100 ft (30 m) high.", "It is 31 metres high.")]
    assert all(heights) and heights[0].value < heights[1].value  # type: ignore[union-attr, operator]
    assert measured("It lasts 2 hours.", "time") == Fact(120.0, 9, 16)
    assert measured("population was 1,368 as of 2016", "people") == Fact(1368.0, 0, 20)
    assert measured("It has 12 members.", "length") is None


def test_a_country_outside_brackets_goes_before_one_inside() -> None:
    assert country("Ann Lee (born in Rome, Italy) is a Swiss poet.") == Fact(frozenset({"Switzerland"}), 35, 40)
    assert country("Ann Lee (born in Rome, Italy) is a poet.") == Fact(frozenset({"Italy"}), 23, 28)
    assert country("Ann Lee was a Brazilian-born poet.") == Fact(frozenset({"Brazil"}), 14, 23)
    assert country("Ann Lee is a poet.") is None


@pytest.mark.parametrize(
    ("attribute", "answer", "value"),
    [
        ("born", "on 3 May 1901", (1901, 5, 3)),
        ("started", "in 1976", (1976,)),
        ("counted", "four", 4.0),
        ("country", "the Swiss Alps", frozenset({"Switzerland"})),
        ("region", "Ohio", "Ohio"),
        ("said", "The  Rock!", "the rock"),
        ("counted", "many", None),
        ("said", "?", None),
    ],
)
def test_a_short_answer_is_read_as_a_fact(attribute: str, answer: str, value: object) -> None:
    found = asking(attribute, "acts").answer(answer)
    assert (found.value if found else None) == value
    assert "Norma" in asking(attribute, "acts").question.format("Norma")


@given(st.text(st.sampled_from("(born 1990–March) is,. [1]4"), max_size=60))
def test_any_text_is_read_and_facts_lie_in_it(text: str) -> None:
    for find in (born, died, started, country):
        found = find(text)
        assert found is None or 0 <= found.start < found.end <= len(text)
