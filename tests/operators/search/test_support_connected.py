"""Connections between passages and their rarity, compared with plain sets."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.operators.plain_world import NAMES, TITLES, World, worlds
from tests.toys import GRAPHS, chunk_columns_of, merged_graph

from graphwright import Graph
from graphwright.index.extraction import Extraction, Mention
from graphwright.index.merge import MergedChunks
from graphwright.kernels.csr import Csr
from graphwright.operators.search.support import rarity, reach

# What nobody writes out, a shorter name of a title, is named by its normal form.
WRITTEN = {name.lower(): name for name in [*NAMES, *TITLES]}
ROWS = st.lists(st.lists(st.integers(0, 99), max_size=4), min_size=1, max_size=6)


@given(ROWS, st.data())
@settings(deadline=None, max_examples=60)
def test_expand_gives_all_values_each_with_the_place_of_its_row(rows: list[list[int]], data: st.DataObject) -> None:
    indptr = np.cumsum([0, *map(len, rows)])
    csr = Csr(indptr, np.array([value for row in rows for value in row], np.int32))
    ids = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=5))
    owner, values = csr.expand(np.array(ids, np.int64))
    pairs = [(at, value) for at, row in enumerate(ids) for value in rows[row]]
    assert list(zip(owner.tolist(), values.tolist(), strict=True)) == pairs


def named(graph: Graph, entities: np.ndarray) -> set[str]:
    return {WRITTEN[name.lower()] for name in graph.names.take(entities)}


@given(worlds(), st.data())
@settings(deadline=None, max_examples=80)
def test_passages_reach_what_they_mention_are_about_or_name_by_an_alias(w: World, data: st.DataObject) -> None:
    graph = w.graph()
    nodes = data.draw(st.lists(st.integers(0, len(w) - 1), max_size=5, unique=True))
    entities, record = reach(graph, np.array(nodes, np.int64))
    assert entities.tolist() == sorted(set(entities.tolist())) and len(record.indptr) == len(nodes) + 1
    for at, node in enumerate(nodes):
        row = record.row(at).tolist()
        assert row == sorted(set(row)) and named(graph, entities[row]) == w.reach(node)
    assert named(graph, entities) == set().union(*map(w.reach, nodes))


@given(worlds(), st.sampled_from([0.0, 0.02, 0.6, 0.8, 1.0]))
@settings(deadline=None, max_examples=80)
def test_rarity_is_the_share_of_what_a_passage_says_by_naming_it(w: World, common: float) -> None:
    graph = w.graph()
    entities = np.arange(len(w), len(graph))
    expected = [w.rarity(WRITTEN[graph.names[e].lower()], common) for e in entities.tolist()]
    assert rarity(graph, entities, common).tolist() == pytest.approx(expected, abs=1e-12)


def naming(*passages: str) -> Graph:
    made = (Extraction(tuple(map(Mention, names.split()))) for names in passages)
    return merged_graph((f"d{i}", f"Title{i}", "", c) for i, c in enumerate(made))


def test_rarity_by_hand() -> None:
    graph = naming("Anna Bert", "Anna Bert", "Anna", "Anna")
    asked = np.array([graph.id(name) for name in ("Anna", "Bert", "Title0")])
    # In all four passages: nothing. In two of four: log(4/2) / log(4). In one: it joins nothing.
    assert rarity(graph, asked, 1.0).tolist() == pytest.approx([0.0, 0.5, 0.0])


@pytest.mark.parametrize(
    ("record", "common", "rare"), [(5, 0.0, True), (6, 0.02, False), (6, 0.3, True), (7, 0.3, False)]
)
def test_what_is_in_more_than_five_passages_and_in_more_than_a_share_joins_nothing(
    record: int, common: float, rare: bool
) -> None:
    graph = naming(*["Anna"] * record, *[""] * (20 - record))
    result = rarity(graph, np.array([graph.id("Anna")]), common)
    assert result.tolist() == [pytest.approx(log(20 / record) / log(20)) if rare else 0.0]


def test_a_name_and_what_it_may_mean_in_every_passage_say_nothing() -> None:
    # "Cleo" stands in three passages, and means what two of them are about: five of three.
    made = [("Cleo (film)", "Cleo"), ("Cleo (film)", "Cleo"), ("", "Cleo")]
    graph = merged_graph((f"d{i}", title, "", Extraction((Mention(name),))) for i, (title, name) in enumerate(made))
    entities = np.array([graph.id("Cleo"), graph.id("Cleo (film)")])
    assert rarity(graph, entities, 1.0).tolist() == [0.0, 0.0]


def test_a_passage_that_another_refers_to_is_nothing_that_it_mentions() -> None:
    docs = [("d0", "", "", Extraction((Mention("Anna"),))), ("d1", "", "", Extraction((Mention("Bert"),)))]
    graph = MergedChunks(chunk_columns_of(docs, {"d0": ["d1"]})).graph(np.empty((0, 2), np.int64))
    assert 1 in graph.columns.adjacency.row(0)
    assert graph.names.take(reach(graph, np.array([0, 1]))[0]) == ["Anna", "Bert"]


def test_a_graph_without_passages_or_without_entities_has_none() -> None:
    family = GRAPHS["family"]
    assert rarity(family, family.nodes, 1.0).tolist() == [0.0] * len(family)
    bare = merged_graph((f"d{i}", "", "nothing here", Extraction()) for i in range(3))
    entities, record = reach(bare, bare.nodes)
    assert entities.tolist() == [] and record.indptr.tolist() == [0] * 4 and record.values.tolist() == []
    assert rarity(bare, entities, 1.0).tolist() == []
    entities, record = reach(bare, bare.nodes[:0])
    assert entities.tolist() == [] and record.indptr.tolist() == [0]
