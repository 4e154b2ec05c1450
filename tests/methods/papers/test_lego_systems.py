"""Published systems: their expressions, and answers over a graph and an index, with and without a model."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.shared import corpus_index, prompt_of

from graphwright import Graph, ShortestPaths, State, start
from graphwright.generate import TargetAnswer
from graphwright.methods.papers.lego_systems import planned, selected
from graphwright.methods.registry import METHODS, make_method
from graphwright.models import HashEncoder, OverlapCrossEncoder, ScriptedLLM
from graphwright.operators import InduceEdges, Instances

E = HashEncoder()
FILMS = Graph.from_triples(
    [
        ("Heat", "directed_by", "Mann"),
        ("Heat", "starred_actors", "Pacino"),
        ("Insider", "directed_by", "Mann"),
        ("Insider", "starred_actors", "Crowe"),
        ("Scarface", "starred_actors", "Pacino"),
        ("Scarface", "directed_by", "De Palma"),
        ("Heat", "release_year", "1995"),
    ]
)
SNAPSHOT = corpus_index().snapshot
ON_FILMS = replace(SNAPSHOT, graph=FILMS, names=None, triples=None)
SYSTEMS = ["rog", "gsr", "kelp", "tog", "grag-m"]
ASKED = "Who are the starred actors of what is directed by Mann?"


def answers(state: State) -> list[str]:
    return [] if state.answer is None else [c.text for c in state.answer.citations]


def test_lego_systems_equal_papers() -> None:
    rerank, judge = f"Rerank({E!r})", OverlapCrossEncoder()
    assert repr(planned(E, 2, 4)) == f"RelationPaths(length=4) % 1000 >> LengthPenalty(MaskEntities({rerank})) % 2"
    assert repr(selected(judge)) == f"EnumeratedPaths(2) % 1000 >> Rerank({judge!r}) % 32"
    assert "Explore(" in repr(make_method("tog", ON_FILMS).pipeline) and "Instances() % 100" in repr(
        make_method("rog", ON_FILMS)
    )
    assert "Instances() >> InduceEdges() >> ShortestPaths() % 32" in repr(make_method("gsr", ON_FILMS).pipeline)
    assert "LocalContext(" in repr(make_method("grag-m", SNAPSHOT).pipeline) and "ShortestPaths()" in repr(
        make_method("grag-m", SNAPSHOT)
    )


@pytest.mark.parametrize("name", SYSTEMS)
def test_lego_systems_answer_from_graph_offline(name: str) -> None:
    state = make_method(name, ON_FILMS)(start(ASKED, FILMS))
    assert "Pacino" in answers(state) and state.evidence is not None and state.graph.whole
    assert all(nodes[0] == FILMS.id("Mann") for nodes, edges in state.evidence if len(nodes) > 1)
    assert METHODS[name].about.endswith(").")


def test_rog_answers_by_plan_only() -> None:
    state = (planned(E, 1) >> Instances() >> TargetAnswer())(start(ASKED, FILMS, entities=["Mann"]))
    assert answers(state) == ["Pacino", "Crowe"]
    # The subgraph of the same plan also has the films on the way, which shortest paths reach first.
    through = planned(E, 1) >> Instances() >> InduceEdges() >> ShortestPaths() >> TargetAnswer()
    assert answers(through(start(ASKED, FILMS, entities=["Mann"]))) == ["Heat", "Insider", "Pacino", "Crowe"]


@pytest.mark.parametrize("name", SYSTEMS)
def test_lego_systems_retrieve_passages(name: str) -> None:
    state = make_method(name, SNAPSHOT)(start("Which abbey did the mother of Lothair II found?", SNAPSHOT.graph))
    assert state.answer is not None and state.passages is not None
    # The passages of some hold no answer, which the reader says.
    assert state.answer.citations[0].document if state.answer.found else "Nearest text" in state.answer.text
    assert state.graph.whole and len(state.evidence or ())
    # Between entities no path of these leads through a passage.
    if name != "grag-m":
        assert all(SNAPSHOT.graph.columns.between_entities(edges).all() for _, edges in state.evidence or ())


def test_rog_model_plans_and_answers() -> None:
    replies = [
        json.dumps({"plans": [["directed by", "release year"]]}),
        '{"found": true, "text": "1995.", "citations": []}',
    ]
    state = make_method("rog", ON_FILMS, llm=ScriptedLLM(replies))(start("When did Mann film?", FILMS))
    assert state.answer is not None and state.answer.text == "1995."
    assert [FILMS.names.take(nodes) for nodes, _ in state.evidence or ()] == [["Mann", "Heat", "1995"]]
    planner = ScriptedLLM(replies[:1])
    offline = make_method("rog", ON_FILMS, retrieval_llm=planner).search(start("When did Mann film?", FILMS))
    assert len(offline.evidence or ()) == 1


def test_tog_model_explores() -> None:
    judge = ScriptedLLM(lambda system, user: '{"numbers": [1]}')
    state = make_method("tog", ON_FILMS, retrieval_llm=judge, depth=2)(start("Who is filmed by Mann?", FILMS))
    assert [len(edges) for _, edges in state.evidence or ()] == [1, 2]
    chosen = make_method("kelp", ON_FILMS, retrieval_llm=judge)(start("Who is filmed by Mann?", FILMS))
    assert len(chosen.evidence or ()) == 1


def test_grag_m_adds_community_summaries() -> None:
    message: list[str] = []

    def model(system: str, user: str) -> str:
        message.append(user)
        if '"report"' in user or '"passage"' in user:
            return '{"found": true, "text": "Erstein.", "citations": []}'
        return '{"summary": "Kin of Lothair."}'

    asked = start("Which abbey did the mother of Lothair II found?", SNAPSHOT.graph)
    state = make_method("grag-m", SNAPSHOT, llm=ScriptedLLM(model), level=0)(asked)
    assert "Kin of Lothair." in prompt_of(state) and '"relation"' in prompt_of(state)
