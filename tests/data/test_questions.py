from __future__ import annotations

import json
from pathlib import Path

import pytest

from graphwright.data.datasets import read_dataset
from graphwright.data.questions import QuestionRecord, check_gold, read_beir, read_questions
from graphwright.errors import DataError

MULTIHOP = {
    "id": "2hop_1",
    "question": " Who? ",
    "answers": ["A", "B", "A"],
    "gold_ids": ["p6", "p1"],
    "type": "2hop",
}
KGQA = {
    "id": 7,
    "question": "what",
    "answers": ["1999", 12],
    "topic_entities": ["m.0"],
    "hops": 1,
    "qtype": "q",
}
ROG = {"id": "W-1", "question": "where", "answer": "there", "graph": [["a", "r", "b"]]}


def write(path: Path, *records: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(record if isinstance(record, str) else json.dumps(record) for record in records))
    return path


def test_questions_of_every_form(tmp_path: Path) -> None:
    expected = [
        QuestionRecord("2hop_1", "Who?", ("A", "B"), ("p6", "p1"), "2hop", {"hops": [1]}),
        QuestionRecord("7", "what", ("1999", "12"), (), "q", {"topic_entities": ["m.0"], "hops": 1}),
        QuestionRecord("W-1", "where", ("there",), (), "", {"graph": [["a", "r", "b"]]}),
    ]
    records = [MULTIHOP | {"hops": [1]}, KGQA, ROG]
    assert read_questions(write(tmp_path / "q.jsonl", *records)) == expected
    assert read_questions(write(tmp_path / "q.json", records)) == expected


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (MULTIHOP, r"q\.jsonl:2: the id '2hop_1' was already used in line 1"),
        ("{", r"q\.jsonl:2: not JSON"),
        ({"question": "x"}, r"q\.jsonl:2: no id; it has question"),
        ({"id": 1, "question": " "}, r"q\.jsonl:2: question 1 has no text"),
        (
            {"id": 1, "question": "x", "gold_ids": [["p"]]},
            r":2: question 1: gold_ids is not a list of texts",
        ),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, second: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_questions(write(tmp_path / "q.jsonl", MULTIHOP, second))


def test_no_questions_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file or folder"):
        read_questions(tmp_path / "none.jsonl")
    with pytest.raises(DataError, match="no questions in it"):
        read_questions(write(tmp_path / "q.jsonl", ""))


QUERIES = [{"_id": "1", "text": "one"}, {"_id": "2", "text": "two"}, {"_id": "3", "text": "unjudged"}]


@pytest.mark.parametrize(
    ("name", "qrels"),
    [
        ("qrels.tsv", ["1\ta\t2", "1\tb\t0", "2\tc\t1", ""]),
        ("qrels/test.tsv", ["query-id\tcorpus-id\tscore", "1\ta\t2", "1\tb\t0", "2\tc\t1"]),
        ("qrels/dev.tsv", ["1 0 a 2", "1 0 b 0", "2 0 c 1"]),
    ],
)
def test_judged_queries_in_the_form_of_beir(tmp_path: Path, name: str, qrels: list[str]) -> None:
    write(tmp_path / "queries.jsonl", *QUERIES)
    write(tmp_path / name, *qrels)
    assert read_beir(tmp_path) == [
        QuestionRecord("1", "one", gold=("a",), metadata={"relevance": {"a": 2, "b": 0}}),
        QuestionRecord("2", "two", gold=("c",), metadata={"relevance": {"c": 1}}),
    ]


def test_judgements_that_do_not_fit_are_named(tmp_path: Path) -> None:
    write(tmp_path / "queries.jsonl", *QUERIES)
    with pytest.raises(DataError, match=r"none of qrels/test\.tsv, qrels/dev\.tsv, .* is there"):
        read_beir(tmp_path)
    write(tmp_path / "qrels.tsv", "1\ta\t1", "9\tb\t1")
    with pytest.raises(DataError, match=r"1 of 2 judged questions are not in .*: 9"):
        read_beir(tmp_path)
    write(tmp_path / "qrels.tsv", "1\ta\t1", "1\ta\tgood")
    with pytest.raises(DataError, match=r"qrels\.tsv:2: not a judgement: '1\\ta\\tgood'"):
        read_beir(tmp_path)


def test_gold_ids_are_looked_for_in_the_corpus() -> None:
    questions = [QuestionRecord(str(i), "q", gold=(f"p{i}",)) for i in range(100)]
    corpus = {f"p{i}" for i in range(99)}
    assert check_gold(questions, corpus) == [("99", "p99")]
    with pytest.raises(DataError, match=r"2 of 100 gold ids .* 98 documents .*'p98' \(question '98'\)"):
        check_gold(questions, corpus - {"p98"})
    assert check_gold([QuestionRecord("1", "without gold")], ()) == []


def test_a_dataset_is_a_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no corpus; neither corpus\.jsonl nor"):
        read_dataset(tmp_path)
    corpus = write(tmp_path / "corpus.jsonl.gz", "")
    with pytest.raises(DataError, match="no questions; neither"):
        read_dataset(tmp_path)
    write(tmp_path / "queries.jsonl", *QUERIES)
    write(tmp_path / "qrels.tsv", "1\ta\t1")
    dataset = read_dataset(tmp_path)
    assert (dataset.name, dataset.corpus, dataset.openie) == (tmp_path.name, corpus, None)
    assert [question.id for question in dataset.questions] == ["1"]
    write(tmp_path / "questions.jsonl", MULTIHOP)
    openie = write(tmp_path / "openie.jsonl", "")
    dataset = read_dataset(tmp_path)
    assert [question.id for question in dataset.questions] == ["2hop_1"] and dataset.openie == openie
