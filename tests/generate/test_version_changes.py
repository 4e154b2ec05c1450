"""Questions that name two versions of a document: the same sentence of each is quoted."""

from __future__ import annotations

import pytest
from tests.generate.scripted_reader import ScriptedReader

from graphwright import Index, start
from graphwright.data.documents import read_documents
from graphwright.generate import QuoteChanges
from graphwright.graph import Ranking
from graphwright.models import HashEncoder
from graphwright.operators.state import Answer

FEES = {"1": ("2021-01-01", 18, ""), "2": ("2023-01-01", 22, ""), "10": ("2025-01-01", 27, " and films")}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("changes")
    for number, (date, fee, more) in FEES.items():
        (folder / f"fees-v{number}.txt").write_text(
            f"Fees of the library\nVersion {number} of {date}\n\nThe annual fee is {fee} euros. Children pay nothing. "
            f"Books{more} are lent for 28 days. The reading room opens at nine."
        )
    made = Index.create(folder / "index", encoder=HashEncoder())
    made.add([*read_documents(sorted(folder.glob("*.txt")), print)])
    return made


def answered(index: Index, question: str) -> Answer | None:
    passages = index.graph.passages
    assert passages is not None
    reader = ScriptedReader(sentences={"annual": 0.1, "Children": 0.05, "Books": 0.04})
    state = start(question, index.graph).with_(passages=Ranking.of(passages.nodes, [1.0] * len(passages.nodes)))
    return QuoteChanges(reader)(state).answer


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How did the annual fee change from 2021 to 2025?", "2021-01-01: 18 euros [1]; 2025-01-01: 27 euros [2]"),
        (
            "How does the annual fee differ between version 2 and version 10?",
            "2023-01-01: 22 euros [1]; 2025-01-01: 27 euros [2]",
        ),
        (
            "How did the books that are lent change from 2021 to 2025?",
            "2021-01-01: Books are lent for 28 days. [1]\n2025-01-01: Books and films are lent for 28 days. [2]",
        ),
    ],
)
def test_question_that_names_two_versions_is_answered_with_the_sentence_of_each(
    index: Index, question: str, text: str
) -> None:
    answer = answered(index, question)
    assert answer is not None and answer.found and answer.short == ()
    assert answer.text == text and len(answer.citations) == 2


@pytest.mark.parametrize(
    "question",
    [
        "What was the annual fee in 2021?",
        "How did the annual fee change?",
        "Which parrots were kept between 2021 and 2025?",
        "For how many days were books lent in 2021 and in 2023?",
    ],
)
def test_question_that_names_one_version_or_what_did_not_change_is_left_to_others(index: Index, question: str) -> None:
    assert answered(index, question) is None
