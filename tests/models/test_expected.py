"""What can be an answer to a question, by its words."""

import pytest

from graphwright.models.expected import fragment, misfit

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


NAMES = """The journal is published by the American Psychological Association, says President Ada King.
Fokko of Juist pulled it free. In 1900 Marie Curie (1867) is a Polish physicist, and lives in New York."""


@pytest.mark.parametrize(
    ("question", "whole", "piece"),
    [
        ("Who publishes it?", "American Psychological Association", "American"),
        ("Which body publishes it?", "American Psychological Association", "Association"),
        ("Who says so?", "Ada King", "King"),
        ("Who pulled it free?", "Fokko of Juist", "Juist"),
        ("Who pulled it free?", "Fokko of Juist", "Fokko"),
        ("Who lives in New York?", "Marie Curie", "Marie"),
        ("Who lives in New York?", "Marie Curie", "Polish"),
        ("Who lives in New York?", "Marie Curie", "Polish physicist, and lives in New York"),
        ("Where does she live?", "New York", "York"),
        ("Where was it?", "Juist", "Juis"),
        ("When was she born?", "1867", "186"),
        ("How many came?", "12,000", "000"),
        ("How many came?", "12,000", "12"),
        ("Who else lives there?", "Łukasz Łysy", "Łukasz"),
        ("What was she?", "physicist", "(1867) is a Polish physicist)"),
    ],
)
def test_a_piece_of_a_name_is_told_from_the_whole(question, whole, piece):
    passage = NAMES + " (1867) is a Polish physicist) So does Łukasz Łysy, as do 12,000 more."
    for span, expected in ((whole, False), (piece, True)):
        at = passage.index(span)
        assert fragment(question, passage, at, at + len(span)) is expected, span


def test_a_sentence_begins_with_a_capital_that_is_no_name():
    for passage in (
        "Suddenly Ada left.",
        "News\nSuddenly Ada left.",
        "“Stop.” Suddenly Ada left.",
        "- Suddenly Ada left.",
    ):
        at = passage.index("Ada")
        assert not fragment("Who left?", passage, at, at + 3), passage
    passage = "She met Queen Victoria. On Monday Angela Merkel came, with CEO Cook."
    for name in ("Victoria", "Angela Merkel", "Cook"):
        assert not fragment("Whom did she meet?", passage, passage.index(name), passage.index(name) + len(name)), name


def test_scripts_without_spaces_have_no_pieces_of_words():
    assert not fragment("Where is it?", "それは東京都にある。", 3, 5)
