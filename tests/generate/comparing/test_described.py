"""Descriptions: which of two they fit, whether both, and what two have in common."""

from __future__ import annotations

import pytest

from graphwright.generate.comparing.described import alike, both, fitting

PASSAGES = [
    "Interpol (band)\nInterpol is an American rock band from New York. It plays rock in Graz.",
    "Lilys\nLilys (sic) are an American indie rock band formed in Ohio.",
    "Ann Lee\nAnn Lee (born 1990) is a Swiss poet and film critic.",
    "Mur\nThe Mur is a river in Austria.",
]


def answer(question: str, how: object) -> str | None:
    spans = how(question, PASSAGES)  # type: ignore[operator]
    assert all(0 <= s.start < s.end <= len(PASSAGES[s.passage]) for s in spans)
    assert [bool(s.text) for s in spans] in ([], [True, False])
    return spans[0].text if spans else None


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("Are both Interpol and Lilys rock bands?", "yes"),
        ("Are Interpol and Lilys both American rock bands?", "yes"),
        ("Interpol and Lilys are both rock bands?", "yes"),
        ("Interpol and Lilys are rock bands, is this true?", "yes"),
        ("Are Interpol and the Mur both rivers?", "no"),
        ("Are Interpol and Lilys both Swiss bands?", "no"),
        ("Are Interpol and Lilys both indie bands?", None),  # one may be so all the same
        ("Are Interpol and Lilys both from Ohio?", None),
        ("Were Interpol and Lilys both formed before 1990?", None),
        ("Are Interpol and Lilys and Mur rivers?", None),
        ("Are Interpol and Nobody bands?", None),
        ("Are Interpol and Lilys?", None),
        ("Why are Interpol and Lilys bands?", None),
    ],
)
def test_whether_a_plain_description_fits_both(question: str, found: str | None) -> None:
    assert answer(question, both) == found


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("What do Interpol and Lilys have in common?", "rock band"),
        ("Interpol and Lilys are both what?", "rock band"),
        ("Interpol and Lilys, are bands of which genre?", "rock"),
        ("Which country are Interpol and Lilys from?", "United States"),
        ("What do Interpol and the Mur have in common?", None),
        ("Which country are Interpol and the Mur from?", None),
        ("What did Interpol and Lilys record?", None),
    ],
)
def test_what_two_have_in_common(question: str, found: str | None) -> None:
    assert answer(question, alike) == found


def test_which_of_two_a_description_fits_better() -> None:
    def fits(said: str) -> str | None:
        spans = fitting(["Ann Lee", "the Mur"], said, [[2], [3]], PASSAGES)
        return spans[0].text if spans else None

    assert fits("is a film critic") == "Ann Lee"
    assert fits("is a river in Austria") == "the Mur"
    assert fits("is a mountain") is None
    assert fits("is not a river") is None
