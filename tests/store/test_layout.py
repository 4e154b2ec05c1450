"""Creation of index folders: atomic, locked by their owner, and only where locks work."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from graphwright import Graph, Index
from graphwright.errors import StoreError
from graphwright.models import HashEncoder
from graphwright.store.changes import Recorder
from graphwright.store.folder_creation import create_folder, delete_folder, is_free
from graphwright.store.layout import IndexLayout
from graphwright.store.locks import check_locks, check_unwritten, hold, is_held, writer_lock

TRIPLES = [("Graz", "lies on", "Mur")]


def fill(layout: IndexLayout) -> None:
    (layout.path / "snapshot-0").mkdir()
    (layout.path / "CURRENT").write_text("snapshot-0")
    layout.store.write_text("documents")


def prepared(folder: Path, kind: str) -> Path:
    """Return a place for an index: a new folder, an empty one, or one with settings."""
    if kind != "new":
        folder.mkdir()
    if kind == "settings":
        (folder / "settings.toml").write_text("[llm]\n")
    return folder


KINDS = pytest.mark.parametrize("kind", ["new", "empty", "settings"])


@KINDS
def test_concurrent_creation_raises(kind: str, tmp_path: Path) -> None:
    folder = prepared(tmp_path / "index", kind)

    def work(layout: IndexLayout) -> None:
        fill(layout)
        with pytest.raises(StoreError, match=rf"{folder} is being created by another process .*Wait for it to finish"):
            create_folder(folder, fill)
        assert layout.store.exists(), "the draft of a living process stays"

    create_folder(folder, work)
    names = {"CURRENT", "index.sqlite", "snapshot-0"} | ({"settings.toml"} if kind == "settings" else set())
    assert {path.name for path in folder.iterdir()} - {"writer.lock"} == names
    assert [path.name for path in tmp_path.iterdir()] == ["index"]
    with pytest.raises(StoreError, match="is an index already"):
        create_folder(folder, fill)


@pytest.mark.parametrize("moves", range(3))
@pytest.mark.parametrize("kind", ["empty", "settings"])
def test_leftovers_of_dead_process_are_taken_over(
    kind: str, moves: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It dies after some parts were moved into a folder that exists; only the last one makes it an index."""
    folder, moved, replace = prepared(tmp_path / "index", kind), list[str](), os.replace

    class Death(BaseException):
        pass

    def dying(old: Path, new: Path) -> None:
        if len(moved) == moves:
            raise Death
        moved.append(Path(new).name)
        replace(old, new)

    with monkeypatch.context() as patch, pytest.raises(Death):
        patch.setattr(os, "replace", dying)
        patch.setattr("graphwright.store.folder_creation.shutil.rmtree", lambda *_, **__: None)
        create_folder(folder, fill)
    assert "index.sqlite" not in moved and (folder / ".draft.new").exists() and is_free(folder)
    create_folder(folder, fill)
    assert (folder / "index.sqlite").exists() and not (folder / ".draft.new").exists()


def test_draft_beside_new_folder_is_taken_over(tmp_path: Path) -> None:
    draft = tmp_path / ".index-draft.new"
    (draft / "import").mkdir(parents=True)
    (draft / "index.sqlite").write_text("half")
    create_folder(tmp_path / "index", fill)
    assert [path.name for path in tmp_path.iterdir()] == ["index"]
    assert not (tmp_path / "index" / "import").exists()


def test_user_files_are_not_leftovers(tmp_path: Path) -> None:
    (tmp_path / "CURRENT").write_text("mine")
    assert not is_free(tmp_path)
    (tmp_path / ".draft.new").mkdir()
    assert is_free(tmp_path)  # of a dead process
    (tmp_path / "notes.txt").write_text("mine")
    assert not is_free(tmp_path)
    with pytest.raises(StoreError, match="is not empty"):
        create_folder(tmp_path, fill)
    assert (tmp_path / "CURRENT").read_text() == "mine"


@pytest.mark.parametrize("keep", [False, True])
def test_deleted_index_frees_its_place(keep: bool, tmp_path: Path) -> None:
    folder = prepared(tmp_path / "index", "settings" if keep else "new")
    layout = create_folder(folder, fill)
    delete_folder(layout, keep_folder=keep)
    assert [path.name for path in tmp_path.rglob("*")] == (["index", "settings.toml"] if keep else [])
    create_folder(folder, fill)


def test_lock_has_one_holder(tmp_path: Path) -> None:
    assert not is_held(tmp_path / "a")
    with hold(tmp_path / "a"):
        assert is_held(tmp_path / "a")
    assert not is_held(tmp_path / "a") and [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("kind", ["refused", "without effect"])
def test_file_system_without_locks_raises(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = Index.create(tmp_path / "local", encoder=HashEncoder())
    check_locks(tmp_path)

    def lock(*arguments: Any) -> bytes:
        if kind == "refused":
            raise OSError(errno.ENOLCK, "No locks available")
        return b""

    monkeypatch.setattr(fcntl, "fcntl", lock)
    for call in (
        lambda: Index.create(tmp_path / "new", encoder=HashEncoder()),
        lambda: Index.from_graph(tmp_path / "new", Graph.from_triples(TRIPLES), encoder=HashEncoder()),
        lambda: index.add([{"id": "a", "text": "Ida lives in Graz."}]),
    ):
        with pytest.raises(StoreError, match=r"is on a file system without working locks .*Use a local disk"):
            call()
    assert not (tmp_path / "new").exists() and index.documents == 0


def test_size_is_counted_during_deletion(tmp_path: Path) -> None:
    stop = threading.Event()

    def replace() -> None:
        while not stop.is_set():
            (tmp_path / "snapshot-9" / "graph").mkdir(parents=True)
            shutil.rmtree(tmp_path / "snapshot-9")

    (tmp_path / "index.sqlite").write_bytes(b"12345")
    thread = threading.Thread(target=replace)
    thread.start()
    try:
        assert {IndexLayout(tmp_path).bytes() for _ in range(1_000)} == {5}
    finally:
        stop.set()
        thread.join()


def test_writing_process_is_named(tmp_path: Path) -> None:
    Index.create(tmp_path / "a").close()
    record = Recorder(IndexLayout(tmp_path / "a").progress, None)
    with writer_lock(tmp_path / "a"):
        with pytest.raises(StoreError, match=r"cannot be written now: .* then try again\.$"):
            check_unwritten(tmp_path / "a")
        record("read passages", 256, 1200)
        with pytest.raises(StoreError, match=rf"It is process {os.getpid()}: read passages, 256 of 1,200\.$"):
            check_unwritten(tmp_path / "a")
    check_unwritten(tmp_path / "a")
