"""The end of every passage method: who answers, what broad questions are given, and that others get what they got."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from tests.toys import corpus_index

from graphwright import (
    Generate,
    ComparingReader,
    FactReader,
    Index,
    MiniLMReader,
    SentenceReader,
    VectorSearch,
    start,
)
from graphwright.generate.broad import Broad
from graphwright.generate.prompt import PassagePrompt, passages_in
from graphwright.methods.papers.lego import INSTANCES
from graphwright.methods.registry import METHODS, pipeline, retrieval_part
from graphwright.models.fake import ScriptedLLM
from graphwright.operators.operator import Then

SNAPSHOT = corpus_index().snapshot
# Stave four of Charles Dickens, A Christmas Carol (1843): in the public domain.
STORY = Path(__file__).parent / "fixtures" / "christmas_carol_stave_four.txt"
THEMES = "What are the main themes?"
OFFLINE = sorted(name for name, method in METHODS.items() if not method.required)
LEGO_WITH_L = [f"lego-{number}" for number, made in INSTANCES.items() if "L" in made]


def first_sentence(system: str, user: str) -> str:
    """Answer with the first sentence of the first passage."""
    quote = passages_in(user)[1].split(". ")[0]
    return json.dumps({"found": True, "text": f"{quote} [1].", "citations": [{"passage": 1, "quote": quote}]})


@cache
def story(folder: Path) -> Index:
    index = Index.create(folder)
    index.add([{"id": "carol", "title": "A Christmas Carol", "text": STORY.read_text(encoding="utf-8")}])
    return index


@pytest.fixture(scope="module")
def carol(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return story(tmp_path_factory.mktemp("carol") / "index")


@pytest.mark.parametrize("name", OFFLINE)
def test_the_themes_are_told_in_several_sentences_of_several_passages(name: str, carol: Index) -> None:
    answer = carol.ask(THEMES, method=name).answer
    text = STORY.read_text(encoding="utf-8")
    assert answer is not None and answer.found
    assert 4 <= len(answer.citations) <= 7 and len({c.chunk for c in answer.citations}) >= 3
    for citation in answer.citations:
        assert text[citation.start : citation.end] == citation.text and len(citation.text) >= 40
    assert answer.text == " ".join(c.text for c in answer.citations)


def test_a_broad_question_that_names_something_is_answered_from_what_is_found(carol: Index) -> None:
    state = carol.ask("Summarise what happens to Tiny Tim.", method="hybrid")
    assert state.answer is not None and "Tiny Tim" in state.answer.text and len(state.answer.citations) >= 4
    plain = carol.retrieve("Summarise what happens to Tiny Tim.", method="hybrid")
    assert plain.chunks is not None and state.passages is not None
    assert plain.chunks.ids.tolist() == state.passages.ids.tolist()


def test_central_passages_are_retrieved_for_a_question_that_names_nothing(carol: Index) -> None:
    found = [carol.retrieve(q, method=m).passages for q in (THEMES, "Summarise this.") for m in ("bm25", "vector")]
    assert all(f is not None and f.ids.tolist() == found[0].ids.tolist() for f in found)  # type: ignore[union-attr]
    assert len(found[0]) == 20  # type: ignore[arg-type]
    few = carol.retrieve(THEMES, passages=5).passages
    assert few is not None and few.ids.tolist() == found[0].ids[:5].tolist()  # type: ignore[union-attr]


@pytest.mark.parametrize("name", OFFLINE)
@pytest.mark.parametrize("question", ["Which abbey did the mother of Lothair II found?", "Who was king?", "xyz"])
def test_other_questions_retrieve_what_the_search_alone_does(name: str, question: str) -> None:
    whole = pipeline(name, SNAPSHOT)
    assert isinstance(whole, Then)
    broad = next(at for at, step in enumerate(whole.steps) if isinstance(step, Broad))
    alone = retrieval_part(Then(whole.steps[:broad]))(start(question, SNAPSHOT.graph))
    found = retrieval_part(whole)(start(question, SNAPSHOT.graph))
    assert found.passages is not None and alone.chunks is not None and found.evidence is not None
    assert found.passages.ids.tobytes() == alone.chunks.ids.tobytes()
    assert found.passages.scores.tobytes() == alone.chunks.scores.tobytes()
    assert found.evidence.identities() == alone.evidence.identities()  # type: ignore[union-attr]
    assert [step.operator for step in found.trace] == [step.operator for step in alone.trace]


# In the others a language model takes part in retrieval too.
ASKED = {"hyde", "ircot", "hipporag", "hipporag2", "lightrag-local", "lightrag-global", "lightrag-hybrid"}
ASKED |= {"graphrag-local", "graphrag-global", "raptor", "bubblerag", "rog", "gsr", "tog", "grag-m"}


@pytest.mark.parametrize("name", sorted(set(OFFLINE) - {*ASKED, "pathrag", "pathrag-lt", *LEGO_WITH_L}))
def test_a_language_model_may_answer_and_retrieval_stays_the_same(name: str) -> None:
    llm = ScriptedLLM(first_sentence)
    written = pipeline(name, SNAPSHOT, llm=llm)
    assert METHODS[name].options["llm"] is None
    *_, prompt, answer = repr(written).split(" >> ")
    assert "Prompt(" in prompt and answer == f"Generate({llm!r})"
    assert written.needs == () and retrieval_part(written) == retrieval_part(pipeline(name, SNAPSHOT))
    state = written(start("Which abbey did the mother of Lothair II found?", SNAPSHOT.graph))
    assert state.answer is not None and len(state.answer.citations) == 1
    assert state.answer.citations[0].text in state.answer.text and state.prompt is not None


def test_a_language_model_is_shown_central_passages_for_a_broad_question(carol: Index) -> None:
    state = carol.ask(THEMES, llm=ScriptedLLM(first_sentence))
    central = carol.retrieve(THEMES).passages
    assert central is not None and state.prompt is not None and state.answer is not None
    shown = passages_in(state.prompt)
    assert [shown[n] for n in sorted(shown)] == [carol.graph.text(int(c)) for c in central.ids[: len(shown)]]
    assert state.answer.citations and len(shown) == 8


def test_the_expression_reads_as_it_is_written() -> None:
    assert repr(pipeline("vector", SNAPSHOT)) == (
        f"{VectorSearch(SNAPSHOT.passages)!r} % 20 >> ToPassages() >> "
        f"Broad(CentralSearch({SNAPSHOT.passages!r}) % 20 >> ToPassages(), unnamed=True) >> "
        f"Broad(Generate(CentralReader({SNAPSHOT.encoder!r}), passages=20)) >> "
        f"{Generate(ComparingReader(MiniLMReader(), FactReader(MiniLMReader(), SentenceReader(SNAPSHOT.encoder))))!r}"
    )
    assert PassagePrompt() == PassagePrompt(8)
