"""Names in running text."""

import pytest

from graphwright.text.names import capitals_problem, name_spans, surface_words


def names(text: str) -> list[str]:
    return [text[start:end] for start, end in name_spans(text, 0, len(text), surface_words(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Łódź's mayor met J. R. R. Tolkien on 5 March.", ["Łódź", "J. R. R. Tolkien", "5 March"]),
        ("the 1920 Summer Olympics cost 3,500,000", ["1920 Summer Olympics", "1920", "Summer Olympics", "3,500,000"]),
        ("He wrote “War and Peace”.", ["War and Peace", "War", "Peace"]),
        ("Snow fell; snow melts.", []),
        ("The Lord of the Rings", ["Lord of the Rings", "Lord", "Rings"]),
    ],
)
def test_nested_names_follow_their_name(text: str, expected: list[str]) -> None:
    assert names(text) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("THE QUEEN OF ENGLAND", "all upper case"),
        ("女王は東京で王に会った。", "a script without capital letters"),
        ("The queen met Philip.", None),
        ("12", None),
    ],
)
def test_ordinary_capitals_are_not_names(text: str, problem: str | None) -> None:
    assert capitals_problem(text) == problem
