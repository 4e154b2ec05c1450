"""Locks of an index folder: one writer, and leases of the readers of each snapshot.

They are SQLite locks on small files, which the operating system releases when a process ends or is killed, on every
platform.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from graphwright.errors import StoreError

__all__ = ["Lease", "create_lease_file", "is_read", "is_written", "writer_lock"]

_READERS = "readers.lock"


@contextmanager
def writer_lock(folder: Path) -> Iterator[None]:
    """Hold the write lock of an index folder. Raises StoreError at once if another process holds it."""
    path = folder / "writer.lock"
    try:
        db = sqlite3.connect(path, isolation_level=None, timeout=0.2)
    except sqlite3.Error as error:
        raise StoreError(f"{path} cannot be opened for writing ({error}). Is the folder read-only?") from error
    try:
        try:
            db.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            raise StoreError(
                f"{folder} cannot be written now ({error}): another process is indexing into it, or the folder is "
                f"read-only. Wait for the other to finish, or check the folder's permissions."
            ) from error
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise StoreError(
                f"{folder / 'index.sqlite'} cannot be read or written ({error}). Restore index.sqlite from a copy, or "
                f"index the documents again into a new folder; queries still use the last snapshot."
            ) from error
    finally:
        db.close()


def is_written(folder: Path) -> bool:
    """Return whether some process holds the write lock."""
    path = folder / "writer.lock"
    if not path.is_file():
        return False
    try:
        db = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None, timeout=0)
    except sqlite3.Error:
        return False
    try:
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return False
    except sqlite3.Error as error:
        return "locked" in str(error)
    finally:
        db.close()


class Lease:
    """A shared lock on a snapshot that is being read.

    A read-only folder cannot be locked, but its snapshots cannot be deleted either.
    """

    def __init__(self, snapshot: Path) -> None:
        """Take the lease."""
        self._db: sqlite3.Connection | None = None
        with suppress(sqlite3.Error):
            uri = f"{(snapshot / _READERS).resolve().as_uri()}?mode=ro"
            self._db = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=0.2, check_same_thread=False)
            self._db.execute("BEGIN")
            self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()

    def release(self) -> None:
        """Release the lease."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def __del__(self) -> None:
        self.release()


def create_lease_file(snapshot: Path) -> None:
    """Create the file that readers lock."""
    db = sqlite3.connect(snapshot / _READERS, isolation_level=None)
    # SQLite locks a file for reading only if it is not empty.
    db.execute("PRAGMA user_version = 1")
    db.close()


def is_read(snapshot: Path) -> bool:
    """Return whether some process still reads a snapshot."""
    path = snapshot / _READERS
    if not path.is_file():
        return False
    try:
        db = sqlite3.connect(path, isolation_level=None, timeout=0)
    except sqlite3.Error:
        return False
    try:
        db.execute("BEGIN EXCLUSIVE")
        return False
    except sqlite3.Error as error:
        return isinstance(
            error, sqlite3.OperationalError
        )  # otherwise the file is damaged, and no process can have locked it
    finally:
        db.close()
