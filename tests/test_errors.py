"""The reasons for which the system refuses a file are told apart, for files and for SQLite."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from graphwright.errors import cause_of, explained

REFUSED = [
    (errno.EMFILE, "this process has too many files open", "raise the limit"),
    (errno.ENFILE, "the system has too many files open", "Close other programs"),
    (errno.ENOSPC, "the disk is full", "Free some space"),
    (errno.EDQUOT, "the disk quota is used up", "Free some space"),
    (errno.EIO, "reading or writing failed", "Check the disk"),
    (errno.EACCES, "the permission is missing", "Correct the permissions"),
    (errno.EROFS, "it is read-only", "choose a folder that can be written"),
    (errno.ENOMEM, "the memory is used up", "Close other programs"),
    (errno.ESTALE, "the network file system has lost the file", "Mount it again"),
]


@pytest.mark.parametrize("number, reason, remedy", REFUSED)
def test_system_errors_keep_their_meaning(number: int, reason: str, remedy: str) -> None:
    error = OSError(number, "as the system says it")
    assert cause_of(error) == number
    text = explained(error, "Build the index again.")
    assert text.startswith(f"{reason} (") and "as the system says it" in text and remedy in text
    assert "again." not in text or "Build" not in text


def test_other_errors_use_given_remedy() -> None:
    for error in (FileNotFoundError(errno.ENOENT, "No such file"), ValueError("a wrong header"), EOFError("no data")):
        assert cause_of(error) == 0 and explained(error, "Build it again.") == f"{error}. Build it again."
    assert explained(MemoryError(), "").startswith("the memory is used up")


def full(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA max_page_count = 2")
        db.execute("CREATE TABLE a AS SELECT hex(randomblob(99999)) AS b")


def locked(path: Path) -> None:
    with closing(sqlite3.connect(path)) as first, closing(sqlite3.connect(path, timeout=0)) as second:
        first.execute("BEGIN EXCLUSIVE")
        second.execute("BEGIN IMMEDIATE")


def read_only(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE a (b)")
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
        db.execute("INSERT INTO a VALUES (1)")


def no_database(path: Path) -> None:
    path.write_bytes(b"no database " * 999)
    with closing(sqlite3.connect(path)) as db:
        db.execute("SELECT * FROM sqlite_master")


def malformed(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE a AS SELECT hex(randomblob(99999)) AS b")
    path.write_bytes(path.read_bytes()[:9000])
    with closing(sqlite3.connect(path)) as db:
        db.execute("SELECT * FROM a").fetchall()


def no_folder(path: Path) -> None:
    sqlite3.connect(path / "none" / "at all")


def test_full_disk_differs_from_forbidden_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.sqlite"
    with pytest.raises(sqlite3.Error) as caught:
        read_only(file)
    assert explained(caught.value, "", file).startswith("it is read-only")
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=0))
    assert explained(caught.value, "", file).startswith("the disk is full (attempt to write a readonly database)")
    assert explained(caught.value, "").startswith("it is read-only")


@pytest.mark.parametrize(
    "fail, number",
    [
        (full, errno.ENOSPC),
        (locked, errno.EBUSY),
        (read_only, errno.EROFS),
        (no_database, 0),
        (malformed, 0),
        (no_folder, 0),
    ],
)
def test_sqlite_errors_are_distinguished(fail: Callable[[Path], None], number: int, tmp_path: Path) -> None:
    with pytest.raises(sqlite3.Error) as caught:
        fail(tmp_path / "a.sqlite")
    assert cause_of(caught.value) == number
