"""The tables of a store, and connections to it."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Mapping
from pathlib import Path

from graphwright.errors import cause_of
from graphwright.store.chunk_record import ChunkRecord

SCHEMA = 12
FIELDS = [f'"{name}"' for name in ChunkRecord._fields]  # the columns of a chunk's record
_CHUNK = f'c.ordinal, c.start, c."end", c.text, c.heading, {", ".join(f"c.{name}" for name in FIELDS)}'
ROWS = (  # a query of documents with their chunks, for `ChunkColumns.of`
    # The links, places and records of a document are read once, not with each of its chunks.
    "SELECT d.id, d.title, iif(c.ordinal > 0, x'', d.links), iif(c.ordinal > 0, x'', d.places), "
    "iif(c.ordinal > 0, x'', d.records), "
    f"{_CHUNK} FROM documents d LEFT JOIN chunks c ON c.document = d.number"
)

_TABLES = f"""
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, title TEXT NOT NULL, hash BLOB NOT NULL,
    metadata TEXT NOT NULL, links BLOB NOT NULL, places BLOB NOT NULL, records BLOB NOT NULL, is_file INTEGER NOT NULL,
    folder TEXT NOT NULL, outline TEXT NOT NULL DEFAULT ''
);
CREATE TABLE chunks (
    document INTEGER NOT NULL REFERENCES documents(number) ON DELETE CASCADE, ordinal INTEGER NOT NULL,
    start INTEGER NOT NULL, "end" INTEGER NOT NULL, text BLOB NOT NULL, heading TEXT NOT NULL,
    extractor TEXT NOT NULL, pending TEXT, digest BLOB NOT NULL, {", ".join(f"{name} NOT NULL" for name in FIELDS)},
    PRIMARY KEY (document, ordinal)
) WITHOUT ROWID;
CREATE TABLE derived (key BLOB PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE edits (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, edit TEXT NOT NULL);
CREATE INDEX pending ON chunks (pending) WHERE pending IS NOT NULL;
CREATE TABLE packs (first TEXT PRIMARY KEY, sizes BLOB, checksum INTEGER, data BLOB);
CREATE INDEX outdated ON packs (first) WHERE sizes IS NULL;
INSERT INTO packs (first) VALUES ('');
"""
# A pack has the documents from its `first` to that of the next one; a change of one of them makes it outdated.
_OUTDATED = """
CREATE TRIGGER {name} AFTER {event} BEGIN
    UPDATE packs SET sizes = NULL, checksum = NULL, data = NULL
    WHERE first = (SELECT max(first) FROM packs WHERE first <= {document}) AND sizes IS NOT NULL;
END;
"""
_EVENTS = {
    "document_added": ("INSERT ON documents", "NEW.id"),
    "document_changed": ("UPDATE OF title, hash, links, places, records ON documents", "NEW.id"),
    "document_removed": ("DELETE ON documents", "OLD.id"),
    "chunk_changed": ("UPDATE OF digest ON chunks", "(SELECT id FROM documents WHERE number = NEW.document)"),
}


def create_tables(db: sqlite3.Connection, settings: Mapping[str, str]) -> None:
    """Create the tables in a new file, with these settings."""
    # A row of chunks has some kilobytes: most would not fit on the default pages of 4,096 bytes.
    db.execute("PRAGMA page_size = 16384")
    # Stored in the file: readers and one writer at a time do not wait for each other.
    db.execute("PRAGMA journal_mode = WAL")
    triggers = (
        _OUTDATED.format(name=name, event=event, document=document) for name, (event, document) in _EVENTS.items()
    )
    with db:
        db.executescript(f"BEGIN; {_TABLES} {' '.join(triggers)} PRAGMA user_version = {SCHEMA}; COMMIT;")
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
