"""ReG as a method, over a knowledge graph and over an index of documents."""

from __future__ import annotations

import json

from tests.shared import corpus_index, passages_in
from tests.toys import knowledge

from graphwright import Graph, start
from graphwright.methods.papers.reg import evidence_chains
from graphwright.methods.registry import make_method
from graphwright.models import OverlapCrossEncoder, ScriptedLLM
from graphwright.operators import EdgeSearch

SNAPSHOT = corpus_index().snapshot
FILMS = [
    ("Alien", "directed_by", "Ridley Scott"),
    ("Legend", "directed_by", "Ridley Scott"),
    ("Alien", "has_genre", "Horror"),
    ("Legend", "has_genre", "Fantasy"),
    ("Alien", "starred_actors", "Sigourney Weaver"),
    ("Brazil", "has_genre", "Fantasy"),
    ("Legend", "starred_actors", "Tom Cruise"),
]


def test_reg_expression_equals_paper() -> None:
    ranked = "PersonalizedPageRank(each=True) % 1000 >> Induce() >> Triples() >> Rerank(OverlapCrossEncoder()) % 500"
    chains = f"{ranked} >> Chains() >> MergeChains()"
    assert repr(evidence_chains(OverlapCrossEncoder())) == chains
    whole = repr(make_method("reg", SNAPSHOT, scorer=OverlapCrossEncoder()).pipeline)
    assert whole.startswith(
        f"LinkEntities(names={SNAPSHOT.names!r}) >> (Keep() | {chains}) >> ToPassages(limit=15) >> "
    )
    # Triples that have vectors are not read again.
    assert SNAPSHOT.triples is not None
    assert repr(EdgeSearch(SNAPSHOT.triples) % 30) in repr(make_method("reg", SNAPSHOT, triples=30, length=2).pipeline)


def test_reg_on_graph_answers_by_chain_ends() -> None:
    graph = Graph.from_triples(FILMS)
    state = make_method("reg", knowledge(graph))(start("what genre has a film directed by Ridley Scott", graph))
    assert state.answer is not None and state.answer.found and state.graph is graph
    assert sorted(state.answer.text.splitlines()) == ["Fantasy", "Horror"]
    assert ("Ridley Scott", "directed_by⁻¹", "Alien", "has_genre", "Horror") in [c.path for c in state.answer.citations]
    # Its nodes stand for passages, along the chains.
    assert state.passages is not None and graph.names[int(state.passages.ids[0])] in ("Alien", "Ridley Scott")
    # Nothing named, nothing found.
    lost = make_method("reg", knowledge(graph))(start("which genre is it", graph)).answer
    assert lost is not None and not lost.found


def test_reg_model_is_shown_chains_and_nodes() -> None:
    graph = Graph.from_triples(FILMS)

    def reply(system: str, user: str) -> str:
        number = {text: n for n, text in passages_in(user).items()}
        horror, fantasy, _, _ = (number[graph.passage(graph.id(n))] for n in ("Horror", "Fantasy", "Alien", "Legend"))
        assert "Ridley Scott → [directed_by⁻¹] → " in user
        cited = [{"passage": fantasy, "quote": "Fantasy"}, {"passage": horror, "quote": "Horror"}]
        return json.dumps({"found": True, "text": "Fantasy [1] and Horror [2].", "citations": cited})

    op = make_method("reg", knowledge(graph), llm=ScriptedLLM(reply))
    answer = op(start("what genre has a film directed by Ridley Scott", graph)).answer
    assert answer is not None and [c.text for c in answer.citations] == ["Fantasy", "Horror"]
    assert answer.citations[1].path == ("Ridley Scott", "directed_by⁻¹", "Alien", "has_genre", "Horror")


def test_reg_on_documents_returns_chain_passages() -> None:
    state = make_method("reg", SNAPSHOT)(start("Which abbey did the mother of Lothair II found?", SNAPSHOT.graph))
    assert (
        state.answer is not None
        and state.answer.citations
        and state.passages is not None
        and state.evidence is not None
    )
    assert state.graph is SNAPSHOT.graph and state.evidence.scores is None
    texts = state.evidence.texts(SNAPSHOT.graph)
    assert all(text.startswith("Lothair II → [") for text in texts) and len(texts) > 3
    behind = set(SNAPSHOT.graph.chunks_of(state.evidence.nodes, state.evidence.edges).tolist())
    assert set(state.passages.ids.tolist()) <= behind
    assert all(citation.document for citation in state.answer.citations)
