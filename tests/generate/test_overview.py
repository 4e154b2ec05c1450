"""Broad questions, answered by the topics of documents."""

from __future__ import annotations

import pytest
from tests.generate.scripted_reader import ScriptedReader

from graphwright import Document, Index, start
from graphwright.errors import OptionError
from graphwright.generate import Overview
from graphwright.generate.overview import broadness
from graphwright.operators.search.search import WordSearch
from graphwright.operators.select import ToPassages
from graphwright.operators.state import Answer

BREAD = "Bread is baked from flour and water. The dough of bread rises for hours. Rye bread is dark."
RIVERS = "The river Mur flows through Graz. The river Drava flows through Maribor. Rivers carry gravel."
STARS = "A star shines by fusion of hydrogen. Stars are born in clouds of gas. Red stars are cool."


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    index = Index.create(tmp_path_factory.mktemp("overview") / "index")
    texts = {"bread": BREAD, "rivers": RIVERS, "stars": STARS}
    parts = [(name, at, text) for name, whole in texts.items() for at, text in enumerate(whole.split(". "))]
    index.add([Document(f"{name}-{at}", f"{text.rstrip('.')}.", name.title(), whole=True) for name, at, text in parts])
    return index


def overview(index: Index, question: str, **options: object) -> Answer | None:
    ix = index.snapshot
    steps = WordSearch(ix.words) % 8 >> ToPassages() >> Overview(ix.passages, **options)  # type: ignore[arg-type]
    return steps(start(question, index.graph)).answer


def test_overview_of_index_gives_one_sentence_per_topic(index: Index) -> None:
    answer = overview(index, "What are these documents about, in general?", topics=3, threshold=0)
    assert answer is not None and answer.found and answer.short == () and len(answer.text.splitlines()) == 3
    assert {cited.document.split("-")[0] for cited in answer.citations} == {"bread", "rivers", "stars"}
    assert all(cited.text in BREAD + RIVERS + STARS for cited in answer.citations)


def test_overview_with_named_documents_shows_only_those(index: Index) -> None:
    answer = overview(index, "Give me an overview of bread", topics=2, threshold=0)
    assert answer is not None and {cited.document.split("-")[0] for cited in answer.citations} == {"bread"}


def test_overview_skips_narrow_questions_and_small_indexes(index: Index) -> None:
    assert overview(index, "Which river flows through Graz?") is None
    assert overview(index, "Give me an overview of bread", topics=4, threshold=0) is None


def test_overview_skips_question_answered_by_one_sentence(index: Index) -> None:
    question = "What are rivers about, in general?"
    assert overview(index, question, reader=ScriptedReader(sentences={"Mur": 0.6}), topics=3, threshold=0) is None
    assert overview(index, question, reader=ScriptedReader(sentences={"Mur": 0.5}), topics=3, threshold=0) is not None
    with pytest.raises(OptionError, match="reader"):
        Overview(index.snapshot.passages, reader="minilm")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "question", ["What are these documents about?", "Summarise everything", "Give me an overview of the notes."]
)
def test_overview_accepts_broad_questions(question: str) -> None:
    assert broadness(question) > 0.7


@pytest.mark.parametrize(
    "question", ["Who founded Erstein?", "How many lines does tail show?", "What is the default of the timeout?", ""]
)
def test_overview_rejects_factual_questions(question: str) -> None:
    assert broadness(question) < 0.7
