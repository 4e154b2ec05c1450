"""Baselines of FastInsight on a corpus graph: they search by keywords, then by the graph."""

from __future__ import annotations

import pytest
from published.adapted import ByKeywords, adapted
from tests.shared import corpus_index

from graphwright import Anchor, Evidence, VectorSearch, start
from graphwright.operators import NamesAndPhrases, OnGraph, PassageGraph

SNAPSHOT = corpus_index().snapshot
QUESTION = "Which abbey did the mother of Lothair II found?"


def found(method: str) -> Evidence:
    state = OnGraph(PassageGraph(), adapted(method, SNAPSHOT.passages))(start(QUESTION, SNAPSHOT.graph))
    assert state.evidence is not None and state.question.text == QUESTION
    return state.evidence


@pytest.mark.parametrize("method", ["lightrag", "pathrag", "hipporag2"])
def test_adapted_methods_find_passages(method: str) -> None:
    assert set(found(method).nodes.tolist()) <= set(SNAPSHOT.passages.ids.tolist())
    assert len(found(method))


def test_adapted_lightrag_ranks_neighbours_among_nearest() -> None:
    near = VectorSearch(SNAPSHOT.passages)(start(QUESTION, SNAPSHOT.graph)).evidence
    assert near is not None and found("lightrag").nodes.tolist() != near.nodes.tolist()


def test_by_keywords_asks_joined_keywords_and_restores_question() -> None:
    anchors = [Anchor("Lothair II"), Anchor("abbey"), Anchor("founding", kind="theme")]
    state = start(QUESTION, SNAPSHOT.graph, anchors=anchors)
    for kind, text in (("entity", "Lothair II, abbey"), ("theme", "founding")):
        alone = VectorSearch(SNAPSHOT.passages)(start(text, SNAPSHOT.graph)).evidence
        after = ByKeywords(VectorSearch(SNAPSHOT.passages), kind)(state)  # type: ignore[arg-type]
        assert after.evidence is not None and alone is not None and after.question == state.question
        assert after.evidence.nodes.tolist() == alone.nodes.tolist()
    assert (NamesAndPhrases() >> ByKeywords(VectorSearch(SNAPSHOT.passages), "theme") % 2)(state).evidence is not None
