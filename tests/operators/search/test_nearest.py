"""Nearest items to a text: by vectors, compared with brute force, and by words where there are no vectors."""

from __future__ import annotations

import numpy as np
import pytest
from tests.shared import GRAPHS, corpus_index, vectors_of

from graphwright import Graph, VectorIndex
from graphwright.models import HashEncoder
from graphwright.operators.run import Run
from graphwright.operators.search.nearest import distinct_edges, edges_near, likeness, nodes_near, overlap

FAMILY = GRAPHS["family"]
SNAPSHOT = corpus_index().snapshot
NONE = np.empty(0, np.int64)


def cosine(a: str, b: str) -> float:
    x, y = HashEncoder().encode([a, b]).astype(np.float64)
    return float(x @ y / (np.linalg.norm(x) * np.linalg.norm(y)))


@pytest.mark.parametrize("scale", [1.0, 7.0])
def test_nearest_nodes_rank_by_cosine(scale: float) -> None:
    index = VectorIndex.from_array(vectors_of(FAMILY).vectors * np.float32(scale), HashEncoder())
    for text, result in zip(
        ("Lothair II", "of Tours"), nodes_near(Run(), index, FAMILY, ["Lothair II", "of Tours"], 3), strict=True
    ):
        expected = {v: cosine(text, FAMILY.names[v]) for v in range(len(FAMILY))}
        best = sorted((v for v in expected if expected[v] > 0), key=lambda v: (-round(expected[v], 5), v))[:3]
        assert list(result) == best
        assert result == pytest.approx({v: expected[v] for v in best}, abs=1e-5)


def test_nearest_stays_in_part() -> None:
    part = FAMILY.part([FAMILY.id(name) for name in ("Lothair II", "Waldrada", "Gisela")])
    encoder = HashEncoder()
    triples = VectorIndex.from_array(encoder.encode([FAMILY.edge_text(e) for e in range(7)]), encoder)
    for names, edges in ((vectors_of(FAMILY), triples), (None, None)):
        (result,) = nodes_near(Run(), names, part, ["Lothair I father of Lothair II"], 9)
        assert set(result) <= set(part.nodes) and FAMILY.id("Lothair II") in result
        (joins,) = edges_near(Run(), edges, part, ["Lothair II spouse"], 9, FAMILY.nodes)
        assert set(joins) <= set(part.edges.tolist()) and next(iter(joins)) == 4


def test_nearest_without_vectors_prefers_exact_name_then_spelling() -> None:
    (result,) = nodes_near(Run(), None, FAMILY, ["lothair ii"], 3)
    assert next(iter(result)) == FAMILY.id("Lothair II") and result[FAMILY.id("Lothair II")] == 1.0
    (slip,) = nodes_near(Run(), None, FAMILY, ["Teutburga"], 3)
    assert list(slip) == [FAMILY.id("Teutberga")] and 0.8 < slip[FAMILY.id("Teutberga")] < 1
    (several,) = nodes_near(Run(), None, FAMILY, ["the mother of Lothair"], 5)
    assert set(FAMILY.names.take(list(several))) >= {"Lothair I", "Lothair II"}
    assert nodes_near(Run(), None, FAMILY, ["xyzzy"], 3) == [{}] and nodes_near(Run(), None, FAMILY, [], 3) == []


def test_nearest_without_vectors_ignores_passage_edges() -> None:
    graph = SNAPSHOT.graph
    (result,) = edges_near(Run(), None, graph, ["mentions Erstein"], 20, graph.nodes)
    assert result and all((graph.columns.kinds[graph.ends([e])] == 0).all() for e in result)
    assert edges_near(Run(), None, graph, ["Erstein"], 5, NONE) == [{}]


def test_nearest_around_nodes_compares_their_edges_only() -> None:
    encoder = HashEncoder()
    triples = VectorIndex.from_array(encoder.encode([FAMILY.edge_text(e) for e in range(7)]), encoder)
    around = np.array([FAMILY.id("Gisela")])
    at_it = {e for e in FAMILY.edges.tolist() if FAMILY.id("Gisela") in FAMILY.ends([e])}
    (everywhere,), (here,) = (edges_near(Run(), triples, FAMILY, ["Lothair II spouse"], 9, n) for n in (None, around))
    assert here == pytest.approx({e: everywhere[e] for e in everywhere if e in at_it}) and set(here) < set(everywhere)
    assert edges_near(Run(), triples, FAMILY, ["Lothair II spouse"], 9, NONE) == [{}]


def test_edges_of_one_sentence_count_once() -> None:
    graph = SNAPSHOT.graph
    for index in (SNAPSHOT.triples, None):
        (result,) = edges_near(Run(), index, graph, ["daughter of Hugh of Tours"], 5, graph.nodes)
        texts = [graph.edge_text(e) for e in result]
        assert len(set(texts)) == len(texts) and list(result.values()) == sorted(result.values(), reverse=True)
        assert "daughter of Hugh of Tours" in texts[0]
    parallel = Graph.from_triples([("a", "r", "b"), ("c", "r", "d"), ("a", "r", "b")])
    assert distinct_edges(parallel, {2: 0.5, 0: 0.5, 1: 0.4}, "a", 5) == {0: 0.5, 1: 0.4}
    assert distinct_edges(parallel, {2: 0.5, 0: 0.5, 1: 0.4}, "a", 1) == {0: 0.5}


def test_likeness_is_cosine_or_word_share() -> None:
    ids = np.array([2, 0])
    by_vectors = likeness(Run(), vectors_of(FAMILY), FAMILY.names.__getitem__, ids, "Lothair II")
    assert by_vectors == pytest.approx([cosine("Lothair II", FAMILY.names[v]) for v in (2, 0)], abs=1e-6)
    assert likeness(Run(), None, FAMILY.names.__getitem__, ids, "Lothair II").tolist() == pytest.approx([1.0, 2 / 3])
    assert len(likeness(Run(), None, FAMILY.names.__getitem__, NONE, "x")) == 0


def test_overlap_equals_dice_coefficient() -> None:
    assert overlap("a red fox", "the red hen") == pytest.approx(2 / 4) and overlap("", "fox") == 0.0
    assert overlap("Abbeys", "abbey") == 1.0
