"""LightRAG's three modes as methods: their expressions, their results, and their use of a language model."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.shared import corpus_index, passages_in, prompt_of

from graphwright import start
from graphwright.methods.registry import make_method
from graphwright.models import ScriptedLLM

SNAPSHOT = corpus_index().snapshot
QUESTION = "Which abbey did the mother of Lothair II found?"
MODES = ["lightrag-local", "lightrag-global", "lightrag-hybrid"]


def writer(system: str, user: str) -> str:
    """List keywords where keywords are asked for, else quote the first passage."""
    if "list the keywords" in system:
        return json.dumps({"names": ["Lothair II", "Ermengarde of Tours"], "themes": ["founding of an abbey"]})
    quote = passages_in(user)[1].split(". ")[0]
    return json.dumps({"found": True, "text": f"{quote} [1].", "citations": [{"passage": 1, "quote": quote}]})


def test_lightrag_expressions_print_as_source() -> None:
    names, triples = f"AnchorSearch({SNAPSHOT.names!r})", f"TripleSearch({SNAPSHOT.triples!r}, limit=9"
    local, broad, hybrid = (repr(make_method(mode, SNAPSHOT, top_k=7, n=9).pipeline) for mode in MODES)
    assert local.startswith(f"NamesAndPhrases() >> {names} % 9 >> OneHop() >> ToPassages(limit=7, summed=True) >> ")
    assert broad.startswith(f"NamesAndPhrases() >> {triples}, by_question=True) >> ToPassages(limit=7) >> ")
    in_turn = f"ReciprocalRank({names} % 9 >> OneHop(), {triples}, by_question=True), constant=0)"
    assert hybrid.startswith(f"NamesAndPhrases() >> {in_turn} >> ToPassages(limit=7, summed=True) >> ")
    # With a language model there are themes to look for.
    assert f"{triples}) >> " in repr(make_method("lightrag-global", SNAPSHOT, n=9, llm=ScriptedLLM(writer)).pipeline)


@pytest.mark.parametrize("mode", MODES)
def test_lightrag_answers_offline(mode: str) -> None:
    state = make_method(mode, SNAPSHOT)(start(QUESTION, SNAPSHOT.graph))
    assert state.answer is not None and "Erstein" in state.answer.text
    assert all(step.usage.prompt_tokens == 0 for step in state.trace)


@pytest.mark.parametrize("mode", MODES)
def test_lightrag_model_lists_keywords_and_sees_relations(mode: str) -> None:
    llm = ScriptedLLM(writer)
    state = make_method(mode, SNAPSHOT, llm=llm)(start(QUESTION, SNAPSHOT.graph))
    assert [a.text for a in state.anchors or ()] == ["Lothair II", "Ermengarde of Tours", "founding of an abbey"]
    assert state.answer is not None and len(state.answer.citations) == 1
    assert "She founded the abbey of Erstein in Alsace." in prompt_of(state)
    kinds = {next(iter(json.loads(line))) for line in prompt_of(state).splitlines() if line.startswith("{")}
    assert {"question", "passage", "path"} <= kinds
    spent = [step.operator for step in state.trace if step.usage.completion_tokens]
    assert spent[0] == f"Keywords({llm!r})" and spent[1] == f"Generate({llm!r})" and len(spent) == 2


@pytest.mark.parametrize("message", ["", "no JSON", '{"names": [], "themes": []}'])
def test_lightrag_with_empty_keywords_uses_question(message: str) -> None:
    def reply(system: str, user: str) -> str:
        return message if "list the keywords" in system else writer(system, user)

    op = make_method("lightrag-hybrid", SNAPSHOT, llm=ScriptedLLM(reply))
    state = op(start(QUESTION, SNAPSHOT.graph))
    assert state.answer is not None and "Lothair II" in [a.text for a in state.anchors or ()]


@pytest.mark.parametrize("mode", MODES)
def test_lightrag_without_name_vectors_uses_words(mode: str) -> None:
    method = make_method(mode, replace(SNAPSHOT, names=None, triples=None))
    state = method(start("What did Ermengarde of Tours found?", SNAPSHOT.graph))
    assert state.answer is not None and state.answer.citations[0].document == "ermengarde"
    assert any("no vectors of" in note for step in state.trace for note in step.notes)
