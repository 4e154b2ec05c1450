"""Passages by their own cosine and the score of their best piece."""

from __future__ import annotations

import pytest
from tests.toys import GRAPHS, corpus_index, vectors_of

from graphwright import Evidence, ToPassages, start
from graphwright.errors import OptionError

SNAPSHOT = corpus_index().snapshot
GRAPH = SNAPSHOT.graph
QUESTION = "Who founded the abbey of Erstein?"


@pytest.mark.parametrize("weight", [0.0, 0.5, 3.0])
def test_a_worked_formula(weight: float) -> None:
    pieces = [([GRAPH.id("Lothair II"), GRAPH.id("Graz")], []), ([GRAPH.id("Ermengarde of Tours")], [])]
    state = start(QUESTION, GRAPH, evidence=Evidence.of_pieces(pieces, [0.3, 0.9]))
    chunks = ToPassages(index=SNAPSHOT.passages, weight=weight)(state).passages
    query = SNAPSHOT.encoder.encode([QUESTION])[0]
    expected = {}
    for (nodes, _), score in zip(pieces, (0.3, 0.9), strict=True):
        for chunk in GRAPH.chunks_of(nodes).tolist():
            near = float(SNAPSHOT.passages.vectors[SNAPSHOT.passages.row_of[chunk]] @ query)  # type: ignore[index]
            expected[chunk] = max(near + weight * score, expected.get(chunk, -9.0))
    assert chunks is not None and len(chunks) > 3
    assert dict(zip(chunks.ids.tolist(), chunks.scores.tolist(), strict=True)) == pytest.approx(expected, abs=1e-6)


def test_pieces_without_scores_count_by_rank_and_the_limit_holds() -> None:
    nodes = [GRAPH.id("Bread"), GRAPH.id("Graz")]
    heavy = ToPassages(1, SNAPSHOT.passages, weight=100.0)
    chunks = heavy(start("Graz", GRAPH, evidence=Evidence.of_nodes(nodes))).passages
    assert chunks is not None and GRAPH.passages.of(int(chunks.ids[0])).document == "bread"  # type: ignore[union-attr]
    assert len(chunks) == 1


def test_nodes_take_the_place_of_passages_that_are_not_there() -> None:
    graph = GRAPHS["family"]
    step = ToPassages(index=vectors_of(graph))
    chunks = step(start("Gisela", graph, evidence=Evidence.of_nodes([graph.id("Bertha"), graph.id("Gisela")]))).passages
    assert chunks is not None and chunks.ids[0] == graph.id("Gisela")


@pytest.mark.parametrize("options", [{"index": None}, {"weight": -1.0}, {"limit": 0}])
def test_what_cannot_be_used_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(OptionError, match=next(iter(options))):
        ToPassages(**{"index": SNAPSHOT.passages, **options})  # type: ignore[arg-type]
