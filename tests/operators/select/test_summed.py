"""Passages by the sum over what names them: against the product of a matrix and a vector, in plain Python."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.toys import corpus_index

from graphwright import Evidence, Graph, ToPassages, start
from graphwright.errors import OptionError

GRAPH = corpus_index().snapshot.graph
NODES, EDGES = len(GRAPH), len(GRAPH.edges)
PIECES = st.lists(
    st.tuples(
        st.lists(st.integers(0, NODES - 1), max_size=3, unique=True),
        st.lists(st.integers(0, EDGES - 1), max_size=3, unique=True),
    ),
    max_size=8,
)


@given(PIECES, st.randoms(use_true_random=False))
def test_it_is_the_sum_over_the_pieces_that_came_from_a_passage(pieces, random) -> None:
    scores = [random.uniform(0, 2) for _ in pieces]
    state = ToPassages(summed=True)(start("?", GRAPH, evidence=Evidence.of_pieces(pieces, scores)))
    expected: dict[int, float] = {}
    for (nodes, edges), score in zip(pieces, scores, strict=True):
        for chunk in GRAPH.chunks_of(nodes, edges).tolist():
            expected[chunk] = expected.get(chunk, 0.0) + score
    assert state.passages is not None
    assert dict(zip(state.passages.ids.tolist(), state.passages.scores.tolist(), strict=True)) == pytest.approx(
        expected
    )


def test_two_entities_of_little_mass_outweigh_one_of_more() -> None:
    boso, teutberga, mur = (GRAPH.id(name) for name in ("Boso the Elder", "Teutberga", "Mur"))
    state = ToPassages(limit=1, summed=True)(
        start("?", GRAPH, evidence=Evidence.of_nodes([boso, teutberga, mur], [2, 2, 3]))
    )
    assert state.passages is not None and state.passages.scores.tolist() == [4.0]
    assert GRAPH.passages.of(int(state.passages.ids[0])).document == "teutberga"  # type: ignore[union-attr]


def test_pieces_without_scores_count_by_rank_and_nodes_stand_for_passages_where_there_are_none() -> None:
    graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c")])
    state = ToPassages(summed=True)(start("?", graph, evidence=Evidence.of_pieces([([0, 1], [0]), ([1], [])])))
    assert state.passages is not None
    assert (state.passages.ids.tolist(), state.passages.scores.tolist()) == ([1, 0], [1.5, 1.0])


def test_a_limit_is_a_number_of_passages() -> None:
    with pytest.raises(OptionError, match="limit=0"):
        ToPassages(0, summed=True)
