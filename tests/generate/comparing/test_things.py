"""Passages found by the name of what they are about."""

from __future__ import annotations

import pytest

from graphwright.generate.comparing.attributes import Fact
from graphwright.generate.comparing.things import Told, leading_name, names_within, passages_of, spans_of

PASSAGES = [
    "The Base (film)\nThe Base is a film. It is long.",
    "The Base (novel)\nThe Base is a novel.",
    "Émile Chautard\nÉmile Chautard was a director.",
    "\nAnn B. Lee (born 1990) is a poet.",
    "War and Peace\nWar and Peace is a novel.",
]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("The Base (Film)", [0]),
        ("the base", [0, 1]),
        ("Base (album)", [0, 1]),
        ("Emile Chautard", [2]),
        ("Ann B. Lee", [3]),
        ("Lee", []),
        ("War", []),
        ("", []),
        ("?", []),
    ],
)
def test_a_title_is_a_name_but_for_case_accents_articles_and_brackets(name: str, found: list[int]) -> None:
    assert passages_of(name, PASSAGES) == found


def test_names_are_cut_where_titles_are() -> None:
    assert leading_name("War and Peace and War", PASSAGES) == ("War and Peace", [4])
    assert leading_name("Peace", PASSAGES) is None
    assert names_within("are War and Peace and the Base novels", PASSAGES) == (
        ("War and Peace", [4]),
        ("Base", [0, 1]),
        " novels",
    )
    assert names_within("are War and Peace novels", PASSAGES) is None
    assert names_within("and " * 300, PASSAGES) is None


def test_spans_are_the_sentences_of_facts_and_the_first_answers() -> None:
    told = [Told(Fact("x", 43, 45), 0, 0.5), Told(Fact("y", 17, 20), 1, 0.9)]
    spans = spans_of("yes", told, PASSAGES)
    assert [PASSAGES[s.passage][s.start : s.end] for s in spans] == ["It is long.", "The Base is a novel."]
    assert [(s.text, s.score) for s in spans] == [("yes", 0.5), ("", 0.5)]
