"""Formats of data sets: recognised by their files, and errors for unknown ones."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.data.question_sets.small_sets import ASKED, hotpot, write, write_corpus

import graphwright
from graphwright.data.question_sets.datasets import FILE_FORMATS, FOLDER_FORMATS, read_dataset
from graphwright.data.question_sets.graph_questions import GraphQuestion
from graphwright.errors import DataError

FORMS = [form.name for form in (*FOLDER_FORMATS, *FILE_FORMATS)]


def test_read_dataset_folder_of_two_formats_is_remarked(tmp_path: Path) -> None:
    write_corpus(tmp_path / "corpus.jsonl")
    write(tmp_path / "questions.jsonl", *ASKED)
    graph = write(tmp_path / "kb.tsv", "Mur\tjoins\tDrava")
    dataset = read_dataset(tmp_path)
    assert dataset.format == "our own format"
    assert dataset.remarks[-1] == f"{graph} is there too (MetaQA, PathQuestion); to read it, give that file."
    write(tmp_path / "questions.jsonl", {"id": 1, "question": "what joins?", "answers": ["Mur"]})
    assert read_dataset(graph, "questions").format == "knowledge graph"


def test_read_dataset_only_file_of_folder_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "hotpot.jsonl", hotpot(1, "mur", gold=("mur",)))
    write(tmp_path / "README.txt", "what it is")
    assert read_dataset(tmp_path) == read_dataset(path)


def test_read_dataset_one_of_several_files_must_be_named(tmp_path: Path) -> None:
    for name in ("train", "dev"):
        write(tmp_path / f"{name}.jsonl", hotpot(1, "mur", gold=("mur",)))
    with pytest.raises(
        DataError, match=r"holds several files: dev\.jsonl, train\.jsonl\. Give one of them, or name it"
    ):
        read_dataset(tmp_path)
    assert read_dataset(tmp_path, "dev").name == f"{tmp_path.name}-dev"
    with pytest.raises(
        DataError, match=r"no questions named 'test' are there, but dev\.jsonl, train\.jsonl\. Name a file"
    ):
        read_dataset(tmp_path, "test")


def test_read_dataset_unknown_name_raises(tmp_path: Path) -> None:
    write_corpus(tmp_path / "corpus.jsonl")
    path = write(tmp_path / "dev.jsonl", *ASKED)
    with pytest.raises(DataError, match="no questions named 'test' are there"):
        read_dataset(path, "test")


def empty(folder: Path) -> Path:
    folder.mkdir()
    return folder


def of_folders(folder: Path) -> Path:
    for name in ("one", "two"):
        (folder / name).mkdir(parents=True)
    return folder


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (empty, r"nothing to evaluate on\. It holds nothing\."),
        (of_folders, r"nothing to evaluate on\. It holds one/, two/\."),
        (lambda folder: write(folder / "notes.md", "text").parent, r"nothing to evaluate on\. It holds notes\.md\."),
        (lambda folder: write(folder / "a.md", "text"), r"a\.md: nothing to evaluate on\. It is a file of \.md\."),
        (lambda folder: write(folder / "a.txt", "text"), r"a\.txt: nothing to evaluate on\. It is a file of \.txt\."),
        (
            lambda folder: write(folder / "a.jsonl", {"id": 1, "text": "x"}),
            r"a\.jsonl: nothing to evaluate on\. Its first record \(line 1\) has id, text\.",
        ),
        (lambda folder: write(folder / "a.jsonl", "", "{"), r"a\.jsonl: .* Its first record \(line 2\) not JSON"),
        (lambda folder: write(folder / "a.jsonl", ""), r"a\.jsonl: nothing to evaluate on\. It is empty"),
        (lambda folder: write(folder / "a.parquet", "none"), r"a\.parquet: not a readable Parquet"),
    ],
)
def test_read_dataset_nothing_to_read_lists_formats(tmp_path: Path, made: Callable[[Path], Path], message: str) -> None:
    with pytest.raises(DataError, match=message) as raised:
        read_dataset(made(tmp_path / "data"))
    if "Parquet" not in message:
        assert [name for name in FORMS if f"\n  {name}: " not in str(raised.value)] == []


def test_read_dataset_cut_file_raises(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl.gz"
    lines = (json.dumps({"id": at, "question": f"who is {at}?"}) for at in range(9999))
    packed = gzip.compress("\n".join(lines).encode())
    damaged = packed[:10] + b"\xff" + packed[11:]  # a block of a kind that there is not
    for contents in (packed[:-9], damaged):
        path.write_bytes(contents)
        with pytest.raises(DataError, match=r"h\.jsonl\.gz cannot be read to its end"):
            read_dataset(path)


def test_docs_data_names_every_format() -> None:
    page = Path(graphwright.__file__).parents[2] / "docs" / "evaluate.md"
    message = page.read_text(encoding="utf-8")
    assert [name for form in FORMS for name in form.split(", ") if name not in message] == []


def test_read_dataset_questions_alone_are_read(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.jsonl", *ASKED, ASKED[1] | {"id": "q3", "answers": []})
    dataset = read_dataset(path)
    assert (dataset.name, dataset.format, len(dataset.questions)) == ("mine", "questions alone", 3)
    assert dataset.corpus is None and dataset.triples is None and list(dataset.documents(print)) == []
    assert dataset.files == (path,)
    assert dataset.remarks == (
        "3 questions and no corpus (questions alone).",
        "1 of 3 questions without answers.",
        "1 question asked before in the same words: 'q3' (line 3) as 'q2' (line 2).",
    )
    assert read_dataset(tmp_path) == dataset
    other = write(tmp_path / "b.json", json.dumps(ASKED))
    with pytest.raises(DataError, match=r"mine\.jsonl holds questions and no corpus, and .*b\.json holds others"):
        read_dataset(path, other)


def test_read_dataset_questions_with_entities_are_graph_questions(tmp_path: Path) -> None:
    record = {"id": 1, "question": "who made Heat", "topic_entities": ["Heat"], "answers": ["Mann"], "hops": 1}
    lines = write(tmp_path / "a.jsonl", record, {"id": 2, "question": "who", "answers": ["Mann"]})
    metaqa = write(tmp_path / "b.txt", "", "who made [Heat]\tMann")
    for path, count in ((lines, 2), (metaqa, 1)):
        dataset = read_dataset(path)
        assert dataset.format == "questions alone" and len(dataset.questions) == count
        asked = dataset.questions[0]
        assert isinstance(asked, GraphQuestion) and asked.entities == ("Heat",) and asked.text == "who made Heat"
