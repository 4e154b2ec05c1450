"""HippoRAG and HippoRAG 2 as methods: their expressions, their results, and questions that name no entity.

LinearRAG as a method: its expression, its results, and questions that name no entity.

PropRAG as a method: its expression, its results, and indexes without vectors of triples.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.shared import FAMILY, corpus_index, passages_in
from tests.toys import knowledge

from graphwright import Graph, VectorSearch, start
from graphwright.graph.graph import Kind
from graphwright.methods.registry import make_method
from graphwright.models import HashEncoder, ScriptedLLM
from graphwright.operators import MentionGraph
from graphwright.operators.state import State
from graphwright.search.vector_index import VectorIndex

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
    assert state.answer is not None and state.answer.citations and state.graph is SNAPSHOT.graph
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
    state = method(start("Which abbey did Ermengarde of Tours found?", SNAPSHOT.graph))
    assert state.answer is not None and state.answer.found and documents(state)[0] == "ermengarde"
    assert any("vectors of triples" in note for step in state.trace for note in step.notes) == (name == "hipporag2")


def documents_linearrag(state: State) -> list[str]:
    assert state.passages is not None
    return [passage.document for passage in state.passages]


def test_linearrag_expression_prints_as_source() -> None:
    ix = SNAPSHOT
    active = f"LinkEntities(names={ix.names!r}) >> Bridge({ix.triples!r}, sentences=2) >> BridgeSeeds({ix.passages!r})"
    walk = "OnGraph(MentionGraph(), PersonalizedPageRank(restart=0.5) % 50) >> Only(Kind.CHUNK)"
    whole = repr(make_method("linearrag", ix, top_k=7, sentences=2, nodes=50).pipeline)
    fallback = f"If(HasEvidence(), Keep(), VectorSearch({ix.passages!r}) % 7)"
    assert whole.startswith(f"({active} >> {walk}) % 7 >> {fallback} >> ToPassages() >> ")


def test_linearrag_bridges_reach_unrelated_words() -> None:
    op = make_method("linearrag", SNAPSHOT, threshold=0.1)
    state = op(start("What did the daughter of Hugh of Tours found?", SNAPSHOT.graph))
    assert state.answer is not None and {"ermengarde", "erstein"} <= set(documents_linearrag(state)[:4])


def test_linearrag_without_names_uses_vector() -> None:
    op, question = make_method("linearrag", SNAPSHOT, top_k=3).search, "which river is cold?"
    state, dense = op(start(question, SNAPSHOT.graph)), (VectorSearch(SNAPSHOT.passages) % 3)
    expected = dense(start(question, SNAPSHOT.graph)).evidence
    assert state.passages is not None and expected is not None
    assert state.passages.ids.tolist() == expected.nodes.tolist()


def test_linearrag_uses_no_entity_relations() -> None:
    graph = MentionGraph()(SNAPSHOT.graph)
    kinds = graph.columns.kinds[graph.ends(graph.edges)].reshape(-1, 2)
    assert len(graph.edges) and ((kinds == Kind.CHUNK).sum(axis=1) == 1).all()
    assert len(graph) == len(SNAPSHOT.graph) and MentionGraph()(SNAPSHOT.graph) is graph
    bare = Graph.from_triples(FAMILY)
    assert MentionGraph()(bare) is bare


def test_linearrag_runs_on_graph() -> None:
    ix = knowledge(Graph.from_triples(FAMILY))
    state = make_method("linearrag", ix)(start("Who was the mother of Lothair II?", ix.graph))
    assert state.passages is not None and len(state.passages)


def documents_proprag(state: State) -> list[str]:
    assert state.passages is not None
    return [passage.document for passage in state.passages]


def test_proprag_expression_prints_as_source() -> None:
    ix = SNAPSHOT
    dense = f"If(HasEvidence(), Keep(), VectorSearch({ix.passages!r}))"
    wide = (
        f"PropositionPaths({ix.triples!r}, width=20, length=1) >> PathSeeds({ix.passages!r}, paths=20, entities=40, "
        f"scored=False) >> PersonalizedPageRank(restart=0.25) % 1000 >> Only(Kind.CHUNK) >> {dense}"
    )
    paths = f"PropositionPaths({ix.triples!r}, width=2, length=2) >> PathSeeds({ix.passages!r})"
    narrow = f"({paths} >> PersonalizedPageRank(restart=0.55) >> Only(Kind.CHUNK) >> {dense}) % 7"
    whole = repr(make_method("proprag", ix, top_k=7, focus=9, width=2, length=2).pipeline)
    assert whole.startswith(f"({wide}) % 9 >> KHop(1) >> Induce() >> {narrow} >> ToPassages() >> ")


def test_proprag_paths_reach_unrelated_words() -> None:
    state = make_method("proprag", SNAPSHOT)(start("What did the daughter of Hugh of Tours found?", SNAPSHOT.graph))
    assert state.answer is not None and {"ermengarde", "erstein"} <= set(documents_proprag(state)[:4])


def test_proprag_without_triple_vectors_uses_passages_and_words() -> None:
    ix = replace(SNAPSHOT, triples=None)
    op = make_method("proprag", ix).search
    search = f"ScoreSum(VectorSearch({ix.passages!r}) % 50, WordSearch({ix.words!r}) % 50)"
    assert repr(op).startswith(f"{search} % 50 >> KHop(1) >> Induce() >> ")
    state = op(start(QUESTION, ix.graph))
    assert "ermengarde" in documents_proprag(state)[:5]
    assert any("compared by words" in note for step in state.trace for note in step.notes)


def test_proprag_runs_on_graph() -> None:
    graph, encoder = Graph.from_triples(FAMILY), HashEncoder()
    texts = [graph.edge_text(edge) for edge in range(len(FAMILY))]
    ix = replace(knowledge(graph), triples=VectorIndex.from_array(encoder.encode(texts), encoder))
    state = make_method("proprag", ix)(start("Who was the mother of Lothair II?", ix.graph))
    assert state.passages is not None and len(state.passages)
