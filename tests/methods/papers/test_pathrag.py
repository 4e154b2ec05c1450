"""PathRAG as a method: as published, offline on any index, and with a language model at each of its steps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.toys import CORPUS, corpus_index

from graphwright import Evidence, Index, ToPassages, start
from graphwright.generate import FlatPrompt, GlobalEdges, PathPrompt
from graphwright.generate.prompts import passages_in
from graphwright.methods.registry import METHODS, pipeline, retrieval_part
from graphwright.models import HashEncoder, ScriptedLLM
from graphwright.operators import HopFirst, Operator, Shuffled
from graphwright.operators.paths.flow_paths import WithEdges
from graphwright.store import Settings

SNAPSHOT = corpus_index().snapshot
QUESTION = "Which abbey did the mother of Lothair II found?"


def writer(system: str, user: str) -> str:
    """List keywords where keywords are asked for, else quote the first passage."""
    if "list the keywords" in system:
        return json.dumps({"names": ["Lothair II", "Ermengarde of Tours"], "themes": ["founding of abbeys"]})
    quote = passages_in(user)[1].split(". ")[0]
    return json.dumps({"found": True, "text": f"{quote} [1].", "citations": [{"passage": 1, "quote": quote}]})


def test_the_expression_is_that_of_the_paper() -> None:
    edges = GlobalEdges(SNAPSHOT.triples, by_question=True)
    assert repr(pipeline("pathrag", SNAPSHOT)).startswith(
        f"Keywords() >> AnchorSearch({SNAPSHOT.names!r}) % 40 >> OnGraph(StatementGraph(), FlowPaths() % 15) >> "
        f"{ToPassages(15, index=SNAPSHOT.passages, weight=0.0, items=WithEdges(edges))!r} >> "
    )
    small = repr(pipeline("pathrag-lt", SNAPSHOT))
    assert f"AnchorSearch({SNAPSHOT.names!r}) % 20 >> OnGraph(StatementGraph(), FlowPaths() % 5) >> " in small
    own = repr(pipeline("pathrag", SNAPSHOT, n=7, k=3, decay=0.5, threshold=0.01))
    assert "% 7 >> OnGraph(StatementGraph(), FlowPaths(decay=0.5, threshold=0.01) % 3) >> " in own
    assert {"n", "k", "decay", "threshold", "order", "prompt", "llm"} < set(METHODS["pathrag"].options)


@pytest.mark.parametrize("order", [HopFirst(), Shuffled(4)], ids=repr)
@pytest.mark.parametrize("prompt", [PathPrompt, FlatPrompt])
def test_its_ablations_are_changes_of_the_expression(order: Operator, prompt: type[PathPrompt]) -> None:
    llm = ScriptedLLM(writer)
    changed = pipeline("pathrag", SNAPSHOT, order=order, prompt=prompt, llm=llm)
    plain = repr(pipeline("pathrag", SNAPSHOT, llm=llm))
    assert repr(changed) == plain.replace("% 15)", f"% 15) >> {order!r}").replace("PathPrompt", prompt.__name__)
    state = changed(start(QUESTION, SNAPSHOT.graph))
    assert state.answer is not None and state.answer.citations
    assert state.evidence is not None
    assert sorted(state.evidence.identities()) == sorted(llm_paths().identities())
    assert ('{"entity"' in (state.prompt or "")) == (prompt is FlatPrompt)


def llm_paths() -> Evidence:
    result = pipeline("pathrag", SNAPSHOT, llm=ScriptedLLM(writer))(start(QUESTION, SNAPSHOT.graph)).evidence
    assert result is not None
    return result


@pytest.mark.parametrize("name", ["pathrag", "pathrag-lt"])
def test_it_answers_offline_from_passages_behind_paths(name: str) -> None:
    state = pipeline(name, SNAPSHOT)(start(QUESTION, SNAPSHOT.graph))
    assert state.answer is not None and "Erstein" in state.answer.text
    assert any(c.document == "ermengarde" for c in state.answer.citations)
    assert state.evidence is not None and 0 < len(state.evidence) <= (15 if name == "pathrag" else 5)
    assert all(step.usage.prompt_tokens == 0 for step in state.trace)


@pytest.mark.parametrize("name", ["pathrag", "pathrag-lt"])
def test_a_language_model_lists_keywords_and_answers_with_the_best_path_last(name: str) -> None:
    llm = ScriptedLLM(writer)
    state = pipeline(name, SNAPSHOT, llm=llm)(start(QUESTION, SNAPSHOT.graph))
    assert [a.text for a in state.anchors or ()] == ["Lothair II", "Ermengarde of Tours", "founding of abbeys"]
    assert state.answer is not None and len(state.answer.citations) == 1
    assert state.answer.citations[0].text in state.answer.text
    shown = [json.loads(line) for line in (state.prompt or "").splitlines() if line.startswith("{")]
    kinds = [next(iter(line)) for line in shown]
    assert kinds == sorted(kinds, key=["question", "relation", "passage", "path"].index) and set(kinds) > {"relation"}
    assert [line["path"] for line in shown if "path" in line][-1] == 1
    keywords, answer = [step.operator for step in state.trace if step.usage.completion_tokens]
    assert keywords == f"Keywords(model={llm!r})" and answer.startswith(f"Generate({llm!r}, twin=")


def test_retrieval_ends_before_the_prompt() -> None:
    part = retrieval_part(pipeline("pathrag", SNAPSHOT, llm=ScriptedLLM(writer)))
    state = part(start(QUESTION, SNAPSHOT.graph))
    assert state.prompt is None and state.answer is None and state.passages is not None and len(state.passages)


def test_an_index_without_vectors_of_names_is_searched_by_words(tmp_path: Path) -> None:
    index = Index.create(tmp_path / "index", encoder=HashEncoder(), settings=Settings(embed=("passages",)))
    index.add(CORPUS)
    assert index.snapshot.names is None and index.snapshot.triples is None
    state = index.ask(QUESTION, method="pathrag")
    assert state.answer is not None and "Erstein" in state.answer.text
    notes = [text for step in state.trace for text in step.notes]
    assert notes[:2] == [
        f"the index has no vectors of {kind}, so they were compared by words; a new index made with "
        "--embed passages,names,triples (the default) has them"
        for kind in ("names", "triples")
    ]
    written = index.ask(QUESTION, method="pathrag", llm=ScriptedLLM(writer))
    assert written.answer is not None and written.answer.citations
    index.close()


@pytest.mark.parametrize("question", ["?", "Who?", "xyz qqq", "日本の首都はどこですか"])
def test_a_question_that_names_nothing_known_is_answered_by_nothing(question: str) -> None:
    state = pipeline("pathrag", SNAPSHOT)(start(question, SNAPSHOT.graph))
    assert state.answer is not None and state.evidence is not None
