"""Repeated phrases and frequent terms."""

from graphwright.text.terms import frequent_terms, repeated_phrases


def test_repeated_phrases_have_their_first_place() -> None:
    text = "The wind farm stands in Iowa. Each wind farm has turbines; a farm is large."
    assert repeated_phrases(text) == [("wind farm", 4)]
    assert repeated_phrases("Wind farm. Wind farm.") == []  # capitals mark names


def test_frequent_terms_keep_the_longest_run_only() -> None:
    assert set(frequent_terms("機械学習と機械学習").names) == {"機械学習"}


def test_terms_of_a_span_are_those_that_begin_in_it() -> None:
    terms = frequent_terms("whale ship whale")
    assert terms.within(1, 11) == [("ship", 6)]
    assert terms.within(0, 99) == [("whale", 0), ("ship", 6), ("whale", 11)]
