"""What questions compare: each form of question, and what is none."""

from __future__ import annotations

import pytest

from graphwright.generate.comparing.comparison import Comparison, comparison


@pytest.mark.parametrize(
    ("question", "listed", "attribute", "least", "role"),
    [
        ("Who is older, Ann Lee or Jo Fox?", "Ann Lee or Jo Fox", "age", True, ""),
        ("Which person is younger, Ann Lee, or Jo Fox? ", "Ann Lee, or Jo Fox", "age", False, ""),
        ("Who was born later, Ann Lee or Jo Fox", "Ann Lee or Jo Fox", "born", False, ""),
        ("Who was born first Ann Lee or Jo Fox?", "Ann Lee or Jo Fox", "born", True, ""),
        ("Was Ann Lee or John R. Gunn born first?", "Ann Lee or John R. Gunn", "born", True, ""),
        ("Who died earlier, Ann Lee or Jo Fox?", "Ann Lee or Jo Fox", "died", True, ""),
        ("Who lived longer, Ann Lee or Jo Fox?", "Ann Lee or Jo Fox", "lived", False, ""),
        ("Who is older out of Ann Lee and Jo Fox?", "Ann Lee and Jo Fox", "age", True, ""),
        ("Between Ann Lee and Jo Fox, who died last?", "Ann Lee and Jo Fox", "died", False, ""),
        ("Which film came out first, Up, Up or Down?", "Up, Up or Down", "started", True, ""),
        ("Which film was released more recently, Up or Down?", "Up or Down", "started", False, ""),
        ("Which magazine was published first Look or Chic ?", "Look or Chic", "started", True, ""),
        ("Which band was formed first: Blur or the Who?", "Blur or the Who", "started", True, ""),
        ("Which writer, Ann Lee or Jo Fox, was born first?", "Ann Lee or Jo Fox", "born", True, ""),
        ("Which film has the director died later, Up or Down?", "Up or Down", "died", False, "director"),
        ("Which film whose director is younger, Up or Down?", "Up or Down", "age", False, "director"),
        ("Which song has the performer who was born first, Up or Down?", "Up or Down", "born", True, "performer"),
    ],
)
def test_which_is_first_or_last(question: str, listed: str, attribute: str, least: bool, role: str) -> None:
    found = comparison(question)
    joined = "and" if " and " in listed else "or"
    assert found == Comparison(listed, joined, attribute, "", least, role=role)


@pytest.mark.parametrize(
    ("question", "attribute", "detail", "least"),
    [
        ("Which opera has more acts, Up or Down?", "counted", "acts", False),
        ("Which has fewer species Up or Down?", "counted", "species", True),
        ("Who won more doubles titles, Up or Down?", "counted", "doubles titles", False),
        ("Which has the greatest number of members, Up or Down?", "counted", "members", False),
        ("Which is taller, Up or Down?", "measured", "tall", False),
        ("Which film is shorter, Up or Down?", "measured", "short", True),
        ("Which town has the larger population, Up or Down?", "measured", "populous", False),
        ("Which town is more populous, Up or Down?", "measured", "populous", False),
        ("Who is a film critic, Up or Down?", "has", "is a film critic", False),
        ("Who wrote novels, plays, and a poem, Up or Down?", "has", "wrote novels, plays, and a poem", False),
    ],
)  # fmt: skip
def test_which_has_more_and_which_is_so(question: str, attribute: str, detail: str, least: bool) -> None:
    found = comparison(question)
    assert found is not None
    assert (found.attribute, found.detail, found.least) == (attribute, detail, least)
    assert found.listed == "Up or Down"


@pytest.mark.parametrize(
    ("question", "listed", "attribute", "detail", "role"),
    [
        ("Were Ann Lee and Jo Fox of the same nationality?", "Ann Lee and Jo Fox", "country", "nationality", ""),
        ("Are Ann Lee and Jo Fox both from the same country?", "Ann Lee and Jo Fox", "country", "country", ""),
        ("are Ann Lee and Jo Fox from the same country", "Ann Lee and Jo Fox", "country", "country", ""),
        ("Do Ann Lee and Jo Fox share nationality?", "Ann Lee and Jo Fox", "country", "nationality", ""),
        ("Does Ann Lee have the same nationality as Jo Fox?", "Ann Lee and Jo Fox", "country", "nationality", ""),
        ("Are both villages, Up, Bo and Low, located in the same country?", "Up, Bo and Low", "country", "country", ""),
        ("Did the movies Up and Low, originate from the same country?", "Up and Low", "country", "country", ""),
        ("Do both films Up and Low have the directors that share the same nationality?", "Up and Low", "country",
         "nationality", "director"),
        ("Do both directors of films Up and Low have the same nationality?", "Up and Low", "country", "nationality",
         "director"),
        ("Are director of film Up and director of film Low both from the same country?", "Up and director of film Low",
         "country", "country", "director"),
        ("Are the Up Canal and the Low Canal both located in the same state?", "Up Canal and the Low Canal", "said",
         "state", ""),
        ("Were both Ann Lee and Jo Fox, born in the same place?", "Ann Lee and Jo Fox", "said", "place of birth", ""),
        ("Were Ann Lee and Jo Fox born in the same year?", "Ann Lee and Jo Fox", "born", "year", ""),
    ],
)  # fmt: skip
def test_whether_they_are_alike(question: str, listed: str, attribute: str, detail: str, role: str) -> None:
    assert comparison(question) == Comparison(listed, "and", attribute, detail, same=True, role=role)


@pytest.mark.parametrize(
    "question",
    [
        "",
        "?",
        "Who founded Graz?",
        "When did Ann Lee or her sister die?",
        "Where is the oldest bridge or tower of Graz?",
        "Who is the director of the film that was released first?",
        "Whose homeland is farther north, Up or Down?",
        "Which film includes more, Up or Down?",
        "Are both Up and Down rock bands?",
        "What is the same country as Up?",
    ],
)
def test_other_questions_compare_nothing(question: str) -> None:
    assert comparison(question) is None
