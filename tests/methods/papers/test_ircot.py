"""IRCoT as a method: alternating searches and thoughts, by a language model and by its offline twin."""

from __future__ import annotations

import json

from tests.shared import corpus_index, passages_in

from graphwright import start
from graphwright.methods.registry import make_method
from graphwright.models import ScriptedLLM
from graphwright.operators import HasThoughts, WordSearch

SNAPSHOT = corpus_index().snapshot
QUESTION = "Which abbey did the mother of Lothair II found?"


def test_ircot_expression_prints_as_source() -> None:
    first = WordSearch(SNAPSHOT.words)
    whole = repr(make_method("ircot", SNAPSHOT, top_k=7, k=4, steps=2, shown=3, first=first).pipeline)
    search, think = f"FollowUp({first!r} % 4)", f"SentenceThought({SNAPSHOT.encoder!r}, passages=3)"
    assert whole.startswith(
        f"({search} >> Repeat({think} >> {search}, until={HasThoughts(2)!r})) % 7 >> ToPassages() >> "
    )
    assert "ScoreSum(VectorSearch(" in repr(make_method("ircot", SNAPSHOT).pipeline)


def test_ircot_interleaves_searches() -> None:
    first = WordSearch(SNAPSHOT.words)
    thoughts = ["Ermengarde founded Erstein.", "The Mur joins the Drava."]
    script = ScriptedLLM([json.dumps({"enough": False, "thought": thought}) for thought in thoughts])
    op = make_method("ircot", SNAPSHOT, k=2, steps=2, first=first, llm=script).search
    state = op(start("Who married Teutberga?", SNAPSHOT.graph))
    asked = ["Who married Teutberga?", *thoughts]
    each = [(first % 2)(start(text, SNAPSHOT.graph)).evidence.nodes.tolist() for text in asked]  # type: ignore[union-attr]
    assert state.passages is not None
    ids = state.passages.ids.tolist()
    assert set(ids[:3]) == {nodes[0] for nodes in each} and set(ids) == {node for nodes in each for node in nodes}


def test_ircot_model_thinks_then_answers() -> None:
    def reply(system: str, user: str) -> str:
        if "one sentence at a time" in system:
            enough = "destroyed in 1525" in user.partition("Your sentences so far")[2]
            return json.dumps({"enough": enough, "thought": "" if enough else "The abbey was destroyed in 1525."})
        quote = "It was destroyed in 1525"
        number = next(n for n, text in passages_in(user).items() if quote in text)
        cited = [{"passage": number, "quote": quote}]
        return json.dumps({"found": True, "text": f"{quote} [1].", "citations": cited})

    op = make_method("ircot", SNAPSHOT, steps=6, llm=ScriptedLLM(reply))
    state = op(start("What became of what Ermengarde founded?", SNAPSHOT.graph))
    assert state.answer is not None and [c.document for c in state.answer.citations] == ["erstein"]
    assert len(state.anchors or ()) == 1


def test_ircot_offline_answers() -> None:
    state = make_method("ircot", SNAPSHOT)(start(QUESTION, SNAPSHOT.graph))
    assert state.answer is not None and "Erstein" in state.answer.text
    assert all(step.usage.prompt_tokens == 0 for step in state.trace)
