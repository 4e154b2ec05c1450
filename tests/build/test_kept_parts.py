"""Documents that take long to read are kept while others are read, so that a killed run does not begin anew."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.command import graphwright
from tests.faults.index_state import contents

from graphwright import Document, Index
from graphwright.build import apply_change, document_storage
from graphwright.build.publication import Publication
from graphwright.errors import DataError, StoreError
from graphwright.models.fake import HashEncoder
from graphwright.store.locks import writer_lock

TEXTS = {f"town{i}": f"Town{i} lies on River{i}." for i in range(6)}


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    monkeypatch.setattr(document_storage, "_DOCUMENTS", 2)
    return Index.create(tmp_path / "towns", encoder=HashEncoder())


def documents(error: BaseException | None = None, before: int = 5) -> Iterator[Document]:
    for at, (name, text) in enumerate(TEXTS.items()):
        if error is not None and at == before:
            raise error
        yield Document(name, text)


def test_interrupted_run_continues(index: Index) -> None:
    with pytest.raises(KeyboardInterrupt):
        index.add(documents(KeyboardInterrupt()))
    assert index.documents == 4 and not index.is_current and index.list_documents() == []
    again = index.add(documents())
    assert again.unchanged == ["town0", "town1", "town2", "town3"] and again.added == ["town4", "town5"]
    assert again.resumed and index.is_current and len(index.list_documents()) == 6


def test_error_keeps_none_of_documents(index: Index) -> None:
    index.add([Document("graz", "Graz lies on the Mur.")])
    with pytest.raises(DataError, match="broken"):
        index.add(documents(DataError("broken")))
    assert index.documents == 1 and index.is_current and not index.verify()


def test_documents_are_replaced_after_reading_all(index: Index) -> None:
    index.add([Document("town0", "Town0 was elsewhere.")])
    with pytest.raises(KeyboardInterrupt):
        index.add(documents(KeyboardInterrupt()))
    assert index.documents == 1 and "elsewhere" in index.text("town0")


def test_interrupted_sync_keeps_folder_documents(index: Index, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / f"{name}.txt").write_text(text)
    interrupted = pytest.MonkeyPatch()
    put = document_storage.DocumentStorage._put
    calls = iter([True, False])

    def once(self: document_storage.DocumentStorage, *given: object) -> None:
        if not next(calls):
            raise KeyboardInterrupt
        put(self, *given)  # type: ignore[arg-type]

    with interrupted.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(document_storage.DocumentStorage, "_put", once)
        index.sync(folder)
    assert index.documents == 2
    (folder / "town0.txt").unlink()
    changes = index.sync(folder)
    assert (changes.removed, len(changes.added), len(changes.unchanged)) == (["town0.txt"], 4, 1)
    assert index.is_current and not index.verify()


# Each document takes as long as a page of a scanned file.
SLOW = """
import signal, sys, time
from graphwright.build import document_sources
from graphwright.cli.app import main
read = document_sources.storable
document_sources.storable = lambda document: time.sleep(0.4) or read(document)
signal.signal(signal.SIGINT, signal.default_int_handler)
main(sys.argv[1:])
"""


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGKILL])
def test_interrupted_first_index_continues_where_it_stopped(tmp_path: Path, kind: signal.Signals) -> None:
    folder, into = tmp_path / "notes", tmp_path / "index"
    folder.mkdir()
    for number in range(200):
        (folder / f"town{number:03}.txt").write_text(f"Town{number} lies on River{number}.")
    command = [sys.executable, "-c", SLOW, "index", str(folder), "--into", str(into)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 120
        while not stored(into) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(kind)
        _, message = process.communicate(timeout=60)
    kept = stored(into)
    assert 0 < kept < 200
    if kind == signal.SIGINT:
        assert process.returncode == 130 and "Run the same command again to resume" in message
    again = json.loads(graphwright("index", folder, "--into", into, "--json").stdout)
    assert (again["unchanged"], again["added"]) == (kept, 200 - kept)
    assert again["index"]["documents"] == 200


def stored(into: Path) -> int:
    """Return the number of documents in the store of an index, 0 if there is none."""
    if not (into / "index.sqlite").exists():
        return 0
    with closing(sqlite3.connect(f"file:{into / 'index.sqlite'}?mode=ro", uri=True)) as db:
        return int(db.execute("SELECT count(*) FROM documents").fetchone()[0])


def test_progress_counts_bytes_of_all_files(index: Index, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / f"{name}.txt").write_text(f"{text}\n" * 100)
    shown = list[tuple[str, int, int]]()
    index.add([folder], lambda *step: shown.append(step))
    reading = [(done, total) for work, done, total in shown if work == "read files (kB)"]
    assert len(reading) >= 3 and reading == sorted(reading)
    assert (
        {total for _, total in reading}
        == {reading[-1][0]}
        == {-(-sum(f.stat().st_size for f in folder.iterdir()) // 1000)}
    )


def test_progress_of_listed_documents_has_their_number(index: Index) -> None:
    shown = list[tuple[str, int, int]]()
    index.add(list(documents()), lambda *step: shown.append(step))
    assert [step for step in shown if step[0] == "read documents"][-1] == ("read documents", 6, 6)


@pytest.fixture
def growing(index: Index, monkeypatch: pytest.MonkeyPatch) -> Index:
    monkeypatch.setattr(apply_change, "_FIRST", 0.0)
    return index


def test_documents_are_searchable_while_others_are_read(growing: Index) -> None:
    seen = list[tuple[int, bool, str]]()

    def watched() -> Iterator[Document]:
        for at, document in enumerate(documents()):
            if at == 5:
                with Index(growing.path, encoder=HashEncoder()) as beside:
                    answer = beside.ask("What is the boiling point of tin?", "bm25").answer
                    assert answer is not None
                    seen.append((len(beside.list_documents()), beside.is_current, answer.text))
            yield document

    changes = growing.add(watched())
    ((count, current, text),) = seen
    assert count == 2 and not current and "read so far" in text
    assert changes.added == list(TEXTS) and not changes.resumed and growing.is_current and not growing.verify()
    whole = Index.create(growing.path.with_name("whole"), encoder=HashEncoder())
    whole.add(documents())
    assert contents(growing) == contents(whole)


def test_error_after_publication_leaves_index_as_before(growing: Index) -> None:
    growing.add([Document("graz", "Graz lies on the Mur.")])
    with pytest.raises(DataError, match="broken"):
        growing.add(documents(DataError("broken")))
    assert [listed.id for listed in growing.list_documents()] == ["graz"] and growing.is_current
    assert not growing.verify()


def test_interruption_after_publication_loses_nothing(growing: Index) -> None:
    with pytest.raises(KeyboardInterrupt):
        growing.add(documents(KeyboardInterrupt()))
    assert growing.documents == 4 and len(growing.list_documents()) >= 2
    again = growing.add(documents())
    assert again.added == ["town4", "town5"] and len(growing.list_documents()) == 6 and not growing.verify()


def test_removed_file_is_hidden_though_parts_were_published(growing: Index, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in list(TEXTS.items())[:3]:
        (folder / f"{name}.txt").write_text(text)
    growing.sync(folder)
    (folder / "town1.txt").unlink()
    for name, text in list(TEXTS.items())[3:]:
        (folder / f"{name}.txt").write_text(text)
    changes = growing.sync(folder)
    assert changes.removed == ["town1.txt"] and len(changes.added) == 3
    assert len(growing.list_documents()) == 5 and growing.is_current and not growing.verify()


def test_failed_publication_is_raised_at_the_end(growing: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    refresh, calls = Publication.refresh, list[int]()

    def failing(self: Publication) -> int | None:
        calls.append(1)
        if len(calls) == 1:
            raise StoreError("the disk is full")
        return refresh(self)

    monkeypatch.setattr(Publication, "refresh", failing)
    changes = growing.add(documents())
    assert len(calls) == 2 and len(changes.added) == 6 and growing.is_current and not growing.verify()


def test_answer_while_no_document_is_read_is_about_all(index: Index) -> None:
    index.add(documents())
    with writer_lock(index.path):
        assert index.is_being_written and not index.is_growing
        answer = index.ask("What is the boiling point of tin?", "bm25").answer
    assert answer is not None and answer.text.startswith("The documents give no sure answer.")
