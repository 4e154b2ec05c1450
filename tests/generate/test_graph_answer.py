"""Answers from walks without a language model."""

from dataclasses import dataclass

from graphwright import Evidence, Graph, start
from graphwright.generate import GraphAnswer
from graphwright.generate.graph_answer import Unrecorded
from graphwright.models import HashEncoder
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import Answer, State

LABELLED = Graph.from_triples(
    [("Q1", "label", "Stone Bridge"), ("Q1", "crosses", "Q2"), ("Q2", "label", "Mur"), ("Q2", "length", "453 km")]
)


def answer(question: str, *pieces: tuple[list[int], list[int]]):  # type: ignore[no-untyped-def]
    state = start(question, LABELLED, anchors=[], evidence=Evidence.of_trees(LABELLED, pieces))
    return GraphAnswer(HashEncoder())(state).answer


def test_graph_answer_shows_labels_and_cites_walks() -> None:
    result = answer("What does it cross?", ([0, 2], [1]))
    assert result.short == ("Mur",) and result.citations[0].path == ("Q1", "crosses", "Q2")


def test_graph_answer_to_how_many_counts_each_end_once() -> None:
    result = answer("How many does it cross?", ([0, 2], [1]), ([2], []), ([0], []))
    assert result.short == ("2",) and result.text == "2: Mur, Stone Bridge"


def test_graph_answer_to_comparison_shows_compared_literal() -> None:
    result = answer("What is the longest river?", ([2, 4], [3]))
    assert result.short == ("Mur",) and result.text == "Mur (453 km)"


def test_graph_answer_without_evidence_is_none() -> None:
    result = answer("What does it cross?")
    assert not result.found and result.short == () and result.citations == ()


@dataclass(frozen=True, repr=False)
class Answering(Operator):
    """Answers every question."""

    gives = ("answer",)

    def apply(self, state: State, run: Run) -> State:
        return state.with_(answer=Answer("Mur", ("Mur",)))


def unrecorded(question: str, *pieces: tuple[list[int], list[int]]) -> Answer | None:
    state = start(question, LABELLED, anchors=[], evidence=Evidence.of_trees(LABELLED, pieces))
    return Unrecorded(HashEncoder(), Answering())(state).answer


def test_unrecorded_runs_its_step_where_walks_find_nothing() -> None:
    result = unrecorded("What does it cross?")
    assert result is not None and result.short == ("Mur",)


def test_unrecorded_leaves_what_walks_find() -> None:
    assert unrecorded("What does it cross?", ([0, 2], [1])) is None


def test_unrecorded_leaves_a_question_with_an_unknown_name() -> None:
    assert unrecorded("What does the Ponte Vecchio cross?") is None
