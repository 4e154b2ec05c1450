"""Questions over knowledge graphs, and their graphs."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.data.question_sets.small_sets import write

from graphwright.data.question_sets.datasets import read_dataset
from graphwright.data.question_sets.graph_questions import GraphQuestion, read_graph_questions, read_triples
from graphwright.data.question_sets.questions import QuestionRecord
from graphwright.errors import DataError

FILMS = ["Heat\tdirected_by\tMann", "Ali\tdirected_by\tMann", "Heat\thas_year\t1995"]
ASKED = {"id": "q1", "question": "who made Heat", "topic_entities": ["Heat"], "answers": ["Mann"], "hops": 1}
OTHER = {"id": "q2", "question": "films by who made Ali", "topic_entities": ["Ali"], "answers": ["Heat", "Ali"]}
ROG = {
    "id": "W-1",
    "question": "where is it",
    "q_entity": ["It"],
    "answer": ["Graz"],
    "a_entity": ["Graz"],
    "graph": [["It", "in", "Graz"], ["Graz", "on", "Mur"]],
}
ROG_RIVERS = ROG | {"id": "W-2", "question": "and then", "graph": [["Graz", "on", "Mur"], ["Mur", "to", "Drava"]]}


@pytest.fixture
def films(tmp_path: Path) -> Path:
    folder = tmp_path / "films"
    write(folder / "kb.tsv", *FILMS)
    write(folder / "1hop_dev.jsonl", ASKED)
    write(folder / "2hop_dev.jsonl", OTHER)
    return folder


def test_read_dataset_graph_and_named_questions_are_read(films: Path) -> None:
    dataset = read_dataset(films, "2hop_dev")
    assert (dataset.name, dataset.format) == ("films-2hop_dev", "knowledge graph")
    assert dataset.triples == tuple(tuple(line.split("\t")) for line in FILMS)
    assert dataset.questions == (
        GraphQuestion("q2", "films by who made Ali", ("Heat", "Ali"), entities=("Ali",), hops=None),
    )
    assert dataset.corpus is None and list(dataset.documents(print)) == []
    assert dataset.files == (films / "kb.tsv", films / "2hop_dev.jsonl")
    assert dataset.remarks == ("1 question over 3 triples (knowledge graph).",)
    assert read_dataset(films / "2hop_dev.jsonl") == read_dataset(films / "kb.tsv", "2hop_dev") == dataset


@pytest.mark.parametrize(
    ("questions", "message"),
    [("", r"there are 1hop_dev, 2hop_dev\. Name one"), ("3hop", "no questions named '3hop' are there, but 1hop_dev")],
)
def test_read_dataset_questions_not_in_folder_raise(films: Path, questions: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_dataset(films, questions)


def test_read_dataset_without_questions_raises(tmp_path: Path) -> None:
    write(tmp_path / "kb.tsv", "a\tr\tb")
    with pytest.raises(DataError, match="one file of questions is read, and there are none"):
        read_dataset(tmp_path)


def test_read_dataset_files_of_metaqa_are_read(tmp_path: Path) -> None:
    write(tmp_path / "kb.txt", *(line.replace("\t", "|") for line in FILMS))
    asked = write(tmp_path / "qa_dev.txt", "what did [Mann] direct\tHeat|Ali|Heat", "")
    dataset = read_dataset(asked)
    assert dataset == read_dataset(tmp_path, "qa_dev") and dataset.format == "knowledge graph"
    assert dataset.questions == (
        GraphQuestion("qa_dev-1", "what did Mann direct", ("Heat", "Ali"), entities=("Mann",)),
    )
    assert len(dataset.triples or ()) == 3


def test_read_dataset_own_questions_may_lack_entities(films: Path, tmp_path: Path) -> None:
    mine = write(tmp_path / "mine.jsonl", {"id": 1, "question": "who made Heat", "answers": ["Mann"]})
    dataset = read_dataset(films, mine)
    assert dataset.name == "films-mine" and dataset.questions[0].answers == ("Mann",)
    assert dataset.remarks[1] == "1 question without entities (topic_entities), which are looked for in the words."


def test_read_dataset_names_missing_from_graph_are_remarked(films: Path) -> None:
    lost = OTHER | {"id": "q3", "topic_entities": ["Thief"], "answers": ["Mann", "Caan"]}
    write(films / "1hop_dev.jsonl", ASKED, OTHER, lost, OTHER | {"id": "q4", "answers": []})
    assert read_dataset(films, "1hop_dev").remarks == (
        "4 questions over 3 triples (knowledge graph).",
        "1 of 4 entities (25.0%) are not nodes of the graph, the first 'Thief' of question 'q3' (line 3); 1 question "
        "with none that is.",
        "1 of 5 answers (20.0%) are not nodes of the graph, the first 'Caan' of question 'q3' (line 3); 0 questions "
        "with none that is.",
        "1 of 4 questions without answers.",
        "2 questions asked before in the same words: 'q3' (line 3) as 'q2' (line 2), and so on.",
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"topic_entities": ["m.01"]}, r"1hop_dev\.jsonl: none of its 1 entities is a node of the graph in .*kb\.tsv"),
        ({"answers": ["m.02"]}, r"none of its 1 answers is a node .* first 'm\.02' of question 'q1' \(line 1\)\. Read"),
    ],
)
def test_read_dataset_graph_with_none_of_names_raises(films: Path, change: Any, message: str) -> None:
    write(films / "1hop_dev.jsonl", ASKED | change)
    with pytest.raises(DataError, match=message):
        read_dataset(films, "1hop_dev")


def test_read_dataset_rog_unites_graphs_of_lines_and_of_parquet(tmp_path: Path) -> None:
    path = write(tmp_path / "webqsp.jsonl", ROG, ROG_RIVERS)
    dataset = read_dataset(path)
    assert (dataset.name, dataset.format, dataset.files) == ("webqsp", "RoG", (path,))
    assert dataset.triples == (("It", "in", "Graz"), ("Graz", "on", "Mur"), ("Mur", "to", "Drava"))
    first, second = dataset.questions
    assert isinstance(first, GraphQuestion) and isinstance(second, GraphQuestion)
    assert (first.entities, first.answers, first.metadata) == (("It",), ("Graz",), {"a_entity": ["Graz"]})
    assert first.triples == dataset.triples[:2] and second.triples == dataset.triples[1:]
    with duckdb.connect() as db:
        db.execute(f"COPY (SELECT * FROM read_json('{path}')) TO '{tmp_path / 'rog.parquet'}' (FORMAT parquet)")
    packed = read_dataset(tmp_path / "rog.parquet")
    assert packed.triples == dataset.triples and packed.questions == dataset.questions


def test_read_dataset_rog_without_graph_raises(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no question has a graph"):
        read_dataset(write(tmp_path / "rog.jsonl", ROG | {"graph": []}))


def test_read_dataset_other_questions_over_graphs_of_rog_are_read(tmp_path: Path) -> None:
    own = write(tmp_path / "webqsp.jsonl", ROG)
    other = write(tmp_path / "mine.jsonl", ASKED | {"answers": ["Mur"], "topic_entities": ["It"]})
    data = read_dataset(own, other)
    assert len(data.triples or ()) == 2 and [q.id for q in data.questions] == ["q1"] and data.files == (own, other)


def test_read_dataset_file_of_triples_stands_for_its_folder(films: Path, tmp_path: Path) -> None:
    graph = write(films / "kb.txt", "Heat|made_by|Mann")
    data = read_dataset(graph, "1hop_dev")
    assert data.triples == (("Heat", "made_by", "Mann"),) and data.files == (graph, films / "1hop_dev.jsonl")
    elsewhere = write(tmp_path / "mine.json", ASKED | {"id": "mine"})
    data = read_dataset(films, elsewhere)
    assert data.triples and len(data.triples) == 3 and [q.id for q in data.questions] == ["mine"]


@pytest.mark.parametrize("change", [{"graph": None, "q_entity": None, "hops": None}, {"topic_entities": []}])
def test_read_dataset_only_file_of_questions_with_empty_columns_is_read(tmp_path: Path, change: Any) -> None:
    write(tmp_path / "kb_union.tsv", *FILMS)
    write(tmp_path / "README.txt", "about")
    write(tmp_path / "questions.jsonl", ASKED | change)
    dataset = read_dataset(tmp_path)
    assert dataset.name == tmp_path.name and dataset.questions[0].answers == ("Mann",)


def test_read_triples_cleans_names_of_packed_files(tmp_path: Path) -> None:
    packed = tmp_path / "kb.tsv.gz"
    packed.write_bytes(gzip.compress("Größe\tr\tb\r\n\r\n  Ann \tknows\tBo\u200b".encode()))
    assert list(read_triples(packed)) == [("Größe", "r", "b"), ("Ann", "knows", "Bo")]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("kb.tsv", "a\tr\tb\na\tr", r"kb\.tsv:2: not a triple: 'a\\tr'\. Expected head, .*, separated by tabs"),
        ("kb.tsv", "a\tr\tb\tc", r"kb\.tsv:1: not a triple"),
        ("kb.tsv", "a\t \tb", r"kb\.tsv:1: not a triple"),
        ("kb.txt", "a\tr\tb", r"kb\.txt:1: .* separated by '\|'"),
    ],
)
def test_read_triples_other_line_raises(tmp_path: Path, name: str, content: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        list(read_triples(write(tmp_path / name, content)))


def test_read_graph_questions_other_fields_are_metadata(tmp_path: Path) -> None:
    record = ASKED | {"gold_path": [["Heat", "directed_by", "Mann"]], "qtype": "t"}
    (question,) = read_graph_questions(write(tmp_path / "q.jsonl", record))
    assert isinstance(question, QuestionRecord) and (question.hops, question.type) == (1, "t")
    assert question.metadata == {"gold_path": [["Heat", "directed_by", "Mann"]]}


def test_read_graph_questions_nodes_stand_for_missing_answers(tmp_path: Path) -> None:
    record = {key: value for key, value in ROG.items() if key != "answer"}
    assert read_graph_questions(write(tmp_path / "nodes.jsonl", record))[0].answers == ("Graz",)


def test_read_graph_questions_graphs_that_overlap_share_triple(tmp_path: Path) -> None:
    spaced = ROG | {"id": "W-3", "graph": [["Graz ", "on", " Mur"]]}
    first, second, third = read_graph_questions(write(tmp_path / "webqsp.jsonl", ROG, ROG_RIVERS, spaced))
    assert first.triples[1] is second.triples[0] is third.triples[0]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (ASKED | {"topic_entities": [3]}, r"question 'q1': topic_entities\[0\]: .* a valid string, and it is '3'"),
        (ASKED | {"hops": "2"}, r"question 'q1': hops is '2'; it must be a whole number, at least 0"),
        (ASKED | {"hops": True}, r"question 'q1': hops is True; it must be a whole number"),
        (ROG | {"graph": [["a", "b"]]}, r"q\.jsonl:1: question 'W-1': graph\[0\]\[2\]: Field required\. Repair"),
        (ROG | {"graph": "none"}, r"question 'W-1': graph: .* a valid list, and it is 'none'"),
        ("{", r"q\.jsonl:1: not JSON"),
    ],
)
def test_read_graph_questions_bad_record_is_named(tmp_path: Path, record: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_graph_questions(write(tmp_path / "q.jsonl", record))


@pytest.mark.parametrize("line", ["who is it\tAnn", "who is [It]\t ", "who is [It]"])
def test_read_graph_questions_bad_line_of_metaqa_is_named(tmp_path: Path, line: str) -> None:
    with pytest.raises(DataError, match=r"qa\.txt:2: not a question of MetaQA"):
        read_graph_questions(write(tmp_path / "qa.txt", "who is [It]\tAnn", line))
