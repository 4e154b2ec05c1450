"""Consistent reading of index.sqlite while other processes write."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from graphwright.errors import StoreError

_CHECKPOINT_TIMEOUT = 10.0  # seconds


@contextmanager
def frozen(path: Path) -> Iterator[None]:
    """Keep the file of a store unchanged in the block, by a read transaction that begins with an empty log.

    During the transaction, writers append to the write-ahead log, and SQLite copies nothing from it into the file. The
    caller must hold the write lock of the index when the block begins. Raises StoreError if the log cannot be emptied.
    """
    with closing(sqlite3.connect(path, isolation_level=None, timeout=2.0, check_same_thread=False)) as db:
        deadline = time.monotonic() + _CHECKPOINT_TIMEOUT
        while db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            if time.monotonic() > deadline:
                raise StoreError(f"{path} always has readers, so its log cannot be emptied. Try again later.")
            time.sleep(0.05)
        db.execute("BEGIN")
        db.execute("SELECT count(*) FROM settings").fetchone()
        yield
