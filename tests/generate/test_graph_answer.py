"""Answers from walks without a language model."""

from graphwright import Evidence, Graph, start
from graphwright.generate import GraphAnswer
from graphwright.generate.graph_answer import LacksAnswer
from graphwright.models import HashEncoder

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


def lacks_answer(question: str, *pieces: tuple[list[int], list[int]]) -> bool:
    state = start(question, LABELLED, anchors=[], evidence=Evidence.of_trees(LABELLED, pieces))
    return LacksAnswer(HashEncoder())(state)


def test_lacks_answer_where_walks_find_nothing_holds() -> None:
    assert lacks_answer("What does it cross?")


def test_lacks_answer_where_walks_find_something_fails() -> None:
    assert not lacks_answer("What does it cross?", ([0, 2], [1]))


def test_lacks_answer_with_an_unknown_name_fails() -> None:
    assert not lacks_answer("What does the Ponte Vecchio cross?")
