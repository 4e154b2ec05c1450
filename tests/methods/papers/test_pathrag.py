"""PathRAG as a method: as published, offline on any index, and with a language model at each of its steps."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.shared import corpus_index, passages_in, prompt_of

from graphwright import Evidence, ToPassages, start
from graphwright.generate import FlatContext, GlobalEdges, PathContext
from graphwright.methods.registry import METHODS, make_method
from graphwright.models import ScriptedLLM
from graphwright.operators import HopFirst, Operator, Run, Shuffled
from graphwright.operators.paths.flow_paths import WithEdges

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
