"""Triples nearest to themes or to the question, and triples around nodes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shared import GRAPHS, corpus_index

from graphwright import Anchor, Evidence, start
from graphwright.graph import Kind
from graphwright.models import HashEncoder
from graphwright.operators import OneHop, TripleSearch
from graphwright.operators.state import State

SNAPSHOT = corpus_index().snapshot
GRAPH = SNAPSHOT.graph
QUESTION = "Who founded the abbey of Erstein?"


def texts(state: State) -> list[str]:
    assert state.evidence is not None
    return state.evidence.texts(GRAPH)


class TestTripleSearch:
    def test_triple_search_returns_nearest_text_once(self) -> None:
        state = TripleSearch(SNAPSHOT.triples, limit=4)(start(QUESTION, GRAPH))
        result = texts(state)
        assert (
            len(set(result)) == len(result) == 4
            and result[0] == "Ermengarde of Tours: She founded the abbey of Erstein in Alsace."
        )
        asked, *message = HashEncoder().encode([QUESTION, *result])
        assert state.evidence is not None and state.evidence.scores is not None
        assert state.evidence.scores.tolist() == pytest.approx([float(asked @ item) for item in message], abs=1e-3)

    def test_triple_search_uses_themes_unless_by_question(self) -> None:
        anchors = [
            Anchor("She was a queen of Lotharingia", kind="theme"),
            Anchor("It joins the Drava near", kind="theme"),
            Anchor("Teutberga"),
        ]
        state = start(QUESTION, GRAPH, anchors=anchors)
        result = texts(TripleSearch(SNAPSHOT.triples, 2)(state))
        assert "queen" in " ".join(result) and "Drava" in " ".join(result)
        itself = TripleSearch(SNAPSHOT.triples, 2, by_question=True)
        assert texts(itself(state)) == texts(itself(start(QUESTION, GRAPH)))

    def test_triple_search_without_vectors_compares_words_at_anchors(self) -> None:
        ermengarde = start(QUESTION, GRAPH, entities=["Ermengarde of Tours"])
        state = TripleSearch(None)(ermengarde)
        assert texts(state)[0] == "Ermengarde of Tours: She founded the abbey of Erstein in Alsace."
        assert "no vectors of triples" in state.trace[-1].notes[0]
        assert texts(TripleSearch(None)(start(QUESTION, GRAPH))) == []


class TestOneHop:
    @given(st.sampled_from(["club", "family"]), st.dictionaries(st.integers(0, 5), st.floats(0.01, 2), min_size=1))
    def test_edge_search_equals_plain_python(self, name: str, seeds: dict[int, float]) -> None:
        graph = GRAPHS[name]
        state = OneHop()(start("?", graph, evidence=Evidence.of_nodes(list(seeds), list(seeds.values()))))
        expected: dict[object, float] = {((node,), ()): score for node, score in seeds.items()}
        for edge, (a, b) in enumerate(graph.ends(graph.edges).reshape(-1, 2).tolist()):
            if a in seeds or b in seeds:
                expected[((), (edge,))] = seeds.get(a, 0.0) + seeds.get(b, 0.0)
        assert state.evidence is not None and state.evidence.scores is not None
        result = dict(zip(state.evidence.identities(), state.evidence.scores.tolist(), strict=True))
        assert result == pytest.approx(expected)

    def test_edge_search_omits_passage_edges_and_other_parts(self) -> None:
        erstein = GRAPH.id("Erstein")
        state = OneHop()(start("?", GRAPH, evidence=Evidence.of_nodes([erstein])))
        assert state.evidence is not None and len(state.evidence.edges)
        assert (GRAPH.columns.kinds[GRAPH.ends(state.evidence.edges)] == Kind.ENTITY).all()
        alone = OneHop()(start("?", GRAPH.part([erstein]), evidence=Evidence.of_nodes([erstein])))
        assert alone.evidence is not None and not len(alone.evidence.edges)

    def test_one_hop_expands_ends_of_triple(self) -> None:
        line = GRAPHS["line"]
        state = OneHop()(start("?", line, evidence=Evidence.of_edges([1])))
        assert state.evidence is not None and sorted(state.evidence.nodes.tolist()) == [1, 2]
        assert sorted(state.evidence.edges.tolist()) == [0, 1, 2]
