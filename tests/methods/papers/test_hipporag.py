"""HippoRAG and HippoRAG 2 as methods: their expressions, their results, and questions that name no entity."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.shared import corpus_index, passages_in

from graphwright import start
from graphwright.methods.registry import make_method
from graphwright.models import ScriptedLLM
from graphwright.operators.state import State

SNAPSHOT = corpus_index().snapshot
QUESTION = "Which abbey did the mother of Lothair II found?"
BOTH = ["hipporag", "hipporag2"]


def writer(system: str, user: str) -> str:
    """List names, choose the first triple, and quote the first passage."""
    if "list the keywords" in system:
        return json.dumps({"names": ["Ermengard of Tours"], "themes": ["founding"]})
    if "You choose" in system:
        return '{"numbers": [1, 99]}'
    quote = passages_in(user)[1].split(". ")[0]
    return json.dumps({"found": True, "text": f"{quote} [1].", "citations": [{"passage": 1, "quote": quote}]})


def documents(state: State) -> list[str]:
    assert state.passages is not None and state.graph.passages is not None
    return [state.graph.passages.of(int(chunk)).document for chunk in state.passages.ids]  # type: ignore[union-attr]


def test_hipporag_expressions_print_as_source() -> None:
    ix = SNAPSHOT
    link, dense = f"LinkEntities(names={ix.names!r})", f"VectorSearch({ix.passages!r})"
    item = repr(make_method("hipporag", ix, top_k=7, nodes=50, restart=0.4).pipeline)
    walk = f"{link} >> SpecificSeeds({ix.names!r}) >> OnGraph(StatementGraph(), PersonalizedPageRank(restart=0.4) % 50)"
    fallback = f"If(HasEvidence(), Keep(), {dense} % 7)"
    assert item.startswith(f"{walk} >> {fallback} >> ToPassages(limit=7, summed=True) >> ")
    two = repr(make_method("hipporag2", ix, top_k=7, triples=4, phrases=3, nodes=50, weight=0.1).pipeline)
    near = f"{link} >> TripleSearch({ix.triples!r}, limit=4) >> SharedWords({ix.words!r})"
    walk = f"{near} >> PhraseSeeds({ix.passages!r}, weight=0.1, phrases=3) >> PersonalizedPageRank(restart=0.5) % 50"
    assert two.startswith(f"({walk} >> Only(Kind.CHUNK)) % 7 >> {fallback} >> ToPassages() >> ")


@pytest.mark.parametrize("name", BOTH)
def test_hipporag_walks_reach_unrelated_words(name: str) -> None:
    state = make_method(name, SNAPSHOT)(start("What did the daughter of Hugh of Tours found?", SNAPSHOT.graph))
    assert state.answer is not None and state.answer.found and state.graph is SNAPSHOT.graph
    assert documents(state)[0] == "ermengarde" and "erstein" in documents(state)[:5]


def test_hipporag_sums_entity_mass_of_passage() -> None:
    state = make_method("hipporag", SNAPSHOT).search(start("Who is Teutberga?", SNAPSHOT.graph))
    assert state.evidence is not None and state.evidence.scores is not None and state.passages is not None
    mass = dict(zip(state.evidence.nodes.tolist(), state.evidence.scores.tolist(), strict=True))
    for chunk, score in zip(state.passages.ids.tolist(), state.passages.scores.tolist(), strict=True):
        mentions = [v for v in mass if chunk in SNAPSHOT.graph.chunks_of([v]).tolist()]
        assert score == pytest.approx(sum(mass[v] for v in mentions)) and mentions
    assert documents(state)[0] == "teutberga"


@pytest.mark.parametrize("question", ["who was that?", "xyz"])
def test_hipporag_without_names_uses_vector(question: str) -> None:
    dense = make_method("vector", SNAPSHOT).search(start(question, SNAPSHOT.graph))
    item = make_method("hipporag", SNAPSHOT).search(start(question, SNAPSHOT.graph))
    assert documents(item) == documents(dense)


def test_hipporag2_without_kept_triples_uses_vectors() -> None:
    op = make_method("hipporag2", SNAPSHOT, llm=ScriptedLLM(['{"numbers": []}'])).search
    dense = make_method("vector", SNAPSHOT).search(start(QUESTION, SNAPSHOT.graph))
    assert documents(op(start(QUESTION, SNAPSHOT.graph))) == documents(dense)


@pytest.mark.parametrize("name", BOTH)
def test_hipporag_model_filters_and_answers(name: str) -> None:
    llm = ScriptedLLM(writer)
    state = make_method(name, SNAPSHOT, llm=llm)(start(QUESTION, SNAPSHOT.graph))
    assert state.answer is not None and len(state.answer.citations) == 1
    part = {"hipporag": f"Keywords({llm!r})", "hipporag2": f"Choose({llm!r})"}[name]
    step, answer = [step.operator for step in state.trace if step.usage.completion_tokens]
    assert step == part and answer == f"Generate({llm!r})"
    # The name is misspelled, and linked to the nearest.
    assert name == "hipporag2" or documents(state)[0] == "ermengarde"


@pytest.mark.parametrize("name", BOTH)
def test_hipporag_without_name_vectors_uses_words(name: str) -> None:
    method = make_method(name, replace(SNAPSHOT, names=None, triples=None))
    state = method(start("What did Ermengarde of Tours found?", SNAPSHOT.graph))
    assert state.answer is not None and state.answer.found and documents(state)[0] == "ermengarde"
    assert any("vectors of triples" in note for step in state.trace for note in step.notes) == (name == "hipporag2")
