from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path

from questions.score import KINDS, contains, read_everyday

FOLDER = Path(__file__).parents[2] / "benchmarks" / "everyday"
QUESTIONS = read_everyday(FOLDER / "documents.jsonl")
SOURCES = tomllib.loads((FOLDER / "sources.toml").read_text(encoding="utf-8"))["source"]


def test_every_kind_and_variant_is_represented() -> None:
    kinds = Counter(question.kind for question in QUESTIONS)
    variants = Counter(question.variant.partition(":")[0] for question in QUESTIONS)
    assert len(QUESTIONS) >= 150 and set(kinds) == set(KINDS)
    assert kinds["unanswerable"] >= 30 and min(kinds.values()) >= 5
    assert variants["misspelt"] >= 10 and variants["language"] >= 15


def test_questions_are_unique_and_name_sources() -> None:
    names = {source["name"] for source in SOURCES}
    assert len({question.question for question in QUESTIONS}) == len(QUESTIONS)
    assert {question.source for question in QUESTIONS} == names
    documents = {place["document"] for question in QUESTIONS for place in question.evidence}
    assert {document.partition("/")[0] for document in documents} <= names


def test_answerable_questions_have_evidence() -> None:
    for question in QUESTIONS:
        assert bool(question.evidence) == bool(question.accept) == (question.kind != "unanswerable"), question.id
        accepted = [phrase for group in question.accept for phrase in group]
        assert not any(contains(phrase, other) for phrase in accepted for other in question.reject), question.id


def test_sources_name_package_checksum_and_licence() -> None:
    for source in SOURCES:
        assert source["registry"] in ("debian", "pypi", "npm") and source["licence"] and source["parts"]
        assert len(bytes.fromhex(source["sha256"])) == 32
