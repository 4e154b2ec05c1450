"""Questions in the words of an index: misspelt words, acronyms, identifiers, and pasted logs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright import Graph, start
from graphwright.operators.run import Run
from graphwright.operators.search.reword import Reword, condensed
from graphwright.search.bm25_postings import WordIndex

TEXTS = [
    "The maintenance window of the Kubernetes cluster is Sunday, 02:00 to 04:00.",
    "The recovery time objective is 90 minutes. Recovery drills take place in March.",
    "Siobhán Ó Briain leads the platform team in Galway.",
    "`TokenRejected: audience mismatch` means that the clock is wrong. Start chronyd.",
    "Part A-104/B is the gasket of the outlet valve.",
    "La tasa anual equivalente es del 4,5 %.",
    "The canteen opens at noon and closes at three.",
]
GRAPH = Graph.from_triples([(text, "r", "x") for text in TEXTS])
NODES = np.array(GRAPH.ids(TEXTS[0]).tolist() + [int(GRAPH.ids(text)[0]) for text in TEXTS[1:]])
INDEX = WordIndex.of([TEXTS[at] for at in np.argsort(NODES)], np.sort(NODES))


def reworded(question: str) -> str:
    return Reword(INDEX)(start(question, GRAPH)).question.text


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("When is the maintainance windw?", "When is the maintenance window?"),
        ("Who leads the platfrom team?", "Who leads the platform team?"),
        ("What is the RTO?", "What is the recovery time objective?"),
        ("¿Cuánto es la TAE?", "¿Cuánto es la tasa anual equivalente?"),
        ("What does TokenRejectd mean?", "What does TokenRejected mean?"),
        ("kuberntes cluster", "Kubernetes cluster"),
    ],
)
def test_reword_with_unknown_word_gives_word_of_index(asked: str, expected: str) -> None:
    assert reworded(asked).lower() == expected.lower()


@pytest.mark.parametrize(
    "asked",
    [
        "Who plays the trombone?",
        "What does A-104/C cost?",
        "Where is the maintenance window?",
        "Which NATO member is it?",
        "東京の人口は",
        "?",
    ],
)
def test_reword_without_near_word_keeps_question(asked: str) -> None:
    assert reworded(asked) == asked


@pytest.mark.parametrize(
    ("asked", "known"),
    [
        ("hypotension", "hypertension"),
        ("hyperthermia", "hypothermia"),
        ("postoperative", "preoperative"),
        ("unstable", "stable"),
        ("prednisone", "prednisolone"),
        ("vincristine", "vinblastine"),
        ("clonazepam", "clonidine"),
        ("upstream", "downstream"),
        ("VX-12/C", "VX-12/B"),
    ],
)
def test_reword_of_another_word_keeps_question(asked: str, known: str) -> None:
    texts = [f"The page on {known} explains {known}.", *TEXTS[:3]]
    graph = Graph.from_triples([(text, "r", "x") for text in texts])
    nodes = [int(graph.ids(text)[0]) for text in texts]
    index = WordIndex.of([texts[at] for at in np.argsort(nodes)], np.sort(nodes))
    question = f"How is {asked} treated?"
    assert Reword(index)(start(question, graph)).question.text == question


def test_reword_keeps_original_and_notes_change() -> None:
    state = Reword(INDEX)(start("Who leads the platfrom team?", GRAPH), Run())
    assert state.question.original == "Who leads the platfrom team?" == state.to_dict()["question"]
    assert state.trace[-1].notes == ("'platfrom' was read as 'platform'",)


@given(st.permutations([f"frame {n} in worker, clock {n}" for n in range(30)]), st.integers(0, 30), st.data())
def test_condensed_log_in_any_order_keeps_rare_line(frames: list[str], at: int, data: Any) -> None:
    log = "\n".join([*frames[:at], "ERROR TokenRejected: audience mismatch", *frames[at:]])
    assert condensed(log, INDEX) == "TokenRejected: audience mismatch"


def test_condensed_short_question_is_unchanged() -> None:
    assert condensed("Where?\n\nIn Galway?", INDEX) == "Where?\n\nIn Galway?"


def test_condensed_without_known_word_is_cut() -> None:
    assert 0 < len(condensed("zzz yyy\n" * 9_000, INDEX)) <= 1024
