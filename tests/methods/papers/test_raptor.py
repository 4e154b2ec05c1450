"""RAPTOR as a method: the collapsed tree, offline and with summaries that a language model writes."""

from __future__ import annotations

import json

from tests.shared import corpus_index, passages_in, prompt_of

from graphwright import start
from graphwright.methods.registry import make_method
from graphwright.models import ScriptedLLM

SNAPSHOT = corpus_index().snapshot
QUESTION = "Which abbey did the mother of Lothair II found?"


def test_raptor_expression_prints_as_source() -> None:
    whole = repr(make_method("raptor", SNAPSHOT, size=4, per_summary=2, top_k=7).pipeline)
    assert whole.startswith(
        f"TreeSearch(SummaryTree({SNAPSHOT.passages!r}, size=4), per_summary=2) % 7 >> ToPassages() >> "
    )


def test_raptor_answers_offline() -> None:
    state = make_method("raptor", SNAPSHOT, size=2)(start(QUESTION, SNAPSHOT.graph))
    assert state.answer is not None and "Erstein" in state.answer.text and state.answer.citations
    assert all(step.usage.prompt_tokens == 0 for step in state.trace)


def test_raptor_model_writes_tree_and_answers() -> None:
    def reply(system: str, user: str) -> str:
        if "summarise texts" in system:
            # A summary that is nearer to the question than any passage.
            return json.dumps({"summary": "yeast and ovens" if "Bread" in user else "other things"})
        quote = passages_in(user)[1].split(". ")[0]
        return json.dumps({"found": True, "text": f"{quote} [1].", "citations": [{"passage": 1, "quote": quote}]})

    llm = ScriptedLLM(reply)
    state = make_method("raptor", SNAPSHOT, size=2, llm=llm)(start("yeast and ovens", SNAPSHOT.graph))
    assert state.answer is not None and state.passages is not None
    shown = [json.loads(line) for line in prompt_of(state).splitlines() if line.startswith("{")]
    assert next(line["text"] for line in shown if "report" in line) == "yeast and ovens"
    tree = state.trace[0]
    assert tree.operator.startswith("TreeSearch") and tree.usage.completion_tokens > 0
    assert tree.notes[-1].endswith("summaries were made of 6 passages")
    first = SNAPSHOT.graph.passages.of(int(state.passages.ids[0]))  # type: ignore[union-attr]
    plain = make_method("raptor", SNAPSHOT, size=2)(start("yeast and ovens", SNAPSHOT.graph)).passages
    assert first is not None and plain is not None and state.passages.scores[0] > plain.scores[0]
