"""PathRAG as a method: as published, offline on any index, and with a language model at each of its steps.

Clue-RAG as a method: its expression, and answers with and without a language model and vectors.

ReG as a method, over a knowledge graph and over an index of documents.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.shared import corpus_index, passages_in, prompt_of
from tests.toys import knowledge

from graphwright import Evidence, Graph, ToPassages, start
from graphwright.generate import FlatContext, GlobalEdges, PathContext
from graphwright.methods.papers.paths import evidence_chains
from graphwright.methods.registry import METHODS, make_method
from graphwright.models import HashEncoder, OverlapCrossEncoder, ScriptedLLM
from graphwright.operators import EdgeSearch, HopFirst, Operator, Run, Shuffled
from graphwright.operators.paths.node_paths import WithEdges

SNAPSHOT = corpus_index().snapshot
QUESTION = "Which abbey did the mother of Lothair II found?"


def writer(system: str, user: str) -> str:
    """List keywords where keywords are asked for, else quote the first passage."""
    if "list the keywords" in system:
        return json.dumps({"names": ["Lothair II", "Ermengarde of Tours"], "themes": ["founding of abbeys"]})
    quote = passages_in(user)[1].split(". ")[0]
    return json.dumps({"found": True, "text": f"{quote} [1].", "citations": [{"passage": 1, "quote": quote}]})


def test_pathrag_expression_equals_paper() -> None:
    passages = ToPassages(index=SNAPSHOT.passages, items=WithEdges(GlobalEdges(SNAPSHOT.triples, by_question=True)))
    assert repr(make_method("pathrag", SNAPSHOT).pipeline).startswith(
        f"VectorSearch({SNAPSHOT.passages!r}) % 15 >> ToPassages() >> NamesAndPhrases() >> ImpliedNames() >> "
        f"AnchorSearch({SNAPSHOT.names!r}) % 40 >> OnGraph(StatementGraph(), FlowPaths() % 15) >> "
        f"SharedBudget({passages!r}, read=0) >> "
    )
    small = repr(make_method("pathrag-lt", SNAPSHOT).pipeline)
    assert f"AnchorSearch({SNAPSHOT.names!r}) % 20 >> OnGraph(StatementGraph(), FlowPaths() % 5) >> " in small
    own = repr(make_method("pathrag", SNAPSHOT, n=7, k=3, decay=0.5, threshold=0.01).pipeline)
    assert "% 7 >> OnGraph(StatementGraph(), FlowPaths(decay=0.5, threshold=0.01) % 3) >> " in own
    assert {"n", "k", "decay", "threshold", "order", "context", "llm"} < set(METHODS["pathrag"].options)


@pytest.mark.parametrize("order", [HopFirst(), Shuffled(4)], ids=repr)
@pytest.mark.parametrize("context", [PathContext, FlatContext])
def test_pathrag_ablations_change_expression(order: Operator, context: type[PathContext]) -> None:
    llm = ScriptedLLM(writer)
    changed = make_method("pathrag", SNAPSHOT, order=order, context=context, llm=llm)
    plain = repr(make_method("pathrag", SNAPSHOT, llm=llm).pipeline)
    assert repr(changed.pipeline) == plain.replace("% 15)", f"% 15) >> {order!r}").replace(
        "PathContext", context.__name__
    )
    state = changed(start(QUESTION, SNAPSHOT.graph))
    assert state.answer is not None and state.answer.citations
    assert state.evidence is not None
    assert sorted(state.evidence.identities()) == sorted(llm_paths().identities())
    assert ('{"entity"' in prompt_of(state)) == (context is FlatContext)


def llm_paths() -> Evidence:
    result = make_method("pathrag", SNAPSHOT, llm=ScriptedLLM(writer))(start(QUESTION, SNAPSHOT.graph)).evidence
    assert result is not None
    return result


@pytest.mark.parametrize("name", ["pathrag", "pathrag-lt"])
def test_pathrag_offline_answers_from_path_passages(name: str) -> None:
    state = make_method(name, SNAPSHOT)(start(QUESTION, SNAPSHOT.graph))
    assert state.answer is not None and "Erstein" in state.answer.text
    assert any(c.document == "ermengarde" for c in state.answer.citations)
    assert state.evidence is not None and 0 < len(state.evidence) <= (15 if name == "pathrag" else 5)
    assert all(step.usage.prompt_tokens == 0 for step in state.trace)


@pytest.mark.parametrize("name", ["pathrag", "pathrag-lt"])
def test_pathrag_model_lists_keywords_and_sees_best_path_last(name: str) -> None:
    llm = ScriptedLLM(writer)
    state = make_method(name, SNAPSHOT, llm=llm)(start(QUESTION, SNAPSHOT.graph))
    assert [a.text for a in state.anchors or ()] == ["Lothair II", "Ermengarde of Tours", "founding of abbeys"]
    assert state.answer is not None and len(state.answer.citations) == 1
    assert state.answer.citations[0].text in state.answer.text
    shown = [json.loads(line) for line in prompt_of(state).splitlines() if line.startswith("{")]
    kinds = [next(iter(line)) for line in shown]
    assert kinds == sorted(kinds, key=["question", "relation", "passage", "path"].index) and set(kinds) > {"relation"}
    assert [line["path"] for line in shown if "path" in line][-1] == 1
    keywords, answer = [step.operator for step in state.trace if step.usage.completion_tokens]
    assert keywords == f"Keywords({llm!r})" and answer == f"Generate({llm!r})"


def test_pathrag_shown_none_prompts_with_paths_alone() -> None:
    unknown = '{"found": false, "text": "", "citations": []}'
    llm = ScriptedLLM(lambda system, user: writer(system, user) if "list the keywords" in system else unknown)
    state = make_method("pathrag", SNAPSHOT, shown=0, llm=llm)(start(QUESTION, SNAPSHOT.graph))
    kinds = {next(iter(json.loads(line))) for line in prompt_of(state).splitlines() if line.startswith("{")}
    assert "path" in kinds and "passage" not in kinds
    assert state.passages is not None and len(state.passages)


def test_pathrag_passages_state_paths_or_edges_first() -> None:
    state = make_method("pathrag", SNAPSHOT)(start(QUESTION, SNAPSHOT.graph))
    assert state.evidence is not None and state.passages is not None
    edges = GlobalEdges(SNAPSHOT.triples, by_question=True)(state, Run())
    stating = set(SNAPSHOT.graph.chunks_of((), [*state.evidence.edges.tolist(), *edges.tolist()]).tolist())
    assert set(state.passages.ids[: len(stating)].tolist()) == stating


def test_pathrag_retrieval_ends_before_context() -> None:
    part = make_method("pathrag", SNAPSHOT, llm=ScriptedLLM(writer)).search
    state = part(start(QUESTION, SNAPSHOT.graph))
    assert state.context is None and state.answer is None and state.passages is not None and len(state.passages)


def test_pathrag_without_name_vectors_uses_words() -> None:
    without = replace(SNAPSHOT, names=None, triples=None)
    state = make_method("pathrag", without)(start(QUESTION, SNAPSHOT.graph))
    assert state.answer is not None and "Erstein" in state.answer.text
    notes = [text for step in state.trace for text in step.notes]
    assert notes[:2] == [
        f"the index has no vectors of {kind}, so they were compared by words; a new index made with "
        "--embed passages,names,triples (the default) has them"
        for kind in ("names", "triples")
    ]
    written = make_method("pathrag", without, llm=ScriptedLLM(writer))(start(QUESTION, SNAPSHOT.graph))
    assert written.answer is not None and written.answer.citations


@pytest.mark.parametrize("question", ["?", "Who?", "xyz qqq", "日本の首都はどこですか"])
def test_pathrag_with_unknown_names_finds_nothing(question: str) -> None:
    state = make_method("pathrag", SNAPSHOT)(start(question, SNAPSHOT.graph))
    assert state.answer is not None and state.evidence is not None


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
