"""What can be an answer to a question, by its words."""

import pytest

from graphwright.models.expected import misfit

PASSAGE = "In 1585 Archduke Charles II of Austria founded the university of Graz, with two faculties, on the Mur."


def of(question, span):
    at = PASSAGE.index(span)
    return misfit(question, PASSAGE, at, at + len(span))


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        ("When was the university of Graz founded?", "1585", "Archduke Charles II"),
        ("In which year was it?", "1585", "two faculties"),
        ("Who founded it?", "Archduke Charles II", "two faculties"),
        ("Who founded it?", "Archduke Charles II", "Mur"),
        ("How many faculties had it?", "two", "Graz"),
        ("Where was it?", "Graz", "founded"),
        ("Which river is it on?", "Mur", "faculties"),
    ],
)
def test_what_cannot_be_meant_is_marked_down(question, right, wrong):
    assert of(question, right) == 0 and of(question, wrong) >= 4


def test_what_the_question_says_itself_is_marked_down():
    assert of("What did Archduke Charles II found?", "Archduke Charles II") == 2
    assert of("What did Archduke Charles II found?", "the university of Graz") == 0


def test_long_spans_are_marked_down_by_their_words():
    assert of("What happened?", PASSAGE[:-1]) == pytest.approx(0.15 * (18 - 8))
