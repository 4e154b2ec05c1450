"""What passages mention, in how many of them, and how rare that is, compared with plain sets.

Nearest items to a text: by vectors, compared with brute force, and by words where there are no vectors.
"""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.operators.plain_world import NAMES, TITLES, World, worlds
from tests.shared import GRAPHS, corpus_index, vectors_of
from tests.toys import chunk_columns_of, merged_graph

from graphwright import Graph, VectorIndex
from graphwright.build.merge import MergedChunks
from graphwright.extract.extraction import Extraction, Mention
from graphwright.graph.graph import positions_in
from graphwright.kernels.csr import Csr
from graphwright.models import HashEncoder
from graphwright.operators.run import Run
from graphwright.operators.search.nearest import (
    distinct_edges,
    edges_near,
    frequency,
    likeness,
    nodes_near,
    overlap,
    rarity,
    reach,
)

# What nobody writes out, a shorter name of a title, is named by its normal form.
WRITTEN = {name.lower(): name for name in [*NAMES, *TITLES]}
ROWS = st.lists(st.lists(st.integers(0, 99), max_size=4), min_size=1, max_size=6)


@given(ROWS, st.data())
def test_expand_returns_values_with_row_positions(rows: list[list[int]], data: st.DataObject) -> None:
    indptr = np.cumsum([0, *map(len, rows)])
    csr = Csr(indptr, np.array([value for row in rows for value in row], np.int32))
    ids = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=5))
    owner, values = csr.expand(np.array(ids, np.int64))
    pairs = [(at, value) for at, row in enumerate(ids) for value in rows[row]]
    assert list(zip(owner.tolist(), values.tolist(), strict=True)) == pairs


def named(graph: Graph, entities: np.ndarray) -> set[str]:
    return {WRITTEN[name.lower()] for name in graph.names.take(entities)}


@given(worlds(), st.data())
def test_passages_reach_mentioned_entities_and_aliases(w: World, data: st.DataObject) -> None:
    graph = w.graph()
    nodes = data.draw(st.lists(st.integers(0, len(w) - 1), max_size=5, unique=True))
    entities, record = reach(graph, np.array(nodes, np.int64))
    assert entities.tolist() == sorted(set(entities.tolist())) and len(record.indptr) == len(nodes) + 1
    for at, node in enumerate(nodes):
        row = record.row(at).tolist()
        assert row == sorted(set(row)) and named(graph, entities[row]) == w.reach(node)
    assert named(graph, entities) == set().union(*map(w.reach, nodes))


@given(worlds(), st.booleans())
def test_rarity_falls_with_number_of_passages(w: World, reverse: bool) -> None:
    graph = w.graph()
    entities = np.arange(len(w), len(graph))[:: -1 if reverse else 1]
    names = [WRITTEN[graph.names[e].lower()] for e in entities.tolist()]
    df, n = frequency(graph, entities), max(len(w), 2)
    assert df.tolist() == [w.holders(name) for name in names]
    expected = [max(log(n / max(w.holders(name), 1)) / log(n), 0.0) for name in names]
    assert rarity(graph, df).tolist() == pytest.approx(expected, abs=1e-12)


def naming(*passages: str) -> Graph:
    made = (Extraction(tuple(map(Mention, names.split()))) for names in passages)
    return merged_graph((f"d{i}", f"Title{i}", "", c) for i, c in enumerate(made))


def test_rarity_equals_worked_numbers() -> None:
    graph = naming("Anna Bert", "Anna Bert", "Anna", "Anna")
    df = frequency(graph, np.array([graph.id(name) for name in ("Anna", "Bert", "Title0")]))
    # In all four passages: nothing. In two of four: log(4/2) / log(4). In one: 1.
    assert df.tolist() == [4, 2, 1] and rarity(graph, df).tolist() == pytest.approx([0.0, 0.5, 1.0])
    assert rarity(graph, np.zeros(1)).tolist() == [1.0]  # what no passage mentions


def test_name_in_every_passage_has_zero_rarity() -> None:
    # "Cleo" stands in three passages, and means what two of them are about: five of three.
    made = [("Cleo (film)", "Cleo"), ("Cleo (film)", "Cleo"), ("", "Cleo")]
    graph = merged_graph((f"d{i}", title, "", Extraction((Mention(name),))) for i, (title, name) in enumerate(made))
    df = frequency(graph, np.array([graph.id("Cleo"), graph.id("Cleo (film)")]))
    assert df.tolist() == [5, 5] and rarity(graph, df).tolist() == [0.0, 0.0]


def test_passage_references_are_not_mentions() -> None:
    docs = [("d0", "", "", Extraction((Mention("Anna"),))), ("d1", "", "", Extraction((Mention("Bert"),)))]
    graph = MergedChunks(chunk_columns_of(docs, {"d0": ["d1"]})).graph(np.empty((0, 2), np.int64))
    assert 1 in graph.columns.adjacency.row(0)
    assert graph.names.take(reach(graph, np.array([0, 1]))[0]) == ["Anna", "Bert"]


def test_mentions_without_passages_or_entities_are_empty() -> None:
    family = GRAPHS["family"]
    assert frequency(family, family.nodes).tolist() == [0.0] * len(family)
    assert rarity(family, np.zeros(2)).tolist() == [1.0, 1.0]
    bare = merged_graph((f"d{i}", "", "nothing here", Extraction()) for i in range(3))
    entities, record = reach(bare, bare.nodes)
    assert entities.tolist() == [] and record.indptr.tolist() == [0] * 4 and record.values.tolist() == []
    assert frequency(bare, entities).tolist() == []
    entities, record = reach(bare, bare.nodes[:0])
    assert entities.tolist() == [] and record.indptr.tolist() == [0]


@given(st.sets(st.integers(0, 20)).map(sorted), st.lists(st.integers(-1, 21)), st.sampled_from([np.int32, np.int64]))
def test_mention_positions_equal_list_positions(ascending: list[int], nodes: list[int], dtype: type) -> None:
    expected = [ascending.index(node) if node in ascending else -1 for node in nodes]
    assert positions_in(np.array(ascending, dtype), np.array(nodes, dtype)).tolist() == expected


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
