"""Concurrent use: threads that ask, and readers in other processes while an index is written."""

from __future__ import annotations

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from tests.faults.conftest import CORPUS
from tests.faults.fork_server import ALL, ENCODER, ForkServer
from tests.faults.index_state import leftovers, state, write_corpus

from graphwright import Index, State
from graphwright.build import verification
from graphwright.data.documents import read_documents
from graphwright.models.fake import HashEncoder

HERE = files("graphwright") / "cli" / "demo_corpus"
QUESTIONS = [
    json.loads(line)["question"] for line in (HERE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
]
METHODS = ["vector", "bm25", "hybrid", "ppr"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of half of the corpus."""
    folder = tmp_path_factory.mktemp("concurrent") / "index"
    with Index.create(folder, encoder=ENCODER, settings=ALL) as index:
        index.add([json.loads(line) for line in CORPUS[:100]])
    return folder


def summary(state: State) -> list[Any]:
    """Return the question, evidence, passages and answer of a state, comparable by value."""
    evidence, chunks = state.evidence, state.passages
    return [
        state.question.text,
        None if evidence is None else evidence.identities(),
        None if evidence is None or evidence.scores is None else evidence.scores.tolist(),
        None if chunks is None else (chunks.ids.tolist(), None if chunks.scores is None else chunks.scores.tolist()),
        state.answer,
    ]


@pytest.mark.parametrize("method", METHODS)
def test_threaded_calls_equal_sequential_calls(method: str, folder: Path) -> None:
    with Index.open(folder, encoder=ENCODER) as index:
        questions = QUESTIONS * (1 + 24 // len(QUESTIONS))
        alone = {question: summary(index.retrieve(question, method)) for question in QUESTIONS}
        together = index.retrieve_many(questions, method, threads=4)
        assert [summary(state) for state in together] == [alone[question] for question in questions]
        few = QUESTIONS[:3]  # an answer takes a hundred times longer than passages
        answered = {question: summary(index.ask(question, method)) for question in few}
        assert [summary(s) for s in index.ask_many(4 * few, method, threads=4)] == [answered[q] for q in 4 * few]


def test_threads_share_index_over_methods_and_opening(folder: Path) -> None:
    with Index.open(folder, encoder=ENCODER) as index:
        alone = {(q, m): summary(index.ask(q, m)) for q in QUESTIONS[:2] for m in METHODS}
    with Index.open(folder, encoder=ENCODER) as index, ThreadPoolExecutor(4) as pool:
        # Nothing is loaded yet: the first four calls open the snapshot at the same time.
        asked = [(q, m) for _ in range(4) for q in QUESTIONS[:2] for m in METHODS]
        assert list(pool.map(lambda pair: summary(index.ask(*pair)), asked)) == [alone[pair] for pair in asked]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
def test_reader_answers_while_other_process_indexes(tmp_path: Path, server: ForkServer) -> None:
    """Each answer comes from one snapshot: its citations quote the documents, and their number never falls."""
    folder, docs = tmp_path / "index", write_corpus(tmp_path / "docs", CORPUS[:160], 8)
    rest = write_corpus(tmp_path / "rest", CORPUS[160:], 1)
    text_of = {document.id: document.text for document in read_documents([docs, rest], pytest.fail)}
    with Index.create(folder, encoder=ENCODER, settings=ALL) as index:
        index.add(rest)
    with Index.open(folder, encoder=ENCODER) as reader:
        for method in METHODS[:4]:
            reader.ask(QUESTIONS[0], method)  # compiles and loads what the method needs
        writer = server.start("add", folder, docs)
        sizes, answers, until = [], 0, time.monotonic() + 60
        while len(writer.reports_of("done")) < 8 and time.monotonic() < until:
            question, method = QUESTIONS[answers % len(QUESTIONS)], METHODS[answers % 4]
            reply = reader.ask(question, method)
            assert reply.answer is not None and reply.passages is not None
            documents = reply.graph.passages.documents  # type: ignore[union-attr]
            sizes.append(len(documents))
            for citation in reply.answer.citations:
                assert text_of[citation.document][citation.start : citation.end] == citation.text
                assert citation.document in set(documents)
            answers += 1
        ended = writer.wait()
        assert ended.code == 0, ended
        assert sizes == sorted(sizes) and set(sizes) <= {40 + 20 * done for done in range(9)}
        assert len(set(sizes)) > 2
        assert reader.documents == 200 and reader.is_current and reader.verify() == []
    assert server.run("add", folder, docs).code == 0  # a writer deletes the snapshots that the reader had open
    assert state(folder)["documents"] == 200 and leftovers(folder) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
def test_readers_answer_while_snapshots_change(tmp_path: Path, server: ForkServer) -> None:
    """Each reader opens the index, at any moment of a change of snapshots."""
    folder, docs = tmp_path / "index", write_corpus(tmp_path / "docs", CORPUS[:80], 8)
    Index.create(folder, encoder=ENCODER, settings=ALL).close()
    writer, readers = server.start("add", folder, docs), []
    while len(writer.reports_of("done")) < 8:
        readers.append(server.start("ask", folder, "vector ppr"))
        if len(readers) > 3:
            ended = readers.pop(0).wait()
            assert ended.code == 0 and len(ended.reports_of("answered")) == 2, ended
    assert writer.wait().code == 0
    assert all(reader.wait().reports_of("answered") == [["vector", True], ["ppr", True]] for reader in readers)


def test_verification_ignores_snapshot_replaced_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, checked, real = HashEncoder(8), list[Path](), verification.damaged_files
    with Index.create(tmp_path / "index", encoder=encoder) as index:
        index.add([{"id": "a", "text": "Graz lies on the Mur."}])

    def meanwhile(folder: Path, **options: bool) -> list[str]:
        if not checked:
            with Index.open(tmp_path / "index", encoder=encoder) as writer:
                writer.add([{"id": "b", "text": "The Mur flows into the Drava."}])
        checked.append(folder)
        return real(folder, **options)

    monkeypatch.setattr(verification, "damaged_files", meanwhile)
    with Index.open(tmp_path / "index", encoder=encoder) as index:
        assert index.verify() == []
    assert len({folder.name for folder in checked}) == 2 and not checked[0].exists()
