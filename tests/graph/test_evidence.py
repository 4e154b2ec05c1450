"""Evidence and rankings: order, pieces, union, texts."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shared import GRAPHS, corpus_index

from graphwright import Evidence
from graphwright.errors import OptionError
from graphwright.graph import Item, ItemKind, Ranking
from graphwright.graph.items import Steps

CLUB = GRAPHS["club"]
pieces = st.lists(
    st.tuples(st.lists(st.integers(0, 9), max_size=3), st.lists(st.integers(0, 9), max_size=2)), max_size=8
)


def test_scored_nodes_rank_by_score_then_id() -> None:
    result = Evidence.of_nodes([5, 2, 9, 1], [0.5, 0.7, 0.5, 0.7])
    assert result.nodes.tolist() == [1, 2, 5, 9]
    assert result.scores is not None and result.scores.tolist() == [0.7, 0.7, 0.5, 0.5]


def test_unscored_evidence_keeps_given_order() -> None:
    result = Evidence.of_edges([5, 2, 9])
    assert result.scores is None
    assert [result.piece(i)[1].tolist() for i in range(3)] == [[5], [2], [9]]
    assert [len(result.piece(i)[0]) for i in range(3)] == [0, 0, 0]


@given(pieces, st.data())
def test_pieces_round_trip_in_rank_order(given_pieces: list[tuple[list[int], list[int]]], data: st.DataObject) -> None:
    scores = data.draw(
        st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=len(given_pieces), max_size=len(given_pieces))
    )
    result = Evidence.of_trees(CLUB, given_pieces, scores)
    expected = sorted(((-s, tuple(n), tuple(e)) for s, (n, e) in zip(scores, given_pieces, strict=True)))
    assert result.identities() == [(n, e) for _, n, e in expected]
    assert result.scores is not None and result.scores.tolist() == [-s for s, *_ in expected]
    assert Evidence.of_trees(CLUB, given_pieces).identities() == [(tuple(n), tuple(e)) for n, e in given_pieces]
    k = data.draw(st.integers(0, len(given_pieces) + 1))
    assert result.top(k).identities() == result.identities()[:k]


@given(pieces, pieces, st.integers(0, 12))
def test_union_adds_new_items_within_cap(
    a: list[tuple[list[int], list[int]]], b: list[tuple[list[int], list[int]]], cap: int
) -> None:
    first, second = Evidence.of_trees(CLUB, a), Evidence.of_trees(CLUB, b)
    expected = first.identities()
    for key in second.identities():
        if key not in expected and len(expected) < cap:
            expected.append(key)
    united = first.union(second, cap)
    assert united.identities() == expected and united.scores is None
    assert len(united.node_ptr) == len(united.edge_ptr) == len(united) + 1


@given(st.lists(st.integers(0, 5)), st.lists(st.integers(0, 5)), st.integers(0, 12))
def test_union_of_nodes_is_that_of_items(a: list[int], b: list[int], cap: int) -> None:
    pieces = [Evidence.of_items(map(Item.node, nodes)) for nodes in (a, b)]
    united, expected = Evidence.of_nodes(a).union(Evidence.of_nodes(b), cap), list(a)
    for v in b:
        if v not in expected and len(expected) < cap:
            expected.append(v)
    assert united.nodes.tolist() == expected == pieces[0].union(pieces[1], cap).nodes.tolist()
    assert united.only_nodes and not united.nodes.flags.writeable


def test_cut_evidence_frees_memory() -> None:
    selected = Evidence.of_nodes(range(1000), np.arange(1000)).top(2)
    assert all(
        part is None or part.base is None
        for part in (selected.nodes, selected.node_ptr, selected.edge_ptr, selected.scores)
    )


@pytest.mark.parametrize(
    "ids, scores, message",
    [
        ([1, 2], [0.5], "1 scores for 2 items"),
        ([1], [float("nan")], "not a number"),
        ([-1], None, "0 or more"),
        ([1.5], None, "whole numbers"),
        ([[1, 2]], None, "shape"),
    ],
)
def test_invalid_evidence_raises(ids: list[int], scores: list[float] | None, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        Evidence.of_nodes(ids, scores)


def test_evidence_copies_its_arrays() -> None:
    ids = np.array([1, 2, 3])
    result = Evidence.of_nodes(ids)
    ids[0] = 9
    assert result.nodes.tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="read-only"):
        result.nodes[0] = 9


def test_item_texts_cover_nodes_triples_paths_and_sets() -> None:
    family = GRAPHS["family"]
    assert Evidence.of_nodes([1]).texts(family) == ["Ermengarde of Tours"]
    assert Evidence.of_edges([0]).texts(family) == ["Lothair I spouse Ermengarde of Tours"]
    path = Evidence.of_trees(family, [([0, 1, 2], [0, 1]), ([0, 2], [])])
    assert path.texts(family) == [
        "Lothair I spouse Ermengarde of Tours; Ermengarde of Tours mother of Lothair II",
        "Lothair I, Lothair II",
    ]


def test_passage_text_begins_with_title() -> None:
    graph = corpus_index().graph
    texts = Evidence.of_nodes([graph.id("erstein#0"), graph.id("lothair#0")]).texts(graph)
    assert texts[0].startswith("Erstein Abbey\nThe abbey")
    assert texts[1].startswith("Lothair II\nLothair II was king")


def test_ranking_orders_by_score_then_id() -> None:
    ranking = Ranking.of([7, 3, 5], [1.0, 1.0, 2.0])
    assert ranking.ids.tolist() == [5, 3, 7] and ranking.top(1).ids.tolist() == [5] and len(ranking) == 3


def test_kinds_and_steps_follow_items_through_derivations() -> None:
    items = [
        Item.node(3, ((0, True), (1, False))),
        Item.triple(2),
        Item(ItemKind.PATH, (0, 1), (0,), ((0, True),)),
        Item(ItemKind.TREE, (1, 4), ()),
    ]
    evidence = Evidence.of_items(items, [0.1, 0.2, 0.3, 0.4])
    assert list(evidence.items()) == items[::-1] and evidence.item(3) == items[0]
    assert list(evidence.top(2).items()) == items[:1:-1]
    assert list(evidence.unscored().items()) == items[::-1]
    assert list(evidence.take([0, 3], [0.1, 0.2]).items()) == [items[0], items[3]]
    assert list(Evidence.of_nodes([5]).union(evidence).items()) == [Item.node(5), *items[::-1]]
    assert list(pickle.loads(pickle.dumps(evidence)).items()) == items[::-1]
    assert [item.steps for item in evidence.without_steps().items()] == [(), (), (), ()]


def test_of_nodes_with_scores_sorts_steps_too() -> None:
    walk = ((0, True), (1, True))
    evidence = Evidence.of_nodes([4, 2, 7], [0.1, 0.9, 0.5], Steps.of([walk, (), walk[:1]]))
    assert list(evidence.items()) == [Item.node(2), Item.node(7, walk[:1]), Item.node(4, walk)]
    assert list(evidence.steps_to(np.array([4, 9])).rows()) == [walk, ()]


def test_piece_outside_range_raises() -> None:
    with pytest.raises(IndexError):
        Evidence.of_nodes([1]).piece(1)
