"""Words as they are indexed, in several scripts; repeated phrases and frequent terms."""

from graphwright.text.words import FIRST_WORDS, NOT_NAMES, STOP_WORDS, frequent_terms, repeated_phrases, words


def test_words_of_many_scripts() -> None:
    assert words("Łódź, ÉCOLE d'Été") == words("łódź, école D'ÉTÉ")
    assert words("東京タワー") == ["東京", "京タ", "タワ", "ワー"]
    assert words("где Москва") == ["где", "москва"]


def test_stop_words_are_lower_case_and_first_words_are_no_names() -> None:
    assert all(word == word.lower() for word in STOP_WORDS | NOT_NAMES)
    assert {word.lower() for word in FIRST_WORDS} <= NOT_NAMES


def test_repeated_phrases_have_their_first_place() -> None:
    text = "The wind farm stands in Iowa. Each wind farm has turbines; a farm is large."
    assert repeated_phrases(text) == [("wind farm", 4)]
    assert repeated_phrases("Wind farm. Wind farm.") == []  # capitals mark names


def test_frequent_terms_keep_the_longest_run_only() -> None:
    assert frequent_terms("機械学習と機械学習") == [(0, "機械学習"), (5, "機械学習")]


def test_terms_come_with_their_places() -> None:
    assert frequent_terms("whale ship whale") == [(0, "whale"), (6, "ship"), (11, "whale")]
