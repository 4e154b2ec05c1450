"""PropRAG as a method: its expression, its results, and indexes without vectors of triples."""

from __future__ import annotations

from dataclasses import replace

from tests.shared import FAMILY, corpus_index
from tests.toys import knowledge

from graphwright import Graph, start
from graphwright.methods.registry import make_method
from graphwright.models import HashEncoder
from graphwright.operators.state import State
from graphwright.search.vector_index import VectorIndex

SNAPSHOT = corpus_index().snapshot
QUESTION = "Which abbey did the mother of Lothair II found?"


def documents(state: State) -> list[str]:
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
    assert state.answer is not None and {"ermengarde", "erstein"} <= set(documents(state)[:4])


def test_proprag_without_triple_vectors_uses_passages_and_words() -> None:
    ix = replace(SNAPSHOT, triples=None)
    op = make_method("proprag", ix).search
    search = f"ScoreSum(VectorSearch({ix.passages!r}) % 50, WordSearch({ix.words!r}) % 50)"
    assert repr(op).startswith(f"{search} % 50 >> KHop(1) >> Induce() >> ")
    state = op(start(QUESTION, ix.graph))
    assert "ermengarde" in documents(state)[:5]
    assert any("compared by words" in note for step in state.trace for note in step.notes)


def test_proprag_runs_on_graph() -> None:
    graph, encoder = Graph.from_triples(FAMILY), HashEncoder()
    texts = [graph.edge_text(edge) for edge in range(len(FAMILY))]
    ix = replace(knowledge(graph), triples=VectorIndex.from_array(encoder.encode(texts), encoder))
    state = make_method("proprag", ix)(start("Who was the mother of Lothair II?", ix.graph))
    assert state.passages is not None and len(state.passages)
