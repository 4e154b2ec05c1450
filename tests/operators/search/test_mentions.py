"""What passages mention, in how many of them, and how rare that is, compared with plain sets."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.operators.plain_world import NAMES, TITLES, World, worlds
from tests.shared import GRAPHS
from tests.toys import chunk_columns_of, merged_graph

from graphwright import Graph
from graphwright.build.merge import MergedChunks
from graphwright.extract.extraction import Extraction, Mention
from graphwright.graph.graph import positions_in
from graphwright.kernels.csr import Csr
from graphwright.operators.search.mentions import frequency, rarity, reach

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
