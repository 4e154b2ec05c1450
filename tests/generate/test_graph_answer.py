"""Answers from walks without a language model."""

from graphwright import Evidence, Graph, start
from graphwright.generate import GraphAnswer
from graphwright.models import HashEncoder

LABELLED = Graph.from_triples(
    [("Q1", "label", "Stone Bridge"), ("Q1", "crosses", "Q2"), ("Q2", "label", "Mur"), ("Q2", "length", "453 km")]
)


def answer(question: str, *pieces: tuple[list[int], list[int]]):  # type: ignore[no-untyped-def]
    state = start(question, LABELLED, anchors=[], evidence=Evidence.of_trees(LABELLED, pieces))
    return GraphAnswer(HashEncoder())(state).answer


def test_nodes_are_shown_by_their_labels_and_cited_by_their_walks() -> None:
    result = answer("What does it cross?", ([0, 2], [1]))
    assert result.short == ("Mur",) and result.citations[0].path == ("Q1", "crosses", "Q2")


def test_how_many_counts_ends_once() -> None:
    result = answer("How many does it cross?", ([0, 2], [1]), ([2], []), ([0], []))
    assert result.short == ("2",) and result.text == "2: Mur, Stone Bridge"


def test_what_is_compared_is_the_answer_and_the_literal_is_shown() -> None:
    result = answer("What is the longest river?", ([2, 4], [3]))
    assert result.short == ("Mur",) and result.text == "Mur (453 km)"


def test_without_evidence_nothing_is_answered() -> None:
    result = answer("What does it cross?")
    assert not result.found and result.short == () and result.citations == ()
