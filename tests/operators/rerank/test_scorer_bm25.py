"""BM25 as a scorer: the formula, with the items scored together as the corpus."""

from __future__ import annotations

import math

import pytest

from graphwright import BeamSearch, Evidence, Graph, Rerank, start
from graphwright.operators import BM25
from graphwright.operators.run import Run

GRAPH = Graph.from_triples([("Heat", "directed_by", "Mann"), ("Heat", "starred_actors", "Pacino"), ("Ali", "by", "M")])


def test_bm25_score_equals_formula() -> None:
    # heat directed mann directed_by; heat starred actor pacino starred_actors; ali m ("by" is a stop word).
    run = Run()
    scores = BM25().prepare(start("who directed Heat", GRAPH), run)(Evidence.of_edges([0, 1, 2]))

    def weight(df: int, length: int) -> float:
        return math.log(1 + (3 - df + 0.5) / (df + 0.5)) / (1 + 1.2 * (1 - 0.75 + 0.75 * length / (11 / 3)))

    assert scores.tolist() == pytest.approx([weight(2, 4) + weight(1, 4), weight(2, 5), 0.0], abs=1e-6)
    assert run.usage.texts == 3 and len({BM25(), BM25()}) == 1


def test_bm25_scorer_ranks_evidence_and_beam_steps() -> None:
    state = start("who directed Heat", GRAPH, entities=["Heat"], evidence=Evidence.of_edges([2, 1, 0]))
    result = Rerank(BM25())(state).evidence
    assert result is not None and result.edges.tolist() == [0, 1, 2]
    beams = BeamSearch(BM25(), width=1, length=1)(state).evidence
    assert beams is not None and beams.texts(GRAPH) == ["Heat directed_by Mann"]


def test_bm25_of_no_texts_is_empty() -> None:
    graph = Graph.from_triples([("the", "r", "a")])
    score = BM25().prepare(start("who is it", graph), Run())
    assert score(Evidence.of_nodes([])).tolist() == []
    assert score(Evidence.of_nodes(graph.nodes)).tolist() == [0.0, 0.0]
