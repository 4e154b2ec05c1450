"""ToPassages: the order by evidence, the sum, the cosine among equals; ties, limits, and graphs without passages."""

from __future__ import annotations

from itertools import pairwise
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shared import GRAPHS, corpus_index, vectors_of

from graphwright import Evidence, Graph, ToPassages, start
from graphwright.graph.graph import ABOUT, Kind

SNAPSHOT = corpus_index().snapshot
GRAPH = SNAPSHOT.graph
QUESTION = "Who founded the abbey of Erstein?"
ITEMS = st.lists(
    st.tuples(
        st.lists(st.integers(0, len(GRAPH) - 1), max_size=3, unique=True),
        st.lists(st.integers(0, len(GRAPH.edges) - 1), max_size=3, unique=True),
    ),
    max_size=8,
)


def ranked(op: object, evidence: Evidence, question: str = "?", graph: Graph = GRAPH) -> list[tuple[int, float]]:
    passages = op(start(question, graph, evidence=evidence)).passages  # type: ignore[operator]
    assert passages is not None
    return list(zip(passages.ids.tolist(), passages.scores.tolist(), strict=True))


def passages_of(name: str) -> list[int]:
    """The passages that mention an entity."""
    return GRAPH.chunks_of(GRAPH.ids(name)).tolist()


def test_passage_score_is_that_of_best_item() -> None:
    lothair, tours = GRAPH.id("Lothair II"), GRAPH.id("Ermengarde of Tours")
    assert len(passages_of("Lothair II")) > 1 and set(passages_of("Lothair II")) & set(
        passages_of("Ermengarde of Tours")
    )
    ranking = ranked(ToPassages(), Evidence.of_nodes([lothair, tours, 5], [0.9, 0.4, 0.2]))
    expected = (
        {5: 0.2}
        | dict.fromkeys(passages_of("Ermengarde of Tours"), 0.4)
        | dict.fromkeys(passages_of("Lothair II"), 0.9)
    )
    assert ranking == sorted(expected.items(), key=lambda pair: (-pair[1], pair[0]))


def test_passages_of_unscored_items_score_by_rank() -> None:
    assert ranked(ToPassages(), Evidence.of_nodes([4, 1, 4, 3])) == [(4, 1.0), (1, 1 / 2), (3, 1 / 4)]


def test_items_that_are_passages_keep_order_and_scores() -> None:
    evidence = Evidence.of_nodes([5, 3, 4, 1], [0.75, 0.5, -0.25, -3.0])
    passages = ToPassages()(start(QUESTION, GRAPH, evidence=evidence)).passages
    assert passages is not None and passages.item_of is not None
    assert passages.item_of.tolist() == [0, 1, 2, 3]
    expected = [(5, 0.75), (3, 0.5), (4, -0.25), (1, -3.0)]
    assert ranked(ToPassages(), evidence) == ranked(ToPassages(index=SNAPSHOT.passages), evidence) == expected


def test_passages_stating_item_edges_are_returned() -> None:
    edges = [e for e in GRAPH.edges.tolist() if GRAPH.columns.edge_chunks.row(e).size]  # type: ignore[union-attr]
    for edge in edges:
        (chunk,) = GRAPH.columns.edge_chunks.row(edge).tolist()  # type: ignore[union-attr]
        assert ranked(ToPassages(), Evidence.of_edges([edge], [2.0])) == [(chunk, 2.0)]
    path = Evidence.of_trees(GRAPH, [([2, 4], [edges[0]])], [0.5])
    assert {c for c, _ in ranked(ToPassages(), path)} == {2, 4, *GRAPH.chunks_of(edges=edges[:1]).tolist()}


@pytest.mark.parametrize(
    "op", [ToPassages(limit=2), ToPassages() % 2, ToPassages(limit=2) % 4, ToPassages(limit=5) % 2], ids=repr
)
def test_to_passages_uses_smaller_of_limit_and_cut(op: object) -> None:
    assert ranked(op, Evidence.of_nodes([5, 3, 4, 1], [0.9, 0.5, 0.5, 0.5])) == [(5, 0.9), (1, 0.5)]
    # The second of two equal items comes from a passage with a smaller id than the first.
    late = Evidence.of_nodes([5, 4, GRAPH.id("Lothair I")], [0.9, 0.5, 0.5])
    assert passages_of("Lothair I") == [3] and ranked(op, late) == [(5, 0.9), (3, 0.5)]
    tour = Evidence.of_trees(GRAPH, [([5], []), ([4], []), ([0, 1], [])])
    assert ranked(op, tour) == [(5, 1.0), (4, 0.5)]


def test_to_passages_without_passages_returns_nodes() -> None:
    graph = GRAPHS["family"]
    edge = Evidence.of_edges([3], [0.5])
    assert [node for node, _ in ranked(ToPassages(), edge, graph=graph)] == sorted(graph.ends([3]).tolist())
    nodes = Evidence.of_nodes([2, 1], [0.5, 0.5])
    assert ranked(ToPassages() % 1, nodes, graph=graph) == [(1, 0.5)]
    names = Evidence.of_nodes([graph.id("Bertha"), graph.id("Gisela")], [0.5, 0.5])
    assert ranked(ToPassages(index=vectors_of(graph)), names, "Gisela", graph)[0][0] == graph.id("Gisela")


@given(ITEMS, st.randoms(use_true_random=False))
def test_to_passages_summed_adds_item_scores(items, random) -> None:
    scores = [random.uniform(0, 2) for _ in items]
    expected: dict[int, float] = {}
    for (nodes, edges), score in zip(items, scores, strict=True):
        for passage in GRAPH.chunks_of(nodes, edges).tolist():
            expected[passage] = expected.get(passage, 0.0) + score
    ranking = ranked(ToPassages(summed=True), Evidence.of_trees(GRAPH, items, scores))
    assert dict(ranking) == pytest.approx(expected)


def test_to_passages_summed_prefers_two_low_entities_to_one() -> None:
    boso, teutberga, mur = (GRAPH.id(name) for name in ("Boso the Elder", "Teutberga", "Mur"))
    ((best, score),) = ranked(ToPassages(limit=1, summed=True), Evidence.of_nodes([boso, teutberga, mur], [2, 2, 3]))
    assert score == 4.0 and GRAPH.passages.of(best).document == "teutberga"  # type: ignore[union-attr]


def test_to_passages_summed_accepts_unscored_items() -> None:
    graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c")])
    evidence = Evidence.of_trees(graph, [([0, 1], [0]), ([1], [])])
    assert ranked(ToPassages(summed=True), evidence, graph=graph) == [(1, 1.5), (0, 1.0)]


# The order by evidence.

ERMENGARDE, ERSTEIN, LOTHAIR = (GRAPH.id(f"{document}#0") for document in ("ermengarde", "erstein", "lothair"))
FOUNDED = GRAPH.edges_between(GRAPH.id("Ermengarde of Tours"), GRAPH.id("Erstein")).tolist()
STOOD = GRAPH.edges_between(GRAPH.id("Erstein"), GRAPH.id("Alsace")).tolist()[1:]


def tree(names: list[str], edges: list[int]) -> tuple[list[int], list[int]]:
    return [GRAPH.id(name) for name in names], edges


def test_stating_passages_of_any_item_precede_naming_passages() -> None:
    """The first item is stated by one passage and named by two others, one of which states the second item."""
    items = [tree(["Ermengarde of Tours", "Erstein"], FOUNDED), tree(["Erstein", "Alsace"], STOOD)]
    ranking = ranked(ToPassages(), Evidence.of_trees(GRAPH, items, [0.9, 0.2]))
    assert [passage for passage, _ in ranking] == [ERMENGARDE, ERSTEIN, LOTHAIR]
    assert [score for _, score in ranking[:2]] == [0.9, 0.2] and ranking[2][1] <= 0.2


def test_naming_passages_are_ordered_by_best_item_then_specific_nodes() -> None:
    columns = GRAPH.columns
    edge = GRAPH.edges_between(GRAPH.id("Mur (river)"), GRAPH.id("Drava")).tolist()
    # Of the passages that do not state it, one is about Teutberga; the other names her, as one of two passages.
    item = tree(["Teutberga", "Mur (river)"], edge)
    teutberga, mur = GRAPH.id("teutberga#0"), GRAPH.id("mur#0")
    assert columns.by_relation(ABOUT).row(GRAPH.id("Teutberga")).tolist() == [teutberga]
    assert columns.node_chunks is not None and columns.node_chunks.row(GRAPH.id("Teutberga")).tolist() == [
        LOTHAIR,
        teutberga,
    ]
    rare = 1 / log2(2 + 2)
    ranking = ranked(ToPassages(), Evidence.of_trees(GRAPH, [item], [0.8]))
    assert ranking == [(mur, 0.8), (teutberga, 0.8 * 1 / (1 + 1)), (LOTHAIR, pytest.approx(0.8 * rare / (1 + rare)))]
    # Passages that name two such nodes of the second item, v = 1, precede the one that names one of the first.
    other = tree(["Alsace", "Erstein", "Mur (river)"], edge)
    two = ranked(ToPassages(), Evidence.of_trees(GRAPH, [item, other], [0.8, 0.4]))
    assert [passage for passage, _ in two] == [mur, teutberga, ERMENGARDE, ERSTEIN, LOTHAIR]
    assert [score for _, score in two[2:]] == [0.4 * 0.5] * 3  # the last has 0.8 / 3, but never more than those before


def test_cosine_orders_only_passages_that_are_equal() -> None:
    founded, stood = tree([], FOUNDED[:1]), tree([], STOOD[:1])
    op = ToPassages(index=SNAPSHOT.passages)
    query = SNAPSHOT.encoder.encode(["When was the abbey destroyed during the War?"])
    cosines = SNAPSHOT.encoder.encode([GRAPH.reading(v) for v in (ERMENGARDE, ERSTEIN)]) @ query[0]
    assert cosines[1] > cosines[0] and ERMENGARDE < ERSTEIN
    for scores, expected in (([0.9, 0.8], [ERMENGARDE, ERSTEIN]), ([0.8, 0.8], [ERSTEIN, ERMENGARDE])):
        evidence = Evidence.of_trees(GRAPH, [founded, stood], scores)
        ranking = ranked(op, evidence, "When was the abbey destroyed during the War?")
        assert [passage for passage, _ in ranking] == expected and [score for _, score in ranking] == scores


def test_summed_passages_of_equal_sums_are_ordered_by_cosine() -> None:
    evidence = Evidence.of_nodes([ERMENGARDE, ERSTEIN], [0.5, 0.5])
    op = ToPassages(index=SNAPSHOT.passages, summed=True)
    assert ranked(op, evidence, "When was the abbey destroyed during the War?") == [(ERSTEIN, 0.5), (ERMENGARDE, 0.5)]


@given(ITEMS, st.sampled_from([None, (0.0, 0.5, 1.0), (-2.0, -1.0, 0.5)]), st.randoms(use_true_random=False))
def test_passages_of_items_follow_tiers_and_scores_never_rise(items, levels, random) -> None:
    scores = None if levels is None else [random.choice(levels) for _ in items]
    evidence = Evidence.of_trees(GRAPH, items, scores)
    ranking = ranked(ToPassages(), evidence)
    assert all(a >= b for (_, a), (_, b) in pairwise(ranking))
    stated: dict[int, float] = {}
    for (nodes, edges), score in zip(evidence, evidence.ranked_scores.tolist(), strict=True):
        alone = len(nodes) == 1 and not len(edges)
        chunks = nodes if alone else nodes[GRAPH.columns.kinds[nodes] == Kind.CHUNK]
        for passage in GRAPH.chunks_of(chunks, edges).tolist():
            stated[passage] = max(score, stated.get(passage, score))
    assert ranking[: len(stated)] == sorted(stated.items(), key=lambda pair: (-pair[1], pair[0]))
    assert {passage for passage, _ in ranking} == set(GRAPH.chunks_of(evidence.nodes, evidence.edges).tolist())


@given(ITEMS, st.integers(1, 6), st.booleans(), st.booleans())
def test_to_passages_of_items_with_limit_equals_first_of_all(items, limit: int, edges: bool, by_cosine: bool) -> None:
    index = SNAPSHOT.passages if by_cosine else None
    evidence = Evidence.of_trees(GRAPH, items if edges else [(nodes, []) for nodes, _ in items])
    every = ranked(ToPassages(index=index), evidence, QUESTION)
    assert ranked(ToPassages(limit=limit, index=index), evidence, QUESTION) == every[:limit]


def test_item_that_brought_a_passage_states_it_or_names_it_best() -> None:
    items = [tree(["Ermengarde of Tours", "Erstein"], FOUNDED), tree(["Erstein", "Alsace"], STOOD)]
    state = start("?", GRAPH, evidence=Evidence.of_trees(GRAPH, items, [0.9, 0.2]))
    passages = ToPassages()(state).passages
    assert passages is not None and passages.item_of is not None
    assert dict(zip(passages.ids.tolist(), passages.item_of.tolist(), strict=True)) == {
        ERMENGARDE: 0,
        ERSTEIN: 1,
        LOTHAIR: 0,
    }
    assert len(np.unique(passages.ids)) == 3


@given(
    st.lists(st.tuples(st.integers(0, len(GRAPH) - 1), st.sampled_from([0.0, 0.5, 1.0])), max_size=40),
    st.integers(1, 8),
    st.booleans(),
)
def test_to_passages_limit_equals_first_of_all(items: list[tuple[int, float]], limit: int, scored: bool) -> None:
    nodes, scores = [node for node, _ in items], [score for _, score in items]
    state = start("?", GRAPH, evidence=Evidence.of_nodes(nodes, scores if scored else None))
    every, first = (op(state).passages for op in (ToPassages(), ToPassages(limit=limit)))
    assert every is not None and first is not None
    assert first.ids.tolist() == every.ids[:limit].tolist()
    assert first.scores.tolist() == every.scores[:limit].tolist()
