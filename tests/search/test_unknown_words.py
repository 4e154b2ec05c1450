"""Near words and phrases with given initials, with their features."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.search.bm25_postings import WordIndex
from graphwright.search.unknown_words import INITIALS, SPELLING, Context, as_written, phrases_with

INDEX = WordIndex.of(["a red herring in Grimsby", "the red heron", "A-17 herrings"], np.arange(3))


def test_near_words_are_ordered_by_similarity() -> None:
    near = Context(INDEX, "red").near_words("herrin")
    assert [meaning.text for meaning in near] == ["herring", "heron"]
    assert {len(meaning.features) for meaning in near} == {len(SPELLING)}


def test_near_words_that_question_has_besides_are_left_out() -> None:
    assert [meaning.text for meaning in Context(INDEX, "herrin herring").near_words("herrin")] == ["heron"]


@given(st.text(max_size=12))
def test_near_words_of_any_text_are_words_of_index(word: str) -> None:
    assert {meaning.text for meaning in Context(INDEX, word).near_words(word)} <= set(INDEX.vocabulary)


@pytest.mark.parametrize(
    ("letters", "text", "expected"),
    [
        ("POS", "at the point of sale.", ["point of sale"]),
        ("OTAN", "l'Organisation du Traité de l'Atlantique Nord", ["Organisation du Traité de l'Atlantique Nord"]),
        ("SLA", "Service-Level\nAgreement", ["Service-Level Agreement"]),
        ("EE", "électricité européenne", ["électricité européenne"]),
        ("SLA", "service. Level agreement", []),
    ],
)
def test_phrases_with_initials_are_found(letters: str, text: str, expected: list[str]) -> None:
    found = list(phrases_with(letters, ["", f"{letters.lower()} é", text, "x"]))
    assert found == [(2, phrase) for phrase in expected]


def test_phrases_count_occurrences_and_have_all_features() -> None:
    texts = ["red heron", "Red Heron", "rare hen"]
    phrases = Context(INDEX, "").phrases("RH", texts, [0, 1, 2])
    assert [phrase.text for phrase in phrases] == ["red heron", "rare hen"]
    assert phrases[0].features[2] == pytest.approx(np.log(2)) and len(phrases[0].features) == len(INITIALS)


def test_word_as_written_prefers_asked_case() -> None:
    assert as_written("window", "Windows and windows", capital=False) == "windows"
    assert as_written("window", "Windows and windows", capital=True) == "Windows"
    assert as_written("window", "doors", capital=True) == "window"
