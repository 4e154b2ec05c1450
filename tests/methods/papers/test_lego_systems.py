"""Published systems: their expressions, and answers over a graph and an index, with and without a model.

GCR: its expression, and answers over a graph and an index, with and without a model.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.models.grammars import GrammarLLM
from tests.shared import corpus_index, prompt_of
from tests.toys import untrained

from graphwright import Graph, ShortestPaths, State, start
from graphwright.generate import TargetAnswer
from graphwright.methods.papers.lego_systems import planned, selected
from graphwright.methods.registry import METHODS, make_method
from graphwright.models import HashEncoder, OverlapCrossEncoder, ScriptedLLM
from graphwright.models.protocols import Completion
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


FILMS_GCR = Graph.from_triples(
    [
        ("Heat", "directed_by", "Mann"),
        ("Heat", "starred_actors", "Pacino"),
        ("Insider", "directed_by", "Mann"),
        ("Insider", "starred_actors", "Crowe"),
        ("Scarface", "starred_actors", "Pacino"),
        ("Heat", "release_year", "1995"),
    ]
)
ON_FILMS_GCR = replace(SNAPSHOT, graph=FILMS_GCR, names=None, triples=None, encoder=HashEncoder())
SYSTEMS_GCR = ["gcr"]
ANSWER = '{"found": true, "text": "Pacino", "answers": ["Pacino"], "citations": []}'


class Answering(GrammarLLM):
    """A model that writes paths by its grammar, and answers every prompt with a schema alike."""

    def with_grammar(self, grammar: str) -> Answering:
        self.grammars.append(grammar)
        return Answering(self.seed, grammar, self.grammars)

    def complete(self, system: str, user: str, *, schema: Any = None, **_: object) -> Completion:
        if schema is None:
            return super().complete(system, user)
        return Completion(ANSWER, schema.model_validate_json(ANSWER))


def test_constrained_methods_equal_papers() -> None:
    llm, statements = GrammarLLM(), "LinkEntities() >> (Keep() | OnGraph(StatementGraph(), "
    twin = "Rerank(Patterns(HashEncoder(dimension=64)))"
    gcr = repr(make_method("gcr", ON_FILMS_GCR, llm=llm).pipeline)
    assert gcr.startswith(f"{statements}EnumeratedPaths(2) % 1000 >> {twin} >> ConstrainedDecoding({llm!r})))")
    assert f"EnumeratedPaths(2) % 1000 >> {twin} % 10" in repr(make_method("gcr", ON_FILMS_GCR).pipeline)
    assert all(METHODS[name].about.endswith(").") for name in SYSTEMS_GCR)


def test_gcr_uses_trained_decoder() -> None:
    decoder = untrained("path")
    op = make_method("gcr", ON_FILMS_GCR, decoder=decoder)
    assert "Decode(" in repr(op) and "Rerank" not in repr(op)
    state = op(start(ASKED, FILMS_GCR))
    assert state.evidence is not None and len(state.evidence) and state.answer is not None and state.answer.short


@pytest.mark.parametrize("name", SYSTEMS_GCR)
def test_constrained_methods_answer_from_graph_offline(name: str) -> None:
    state = make_method(name, ON_FILMS_GCR)(start(ASKED, FILMS_GCR))
    assert state.answer is not None and {"Pacino", "Crowe"} <= set(state.answer.short)
    assert state.answer.citations and all(citation.path for citation in state.answer.citations) and state.graph.whole


@pytest.mark.parametrize("name", SYSTEMS_GCR)
def test_constrained_methods_find_nothing_for_unknown_names(name: str) -> None:
    state = make_method(name, ON_FILMS_GCR)(start("Who wrote Ulysses?", FILMS_GCR))
    assert state.answer is not None and not state.answer.found and not state.answer.short


@pytest.mark.parametrize("name", SYSTEMS_GCR)
def test_constrained_methods_on_index_cite_or_abstain(name: str) -> None:
    state = make_method(name, SNAPSHOT)(start("Which abbey did the mother of Lothair II found?", SNAPSHOT.graph))
    assert state.answer is not None and state.passages is not None and len(state.passages)
    assert state.answer.verified if state.answer.found else "Nearest text" in state.answer.text
    assert all(SNAPSHOT.graph.columns.between_entities(edges).all() for _, edges in state.evidence or ())


def test_gcr_with_grammar_writes_paths() -> None:
    llm = Answering()
    state = make_method("gcr", ON_FILMS_GCR, llm=llm)(start(ASKED, FILMS_GCR))
    assert llm.grammars and state.answer is not None and state.answer.short == ("Pacino",)
    # All of Mann's five paths are written, in the order of the model.
    assert state.evidence is not None and len(state.evidence) == 5
    # The model that writes paths may be another than the one that answers.
    writer = GrammarLLM(4)
    other = ScriptedLLM([ANSWER])
    assert make_method("gcr", ON_FILMS_GCR, llm=other, decoder=writer)(start(ASKED, FILMS_GCR)).answer is not None
    assert writer.grammars


def test_constrained_methods_without_grammar_select_by_number() -> None:
    prompts: list[str] = []

    def model(system: str, user: str) -> str:
        prompts.append(user)
        return ANSWER if "numbers" not in system else json.dumps({"numbers": [1]})

    state = make_method("gcr", ON_FILMS_GCR, llm=ScriptedLLM(model))(start(ASKED, FILMS_GCR))
    assert len(prompts) == 2 and "Choose at most 5 of these" in prompts[0]  # all
    assert state.evidence is not None and len(state.evidence) == 1
    assert any("decoding was not constrained" in note for step in state.trace for note in step.notes)
