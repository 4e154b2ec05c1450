"""Rows of tables from which the embedded reader learns."""

import gzip
import json
import tarfile
from random import Random

import pytest
from reader_data import NONE, SPAN, Example
from reader_rows import row_examples

TABLE = '"Boat","Built","Crew"\n"Aurora Star","1998","12"\n"Old Lena","1931","5"\n'


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> list[Example]:
    """Return the rows of the written tables and of one table of WikiTableQuestions."""
    place = tmp_path_factory.mktemp("rows")
    data, work = place / "data", place / "work"
    for folder in (data / "csv", work):
        folder.mkdir(parents=True)
    (data / "csv" / "boats.csv").write_text(TABLE)
    with tarfile.open(data / "tables.tar.gz", "w:gz") as archive:
        archive.add(data / "csv", "csv")
    questions = [("when was the aurora star built?", "1998"), ("which boat is the oldest?", "Old Lena")]
    with gzip.open(data / "questions.jsonl.gz", "wt") as file:
        for question, answer in questions:
            row = {"question": question, "answers": [answer], "table": "csv/boats.csv", "split": "train"}
            file.write(json.dumps(row) + "\n")
    return list(row_examples(data, work, Random(0)))


def test_row_examples_of_a_table_are_the_row_it_without_the_cell_and_another(examples: list[Example]) -> None:
    found = [example for example in examples if example.question == "when was the aurora star built?"]
    assert [example.kind for example in found] == [SPAN, NONE, NONE]
    right, without, other = (example.passages[0] for example in found)
    assert right.whole == "Boat: Aurora Star; Built: 1998; Crew: 12."
    assert [right.whole[start:end] for start, end in right.spans] == ["1998"]
    assert without.whole == "Boat: Aurora Star; Crew: 12." and other.whole.startswith("Boat: Old Lena")


def test_row_examples_of_a_question_that_names_no_row_are_none(examples: list[Example]) -> None:
    assert not [example for example in examples if example.question == "which boat is the oldest?"]


def test_row_examples_of_written_questions_have_their_answers_in_cells(examples: list[Example]) -> None:
    spans = [example for example in examples if example.kind == SPAN]
    assert len(spans) > 1000
    for example in spans:
        text = example.passages[0]
        assert all(text.whole[:start].endswith(": ") and start < end for start, end in text.spans), text
