"""Countries in a text: by name, people or part, and what is no nationality."""

from __future__ import annotations

import pytest

from graphwright.generate.comparing.countries import countries, regions


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("He is a Romanian gymnast.", [{"Romania"}]),
        ("a 1936 Italian- American film", [{"Italy", "United States"}]),
        ("a Romanian and French poet", [{"Romania", "France"}]),
        ("a Dutch Australian director", [{"Netherlands", "Australia"}]),
        ("near Boise, Idaho, United States", [{"United States"}]),
        ("Tbilisi, Georgia", [{"Georgia"}]),
        ("Atlanta, Georgia, United States", [{"United States"}]),
        ("in Sydney, New South Wales, Australia", [{"Australia"}]),
        ("a Papua New Guinean village", [{"Papua New Guinea"}]),
        ("a South Korean footballer", [{"South Korea"}]),
        ("an English painter", [{"United Kingdom"}]),
        ("the U.S. Army", [{"United States"}]),
        ("a Danish-born French composer", [{"France"}]),
        ("a Ukrainian- born filmmaker", []),
        ("a French-language and a German language film", []),
        ("Italian: La casa, French for the house", []),
        ("the Indiana coast", [{"United States"}]),
        ("Germanic, Francophone, Americana", []),
    ],
)
def test_words_for_countries_mean_them(text: str, named: list[set[str]]) -> None:
    found = countries(text)
    assert [set(country) for *_, country in found] == named
    assert all(text[start:end].strip() == text[start:end] != "" for start, end, _ in found)


def test_states_are_told_from_what_is_named_after_them() -> None:
    assert [name for *_, name in regions("From West Virginia to Virginia, by Kansas City and New York.")] == [
        "West Virginia",
        "Virginia",
        "New York",
    ]
