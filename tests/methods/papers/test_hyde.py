"""HyDE as a method: a written passage with a language model, feedback without one."""

from __future__ import annotations

import json

import pytest
from tests.shared import corpus_index, passages_in

from graphwright import start
from graphwright.methods.registry import make_method
from graphwright.models import ScriptedLLM

SNAPSHOT = corpus_index().snapshot
QUESTION = "Which building was burned by rebels?"
BURNED = "The abbey of Erstein in Alsace was destroyed during the Peasants' War of 1525."


def test_hyde_expressions_print_as_source() -> None:
    ix = repr(SNAPSHOT.passages)
    whole = repr(make_method("hyde", SNAPSHOT, top_k=7, feedback=3, beta=0.5).pipeline)
    assert whole.startswith(f"VectorSearch({ix}) % 3 >> Feedback({ix}, beta=0.5) % 7 >> ToPassages() >> ")
    llm = ScriptedLLM([""])
    whole = repr(make_method("hyde", SNAPSHOT, top_k=7, llm=llm).pipeline)
    assert whole.startswith(f"HypotheticalPassage({ix}, {llm!r}) % 7 >> ToPassages() >> ")


def test_hyde_text_leads_to_passage_and_is_not_cited() -> None:
    def reply(system: str, user: str) -> str:
        if "by which a collection is searched" in system:
            return json.dumps({"passage": BURNED})
        shown = passages_in(user)
        assert BURNED not in user and "destroyed in 1525" in shown[1]
        quote = "It was destroyed in 1525"
        return json.dumps({"found": True, "text": f"{quote} [1].", "citations": [{"passage": 1, "quote": quote}]})

    state = make_method("hyde", SNAPSHOT, llm=ScriptedLLM(reply))(start(QUESTION, SNAPSHOT.graph))
    assert state.answer is not None and [c.document for c in state.answer.citations] == ["erstein"]


def test_feedback_method_moves_question_by_first_passages() -> None:
    state = start(QUESTION, SNAPSHOT.graph)
    plain, moved, heavy = (
        op.search(state).passages
        for op in (
            make_method("vector", SNAPSHOT),
            make_method("hyde", SNAPSHOT, feedback=1),
            make_method("hyde", SNAPSHOT, feedback=1, beta=1e6),
        )
    )
    assert plain is not None and moved is not None and heavy is not None
    assert moved.ids[0] == heavy.ids[0] == plain.ids[0]
    assert heavy.scores[0] == pytest.approx(1.0, abs=1e-3) and moved.scores[0] > plain.scores[0]
