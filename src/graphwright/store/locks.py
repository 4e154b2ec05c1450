"""Locks on files: SQLite's, which the operating system releases when a process ends or is killed."""

from __future__ import annotations

import os
import sqlite3
import struct
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from graphwright.errors import StoreError

PROBE = ".locks-"
"""Prefix of the file that is locked on trial."""


@contextmanager
def hold(path: Path, timeout: float = 0.0) -> Iterator[None]:
    """Hold the lock of a file, which is created if it is missing.

    Raises sqlite3.Error if another process, or another connection of this one, holds it for `timeout` seconds.
    """
    with closing(sqlite3.connect(path, isolation_level=None, timeout=timeout, check_same_thread=False)) as db:
        db.execute("PRAGMA journal_mode = OFF")  # nothing is written
        db.execute("BEGIN EXCLUSIVE")
        yield


def is_held(path: Path) -> bool:
    """Return whether some process holds the lock of a file; false if there is no file."""
    if not path.is_file():
        return False
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=0)) as db:
            db.execute("SELECT count(*) FROM sqlite_master").fetchall()
    except sqlite3.Error as error:
        return "locked" in str(error)
    return False


def check_locks(folder: Path) -> None:
    """Raise StoreError if files of a folder cannot be locked, as on some network file systems.

    A file is locked twice on trial; on Linux only, and not in a folder in which no file can be created.
    """
    problem = ""
    if sys.platform == "linux":
        with suppress(OSError), tempfile.NamedTemporaryFile(prefix=PROBE, dir=folder) as file:
            problem = _lock_problem(file.name)
    if problem:
        raise StoreError(
            f"{folder} is on a file system without working locks ({problem}): two processes could write at the same "
            f"time. Nothing was changed. Use a local disk, or mount the file system with locks."
        )


def _lock_problem(path: str) -> str:
    """Return the reason why locks of a file have no effect, empty if they work."""
    import fcntl

    # Locks of open files, because those of a process never exclude the process itself.
    lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0)
    with open(path, "r+b") as first, open(path, "r+b") as second:
        try:
            fcntl.fcntl(first, fcntl.F_OFD_SETLK, lock)
        except OSError as error:
            return str(error)
        with suppress(OSError):
            fcntl.fcntl(second, fcntl.F_OFD_SETLK, lock)
            return "the same lock was granted twice"
    return ""
