"""Bridges: which entities sentences activate, with worked scores.

Seeds of PageRank from paths of propositions and from bridges: worked weights.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.shared import FixedEncoder, corpus_index

from graphwright import Evidence, Graph, VectorSearch, start
from graphwright.models import HashEncoder
from graphwright.operators import Bridge, BridgeSeeds, PathSeeds
from graphwright.operators.operator import Operator
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


IX = corpus_index().snapshot
LINE = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("c", "r", "d")])
NONE = VectorIndex.from_array(HashEncoder().encode(list(LINE.names)), HashEncoder())


def weights(op: Operator, evidence: Evidence) -> dict[str, float]:
    after = op(start("?", LINE, evidence=evidence)).evidence
    assert after is not None and after.scores is not None
    return {name: w for name, w in zip(LINE.names.take(after.nodes), after.scores.tolist(), strict=True) if w}


def test_path_seeds_weigh_entities_by_best_path() -> None:
    paths = Evidence.of_trees(LINE, [([0, 1, 2], [0, 1]), ([1, 2], [1]), ([0, 1, 2, 3], [0, 1, 2])], [0.8, 0.6, 0.5])
    assert weights(PathSeeds(NONE, entities=2, weight=0.0), paths) == {"b": 1.0, "c": 1.0}
    # d is on the path of 0.5 alone.
    assert weights(PathSeeds(NONE, weight=0.0), paths) == {"a": 1.0, "b": 1.0, "c": 1.0, "d": 0.625}
    # The best path has a, b and c; the best single proposition b and c.
    assert weights(PathSeeds(NONE, paths=1, weight=0.0, scored=False), paths) == {"a": 1.0, "b": 1.0, "c": 1.0}


def test_path_seeds_keep_single_propositions() -> None:
    paths = Evidence.of_trees(LINE, [([0, 1], [0, 0]), ([2, 3], [2])], [0.8, 0.4])
    assert weights(PathSeeds(NONE, paths=1, weight=0.0), paths) == {"a": 1.0, "b": 1.0, "c": 0.5, "d": 0.5}


def test_path_seeds_weigh_passages_by_scaled_cosine() -> None:
    assert IX.triples is not None
    state = start("Who founded Erstein Abbey?", IX.graph, evidence=Evidence.of_edges(IX.triples.ids[:1], [0.7]))
    after = PathSeeds(IX.passages, weight=0.1)(state).evidence
    cosines = VectorSearch(IX.passages)(state).evidence
    assert after is not None and after.scores is not None and cosines is not None and cosines.scores is not None
    found = dict(zip(after.nodes.tolist(), after.scores.tolist(), strict=True))
    low, high = cosines.scores[-1], cosines.scores[0]
    for node, cosine in zip(cosines.nodes.tolist(), cosines.scores.tolist(), strict=True):
        assert found[node] == pytest.approx(0.1 * (cosine - low) / (high - low))


def test_bridge_seeds_sum_walks_per_entity() -> None:
    walks = Evidence.of_trees(LINE, [([0], []), ([0, 1], [0]), ([2, 1], [1])], [1.0, 0.5, 0.25])
    found = weights(BridgeSeeds(NONE, weight=0.0), walks)
    assert found == {"a": 1.0, "b": 0.75}


def test_bridge_seeds_raise_passages_naming_active_entities() -> None:
    graph = IX.graph
    entity = graph.id("Erstein Abbey")
    start_state = start("?", graph, evidence=Evidence.of_trees(LINE, [([entity], [])], [0.8]))
    after = BridgeSeeds(IX.passages, ratio=0.0, weight=1.0)(start_state).evidence
    assert after is not None and after.scores is not None and graph.columns.node_chunks is not None
    found = dict(zip(after.nodes.tolist(), after.scores.tolist(), strict=True))
    named = graph.columns.node_chunks.row(entity).tolist()
    assert named
    for passage in IX.passages.ids.tolist():
        times = max(graph.reading(passage).casefold().count("erstein abbey"), 1)
        bonus = math.log(1 + 0.8 * math.log(1 + times)) if passage in named else 0.0
        assert found[passage] == pytest.approx(bonus)
