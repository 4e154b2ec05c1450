"""The grammar of questions."""

import pytest

from graphwright.text.question_form import Measure, content, inflections_match, question_form, tokens


def form(question: str, *mentioned: int):  # type: ignore[no-untyped-def]
    return question_form([token.word for token in tokens(question)], frozenset(mentioned))


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("Who wrote it?", "person"),
        ("When did it open?", "time"),
        ("In which year did it open?", "time"),
        ("Where is it?", "place"),
        ("How many rivers are there?", "count"),
        ("How long is it?", "amount"),
        ("How much does it weigh?", "amount"),
        ("Is it in Graz?", "truth"),
        ("Did she say when it opened?", "truth"),
        ("Which rivers are there?", "thing"),
        ("the capital of Austria", "thing"),
    ],
)
def test_interrogative_decides_answer_kind(question: str, asks: str) -> None:
    assert form(question).asks == asks


@pytest.mark.parametrize(
    ("question", "measure"),
    [
        ("Which is the longest river?", Measure("long", 1, (3,), False)),
        ("Which is the smallest?", Measure("small", -1, (3,), False)),
        ("Which is the most populous city?", Measure("populous", 1, (3, 4), False)),
        ("Which opened most recently?", Measure("recent", 1, (2, 3), False)),
        ("Who was born first?", Measure("early", -1, (3,), False)),
        ("Which are longer than 300 km?", Measure("long", 1, (2,), True)),
        ("Which opened after 1990?", Measure("late", 1, (2,), True)),
        ("Which are at least 300?", Measure("many", 1, (2, 3), True)),
        ("Which rivers are there?", None),
    ],
)
def test_superlatives_and_comparatives_have_sign(question: str, measure: Measure | None) -> None:
    assert form(question).measure == measure


@pytest.mark.parametrize(
    ("question", "noun"),
    [
        ("Which rivers flow into it?", ["rivers"]),
        ("Which of the rivers are long?", ["rivers"]),
        ("What is the longest river?", ["river"]),
        ("How many dwarf planets are there?", ["dwarf", "planets"]),
        ("Which museum opened in 1992?", ["museum"]),
        ("What is the capital of it?", []),
        ("Who wrote it?", []),
    ],
)
def test_noun_of_question_is_found(question: str, noun: list[str]) -> None:
    words = [token.word for token in tokens(question)]
    assert [words[at] for at in form(question).noun] == noun


def test_content_words_exclude_grammar_and_mentions() -> None:
    question = "Which films did Denis Villeneuve direct?"
    words = [token.word for token in tokens(question)]
    mentioned = frozenset({3, 4})
    assert [words[at] for at in content(words, question_form(words, mentioned), mentioned)] == ["films", "direct"]


@pytest.mark.parametrize(
    ("a", "b", "match"),
    [
        ("directed", "director", True),
        ("needs", "need", True),
        ("acted", "actors", True),
        ("nation", "nationality", True),
        ("mother", "month", False),
        ("parent", "part", False),
        ("birth", "bird", False),
        ("capital", "capita", False),
    ],
)
def test_inflections_share_stem(a: str, b: str, match: bool) -> None:
    assert inflections_match(a, b) is inflections_match(b, a) is match
