"""Broad questions: told by their form, and answered by a step of their own."""

from __future__ import annotations

import pytest
from tests.toys import corpus_index

from graphwright import Keep, NeedsError, Only, ToPassages, VectorSearch, start
from graphwright.generate.broad import Broad, is_broad, names_nothing
from graphwright.graph.graph import Kind

UNNAMED = [
    "What are the main themes?",
    "What are the themes",
    "Summarise the documents.",
    "Please summarize this in three sentences.",
    "Can you give me a short overview?",
    "Give me a summary of the story.",
    "Overview of the whole collection, please",
    "What is this about?",
    "What are these documents about?",
    "what is the book about",
    "What are the key ideas?",
    "List the most important topics.",
    "What topics are covered across the documents?",
    "Which themes run throughout the stories?",
    "What do these papers discuss?",
    "Tell me about this corpus.",
    "What is the plot of the story?",
    "What are the main findings and conclusions of this report?",
    "SUMMARY",
]
NAMED = [
    "What are the main themes of A Christmas Carol?",
    "Summarise the trial of Waldrada.",
    "What are the key arguments about slavery across these documents?",
    "Give an overview of the German Peasants' War.",
]
ORDINARY = [
    "Which abbey did the mother of Lothair II found?",
    "Who wrote the summary of the report?",
    "When was the overview published?",
    "What is the capital of Styria?",
    "What is Erstein about?",
    "How many themes has the sonata?",
    "In which year did he summarise the findings?",
    "Is this about Graz?",
    "Did the outline change?",
    "What does the Summary for Policymakers say of methane?",
    "What did Lothair II do?",
    "What is the topic of the thesis by Noether?",
    "Why did the bread rise?",
    "Where is the main station?",
    "What key did she play in?",
    "",
]


@pytest.mark.parametrize("question", UNNAMED)
def test_a_question_about_the_whole_is_broad_and_names_nothing(question: str) -> None:
    assert is_broad(question) and names_nothing(question)


@pytest.mark.parametrize("question", NAMED)
def test_a_broad_question_may_name_something(question: str) -> None:
    assert is_broad(question) and not names_nothing(question)


@pytest.mark.parametrize("question", ORDINARY)
def test_a_question_for_a_fact_is_not_broad(question: str) -> None:
    assert not is_broad(question)


SNAPSHOT = corpus_index().snapshot
SEARCH = VectorSearch(SNAPSHOT.passages)


def test_the_step_runs_for_broad_questions_only() -> None:
    for question in (*UNNAMED[:3], *NAMED[:2], *ORDINARY[:3]):
        found = SEARCH(start(question, SNAPSHOT.graph))
        broad, unnamed = question in UNNAMED + NAMED, question in UNNAMED
        assert (Broad(ToPassages())(found).passages is not None) == broad
        assert (Broad(ToPassages(), unnamed=True)(found).passages is not None) == unnamed
        if not broad:
            assert Broad(ToPassages())(found) is found
            assert (Broad(SEARCH) % 2)(found).evidence.identities() == found.evidence.top(2).identities()  # type: ignore[union-attr]
    assert (Broad(SEARCH) % 2)(start(UNNAMED[0], SNAPSHOT.graph)).evidence.identities() == (  # type: ignore[union-attr]
        SEARCH % 2
    )(start(UNNAMED[0], SNAPSHOT.graph)).evidence.identities()  # type: ignore[union-attr]


def test_what_it_may_give_does_not_count_as_given() -> None:
    assert Broad(SEARCH).gives == ("evidence",) and Broad(ToPassages()).needs == ("evidence",)
    with pytest.raises(NeedsError, match="needs 'evidence'"):
        (Broad(SEARCH) >> ToPassages())(start("What are the themes?", SNAPSHOT.graph))
    assert (SEARCH >> Broad(Keep()) >> ToPassages()).needs == ()


def test_it_reads_as_it_is_written_and_passes_caps_on() -> None:
    step = Broad(SEARCH % 3 >> Only(Kind.CHUNK), unnamed=True)
    assert repr(step) == f"Broad({SEARCH!r} % 3 >> Only({Kind.CHUNK!r}), unnamed=True)"
    assert "cap=4" not in repr(step.capped(4)) and Broad(Keep() | SEARCH).capped(4) != Broad(Keep() | SEARCH)
