"""States in which a crash may leave a folder: flushed writes are kept, others may be lost or reordered."""

from __future__ import annotations

import os
import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from attacks.crash_states import Tree, recording, write_tree


def states(root: Path, call: str, draws: int = 0) -> dict[str, Tree]:
    """Return the states before a call of the operation below."""
    with recording(root) as recorder:
        (root / "draft").write_bytes(b"new")
        with (root / "draft").open("rb") as file:
            os.fsync(file.fileno())
        os.replace(root / "draft", root / "file")
        folder = os.open(root, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
    (moment,) = [moment for moment in recorder.moments if moment.call == call]
    return dict(moment.states(random.Random(1), draws))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "file").write_bytes(b"old")
    return tmp_path


def test_unflushed_writes_may_be_lost(root: Path) -> None:
    assert states(root, "replace file") == {
        "killed": {"draft": b"new", "file": b"old"},
        "nothing unflushed kept": {"file": b"old"},
        "only names kept": {"draft": b"new", "file": b"old"},
    }


def test_flushed_writes_are_kept(root: Path) -> None:
    assert list(states(root, "returned").values()) == 3 * [{"file": b"new"}]


def test_names_and_contents_are_reordered(tmp_path: Path) -> None:
    with recording(tmp_path) as recorder:
        (tmp_path / "a").write_bytes(b"first")
        os.mkdir(tmp_path / "folder")
        os.replace(tmp_path / "a", tmp_path / "folder" / "b")
    drawn = [tree for name, tree in recorder.moments[-1].states(random.Random(1), 60) if name.startswith("reordered")]
    assert {"folder": None} in drawn and {"folder": None, "folder/b": b"first"} in drawn and {} in drawn
    assert {"a": b"", "folder": None} in drawn and {"folder": None, "folder/b": b"fi"} in drawn


def test_sqlite_commits_are_flushed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    with recording(root) as recorder, closing(sqlite3.connect(root / "a.sqlite")) as db:
        db.execute("PRAGMA journal_mode = WAL")
        with db:
            db.execute("CREATE TABLE rows (value)")
            db.execute("INSERT INTO rows VALUES (7)")
    for at, moment in enumerate(recorder.moments):
        tree = dict(moment.states(random.Random(1), 0))["nothing unflushed kept"]
        write_tree(tree, tmp_path / str(at))
    with closing(sqlite3.connect(tmp_path / str(at) / "a.sqlite")) as db:
        assert db.execute("SELECT value FROM rows").fetchall() == [(7,)]
