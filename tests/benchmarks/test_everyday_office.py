from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from questions.score import KINDS, Question, contains, read_everyday, spans_of, verdict

from graphwright.data.documents import read_documents
from graphwright.operators.state import Answer, Citation

FOLDER = Path(__file__).parents[2] / "benchmarks" / "everyday"
QUESTIONS = read_everyday(FOLDER / "office.jsonl")
ANSWERABLE = [question for question in QUESTIONS if question.accept]
COMPUTED = ("count",)  # their answers are counted, and do not stand in the evidence


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    pytest.importorskip("pypdfium2"), pytest.importorskip("docx"), pytest.importorskip("pptx")
    pytest.importorskip("openpyxl")
    skipped: list[object] = []
    read = {document.id: document.text for document in read_documents([FOLDER / "office"], skipped.append)}
    assert not skipped
    return read


def quoting(question: Question, texts: dict[str, str], text: str = "") -> Answer:
    """Return an answer that cites all evidence of a question; its text is the evidence where none is given."""
    places = [(place["document"], place["text"]) for place in question.evidence]
    citations = [
        Citation(document, "", *spans_of(passage, texts[document])[0], passage) for document, passage in places
    ]
    short = tuple(group[0] for group in question.accept) if question.exact else ()
    return Answer(text or " ".join(passage for _, passage in places), short, tuple(citations))


def test_every_kind_variant_and_half_is_represented() -> None:
    kinds = Counter(question.kind for question in QUESTIONS)
    variants = Counter(question.variant.partition(":")[0] for question in QUESTIONS)
    assert len(QUESTIONS) == 256 and set(kinds) == set(KINDS)
    assert kinds["unanswerable"] >= 40 and min(kinds.values()) >= 5
    assert variants["misspelt"] >= 10 and variants["language"] >= 30
    assert min(Counter(question.half for question in QUESTIONS).values()) >= 100


def test_files_are_few_bytes_and_each_source_is_a_folder() -> None:
    files = [path for path in (FOLDER / "office").rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 600_000
    assert {path.parent.name for path in files} == {question.source for question in QUESTIONS}
    assert len({question.question for question in QUESTIONS}) == len(QUESTIONS)


def test_evidence_stands_in_the_documents_as_they_are_read(texts: dict[str, str]) -> None:
    for question in QUESTIONS:
        assert bool(question.evidence) == bool(question.accept), question.id
        for place in question.evidence:
            assert place["document"].startswith(f"{question.source}/"), question.id
            assert spans_of(place["text"], texts[place["document"]]), (question.id, place)


def test_good_sentence_is_a_good_answer(texts: dict[str, str]) -> None:
    marks = {q.id: verdict(q, quoting(q, texts, q.good), texts.__getitem__) for q in ANSWERABLE}
    assert {name for name, mark in marks.items() if mark != "good"} == set()


def test_quoted_evidence_is_a_good_answer_unless_it_is_counted(texts: dict[str, str]) -> None:
    for question in ANSWERABLE:
        mark = verdict(question, quoting(question, texts), texts.__getitem__)
        assert mark in (("good", "useless") if question.kind in COMPUTED else ("good",)), question.id


def test_accepted_phrases_contain_no_rejected_one() -> None:
    for question in QUESTIONS:
        accepted = [phrase for group in question.accept for phrase in group]
        assert not any(contains(phrase, other) for phrase in accepted for other in question.reject), question.id
