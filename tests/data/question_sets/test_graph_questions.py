"""Questions over knowledge graphs, and their graphs."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import duckdb
import pytest
from tests.data.question_sets.small_sets import write

from graphwright import Graph
from graphwright.data.question_sets.datasets import read_dataset
from graphwright.data.question_sets.graph_questions import GraphQuestion, read_graph_questions, read_triples
from graphwright.data.question_sets.questions import QuestionRecord
from graphwright.errors import DataError

FILMS = ["Heat\tdirected_by\tMann", "Ali\tdirected_by\tMann", "Heat\thas_year\t1995"]
ASKED = {"id": "q1", "question": "who made Heat", "topic_entities": ["Heat"], "answers": ["Mann"], "hops": 1}
OTHER = {"id": "q2", "question": "films by who made Ali", "topic_entities": ["Ali"], "answers": ["Heat", "Ali"]}
ROG = {
    "id": "W-1",
    "question": "when was Heat made",
    "answer": ["1995"],
    "q_entity": ["Heat"],
    "a_entity": ["1995"],
    "graph": [["Heat", "year", "1995"], ["Heat", "by", "Mann"]],
}


@pytest.fixture
def films(tmp_path: Path) -> Path:
    folder = tmp_path / "films"
    write(folder / "kb.tsv", *FILMS)
    write(folder / "1hop_dev.jsonl", ASKED)
    write(folder / "2hop_dev.jsonl", OTHER)
    return folder


def test_a_graph_and_one_of_its_files_of_questions(films: Path) -> None:
    dataset = read_dataset(films, "2hop_dev")
    assert (dataset.name, dataset.format) == ("films-2hop_dev", "knowledge graph")
    assert dataset.triples is not None and dataset.triples[0] == ("Heat", "directed_by", "Mann")
    asked = dataset.questions[0]
    assert isinstance(asked, GraphQuestion) and asked.entities == ("Ali",)
    assert dataset.corpus is None and list(dataset.documents(print)) == []
    assert dataset.files == (films / "kb.tsv", films / "2hop_dev.jsonl")
    assert dataset.remarks == ("1 question over 3 triples (knowledge graph).",)
    assert read_dataset(films / "2hop_dev.jsonl") == read_dataset(films / "kb.tsv", "2hop_dev") == dataset
    with pytest.raises(DataError, match=r"there are 1hop_dev, 2hop_dev\. Name one"):
        read_dataset(films)
    with pytest.raises(DataError, match="no questions named '3hop' are there, but 1hop_dev"):
        read_dataset(films, "3hop")


def test_metaqa_as_it_is_published(tmp_path: Path) -> None:
    write(tmp_path / "kb.txt", *(line.replace("\t", "|") for line in FILMS))
    asked = write(tmp_path / "qa_dev.txt", "who directed [Heat]\tMann|1995")
    dataset = read_dataset(asked)
    assert dataset == read_dataset(tmp_path, "qa_dev") and dataset.format == "knowledge graph"
    assert dataset.questions[0].answers == ("Mann", "1995") and len(dataset.triples or ()) == 3


def test_own_questions_over_the_graph_may_leave_entities_out(films: Path, tmp_path: Path) -> None:
    mine = write(tmp_path / "mine.jsonl", {"id": 1, "question": "who made Heat", "answers": ["Mann"]})
    dataset = read_dataset(films, mine)
    assert dataset.name == "films-mine" and dataset.questions[0].answers == ("Mann",)
    assert dataset.remarks[1] == "1 question without entities (topic_entities), which are looked for in the words."


def test_names_that_the_graph_lacks_are_remarked(films: Path) -> None:
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
        (
            {"topic_entities": ["m.01"]},
            r"1hop_dev\.jsonl: none of its 1 entities is a node of the graph in .*kb\.tsv; the ",
        ),
        (
            {"answers": ["m.02"]},
            r"none of its 1 answers is a node .* first 'm\.02' of question 'q1' \(line 1\)\. Read the",
        ),
    ],
)
def test_a_graph_that_holds_no_name_is_another_one(films: Path, change: dict[str, list[str]], message: str) -> None:
    write(films / "1hop_dev.jsonl", ASKED | change)
    with pytest.raises(DataError, match=message):
        read_dataset(films, "1hop_dev")


def test_the_rog_form_as_lines_and_as_parquet(tmp_path: Path) -> None:
    other = ROG | {"id": "W-2", "question": "who made Heat", "answer": ["Mann"], "graph": [["Heat", "by", "Mann"]]}
    path = write(tmp_path / "webqsp.jsonl", ROG, other)
    dataset = read_dataset(path)
    assert (dataset.name, dataset.format) == ("webqsp", "RoG")
    assert dataset.triples == (("Heat", "year", "1995"), ("Heat", "by", "Mann"))
    assert [q.entities for q in dataset.questions if isinstance(q, GraphQuestion)] == [("Heat",), ("Heat",)]
    assert dataset.files == (path,)
    with duckdb.connect() as db:
        db.execute(f"COPY (SELECT * FROM read_json('{path}')) TO '{tmp_path / 'rog.parquet'}' (FORMAT parquet)")
    packed = read_dataset(tmp_path / "rog.parquet")
    assert packed.triples == dataset.triples and packed.questions == dataset.questions


def test_columns_of_parquet_that_say_nothing_are_passed_over(films: Path) -> None:
    nothing = {"graph": None, "q_entity": None, "hops": None}
    write(films / "1hop_dev.jsonl", ASKED | nothing)
    dataset = read_dataset(films / "1hop_dev.jsonl")
    assert dataset.format == "knowledge graph" and dataset.questions[0].answers == ("Mann",)


def test_a_broken_graph_of_a_question_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "cwq.json", json.dumps([ROG, ROG | {"id": "W-2", "graph": [["a", "b"]]}]))
    with pytest.raises(DataError, match=r"cwq\.json:2: question 'W-2': graph\[0\]\[2\]: Field required"):
        read_dataset(path)


def test_triples_may_be_packed(tmp_path: Path) -> None:
    packed = tmp_path / "kb.tsv.gz"
    packed.write_bytes(gzip.compress("Größe\tr\tb\r\n".encode()))
    assert list(read_triples(packed)) == [("Größe", "r", "b")]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "kb.tsv",
            "a\tr\tb\na\tr",
            r"kb\.tsv:2: not a triple: 'a\\tr'\. Expected head, relation and tail, separated by tabs",
        ),
        ("kb.tsv", "a\tr\tb\tc", r"kb\.tsv:1: not a triple"),
        ("kb.tsv", "a\t \tb", r"kb\.tsv:1: not a triple"),
        ("kb.txt", "a\tr\tb", r"kb\.txt:1: .* separated by '\|'"),
    ],
)
def test_a_line_that_is_no_triple_is_named(tmp_path: Path, name: str, content: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(DataError, match=message):
        list(read_triples(path))


MADE = {
    "id": "q-1",
    "question": "who made it",
    "topic_entities": ["It"],
    "answers": ["Ann", "Bo"],
    "hops": 2,
    "qtype": "t",
}
PATH = {
    "id": "PQ-1",
    "question": "where",
    "topic_entities": ["b"],
    "answers": ["c"],
    "gold_path": [["b", "r", "c"]],
    "hops": 1,
}
PLACES = {
    "id": "W-1",
    "question": "where is it",
    "q_entity": ["It"],
    "answer": ["Graz"],
    "a_entity": ["Graz"],
    "graph": [["It", "in", "Graz"], ["Graz", "on", "Mur"]],
}
RIVERS = PLACES | {"id": "W-2", "graph": [["Graz", "on", "Mur"], ["Mur", "to", "Drava"]]}


def test_a_folder_of_triples_and_questions(tmp_path: Path) -> None:
    write(tmp_path / "kb.tsv", "It\tmade_by\tAnn", "", "It\tmade_by\tBo", "  Ann \tknows\tBo\u200b")
    write(tmp_path / "1hop_dev.jsonl", PATH)
    write(tmp_path / "2hop_dev.jsonl", MADE)
    data = read_dataset(tmp_path, "2hop_dev")
    assert data.name == f"{tmp_path.name}-2hop_dev"
    assert data.triples == (("It", "made_by", "Ann"), ("It", "made_by", "Bo"), ("Ann", "knows", "Bo"))
    assert data.questions == (
        GraphQuestion("q-1", "who made it", ("Ann", "Bo"), (), "t", {}, entities=("It",), hops=2),
    )
    assert isinstance(data.questions[0], QuestionRecord) and len(Graph.from_triples(data.triples)) == 3
    (path,) = read_graph_questions(tmp_path / "1hop_dev.jsonl")
    assert path.hops == 1 and path.metadata == {"gold_path": [["b", "r", "c"]]}


def test_the_only_file_of_questions_in_a_folder_is_read(tmp_path: Path) -> None:
    write(tmp_path / "kb_union.tsv", "It\tmade_by\tAnn")
    write(tmp_path / "questions.jsonl", MADE | {"hops": None, "topic_entities": []})
    write(tmp_path / "README.txt", "about")
    data = read_dataset(tmp_path)
    (question,) = data.questions
    assert isinstance(question, GraphQuestion)
    assert data.name == tmp_path.name and question.entities == () and question.hops is None


def test_the_rog_form_carries_its_graphs(tmp_path: Path) -> None:
    data = read_dataset(write(tmp_path / "webqsp.jsonl", PLACES, RIVERS))
    assert data.name == "webqsp"
    assert data.triples == (("It", "in", "Graz"), ("Graz", "on", "Mur"), ("Mur", "to", "Drava"))
    first, second = data.questions
    assert isinstance(first, GraphQuestion) and isinstance(second, GraphQuestion)
    assert first.entities == ("It",) and first.answers == ("Graz",) and first.metadata == {"a_entity": ["Graz"]}
    assert first.triples == (("It", "in", "Graz"), ("Graz", "on", "Mur")) and second.triples[1] == (
        "Mur",
        "to",
        "Drava",
    )
    nodes = {key: value for key, value in PLACES.items() if key != "answer"}
    assert read_graph_questions(write(tmp_path / "nodes.jsonl", nodes))[0].answers == ("Graz",)


def test_graphs_that_overlap_hold_a_triple_once(tmp_path: Path) -> None:
    spaced = PLACES | {"id": "W-3", "graph": [["Graz ", "on", " Mur"]]}
    first, second, third = read_graph_questions(write(tmp_path / "webqsp.jsonl", PLACES, RIVERS, spaced))
    assert first.triples[1] is second.triples[0] is third.triples[0]


def test_the_file_of_triples_stands_for_its_folder(tmp_path: Path) -> None:
    write(tmp_path / "kb.tsv", "It\tr\tBo")
    graph = write(tmp_path / "kb.txt", "It|made_by|Ann")
    asked = write(tmp_path / "dev.jsonl", MADE)
    elsewhere = write(tmp_path / "mine.json", MADE | {"id": "mine"})
    data = read_dataset(graph, "dev")
    assert data.triples == (("It", "made_by", "Ann"),) and data.files == (graph, asked)
    data = read_dataset(tmp_path, elsewhere)
    assert data.triples == (("It", "r", "Bo"),) and [q.id for q in data.questions] == ["mine"]
    assert data.name == f"{tmp_path.name}-mine"


def test_other_questions_over_the_graphs_of_the_rog_form(tmp_path: Path) -> None:
    own, other = write(tmp_path / "webqsp.jsonl", PLACES), write(tmp_path / "mine.jsonl", MADE | {"answers": ["Mur"]})
    data = read_dataset(own, other)
    assert len(data.triples or ()) == 2 and [q.id for q in data.questions] == ["q-1"] and data.files == (own, other)


def test_repeated_answers_of_metaqa_count_once(tmp_path: Path) -> None:
    write(tmp_path / "kb.txt", "Alien|directed_by|Ridley Scott", "Alien|has_genre|Horror")
    write(tmp_path / "qa_dev.txt", "what did [Ridley Scott] direct\tAlien|Legend|Alien", "")
    data = read_dataset(tmp_path)
    assert data.triples == (("Alien", "directed_by", "Ridley Scott"), ("Alien", "has_genre", "Horror"))
    asked = GraphQuestion("qa_dev-1", "what did Ridley Scott direct", ("Alien", "Legend"), entities=("Ridley Scott",))
    assert data.questions == (asked,)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (MADE | {"topic_entities": [3]}, r"question 'q-1': topic_entities\[0\]: .* a valid string, and it is '3'"),
        (MADE | {"hops": "2"}, r"question 'q-1': hops is '2'; it must be a whole number, at least 0"),
        (MADE | {"hops": True}, r"question 'q-1': hops is True; it must be a whole number"),
        (PLACES | {"graph": [["a", "b"]]}, r"question 'W-1': graph\[0\]\[2\]: Field required\. Repair"),
        (PLACES | {"graph": "none"}, r"question 'W-1': graph: .* a valid list, and it is 'none'"),
        ("{", r"q\.jsonl:1: not JSON"),
    ],
)
def test_a_question_that_cannot_be_read_is_named(tmp_path: Path, record: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_graph_questions(write(tmp_path / "q.jsonl", record))


@pytest.mark.parametrize("line", ["who is it\tAnn", "who is [It]\t ", "who is [It]"])
def test_a_line_of_metaqa_that_cannot_be_read_is_named(tmp_path: Path, line: str) -> None:
    with pytest.raises(DataError, match=r"qa\.txt:2: not a question of MetaQA"):
        read_graph_questions(write(tmp_path / "qa.txt", "who is [It]\tAnn", line))


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file or folder"):
        read_dataset(tmp_path / "none")
    write(tmp_path / "kb.tsv", "a\tr\tb")
    with pytest.raises(DataError, match="one file of questions is read, and there are none"):
        read_dataset(tmp_path)
    for name in ("1hop", "2hop"):
        write(tmp_path / f"{name}.jsonl", MADE)
    with pytest.raises(DataError, match=r"there are 1hop, 2hop\. Name one"):
        read_dataset(tmp_path)
    with pytest.raises(DataError, match="no questions named '3hop' are there, but 1hop"):
        read_dataset(tmp_path, "3hop")
    with pytest.raises(DataError, match="no question has a graph"):
        read_dataset(write(tmp_path / "rog.jsonl", PLACES | {"graph": []}))
