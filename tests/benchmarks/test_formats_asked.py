"""A folder with files of all formats is indexed by one command, and answers cite the page, slide, cells or line.

The packages are fetched when the test runs; GRAPHWRIGHT_FORMATS names a folder that keeps them.
"""

from __future__ import annotations

import os
from argparse import Namespace
from collections import Counter
from pathlib import Path

import pytest
from questions.formats import Question, measure_asked, questions, spans_of
from sources.formats_made import sections

FORMATS = sorted({question.format for question in questions()})


def test_every_format_has_five_questions() -> None:
    asked = questions()
    assert len({question.question for question in asked}) == len(asked) == 5 * len(FORMATS)
    later = questions("asked_later.jsonl")
    assert sorted(question.format for question in later) == sorted(2 * FORMATS)
    assert not {question.question for question in later} & {question.question for question in asked}


def test_words_are_found_across_white_space() -> None:
    assert spans_of("The  Mur\nrises. The Mur ends.", "The Mur") == [(0, 8), (16, 23)]
    assert spans_of("The Mur", "the Enns") == []


def test_manual_sections_have_paragraphs() -> None:
    made = sections("a(1)\n====\n\nNAME[[N]]\n---------\none\ntwo\n\n----\nthreefold\n----\n")
    assert [(section.title, section.paragraphs) for section in made] == [
        ("a(1)", []),
        ("NAME", ["one two", "---- threefold ----"]),
    ]


@pytest.mark.slow
@pytest.mark.timeout(600)  # packages are fetched, read and asked
def test_answers_over_all_formats_cite_places_and_mostly_exact_words(tmp_path: Path) -> None:
    """One test, as the processes of the tests would each fetch and read the packages."""
    for name in ("pypdfium2", "openpyxl", "pptx", "docx"):
        pytest.importorskip(name)
    results = measure_asked(Namespace(work=Path(os.environ.get("GRAPHWRIGHT_FORMATS") or tmp_path)))
    assert results["status"] == 0, results["told"]
    rows = results["rows"]
    if not rows:
        pytest.skip(f"no package is served: {results['missing']}")
    assert [row["question"] for row in rows if not row["placed"]] == []
    cited = Counter(row["format"] for row in rows if row["cited"])
    assert {form: cited[form] for form in {row["format"] for row in rows} if cited[form] < 3} == {}
    assert cited.total() >= 0.9 * len(rows)


def test_question_names_its_file() -> None:
    assert Question("zip", "?", ("a.zip/b.txt", "c"), "", "x").file == "a.zip/b.txt"
