"""Community search: entities by their statements, their local context, and whole communities."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.shared import GRAPHS, corpus_index

from graphwright import Anchor, Evidence, Graph, Keep, State, VectorIndex, start
from graphwright.graph import Kind
from graphwright.models import HashEncoder, ScriptedLLM
from graphwright.operators import CommunitySearch, EntitySearch, LocalContext, RateCommunities, Summaries
from graphwright.operators.communities import communities_of
from graphwright.search.vector_index import normalised

pytest.importorskip("igraph")

SNAPSHOT = corpus_index().snapshot
GRAPH = SNAPSHOT.graph
SUMMARIES = Summaries(SNAPSHOT.passages, SNAPSHOT.triples)
QUESTION = "Which abbey did the mother of Lothair II found?"


def evidence_of(state: State) -> Evidence:
    assert state.evidence is not None
    return state.evidence


class TestEntitySearch:
    def test_entity_vector_is_name_plus_mean_statement(self) -> None:
        names, triples = SNAPSHOT.names, SNAPSHOT.triples
        assert names is not None and triples is not None
        query = SNAPSHOT.encoder.encode([QUESTION])[0]
        expected = {}
        for v in np.flatnonzero(GRAPH.columns.kinds == Kind.ENTITY).tolist():
            name = normalised(names.vectors[names.rows_of(np.array([v]))[1]][0])
            total = np.zeros_like(name)
            for e in GRAPH.edges.tolist():
                row = triples.rows_of(np.array([e]))[1]
                for end in GRAPH.ends([e]).tolist():
                    if end == v and len(row):
                        total = total + triples.vectors[row[0]]
            expected[v] = float(normalised(name + normalised(total)) @ query)
        evidence = evidence_of(EntitySearch(SNAPSHOT.passages, names, triples)(start(QUESTION, GRAPH)))
        assert dict(zip(evidence.nodes.tolist(), evidence.scores.tolist(), strict=True)) == pytest.approx(  # type: ignore[union-attr]
            expected, abs=1e-5
        )

    def test_entity_vector_without_triples_uses_passages(self) -> None:
        evidence = evidence_of((EntitySearch(SNAPSHOT.passages) % 3)(start("a dough of flour and water", GRAPH)))
        assert "Bread" in GRAPH.names.take(evidence.nodes)
        assert (GRAPH.columns.kinds[evidence.nodes] == Kind.ENTITY).all()

    def test_entity_search_without_entities_is_empty(self) -> None:
        nothing = VectorIndex.from_array(np.empty((0, 64), np.float32), HashEncoder())
        assert len(evidence_of(EntitySearch(nothing)(start("Who?", Graph.from_triples([]))))) == 0


class TestLocalContext:
    def test_local_context_lists_inner_relations_first(self) -> None:
        graph = GRAPHS["family"]
        seeds = Evidence.of_nodes([graph.id("Lothair II"), graph.id("Waldrada")], [0.8, 0.4])
        nothing = VectorIndex.from_array(np.empty((0, 64), np.float32), HashEncoder())
        step = LocalContext(Summaries(nothing), relations=3, communities=0)
        evidence = evidence_of(step(start("?", graph, evidence=seeds)))
        scores = dict(zip(evidence.texts(graph), evidence.scores.tolist(), strict=True))  # type: ignore[union-attr]
        assert scores.pop("Lothair II") == 0.8 and scores.pop("Waldrada") == 0.4
        assert scores == pytest.approx(
            {
                "Lothair II spouse Waldrada": 0.6,
                "Ermengarde of Tours mother of Lothair II": 0.4,
                "Lothair I father of Lothair II": 0.4,
            }
        )

    def test_local_context_adds_central_statements(self) -> None:
        seeds = Evidence.of_nodes([GRAPH.id("Graz")], [0.5])
        state = start("Which river joins the Drava?", GRAPH, evidence=seeds)
        evidence = evidence_of(LocalContext(SUMMARIES, level=0, relations=0, communities=1)(state))
        at = int(SUMMARIES.communities(GRAPH).of_nodes(0)[GRAPH.id("Graz")])
        ids, gists, vectors = SUMMARIES.gists(GRAPH, 0)
        place = ids.tolist().index(at)
        assert evidence.edges.tolist() == sorted(gists[place].edges.tolist())
        query = SNAPSHOT.encoder.encode([state.question.text])[0]
        near = dict(zip(evidence.identities(), evidence.scores.tolist(), strict=True))  # type: ignore[union-attr]
        assert all(near[((), (int(e),))] == pytest.approx(float(vectors[place] @ query)) for e in gists[place].edges)


class TestCommunitySearch:
    def test_communities_rank_by_cosine_of_gist(self) -> None:
        state = CommunitySearch(SUMMARIES, level=0)(start("On which river does Graz lie?", GRAPH))
        evidence = evidence_of(state)
        ids, _, vectors = SUMMARIES.gists(GRAPH, 0)
        scores = vectors @ SNAPSHOT.encoder.encode(["On which river does Graz lie?"])[0]
        assert evidence.scores == pytest.approx(np.sort(scores)[::-1])
        best = set(evidence.piece(0)[0].tolist())
        assert GRAPH.id("Graz") in best
        assert best == set(SUMMARIES.communities(GRAPH).members.row(int(ids[scores.argmax()])).tolist())
        assert state.trace[-1].notes == (f"there are {len(ids)} communities at level 0",)


def ratings(*rated: tuple[int, int]) -> str:
    return json.dumps({"ratings": [{"number": n, "helpful": h} for n, h in rated]})


class TestRateCommunities:
    every = (CommunitySearch(SUMMARIES, level=0))(start(QUESTION, GRAPH)).with_(trace=())

    def rated(self, *replies: str, batch: int = 10) -> State:
        return RateCommunities(ScriptedLLM(replies), SUMMARIES, level=0, batch=batch)(self.every)

    def test_rated_communities_follow_model_without_zeros(self) -> None:
        before = evidence_of(self.every).identities()
        evidence = evidence_of(self.rated(ratings((3, 90), (1, 20), (2, 0))))
        assert evidence.identities() == [before[2], before[0]]
        assert evidence.scores.tolist() == [0.9, 0.2]  # type: ignore[union-attr]

    def test_community_batches_are_rated_separately(self) -> None:
        prompts: list[str] = []

        def rate(system: str, user: str) -> str:
            prompts.append(user)
            return ratings((1, 10 if "Graz" in user else 60))

        state = RateCommunities(ScriptedLLM(rate), SUMMARIES, level=0, batch=1)(self.every)
        assert len(prompts) == len(evidence_of(self.every)) == len(evidence_of(state))
        assert [step.usage.calls for step in state.trace] == [len(prompts)]
        lines = [json.loads(line) for line in prompts[0].splitlines() if line.startswith("{")]
        assert lines[0] == {"question": QUESTION} and set(lines[1]) == {"number", "text"}

    def test_community_rating_ignores_unknown_numbers(self) -> None:
        state = self.rated(ratings((99, 90), (0, 80), (-1, 70), (2, 300), (1, -5)))
        assert evidence_of(state).identities() == evidence_of(self.every).identities()[1:2]
        assert evidence_of(state).scores.tolist() == [1.0]  # type: ignore[union-attr]
        assert state.trace[-1].notes == (
            f"3 of 5 ratings were ignored: there are {len(evidence_of(self.every))} summaries",
        )

    @pytest.mark.parametrize("reply", [ratings(), ratings((1, 0), (2, 0))])
    def test_community_rating_without_useful_reply_keeps_order(self, reply: str) -> None:
        state = self.rated(reply)
        assert evidence_of(state).identities() == evidence_of(self.every).identities()
        assert state.trace[-1].notes == ("the model rated no community above 0; they stay as they were",)
        assert evidence_of((RateCommunities(ScriptedLLM([reply]), SUMMARIES, 0) % 1)(self.every)).identities() == [
            evidence_of(self.every).identities()[0]
        ]

    def test_items_that_are_not_communities_are_omitted(self) -> None:
        chunk = int(SNAPSHOT.passages.ids[0])
        pieces = Evidence.of_nodes([chunk, GRAPH.id("Graz")])
        state = RateCommunities(ScriptedLLM([ratings((1, 50))]), SUMMARIES, level=0)(start("?", GRAPH, evidence=pieces))
        assert evidence_of(state).nodes.tolist() == [GRAPH.id("Graz")]


def test_communities_of_state_rank_by_items_then_score() -> None:
    of = SUMMARIES.communities(GRAPH).of_nodes(0)
    graz, bread, mur = (GRAPH.id(name) for name in ("Graz", "Bread", "Mur (river)"))
    lothair = GRAPH.id("Lothair II")
    assert of[graz] == of[mur] != of[lothair]
    evidence = Evidence.of_nodes([lothair, graz, mur, bread])
    state = start("?", GRAPH, evidence=evidence, anchors=[Anchor("none")])
    communities = communities_of(state, SUMMARIES, 0)
    assert communities[:2] == [of[graz], of[lothair]]
    assert communities_of(state.with_(evidence=None), SUMMARIES, 0) == []
    edges = Evidence.of_edges([0, 1])
    assert communities_of(Keep()(start("?", GRAPH, evidence=edges)), SUMMARIES, 0) == []
