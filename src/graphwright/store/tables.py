"""The tables of a store, and connections to it."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Mapping
from pathlib import Path

from graphwright.errors import cause_of

SCHEMA = 13
ROWS = (  # a query of documents with their chunks, for `ChunkColumns.of`
    # The links, places and records of a document are read once, not with each of its chunks.
    "SELECT d.id, d.title, iif(c.ordinal > 0, x'', d.links), iif(c.ordinal > 0, x'', d.places), "
    "iif(c.ordinal > 0, x'', d.records), c.ordinal, c.start, c.\"end\", c.heading, c.content "
    "FROM documents d LEFT JOIN chunks c ON c.document = d.number"
)

_TABLES = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, title TEXT NOT NULL, hash BLOB NOT NULL,
    metadata TEXT NOT NULL, links BLOB NOT NULL, places BLOB NOT NULL, records BLOB NOT NULL, is_file INTEGER NOT NULL,
    folder TEXT NOT NULL, outline TEXT NOT NULL DEFAULT ''
);
CREATE TABLE chunks (
    document INTEGER NOT NULL REFERENCES documents(number) ON DELETE CASCADE, ordinal INTEGER NOT NULL,
    start INTEGER NOT NULL, "end" INTEGER NOT NULL, heading TEXT NOT NULL,
    extractor TEXT NOT NULL, pending TEXT, content BLOB NOT NULL, -- text and record, see ChunkRecord.content
    PRIMARY KEY (document, ordinal)
);
CREATE TABLE derived (key BLOB PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE edits (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, edit TEXT NOT NULL);
CREATE INDEX pending ON chunks (pending) WHERE pending IS NOT NULL;
"""


def create_tables(db: sqlite3.Connection, settings: Mapping[str, str]) -> None:
    """Create the tables in a new file, with these settings."""
    # A row of chunks has a kilobyte: few would fit on the default pages of 4,096 bytes. With row ids pages are filled.
    db.execute("PRAGMA page_size = 16384")
    # Stored in the file: readers and one writer at a time do not wait for each other.
    db.execute("PRAGMA journal_mode = WAL")
    with db:
        db.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {SCHEMA}; COMMIT;")
        db.executemany("INSERT INTO settings VALUES (?, ?)", settings.items())


def connect(name: str) -> sqlite3.Connection:
    """Open a database by its path or URI; it is created if there is none."""
    db = sqlite3.connect(name, isolation_level=None, timeout=2.0, check_same_thread=False, uri=name.startswith("file:"))
    db.execute("PRAGMA foreign_keys = ON")
    # Removed content is overwritten, not only unlinked.
    db.execute("PRAGMA secure_delete = ON")
    return db


def opened(path: Path) -> sqlite3.Connection:
    """Open the store; in a read-only folder as an immutable file."""
    try:
        db = connect(str(path))
        db.execute("SELECT count(*) FROM sqlite_master")
        return db
    except sqlite3.OperationalError as error:
        if cause_of(error) in (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EBUSY):
            raise
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            raise
        return connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1")
