"""One writer at a time, across processes; the lock falls with the process that holds it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from graphwright.errors import StoreError

__all__ = ["writer_lock"]


@contextmanager
def writer_lock(folder: Path) -> Iterator[None]:
    """Hold the right to write into an index folder. Raises StoreError at once if another holds it.

    An exclusive SQLite transaction on an empty file: the operating system releases it when the process
    ends, however it ends, on every platform.
    """
    path = folder / "writer.lock"
    try:
        db = sqlite3.connect(path, isolation_level=None, timeout=0.2)
    except sqlite3.Error as error:
        raise StoreError(f"{path} cannot be opened for writing ({error}); is the folder read-only?") from error
    try:
        try:
            db.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            raise StoreError(
                f"{folder} cannot be written now ({error}): another process is indexing into it, or the folder is "
                f"read-only. Wait for the other to finish, or check the folder's permissions."
            ) from error
        yield
    finally:
        db.close()
