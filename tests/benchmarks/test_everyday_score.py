from __future__ import annotations

import doctest
import json
from dataclasses import replace
from pathlib import Path

import pytest
from questions import score as everyday_score
from questions.score import Question, evidence_cited, half_of, read_everyday, verdict

from graphwright.operators.state import Answer, Citation

TEXT = "The unit waits.\nThe default timeout is 90\n   seconds; it was 60 seconds before version 3."
QUOTE = "The default timeout is 90 seconds; it was 60 seconds before version 3."
CITED = (Citation("unit.txt", "unit.txt#0", 16, 60, TEXT[16:60]),)
ROW = {
    "id": "unit-01",
    "source": "unit",
    "half": half_of("unit-01"),
    "kind": "fact",
    "variant": "",
    "question": "How long is the default timeout?",
    "accept": [["90 seconds", "90s"]],
    "reject": ["60 seconds"],
    "exact": False,
    "evidence": [{"document": "unit.txt", "text": "default timeout is 90 seconds"}],
    "max_words": 20,
    "good": "It says 90 seconds.",
}
FACT = Question.of(ROW)
GENRES = replace(FACT, accept=(("Drama",), ("Crime", "Crime film")), reject=("Horror",), exact=True, evidence=())
NOWHERE = replace(FACT, kind="unanswerable", accept=(), reject=(), evidence=())


def judged(question: Question, answer: Answer) -> str:
    return verdict(question, answer, lambda document: TEXT)


@pytest.mark.parametrize(
    "answer, expected",
    [
        (Answer("It is 90 seconds [1].", ("90 s",), CITED), "half"),
        (Answer("It is 90 seconds [1].", ("90 seconds",), CITED), "good"),
        (Answer("It is 90 seconds [1].", (), CITED), "good"),
        (Answer(QUOTE, (), CITED), "good"),
        (Answer(QUOTE, ("60 seconds",), CITED), "wrong"),
        (Answer("It was 60 seconds.", (), CITED), "wrong"),
        (Answer("It is 90 seconds."), "half"),
        (Answer(QUOTE + " And so on, at length." * 3, (), CITED), "half"),
        (Answer("The unit waits.", (), CITED), "useless"),
        (Answer("The unit waits.", ("3",), CITED), "wrong"),
        (Answer("Not in these documents. The nearest passage: 90 seconds", (), CITED, found=False), "missed"),
        (Answer("190 seconds", (), CITED), "useless"),
    ],
)
def test_score_of_fact(answer: Answer, expected: str) -> None:
    assert judged(FACT, answer) == expected


@pytest.mark.parametrize(
    "short, text, expected",
    [
        (("Crime film", "drama"), "", "good"),
        (("Drama", "Crime", "Crime film"), "", "good"),
        (("Drama",), "", "half"),
        (("Drama", "Crime", "Western"), "", "half"),
        (("Drama", "Horror"), "", "wrong"),
        (("Western",), "", "wrong"),
        ((), "Drama and crime", "half"),
        ((), "Western", "useless"),
    ],
)
def test_score_of_exact_set(short: tuple[str, ...], text: str, expected: str) -> None:
    assert judged(GENRES, Answer(text, short)) == expected


@pytest.mark.parametrize(
    "answer, expected",
    [
        (Answer("Not in these documents.", found=False), "good"),
        (Answer("Not in these documents.", ("90",), found=False), "wrong"),
        (Answer(QUOTE, (), CITED), "wrong"),
    ],
)
def test_score_of_unanswerable_question(answer: Answer, expected: str) -> None:
    assert judged(NOWHERE, answer) == expected


def test_partial_groups_score_half_and_reject_scores_wrong() -> None:
    both = replace(FACT, accept=(("90 seconds",), ("version 3",)), reject=("version 2",))
    assert judged(both, Answer("90 seconds since version 3", (), CITED)) == "good"
    assert judged(both, Answer("90 seconds", (), CITED)) == "half"
    assert judged(both, Answer("90 seconds since version 2", (), CITED)) == "wrong"


@pytest.mark.parametrize(
    "answer, expected",
    [
        (Answer("Yes, it waits.", (), CITED), "good"),
        (Answer("It waits.", ("yes",), CITED), "good"),
        (Answer("No, it does not.", (), CITED), "wrong"),
        (Answer("It has no limit, yes.", (), CITED), "useless"),
        (Answer("The unit waits.", (), CITED), "good"),
    ],
)
def test_yes_no_is_read_from_short_answer_or_first_word(answer: Answer, expected: str) -> None:
    question = replace(FACT, kind="yesno", accept=(("yes", "the unit waits"),), reject=("no",))
    assert judged(question, answer) == expected


def test_punctuation_is_matched_literally() -> None:
    question = replace(FACT, accept=(("%",),), reject=(), evidence=())
    assert judged(question, Answer("Write % before it.")) == "good"
    assert judged(question, Answer("Write a sign before it.")) == "useless"


def test_overlapping_span_counts_as_cited_evidence() -> None:
    def cites(document: str, start: int, end: int) -> bool:
        citation = Citation(document, f"{document}#0", start, end, "")
        return evidence_cited(FACT.evidence, [citation], lambda name: TEXT)

    assert cites("unit.txt", 0, 21) and not cites("unit.txt", 0, 20) and not cites("other.txt", 0, 60)
    assert evidence_cited((), [], str)


def test_row_read_with_column_names_counts_as_cited_evidence() -> None:
    text = "code: CHE; name: Swiss Alp.\ncode: CHF; name: Swiss Franc; numeric: 756."
    evidence = ({"document": "d", "text": "CHF Swiss Franc"},)
    first, second = (Citation("d", "d#0", *span, text[slice(*span)]) for span in ((0, 27), (28, 71)))
    assert evidence_cited(evidence, [second], lambda name: text)
    assert not evidence_cited(evidence, [first], lambda name: text)


def test_graph_evidence_is_triple_on_citation_path() -> None:
    triples = [["Mur", "flows into", "Drava"], ["Drava", "flows into", "Danube"]]
    there = Citation("g", "g", 0, 0, "", ("Graz", "lies on", "Mur", "flows into", "Drava"))
    back = Citation("g", "g", 0, 0, "", ("Danube", "flows into⁻¹", "Drava"))
    other = Citation("g", "g", 0, 0, "", ("Drava", "flows into", "Mur"))
    assert evidence_cited(triples, [there], str) and evidence_cited(triples, [back], str)
    assert not evidence_cited(triples, [other], str)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"half": "neither"}, "half is 'neither'"),
        ({"kind": "riddle"}, "kind 'riddle'"),
        ({"accept": []}, "accept must be empty exactly"),
        ({"accept": [[]]}, "no alternative"),
        ({"extra": 1}, "extra"),
    ],
)
def test_unfit_question_raises_by_name(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=f"unit-01.*{message}"):
        Question.of({**ROW, **change})


def test_repeated_id_raises(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text(json.dumps(ROW) + "\n")
    assert read_everyday(path) == [FACT]
    path.write_text((json.dumps(ROW) + "\n") * 2)
    with pytest.raises(ValueError, match="repeated ids: unit-01"):
        read_everyday(path)


def test_scorer_examples_hold() -> None:
    assert doctest.testmod(everyday_score).failed == 0
