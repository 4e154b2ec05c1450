"""GCR: its expression, and answers over a graph and an index, with and without a model."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.models.grammars import GrammarLLM
from tests.shared import corpus_index
from tests.toys import untrained

from graphwright import Graph, start
from graphwright.methods.registry import METHODS, make_method
from graphwright.models import HashEncoder, ScriptedLLM
from graphwright.models.protocols import Completion

FILMS = Graph.from_triples(
    [
        ("Heat", "directed_by", "Mann"),
        ("Heat", "starred_actors", "Pacino"),
        ("Insider", "directed_by", "Mann"),
        ("Insider", "starred_actors", "Crowe"),
        ("Scarface", "starred_actors", "Pacino"),
        ("Heat", "release_year", "1995"),
    ]
)
SNAPSHOT = corpus_index().snapshot
ON_FILMS = replace(SNAPSHOT, graph=FILMS, names=None, triples=None, encoder=HashEncoder())
SYSTEMS = ["gcr"]
ASKED = "Who are the starred actors of what is directed by Mann?"
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
    gcr = repr(make_method("gcr", ON_FILMS, llm=llm).pipeline)
    assert gcr.startswith(f"{statements}EnumeratedPaths(2) % 1000 >> {twin} >> ConstrainedDecoding({llm!r})))")
    assert f"EnumeratedPaths(2) % 1000 >> {twin} % 10" in repr(make_method("gcr", ON_FILMS).pipeline)
    assert all(METHODS[name].about.endswith(").") for name in SYSTEMS)


def test_gcr_uses_trained_decoder() -> None:
    decoder = untrained("path")
    op = make_method("gcr", ON_FILMS, decoder=decoder)
    assert "Decode(" in repr(op) and "Rerank" not in repr(op)
    state = op(start(ASKED, FILMS))
    assert state.evidence is not None and len(state.evidence) and state.answer is not None and state.answer.short


@pytest.mark.parametrize("name", SYSTEMS)
def test_constrained_methods_answer_from_graph_offline(name: str) -> None:
    state = make_method(name, ON_FILMS)(start(ASKED, FILMS))
    assert state.answer is not None and {"Pacino", "Crowe"} <= set(state.answer.short)
    assert state.answer.citations and all(citation.path for citation in state.answer.citations) and state.graph.whole


@pytest.mark.parametrize("name", SYSTEMS)
def test_constrained_methods_find_nothing_for_unknown_names(name: str) -> None:
    state = make_method(name, ON_FILMS)(start("Who wrote Ulysses?", FILMS))
    assert state.answer is not None and not state.answer.found and not state.answer.short


@pytest.mark.parametrize("name", SYSTEMS)
def test_constrained_methods_on_index_cite_or_abstain(name: str) -> None:
    state = make_method(name, SNAPSHOT)(start("Which abbey did the mother of Lothair II found?", SNAPSHOT.graph))
    assert state.answer is not None and state.passages is not None and len(state.passages)
    assert state.answer.verified if state.answer.found else "Nearest text" in state.answer.text
    assert all(SNAPSHOT.graph.columns.between_entities(edges).all() for _, edges in state.evidence or ())


def test_gcr_with_grammar_writes_paths() -> None:
    llm = Answering()
    state = make_method("gcr", ON_FILMS, llm=llm)(start(ASKED, FILMS))
    assert llm.grammars and state.answer is not None and state.answer.short == ("Pacino",)
    # All of Mann's five paths are written, in the order of the model.
    assert state.evidence is not None and len(state.evidence) == 5
    # The model that writes paths may be another than the one that answers.
    writer = GrammarLLM(4)
    other = ScriptedLLM([ANSWER])
    assert make_method("gcr", ON_FILMS, llm=other, decoder=writer)(start(ASKED, FILMS)).answer is not None
    assert writer.grammars


def test_constrained_methods_without_grammar_select_by_number() -> None:
    prompts: list[str] = []

    def model(system: str, user: str) -> str:
        prompts.append(user)
        return ANSWER if "numbers" not in system else json.dumps({"numbers": [1]})

    state = make_method("gcr", ON_FILMS, llm=ScriptedLLM(model))(start(ASKED, FILMS))
    assert len(prompts) == 2 and "Choose at most 5 of these" in prompts[0]  # all
    assert state.evidence is not None and len(state.evidence) == 1
    assert any("decoding was not constrained" in note for step in state.trace for note in step.notes)
