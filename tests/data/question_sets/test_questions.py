"""Files of questions: formats, invalid lines, and gold documents checked against the corpus."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.data.question_sets.small_sets import write

from graphwright.data.question_sets.questions import QuestionRecord, check_gold, read_questions
from graphwright.errors import DataError

MULTIHOP = {"id": "2hop_1", "question": " Who? ", "answers": ["A", "B", "A"], "gold_ids": ["p6", "p1"], "type": "2hop"}
KGQA = {"id": 7, "question": "what", "answers": ["1999", 12], "topic_entities": ["m.0"], "hops": 1, "qtype": "q"}
ROG = {"id": "W-1", "question": "where", "answer": "there", "graph": [["a", "r", "b"]]}


def test_read_questions_fields_of_every_spelling_are_read(tmp_path: Path) -> None:
    expected = [
        QuestionRecord("2hop_1", "Who?", ("A", "B"), ("p6", "p1"), "2hop", {"hops": [1]}),
        QuestionRecord("7", "what", ("1999", "12"), (), "q", {"topic_entities": ["m.0"], "hops": 1}),
        QuestionRecord("W-1", "where", ("there",), (), "", {"graph": [["a", "r", "b"]]}),
    ]
    records = [MULTIHOP | {"hops": [1]}, KGQA, ROG]
    assert read_questions(write(tmp_path / "q.jsonl", *records)) == expected
    assert read_questions(write(tmp_path / "q.json", json.dumps(records))) == expected


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (MULTIHOP, r"q\.jsonl:2: the id '2hop_1' was already used in line 1"),
        ("{", r"q\.jsonl:2: not JSON"),
        ({"question": "x"}, r"q\.jsonl:2: no id; it has question"),
        ({"id": 1, "question": " "}, r"q\.jsonl:2: question 1 has no text"),
        ({"id": 1, "question": "x", "gold_ids": [["p"]]}, r":2: question 1: gold_ids is not a list of texts"),
    ],
)
def test_read_questions_bad_line_is_named(tmp_path: Path, second: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_questions(write(tmp_path / "q.jsonl", MULTIHOP, second))


def test_read_questions_empty_answer_is_left_out(tmp_path: Path) -> None:
    record = {"id": 1, "question": "who", "answers": ["", "Ann"], "gold_ids": ""}
    assert read_questions(write(tmp_path / "q.jsonl", record)) == [QuestionRecord("1", "who", ("Ann",))]


def test_read_questions_empty_file_raises(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file or folder"):
        read_questions(tmp_path / "none.jsonl")
    with pytest.raises(DataError, match="no questions in it"):
        read_questions(write(tmp_path / "q.jsonl", ""))


def test_check_gold_missing_ids_are_remarked_or_raise() -> None:
    questions = [QuestionRecord(str(i), "q", gold=(f"p{i}",)) for i in range(100)]
    corpus = {f"p{i}" for i in range(99)}
    (remark,) = check_gold(questions, corpus)
    assert remark.startswith("1 gold document not in the corpus, the first 'p99' of question '99'; ")
    with pytest.raises(DataError, match=r"2 of 100 gold ids .* 98 documents .*'p98' \(question '98'\)"):
        check_gold(questions, corpus - {"p98"})
    assert check_gold([QuestionRecord("1", "without gold")], ()) == []
    asked = [QuestionRecord("1", "q", gold=("x",), line=4)]
    with pytest.raises(DataError, match=r"^q\.jsonl: 1 of 1 gold ids .*'x' \(question '1', line 4\)\. Do this\."):
        check_gold(asked, (), "q.jsonl", "Do this.")
