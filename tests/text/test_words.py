"""Words as they are indexed, in several scripts."""

from graphwright.text.words import FIRST_WORDS, NOT_NAMES, STOP_WORDS, words


def test_words_of_many_scripts() -> None:
    assert words("Łódź, ÉCOLE d'Été") == words("łódź, école D'ÉTÉ")
    assert words("東京タワー") == ["東京", "京タ", "タワ", "ワー"]
    assert words("где Москва") == ["где", "москва"]


def test_stop_words_are_lower_case_and_first_words_are_no_names() -> None:
    assert all(word == word.lower() for word in STOP_WORDS | NOT_NAMES)
    assert {word.lower() for word in FIRST_WORDS} <= NOT_NAMES
