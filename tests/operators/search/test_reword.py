"""Questions in the words of an index: misspelt words, acronyms, identifiers, and pasted logs.

Searches by a moved vector: Rocchio's numbers, and passages that a language model wrote, over HTTP too.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shared import GRAPHS, FixedEncoder, corpus_index, vectors_of

from graphwright import Evidence, Graph, VectorIndex, VectorSearch, start
from graphwright.models import HashEncoder, ScriptedLLM
from graphwright.operators import Feedback, HypotheticalPassage
from graphwright.operators.run import Run
from graphwright.operators.search.reword import Reword, condensed
from graphwright.operators.state import State
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


PORT = [
    "The Emergency Assembly Point is at gate 3.",
    "Electronic Access Permits are issued by the harbour office.",
    "Ivana Stojkovic is the head of the pilots.",
    "The verified gross mass is reported 24 hours before.",
    "Elbrus ships water twice.",
]


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("Where is the EAP?", "Where is the Emergency Assembly Point or Electronic Access Permits?"),
        ("Who issues EAPs?", "Who issues Emergency Assembly Point or Electronic Access Permits?"),
        ("What is the VGM?", "What is the verified gross mass?"),
        ("what is vgm", "what is verified gross mass"),
        ("Wer ist der Chef?", "Wer ist der Chef?"),
        ("Was ist das?", "Was ist das?"),
        ("¿Cuál es el peso?", "¿Cuál es el peso?"),
    ],
)
def test_reword_acronym_of_two_phrases_gives_both_and_a_plain_word_none(asked: str, meant: str) -> None:
    graph = Graph.from_triples([(text, "r", "x") for text in PORT])
    nodes = [int(graph.ids(text)[0]) for text in PORT]
    index = WordIndex.of([PORT[at] for at in np.argsort(nodes)], np.sort(nodes))
    assert Reword(index)(start(asked, graph)).question.text == meant


NAMED = (
    "E_PIPE_STALL means that the valve is shut; E_PIPE_DRAIN_STALL that the basin is full. E-204 and E-207 are alarms.",
    "`--quarantine` moves the file, `--no-follow` keeps links. librarq3-doc holds the manual, librarq3-dbg symbols.",
    "Set `poll_interval` in /etc/rarq/watcher.conf, or start `rarqctl --restart=now`. `http_root` is empty.",
    "`sortByWeight` sorts. Das Teil DS_DICHTUNG_40 kostet 3 Euro. Anne-Kathrin Wagenbreth leitet das Lager.",
)


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("E_PIPE_STAL", "E_PIPE_STALL"),
        ("e_pipe_stlal", "E_PIPE_STALL"),
        ("E_PIPE_DRIAN_STALL", "E_PIPE_DRAIN_STALL"),
        ("--quarentine", "--quarantine"),
        ("--no-folow", "--no-follow"),
        ("librarq3-dco", "librarq3-doc"),
        ("poll_intervall", "poll_interval"),
        ("/etc/rarq/wathcer.conf", "/etc/rarq/watcher.conf"),
        ("--restrat=2", "--restart=2"),
        ("sortByWieght", "sortByWeight"),
        ("DS_DICHTNUG_40", "DS_DICHTUNG_40"),
        ("Anne-Kathrin Wagenbret", "Anne-Kathrin Wagenbreth"),
        ("E-205", "E-205"),
        ("DS_DICHTUNG_45", "DS_DICHTUNG_45"),
        ("librarq4-doc", "librarq4-doc"),
        ("https_root", "https_root"),
        ("E_PIPE_STARTED", "E_PIPE_STARTED"),
        ("--quiet", "--quiet"),
    ],
)
def test_reword_of_misspelt_identifier_gives_the_one_of_the_index(asked: str, meant: str) -> None:
    graph = Graph.from_triples([(text, "r", "x") for text in NAMED])
    nodes = [int(graph.ids(text)[0]) for text in NAMED]
    index = WordIndex.of([NAMED[at] for at in np.argsort(nodes)], np.sort(nodes))
    state = Reword(index)(start(f"What is {asked}?", graph), Run())
    assert state.question.text == f"What is {meant}?"
    assert len(state.trace[-1].notes) == (asked != meant)


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


CLUB, CLUB_VECTORS = GRAPHS["club"], vectors_of(GRAPHS["club"])
SNAPSHOT = corpus_index().snapshot
QUESTION = "Which building was burned by rebels?"
BURNED = "The abbey of Erstein in Alsace was destroyed during the Peasants' War of 1525."


def scores(state: State) -> dict[int, float]:
    assert state.evidence is not None and state.evidence.scores is not None
    return dict(zip(state.evidence.nodes.tolist(), state.evidence.scores.tolist(), strict=True))


class TestFeedback:
    def test_feedback_equals_worked_numbers(self) -> None:
        graph = Graph.from_triples([("a", "r", "b"), ("c", "r", "d")])
        index = VectorIndex.from_array([[1, 0], [0, 1], [0, 3], [4, 4]], FixedEncoder((2.0, 0.0)))
        state = start("?", graph, evidence=Evidence.of_nodes([1, 2]))
        # mean (0, 2); β = 0.5: ((2, 0) + (0, 1)) / 1.5 = (4/3, 2/3)
        assert scores(Feedback(index, beta=0.5)(state)) == pytest.approx({3: 8.0, 2: 2.0, 0: 4 / 3, 1: 2 / 3})
        assert scores(Feedback(index, beta=0)(state)) == scores(VectorSearch(index)(state))

    @given(st.lists(st.sampled_from(range(34)), min_size=1, max_size=6, unique=True), st.floats(0, 5))
    def test_feedback_equals_plain_python(self, nodes: list[int], beta: float) -> None:
        state = Feedback(CLUB_VECTORS, beta)(start("member 3", CLUB, evidence=Evidence.of_nodes(nodes)))
        question = HashEncoder().encode(["member 3"])[0].tolist()
        rows = CLUB_VECTORS.vectors.tolist()
        moved = [(q + beta * sum(rows[n][i] for n in nodes) / len(nodes)) / (1 + beta) for i, q in enumerate(question)]
        expected = {n: sum(a * b for a, b in zip(rows[n], moved, strict=True)) for n in range(len(CLUB))}
        assert scores(state) == pytest.approx(expected, abs=1e-6)

    def test_feedback_ignores_nodes_without_vector(self) -> None:
        row_of = np.array([0, -1, 1, -1, -1], np.int32)
        index = VectorIndex(np.float32([[1, 0], [0, 1]]), row_of, FixedEncoder((1.0, 0.0)))
        line = GRAPHS["line"]
        some = Feedback(index, beta=1)(start("?", line, evidence=Evidence.of_nodes([1, 2, 3])))
        assert scores(some) == {0: 0.5, 2: 0.5}
        none = Feedback(index, beta=1)(start("?", line, evidence=Evidence.of_nodes([1, 3])))
        assert scores(none) == {0: 1.0, 2: 0.0}


def wrote(passage: object) -> str:
    return json.dumps({"passage": passage})


def searched(*replies: str) -> State:
    return HypotheticalPassage(SNAPSHOT.passages, ScriptedLLM(replies))(start(QUESTION, SNAPSHOT.graph))


class TestHypotheticalPassage:
    def test_hypothetical_passage_vector_is_mean_with_question(self) -> None:
        state = searched(wrote(f"  {BURNED}\n"))
        asked, written = HashEncoder().encode([QUESTION, BURNED])
        for node, score in scores(state).items():
            (row,) = SNAPSHOT.passages.rows_of(np.array([node]))[1]
            assert score == pytest.approx(float(SNAPSHOT.passages.vectors[row] @ (asked + written)) / 2, abs=1e-6)
        best = SNAPSHOT.graph.passages.of(next(iter(scores(state)))).document  # type: ignore[union-attr]
        assert best == "erstein" and state.trace[-1].usage.completion_tokens > 0 and state.trace[-1].notes == ()

    @pytest.mark.parametrize("passage", ["", " \n\t"])
    def test_hypothetical_passage_empty_uses_question_with_note(self, passage: str) -> None:
        state = searched(wrote(passage))
        assert scores(state) == scores(VectorSearch(SNAPSHOT.passages)(start(QUESTION, SNAPSHOT.graph)))
        assert state.trace[-1].notes == ("the model wrote no passage; the question alone is used",)

    def test_hypothetical_passage_repairs_invalid_reply(self) -> None:
        assert scores(searched("It burned.", wrote(BURNED))) == scores(searched(wrote(BURNED)))

    @pytest.mark.parametrize("reply", ["", "It burned.", '{"passage": ["a"]}', '{"text": "a"}', '{"passage": "a'])
    def test_hypothetical_passage_without_valid_reply_uses_question(self, reply: str) -> None:
        state = searched(reply, reply)
        assert scores(state) == scores(VectorSearch(SNAPSHOT.passages)(start(QUESTION, SNAPSHOT.graph)))
        assert "did not fit the schema" in state.trace[-1].notes[0]
