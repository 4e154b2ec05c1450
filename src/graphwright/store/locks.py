"""The write lock of an index and the leases of its readers, both of which are file locks.

File locks are SQLite's, which the operating system releases when a process ends or is killed, on every platform.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import struct
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

from graphwright.errors import StoreError, cause_of, explained
from graphwright.store.changes import read_progress

CHECK = "Is the folder missing or read-only? Correct its permissions, or choose one that can be written."
"""Remedy for a folder that cannot be written."""
READERS = "readers.lock"
WRITER = "writer.lock"
PROGRESS = ".progress.json"
PROBE = ".locks-"  # prefix of the file that is locked on trial


class BeingWritten(StoreError):
    """Another process, or another object of this one, holds the write lock of an index folder."""


@contextmanager
def hold(path: Path, timeout: float = 0.0) -> Iterator[None]:
    """Hold the lock of a file, created if missing. Raises sqlite3.Error if another holds it for `timeout` seconds."""
    with closing(sqlite3.connect(path, isolation_level=None, timeout=timeout, check_same_thread=False)) as db:
        db.execute("PRAGMA journal_mode = OFF")  # nothing is written
        db.execute("BEGIN EXCLUSIVE")
        yield


def is_held(path: Path) -> bool:
    """Return whether some process holds the lock of a file; false if there is no file."""
    return "locked" in str(_lock_error(path, "SELECT count(*) FROM sqlite_master"))


def check_locks(folder: Path) -> None:
    """Raise StoreError if a folder's files cannot be locked, as on some network file systems; tried on Linux only."""
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


@contextmanager
def writer_lock(folder: Path) -> Iterator[None]:
    """Hold the write lock of an index folder. Raises BeingWritten at once if another process holds it."""
    path = folder / WRITER
    check_locks(folder)
    with ExitStack() as stack:
        try:
            stack.enter_context(hold(path, 0.2))
        except sqlite3.Error as error:
            reason, holder = explained(error, CHECK, path), ""
            if (record := read_progress(folder / PROGRESS)) is not None:
                holder = f" It is process {record.process}: {record.work}, {record.done:,} of {record.total:,}."
            kind = BeingWritten if cause_of(error) == errno.EBUSY else StoreError
            raise kind(f"{folder} cannot be written now: {reason}{holder}") from error
        try:
            yield
        except sqlite3.DatabaseError as error:
            remedy = "Restore index.sqlite from a copy, or index the documents again into a new folder."
            store = folder / "index.sqlite"
            raise StoreError(
                f"{store} cannot be read or written: {explained(error, remedy, store)} Queries still use the last "
                f"snapshot."
            ) from error


def check_unwritten(folder: Path) -> None:
    """Raise BeingWritten, as `writer_lock` does, where some process holds the write lock."""
    if is_written(folder):
        with writer_lock(folder):
            pass


def is_written(folder: Path) -> bool:
    """Return whether some process holds the write lock."""
    return is_held(folder / WRITER)


class Lease:
    """A shared lock on a snapshot that is read; one in a read-only folder needs none, since nothing can delete it."""

    def __init__(self, snapshot: Path) -> None:
        self._db: sqlite3.Connection | None = None
        with suppress(sqlite3.Error):
            self._db = _opened(snapshot / READERS, timeout=0.2)
            self._db.execute("BEGIN")
            self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()

    def __del__(self) -> None:
        if self._db is not None:
            self._db.close()


def create_lease_file(snapshot: Path) -> None:
    """Create the file that readers lock."""
    with closing(sqlite3.connect(snapshot / READERS, isolation_level=None)) as db:
        db.execute("PRAGMA user_version = 1")  # SQLite locks a file for reading only if it is not empty


def is_read(snapshot: Path) -> bool:
    """Return whether some process still reads a snapshot."""
    # Any other error means that the file is damaged, and no process can have locked it.
    return isinstance(_lock_error(snapshot / READERS, "BEGIN EXCLUSIVE", mode="rw"), sqlite3.OperationalError)


def _lock_error(path: Path, statement: str, mode: str = "ro") -> sqlite3.Error | None:
    """Return the error with which a statement on a lock file fails, None if it succeeds or there is no file."""
    if not path.is_file():
        return None
    try:
        with closing(_opened(path, mode=mode)) as db:
            db.execute(statement).fetchall()
            return None
    except sqlite3.Error as error:
        return error


def _opened(path: Path, timeout: float = 0, mode: str = "ro") -> sqlite3.Connection:
    uri = f"{path.resolve().as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=timeout, check_same_thread=False)
