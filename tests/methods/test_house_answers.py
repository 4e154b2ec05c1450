"""The answer step of every method: the embedded reader, quotes, or a language model."""

from __future__ import annotations

import json

import pytest
from tests.shared import corpus_index, passages_in

from graphwright import VectorSearch, start
from graphwright.methods.papers.lego import INSTANCES
from graphwright.methods.registry import METHODS, make_method
from graphwright.models.fake import ScriptedLLM

SNAPSHOT = corpus_index().snapshot
READER = "MiniLMReader()"
TWIN = f"Overview({SNAPSHOT.passages!r}, reader={READER}) >> Compare(words={SNAPSHOT.words!r}) >> "
TWIN += f"ReadSpans({READER}) >> Quote({READER})"
OFFLINE = sorted(name for name, method in METHODS.items() if not method.required)
LEGO_WITH_L = [f"lego-{number}" for number, made in INSTANCES.items() if "-L" in "".join(made)]


def first_sentence(system: str, user: str) -> str:
    """Answer with the first sentence of the first passage."""
    quote = passages_in(user)[1].split(". ")[0]
    return json.dumps({"found": True, "text": f"{quote} [1].", "citations": [{"passage": 1, "quote": quote}]})


# In the others a language model takes part in retrieval too.
ASKED = {"hyde", "ircot", "hipporag", "hipporag2", "lightrag-local", "lightrag-global", "lightrag-hybrid"}
ASKED |= {"graphrag-local", "graphrag-global", "raptor", "bubblerag", "rog", "gsr", "tog", "grag-m"}
ASKED |= {"gcr", "clue-rag", "graph"}


@pytest.mark.parametrize("name", sorted(set(OFFLINE) - {*ASKED, "pathrag", "pathrag-lt", *LEGO_WITH_L}))
def test_language_model_answer_keeps_retrieval(name: str) -> None:
    llm = ScriptedLLM(first_sentence)
    written = make_method(name, SNAPSHOT, llm=llm)
    assert METHODS[name].options["llm"] is None
    assert repr(written.context).startswith(("PassageContext(", "PathContext(", "ChainContext("))
    assert repr(written.answer) == f"Fallback(Generate({llm!r}), {TWIN})"
    assert written.pipeline.needs == () and written.search == make_method(name, SNAPSHOT).search
    state = written(start("Which abbey did the mother of Lothair II found?", SNAPSHOT.graph))
    assert state.answer is not None and len(state.answer.citations) == 1
    assert state.answer.citations[0].text in state.answer.text and state.context is not None


def test_house_expressions_print_as_source() -> None:
    assert repr(make_method("vector", SNAPSHOT).pipeline) == (
        f"{VectorSearch(SNAPSHOT.passages)!r} % 15 >> ToPassages() >> {TWIN}"
    )


def test_certain_question_has_short_answer_and_other_is_quoted() -> None:
    ask = make_method("hybrid", SNAPSHOT).within(confidence=0.5)
    short = ask(start("In which region did the abbey of Erstein stand?", SNAPSHOT.graph)).answer
    assert short is not None and short.short == ("Alsace",) and short.citations[0].document == "erstein"
    quoted = ask(start("What happened to the abbey of Erstein?", SNAPSHOT.graph))
    assert quoted.answer is not None and quoted.answer.found and quoted.answer.short == ()
    assert quoted.answer.text.startswith(quoted.answer.citations[0].text)
    assert [step.operator.partition("(")[0] for step in quoted.trace][-2:] == ["ReadSpans", "Quote"]
