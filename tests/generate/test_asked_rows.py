"""Rows that a question asks about, and those that others of their table outdo."""

from __future__ import annotations

import re

import pytest

from graphwright.generate.asked_rows import of_asked_rows
from graphwright.models.protocols import PassageText


def table(*lines: str) -> PassageText:
    text = "\n".join(lines)
    rows = tuple(match.span() for match in re.finditer(r".+", text))
    return PassageText("", text, rows=rows, labels=tuple(match.span() for match in re.finditer(r"\w+: ", text)))


def masked(question: str, *passages: PassageText) -> list[str]:
    """Return the rows in which no answer lies."""
    texts = of_asked_rows(question, passages)
    return [text.text[slice(*row)] for text in texts for row in text.rows if row in text.labels]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How much is the fee for films?", ["kind: books; fee: 2", "kind: games; fee: 3"]),
        ("What is the fee of films and games?", ["kind: books; fee: 2"]),
        ("What is the fee?", []),
        ("Which kind of thing costs 3?", ["kind: books; fee: 2", "kind: films; fee: 5"]),
    ],
)
def test_of_asked_rows_row_with_fewer_words_of_question_has_no_answer(question: str, expected: list[str]) -> None:
    lines = ("kind: books; fee: 2", "kind: films; fee: 5", "kind: games; fee: 3")
    assert masked(question, table(*lines)) == expected
    assert masked(question, *map(table, lines)) == expected


def test_of_asked_rows_other_tables_are_apart() -> None:
    assert masked("How much is the fee for films?", table("kind: books; fee: 2"), table("film: films; star: Eva")) == []


def test_of_asked_rows_names_of_fields_do_not_count() -> None:
    assert masked("What is the fee for films?", table("kind: films; fee: 2", "kind: fee; fee: 5")) == []
