"""Bridges: which entities sentences activate, with worked scores."""

from __future__ import annotations

import numpy as np
import pytest
from tests.shared import FixedEncoder

from graphwright import Graph, start
from graphwright.operators import Bridge
from graphwright.operators.state import Anchor, State
from graphwright.search.vector_index import VectorIndex

GRAPH = Graph.from_triples(
    [("Ida", "r", "Udo"), ("Ida", "r", "Lyon"), ("Udo", "r", "Graz"), ("Graz", "r", "Mur"), ("Udo", "r", "Ida")]
)


def index(*cosines: float) -> VectorIndex:
    return VectorIndex(np.float32([[c, np.sqrt(1 - c * c)] for c in cosines]), None, FixedEncoder((1.0, 0.0)))


INDEX = index(0.8, 0.6, 0.9, 0.5, 0.1)


def reached(state: State) -> dict[str, float]:
    assert state.evidence is not None and state.evidence.scores is not None
    walks = [" ".join(GRAPH.names.take(nodes)) for nodes, _ in state.evidence]
    return dict(zip(walks, state.evidence.scores.round(4).tolist(), strict=True))


def test_bridge_scores_are_products_along_walk() -> None:
    state = Bridge(INDEX, rounds=2, sentences=1, threshold=0.1)(start("?", GRAPH, entities=["Ida"]))
    assert reached(state) == {"Ida": 1.0, "Ida Udo": 0.8, "Ida Udo Graz": 0.72}
    walk = state.evidence.piece(2) if state.evidence is not None else ()
    assert [part.tolist() for part in walk] == [[0, 1, 3], [0, 2]]


def test_bridge_rounds_and_sentences_widen_search() -> None:
    wide = Bridge(INDEX, rounds=3, sentences=2, threshold=0.1)(start("?", GRAPH, entities=["Ida"]))
    assert reached(wide) == {
        "Ida": 1.0,
        "Ida Udo": 0.8,
        "Ida Udo Graz": 0.72,
        "Ida Lyon": 0.6,
        "Ida Udo Graz Mur": 0.36,
    }


def test_bridge_threshold_stops_activation() -> None:
    state = Bridge(INDEX, rounds=3, sentences=2, threshold=0.75)(start("?", GRAPH, entities=["Ida"]))
    assert reached(state) == {"Ida": 1.0, "Ida Udo": 0.8}


def test_bridge_selects_sentence_once() -> None:
    anchors = [Anchor("Ida", [0]), Anchor("Udo", [1], weight=0.9)]
    state = Bridge(INDEX, rounds=1, sentences=1, threshold=0.1)(start("?", GRAPH, anchors=anchors))
    assert reached(state) == {"Ida": 1.0, "Udo": 0.9, "Udo Graz": 0.81, "Ida Udo": 0.8}


@pytest.mark.parametrize("anchors", [[], [Anchor("a theme", kind="theme")], [Anchor("unknown")]])
def test_bridge_without_entities_is_empty(anchors: list[Anchor]) -> None:
    assert reached(Bridge(INDEX)(start("?", GRAPH, anchors=anchors))) == {}


def test_bridge_without_vectors_compares_words() -> None:
    state = Bridge(None, rounds=1, threshold=0.1)(start("Is Udo of Ida?", GRAPH, entities=["Ida"]))
    assert "Ida Udo" in reached(state) and "compared by words" in state.trace[-1].notes[0]
