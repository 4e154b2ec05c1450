"""Mentions and literals of questions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright import Graph
from graphwright.operators.query.graphs.matching import Words, literals_of, mentions_of
from graphwright.search.facts import Facts

FACTS = Facts(
    Graph.from_triples(
        [
            ("The Iron Harbour", "designed by", "Mira Solberg"),
            ("Iron", "symbol", "Fe"),
            ("Mira Solberg", "born", "1952-03-04"),
        ]
    ).columns
)


def names(question: str) -> list[str]:
    return [mention.name for mention in mentions_of(Words.of(question), FACTS)]


def test_mentions_of_nested_names_keep_the_longest():
    assert names("Who designed The Iron Harbour?") == ["The Iron Harbour"]


def test_mentions_of_lower_case_names_are_found():
    assert names("who designed the iron harbour") == ["The Iron Harbour"]


def test_mentions_of_a_misspelt_name_have_less_certainty():
    (mention,) = mentions_of(Words.of("When was Mira Solbreg born?"), FACTS)
    assert mention.name == "Mira Solberg" and 0.8 < mention.certainty < 1


def test_mentions_of_a_question_without_names_are_none():
    assert names("Who is it?") == []


def test_without_mentions_replaces_each():
    words = Words.of("Did Mira Solberg design The Iron Harbour?")
    assert words.without(mentions_of(words, FACTS)) == "Did it design it?"


def test_literals_of_dates_are_not_split():
    literals = literals_of(Words.of("which were built after 12 May 1990 and cost over 300"))
    assert [literal.text for literal in literals] == ["12 May 1990", "300"]


def test_literals_of_numbers_have_a_unit_only_if_it_is_known():
    literals = literals_of(Words.of("between 2 and 3 km long, released after 2000 by him, with 100,000 downloads"))
    assert [literal.text for literal in literals] == ["2", "3 km", "2000", "100,000"]


@given(st.text(max_size=60))
def test_mentions_of_any_text_lie_within_its_words(question):
    words = Words.of(question)
    for mention in mentions_of(words, FACTS):
        assert 0 <= mention.first <= mention.last < len(words)
        assert len(mention.things) and 0 < mention.certainty <= 1


def test_mentions_of_a_part_of_a_name_have_the_share_of_its_letters():
    (mention,) = mentions_of(Words.of("when was the harbour opened"), FACTS)
    assert mention.name == "The Iron Harbour"
    assert mention.certainty == 0.5


def test_mentions_of_a_word_that_many_names_have_are_none():
    lines = [(f"{name} Line", "opened", "1990") for name in ("Heath", "Coast", "Moor", "Lake")]
    facts = Facts(Graph.from_triples(lines).columns)
    assert [m.name for m in mentions_of(Words.of("when did the heath line open"), facts)] == ["Heath Line"]
    assert mentions_of(Words.of("which line is the oldest"), facts) == []


@pytest.mark.parametrize("question", ["how long do otters live", "how long does an oter live"])
def test_mentions_of_a_part_spelled_otherwise_are_found_by_likeness(question):
    facts = Facts.of(Graph.from_triples([("European otter", "lifespan", "14"), ("Red kite", "lifespan", "25")]))
    (mention,) = mentions_of(Words.of(question), facts)
    assert mention.name == "European otter" and 0 < mention.certainty < 0.5


def test_without_mentions_names_each_as_told():
    words = Words.of("Did Mira Solberg design The Iron Harbour?")
    assert words.without(mentions_of(words, FACTS), {1: "x", 4: "y"}) == "Did x design y?"


@pytest.mark.parametrize("asked", ["1240500", "1,240,500", "1.240.500", "1.2405 million"])
@pytest.mark.parametrize("written", ["1,240,500", "1240500"])
def test_mentions_of_a_number_written_otherwise_are_the_same_things(asked: str, written: str) -> None:
    facts = Facts.of(Graph.from_triples([("Port Vale", "population", written), ("Lund", "population", "980")]))
    found = mentions_of(Words.of(f"Which city has a population of {asked}?"), facts)
    assert written in [mention.name for mention in found]
