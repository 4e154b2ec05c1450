"""Clue-RAG as a method: its expression, and answers with and without a language model and vectors."""

from __future__ import annotations

from dataclasses import replace

from tests.shared import corpus_index

from graphwright import Graph, start
from graphwright.methods.registry import make_method
from graphwright.models import HashEncoder, OverlapCrossEncoder, ScriptedLLM

SNAPSHOT = corpus_index().snapshot
QUESTION = "Which abbey did the mother of Lothair II found?"
MODEL = OverlapCrossEncoder()


def test_clue_rag_expression_equals_paper() -> None:
    ix = SNAPSHOT
    whole = repr(make_method("clue-rag", ix, top_k=7, cross_encoder=MODEL).pipeline)
    assert whole.startswith(
        f"LinkEntities(names={ix.names!r}) >> (PropositionPaths({ix.triples!r}, width=3, length=1) | "
        f"AnchorSearch({ix.names!r}, per_anchor=3)) >> UnitPaths({ix.triples!r}, {MODEL!r}) >> StatingPassages() >> "
        f"Rerank({MODEL!r}) % 7 >> If("
    )
    assert "Keywords(ScriptedLLM(" in repr(make_method("clue-rag", ix, llm=ScriptedLLM(["unused"])).pipeline)


def test_clue_rag_cites_or_abstains() -> None:
    state = make_method("clue-rag", SNAPSHOT, cross_encoder=MODEL)(start(QUESTION, SNAPSHOT.graph))
    assert state.passages is not None and {"lothair", "erstein"} <= {p.document for p in state.passages}
    assert state.answer is not None
    assert state.answer.verified if state.answer.found else "Nearest text" in state.answer.text


def test_clue_rag_runs_without_vectors_and_on_graph() -> None:
    bare = replace(SNAPSHOT, names=None, triples=None)
    state = make_method("clue-rag", bare, cross_encoder=MODEL).search(start(QUESTION, SNAPSHOT.graph))
    assert state.passages is not None and len(state.passages)
    films = Graph.from_triples([("Heat", "directed by", "Mann"), ("Ali", "directed by", "Mann")])
    ix = replace(bare, graph=films, encoder=HashEncoder())
    state = make_method("clue-rag", ix, cross_encoder=MODEL).search(start("Who directed Heat?", films))
    assert state.passages is not None and {p.title or p.text for p in state.passages}
