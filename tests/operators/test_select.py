"""ToPassages: the best item, the sum, the cosine; order, ties, limits, and graphs without passages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright import Evidence, Graph, ToPassages, start
from graphwright.testing import GRAPHS, corpus_index, vectors_of

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
    names = Evidence.of_nodes([graph.id("Bertha"), graph.id("Gisela")])
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


@pytest.mark.parametrize("weight", [0.0, 0.5, 3.0])
def test_to_passages_with_index_adds_cosine(weight: float) -> None:
    items = [([GRAPH.id("Lothair II"), GRAPH.id("Graz")], []), ([GRAPH.id("Ermengarde of Tours")], [])]
    query = SNAPSHOT.encoder.encode([QUESTION])[0]
    expected: dict[int, float] = {}
    for (nodes, _), score in zip(items, (0.3, 0.9), strict=True):
        for passage in GRAPH.chunks_of(nodes).tolist():
            cosine = float(SNAPSHOT.passages.vectors[SNAPSHOT.passages.row_of[passage]] @ query)  # type: ignore[index]
            expected[passage] = max(cosine + weight * score, expected.get(passage, -9.0))
    op = ToPassages(index=SNAPSHOT.passages, weight=weight)
    ranking = ranked(op, Evidence.of_trees(GRAPH, items, [0.3, 0.9]), QUESTION)
    assert len(ranking) > 3 and dict(ranking) == pytest.approx(expected, abs=1e-3)


def test_to_passages_with_index_ranks_unscored_items() -> None:
    evidence = Evidence.of_nodes([GRAPH.id("Bread"), GRAPH.id("Graz")])
    ((best, _),) = ranked(ToPassages(1, index=SNAPSHOT.passages, weight=100.0), evidence, "Graz")
    assert GRAPH.passages.of(best).document == "bread"  # type: ignore[union-attr]


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
