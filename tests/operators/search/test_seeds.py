"""Seeds of PageRank from paths of propositions and from bridges: worked weights."""

from __future__ import annotations

import math

import pytest
from tests.shared import corpus_index

from graphwright import Evidence, Graph, VectorSearch, start
from graphwright.models import HashEncoder
from graphwright.operators import BridgeSeeds, PathSeeds
from graphwright.operators.operator import Operator
from graphwright.search.vector_index import VectorIndex

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
