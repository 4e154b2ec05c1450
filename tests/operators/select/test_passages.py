"""From pieces to passages: order, ties, limits, and graphs without passages."""

from __future__ import annotations

import pytest
from tests.toys import GRAPHS, corpus_index

from graphwright import Evidence, ToPassages, start
from graphwright.errors import OptionError
from graphwright.operators.state import State

GRAPH = corpus_index().graph


def given(evidence: Evidence) -> State:
    return start("?", GRAPH, evidence=evidence)


def ranked(op: object, evidence: Evidence) -> list[tuple[int, float]]:
    chunks = op(given(evidence)).passages  # type: ignore[operator]
    return list(zip(chunks.ids.tolist(), chunks.scores.tolist(), strict=True))


def held(name: str) -> list[int]:
    """The chunks of an entity."""
    return GRAPH.chunks_of(GRAPH.ids(name)).tolist()


def test_a_passage_has_the_score_of_its_first_piece() -> None:
    lothair, tours = GRAPH.id("Lothair II"), GRAPH.id("Ermengarde of Tours")
    assert len(held("Lothair II")) > 1 and set(held("Lothair II")) & set(held("Ermengarde of Tours"))
    found = ranked(ToPassages(), Evidence.of_nodes([lothair, tours, 5], [0.9, 0.4, 0.2]))
    wanted = {5: 0.2} | dict.fromkeys(held("Ermengarde of Tours"), 0.4) | dict.fromkeys(held("Lothair II"), 0.9)
    assert found == sorted(wanted.items(), key=lambda pair: (-pair[1], pair[0]))


def test_unscored_pieces_count_as_one_over_rank() -> None:
    assert ranked(ToPassages(), Evidence.of_nodes([4, 1, 4, 3])) == [(4, 1.0), (1, 1 / 2), (3, 1 / 4)]


def test_triples_and_paths_come_from_the_chunks_that_state_them() -> None:
    edges = [e for e in GRAPH.edges.tolist() if GRAPH.columns.edge_chunks.row(e).size]  # type: ignore[union-attr]
    for edge in edges:
        (chunk,) = GRAPH.columns.edge_chunks.row(edge).tolist()  # type: ignore[union-attr]
        assert ranked(ToPassages(), Evidence.of_edges([edge], [2.0])) == [(chunk, 2.0)]
    path = Evidence.of_pieces([([2, 4], [edges[0]])], [0.5])
    assert {c for c, _ in ranked(ToPassages(), path)} == {2, 4, *GRAPH.chunks_of(edges=edges[:1]).tolist()}


@pytest.mark.parametrize(
    "op", [ToPassages(limit=2), ToPassages() % 2, ToPassages(limit=2) % 4, ToPassages(limit=5) % 2], ids=repr
)
def test_the_smaller_of_limit_and_cut_holds_and_ties_fall_by_id(op: object) -> None:
    assert ranked(op, Evidence.of_nodes([5, 3, 4, 1], [0.9, 0.5, 0.5, 0.5])) == [(5, 0.9), (1, 0.5)]
    # The second of two equal pieces comes from a passage with a smaller id than the first.
    late = Evidence.of_nodes([5, 4, GRAPH.id("Lothair I")], [0.9, 0.5, 0.5])
    assert held("Lothair I") == [3] and ranked(op, late) == [(5, 0.9), (3, 0.5)]
    tour = Evidence.of_pieces([([5], []), ([4], []), ([0, 1], [])])
    assert ranked(op, tour) == [(5, 1.0), (4, 0.5)]


def test_a_graph_without_passages_gives_nodes() -> None:
    graph = GRAPHS["family"]
    edge = Evidence.of_edges([3], [0.5])
    found = ToPassages()(start("?", graph, evidence=edge)).passages
    assert found is not None and found.ids.tolist() == sorted(graph.ends([3]).tolist())
    nodes = (ToPassages() % 1)(start("?", graph, evidence=Evidence.of_nodes([2, 1], [0.5, 0.5]))).passages
    assert nodes is not None and nodes.ids.tolist() == [1]


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(OptionError, match=r"limit=0.*1 or more"):
        ToPassages(limit=0)
