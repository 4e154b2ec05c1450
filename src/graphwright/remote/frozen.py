"""Read index.sqlite as it is at one moment, while others go on writing."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from graphwright.errors import StoreError

_PATIENCE = 10.0  # seconds that a checkpoint waits for readers


@contextmanager
def frozen(path: Path) -> Iterator[None]:
    """Keep the file of a store as it is in the block, by a transaction that reads it alone, without its log.

    SQLite writes nothing from the write-ahead log into a file that is read so; writers go on in the log. The caller
    holds the write lock of the index when the block begins. Raises StoreError if the log cannot be emptied.
    """
    with closing(sqlite3.connect(path, isolation_level=None, timeout=2.0, check_same_thread=False)) as db:
        deadline = time.monotonic() + _PATIENCE
        while db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            if time.monotonic() > deadline:
                raise StoreError(f"{path} is being read all the time, so its log cannot be emptied. Try again later.")
            time.sleep(0.05)
        db.execute("BEGIN")
        db.execute("SELECT count(*) FROM settings").fetchone()
        yield
