"""The reader that compares: by rules, with a reader's help, and what it leaves to the reader."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.generate.comparing.reader import ComparingReader
from graphwright.models.protocols import Reader, Span

PASSAGES = [
    "Night Train (1941 film)\nNight Train is a 1941 British film by Jo Fox, directed by Ann Lee and starring Al Ot.",
    "Day Boat\nDay Boat is a 1961 French film. It was directed by and starred Luc Roy.",
    "Ann Lee\nAnn Lee (12 March 1901 – 4 May 1980) was an English director. She was tall.",
    "Luc Roy (director)\nLuc Roy (born 5 April 1899) is a French director.",
    "Jo Fox\nJo Fox (1 May 1850 – 2 May 1950) was a Scottish writer.",
    "Al Ot\nAl Ot is an actor. Nobody knows more.",
    "Night Train (band)\nNight Train are a band.",
    "Old Mill\nOld Mill is a 76-story, 300 ft tower in Graz, Austria.",
    "New Mill\nNew Mill is a 52-story, 90 m tower in Linz, Austria.",
    "Third Mill\nThird Mill is an 8-story, 40 m tower in Rome, Italy.",
]  # fmt: skip


@dataclass
class Told:
    """Reads answers from a list: the words, if they stand in the passage, of the first question that begins so."""

    answers: dict[str, str] = field(default_factory=dict)
    score: float = 0.4
    asked: list[tuple[str, int]] = field(default_factory=list)

    def read(self, question: str, passages: Sequence[str]) -> list[Span]:
        self.asked.append((question, len(passages)))
        words = self.answers.get(question, "\0")
        places = [(i, passage.find(words)) for i, passage in enumerate(passages)]
        return [Span(i, at, at + len(words), self.score) for i, at in places if at >= 0]


def test_it_is_a_reader() -> None:
    assert isinstance(ComparingReader(Told()), Reader)


@pytest.mark.parametrize(
    ("question", "answer", "quotes"),
    [
        ("Who was born first, Ann Lee or Luc Roy?", "Luc Roy", ["Luc Roy (born 5", "Ann Lee (12 March"]),
        ("Who is younger, Ann Lee or Luc Roy?", "Ann Lee", ["Ann Lee (12 March", "Luc Roy (born"]),
        ("Who died later, Ann Lee or Jo Fox?", "Ann Lee", ["Ann Lee (12", "Jo Fox (1"]),
        ("Who lived longer, Ann Lee or Jo Fox?", "Jo Fox", ["Jo Fox (1", "Ann Lee (12"]),
        ("Which film came out first, night train (1941 Film) or Day Boat?", "night train (1941 Film)", ["N", "D"]),
        ("Which film has the director who was born earlier, Night Train (1941 film) or Day Boat?", "Day Boat",
         ["Luc Roy (born", "Ann Lee (12"]),
        ("Were Ann Lee and Luc Roy of the same nationality?", "no", ["Ann Lee (12", "Luc Roy (born"]),
        ("Were Ann Lee and Jo Fox of the same nationality?", "yes", ["Ann Lee (12", "Jo Fox (1"]),
        ("Are director of film Day Boat and director of film Night Train (1941 film) from the same country?", "no",
         ["Luc Roy (born", "Ann Lee (12"]),
        ("Which has more stories, Old Mill or New Mill?", "Old Mill", ["Old Mill is", "New Mill is"]),
        ("Which is taller, Old Mill or the New Mill?", "Old Mill", ["Old Mill is", "New Mill is"]),
        ("Which is taller, Third Mill, New Mill or Old Mill?", "Old Mill", ["Old Mill", "Third Mill", "New Mill"]),
        ("Are Old Mill, New Mill and Third Mill in the same country?", "no", ["Old Mill", "New Mill", "Third Mill"]),
        ("Are Old Mill and New Mill both towers?", "yes", ["Old Mill", "New Mill"]),
        ("Who is a writer, Jo Fox or Al Ot?", "Jo Fox", ["Jo Fox (1", "Al Ot is"]),
    ],
)  # fmt: skip
def test_rules_answer_alone(question: str, answer: str, quotes: list[str]) -> None:
    reader = Told()
    spans = ComparingReader(reader).read(question, PASSAGES)
    assert not reader.asked
    assert [span.text for span in spans] == [answer, *[""] * (len(quotes) - 1)]
    assert {span.score for span in spans} == {1.0}
    for span, quote in zip(spans, quotes, strict=True):
        assert PASSAGES[span.passage][span.start : span.end].startswith(quote)


def test_order_of_the_passages_does_not_matter() -> None:
    for question in (
        "Who was born first, Ann Lee or Luc Roy?",
        "Are the directors of Day Boat and Night Train (1941 film) from the same country?",
    ):
        answers = {
            tuple(s.text for s in ComparingReader(Told()).read(question, passages))
            for passages in (PASSAGES, PASSAGES[::-1], PASSAGES[5:] + PASSAGES[:5])
        }
        assert answers in ({("Luc Roy", "")}, {("no", "")})


def test_what_rules_do_not_find_a_reader_is_asked_about_that_passage_alone() -> None:
    passages = ["Ann Lee\nAnn Lee (1901 – 1980) was a poet.", "Bo Ek\nBo Ek, a poet, first saw the light in May 1899."]
    reader = Told({"When was Bo Ek born?": "May 1899"})
    spans = ComparingReader(reader).read("Who was born first, Ann Lee or Bo Ek?", passages)
    assert reader.asked == [("When was Bo Ek born?", 1)]
    assert [(s.passage, s.text, s.score) for s in spans] == [(1, "Bo Ek", 0.4), (0, "", 0.4)]
    assert passages[1][spans[0].start : spans[0].end] == "Bo Ek, a poet, first saw the light in May 1899."


def test_a_reader_finds_the_director_where_rules_do_not() -> None:
    film = "Dusk\nDusk is a film. Al Ot made it with love."
    people = ["Al Ot\nAl Ot (born 1990) is a Dutch director.", *PASSAGES[1:4]]
    reader = Told({"Who is the director of Dusk?": "Al Ot"}, score=0.3)
    spans = ComparingReader(reader).read("Which film has the director who is older, Dusk or Day Boat?", [film, *people])
    assert [(s.text, s.score) for s in spans] == [("Day Boat", 0.3), ("", 0.3)]


@pytest.mark.parametrize(
    "question",
    [
        "Who founded Graz?",
        f"Who was born first, Ann Lee or Luc Roy{' ' * 1000}?",
        "Who was born first, Ann Lee or Nobody Here?",  # no passage
        "Who was born first, Ann Lee or Ann Lee?",  # one passage
        "Who died first, Ann Lee or Luc Roy?",  # he lives
        "Who was born first, Ann Lee or Al Ot?",  # nothing told
        "Which is taller, Ann Lee or Old Mill?",
        "Were Ann Lee and Al Ot of the same nationality?",
        "Were Ann Lee and Jo Fox born in the same place?",
    ],
)
def test_all_else_is_the_readers_as_it_is(question: str) -> None:
    reader = Told({question: "Graz"}, score=0.2)
    assert ComparingReader(reader).read(question, PASSAGES) == [Span(7, 49, 53, 0.2)]
    assert reader.asked[-1] == (question, len(PASSAGES))


def test_dates_that_do_not_differ_in_what_both_tell_decide_nothing() -> None:
    passages = ["Ann Lee\nAnn Lee (born 1990) is a poet.", "Bo Ek\nBo Ek (born 3 May 1990) is a poet."]
    assert ComparingReader(Told()).read("Who was born first, Ann Lee or Bo Ek?", passages) == []
    assert ComparingReader(Told()).read("Were Ann Lee and Bo Ek born in the same year?", passages)[0].text == "yes"


QUESTIONS = st.lists(
    st.sampled_from(
        ["Which", "film", "has the director", "who was", "born first", ",", "Ann Lee", "or", "and", "Day Boat", "same",
         "country", "Are", "both", "more", "acts", "(film)", "?", "in common", "taller", "Night Train", "of", "the"]
    ),
    max_size=14,
).map(" ".join)  # fmt: skip


@given(QUESTIONS, st.lists(st.sampled_from([*PASSAGES, "", "\n", "Ann Lee", "Ann Lee\n"]), max_size=6))
def test_any_question_is_read_and_spans_lie_in_their_passages(question: str, passages: list[str]) -> None:
    spans = ComparingReader(Told()).read(question, passages)
    assert all(0 <= s.start < s.end <= len(passages[s.passage]) for s in spans)
    assert not spans or spans[0].text
