from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright import Graph, start
from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence
from graphwright.methods.papers.graphrag_fi import filters
from graphwright.models import OverlapCrossEncoder, ScriptedLLM
from graphwright.operators import AboveThreshold, Rerank, ShortestPaths
from graphwright.operators.state import State

CHAIN = Graph.from_triples([(f"n{at}", "r", f"n{at + 1}") for at in range(12)])
FILMS = Graph.from_triples(
    [("Heat", "directed by", "Mann"), ("Heat", "released in", "1995"), ("Mann", "born in", "Chicago")]
)


def with_edges(scores: list[float] | None, count: int = 12) -> State:
    edges = range(count if scores is None else len(scores))
    return start("?", CHAIN, evidence=Evidence.of_edges(edges, scores))


def kept(state: State, threshold: float) -> list[int]:
    evidence = AboveThreshold(threshold)(state).evidence
    assert evidence is not None
    return sorted(evidence.edges.tolist())


@given(st.lists(st.integers(-50, 50).map(float), min_size=1, max_size=12), st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]))
def test_threshold_keeps_items_above_scaled_score(scores: list[float], threshold: float) -> None:
    least, best = min(scores), max(scores)
    expected = [at for at, score in enumerate(scores) if score >= least + threshold * (best - least) - 1e-12]
    assert kept(with_edges(scores), threshold) == expected


@given(st.lists(st.integers(-50, 50).map(float), min_size=1, max_size=12), st.sampled_from([0.5, 2.0, 8.0]))
def test_threshold_ignores_unit_of_scores(scores: list[float], factor: float) -> None:
    changed = (factor * np.array(scores) - 16).tolist()
    assert kept(with_edges(changed), 0.5) == kept(with_edges(scores), 0.5)


def test_threshold_ranks_unscored_items() -> None:
    # 1, 1/2, 1/3, 1/4: scaled 1, 1/3, 1/9, 0
    assert kept(with_edges(None, 4), 0.2) == [0, 1]


def test_threshold_of_empty_evidence_is_empty() -> None:
    evidence = AboveThreshold()(with_edges([])).evidence
    assert evidence is not None and not len(evidence)


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan")])
def test_threshold_outside_range_raises(threshold: float) -> None:
    with pytest.raises(OptionError, match="threshold"):
        AboveThreshold(threshold)


def test_unselected_items_follow_selected() -> None:
    state = start("Who is Heat directed by, and where was Mann born in?", FILMS, entities=["Heat"])
    scorer = OverlapCrossEncoder()
    every = (ShortestPaths() >> Rerank(scorer))(state).items.texts(FILMS)
    coarse = (ShortestPaths() >> filters(scorer, threshold=0.1))(state).items.texts(FILMS)
    both = (ShortestPaths() >> filters(scorer, ScriptedLLM(['{"numbers": [2]}']), 0.1))(state).items.texts(FILMS)
    assert coarse == every[:2] and len(every) == 3
    assert both == coarse[::-1]
