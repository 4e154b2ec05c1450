"""What an index folder remembers: documents, their chunks, and what each chunk contributed.

One SQLite file in WAL mode, so that readers never wait for a writer. Snapshots are made from it and can
always be made again.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from graphwright.data.base import Chunk, Document
from graphwright.errors import StoreError
from graphwright.index.contribution import Contribution

__all__ = ["SCHEMA", "Store", "StoredChunk", "StoredDocument", "content_hash"]

SCHEMA = 1

_TABLES = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, title TEXT NOT NULL,
    hash BLOB NOT NULL, metadata TEXT NOT NULL
);
CREATE TABLE chunks (
    document INTEGER NOT NULL REFERENCES documents(number) ON DELETE CASCADE, ordinal INTEGER NOT NULL,
    start INTEGER NOT NULL, "end" INTEGER NOT NULL, text TEXT NOT NULL,
    extractor TEXT NOT NULL, contribution TEXT NOT NULL, PRIMARY KEY (document, ordinal)
) WITHOUT ROWID;
"""


class StoredDocument(NamedTuple):
    """A document without its text: id, title, and the number that orders it."""

    number: int
    id: str
    title: str


class StoredChunk(NamedTuple):
    """A chunk with the number of its document and what it contributed."""

    document: int
    ordinal: int
    start: int
    end: int
    text: str
    contribution: Contribution


def content_hash(document: Document) -> bytes:
    """Return sixteen bytes that change with anything that the document says."""
    digest = hashlib.blake2b(digest_size=16)
    parts = (
        document.title,
        document.text,
        json.dumps(dict(document.metadata), sort_keys=True),
        str(document.whole),
    )
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.digest()


class Store:
    """An open index.sqlite. Writes happen inside `with store.writing():`, all or nothing."""

    def __init__(self, path: Path) -> None:
        """Open an existing store; `create` makes one."""
        self.path = path
        if not path.is_file():
            raise StoreError(f"{path.parent} is not an index: it holds no {path.name}. Make one with Index.create.")
        try:
            self._db = _opened(path)
            found = self._db.execute("PRAGMA user_version").fetchone()[0]
        except sqlite3.DatabaseError as error:
            raise StoreError(
                f"{path} cannot be read as an index ({error}). Restore it from a copy, or index the documents again."
            ) from error
        if found != SCHEMA:
            self._db.close()
            raise StoreError(
                f"{path} has schema {found}; this version reads schema {SCHEMA}. "
                f"Use the version that wrote it, or index the documents again."
            )

    @classmethod
    def create(cls, path: Path, settings: Mapping[str, str]) -> Store:
        """Make a store with these settings. The folder must exist; the file must not."""
        db = _connect(str(path))
        # Kept in the file: readers and one writer at a time, without waiting for each other.
        db.execute("PRAGMA journal_mode = WAL")
        with db:
            db.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {SCHEMA}; COMMIT;")
            db.executemany("INSERT INTO settings VALUES (?, ?)", settings.items())
        db.close()
        return cls(path)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the write lock; what happens inside is committed at its end, or undone by an error."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            raise StoreError(
                f"{self.path} cannot be written ({error}). Is another process indexing into it?"
            ) from error
        try:
            yield
            self._db.commit()
        except BaseException as error:
            self._db.rollback()
            if isinstance(error, sqlite3.Error):
                raise StoreError(
                    f"{self.path} could not be written ({error}); nothing was changed. Is the disk full, or the folder "
                    f"read-only?"
                ) from error
            raise

    def setting(self, name: str) -> str | None:
        """Return a setting, None if it was never set."""
        row = self._db.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def set(self, name: str, value: str) -> None:
        """Change a setting."""
        self._db.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, value))

    def hashes(self) -> dict[str, bytes]:
        """Return the content hash of every document by id."""
        return dict(self._db.execute("SELECT id, hash FROM documents"))

    def put(self, document: Document, chunks: Iterable[tuple[Chunk, Contribution]], extractor: str) -> None:
        """Add a document, or replace the one of that id; a replaced one keeps its place in the order."""
        row = (document.title, content_hash(document), json.dumps(dict(document.metadata)), document.id)
        changed = self._db.execute("UPDATE documents SET title = ?, hash = ?, metadata = ? WHERE id = ?", row)
        if not changed.rowcount:
            self._db.execute("INSERT INTO documents (title, hash, metadata, id) VALUES (?, ?, ?, ?)", row)
        number = self._db.execute("SELECT number FROM documents WHERE id = ?", (document.id,)).fetchone()[0]
        self._db.execute("DELETE FROM chunks WHERE document = ?", (number,))
        rows = (
            (number, c.ordinal, c.start, c.end, c.text, extractor, contribution.dump()) for c, contribution in chunks
        )
        self._db.executemany("INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def remove(self, ids: Sequence[str]) -> None:
        """Take documents away, with their chunks."""
        self._db.executemany("DELETE FROM documents WHERE id = ?", ((i,) for i in ids))

    def documents(self) -> list[StoredDocument]:
        """Return all documents in the order they came."""
        rows = self._db.execute("SELECT number, id, title FROM documents ORDER BY number")
        return [StoredDocument(*row) for row in rows]

    def chunks(self) -> Iterator[StoredChunk]:
        """Return all chunks, document by document."""
        rows = self._db.execute(
            'SELECT document, ordinal, start, "end", text, contribution FROM chunks ORDER BY document, ordinal'
        )
        for document, ordinal, start, end, text, contribution in rows:
            yield StoredChunk(document, ordinal, start, end, text, Contribution.parse(contribution))

    def counts(self) -> tuple[int, int]:
        """Return how many documents and chunks there are."""
        query = "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM chunks)"
        documents, chunks = self._db.execute(query).fetchone()
        return documents, chunks

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def _connect(name: str) -> sqlite3.Connection:
    db = sqlite3.connect(name, isolation_level=None, timeout=2.0, check_same_thread=False, uri=name.startswith("file:"))
    db.execute("PRAGMA foreign_keys = ON")
    return db


def _opened(path: Path) -> sqlite3.Connection:
    """Open the store; where the folder cannot be written, as a file that nobody changes."""
    try:
        db = _connect(str(path))
        db.execute("SELECT count(*) FROM sqlite_master")
        return db
    except sqlite3.OperationalError:
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            raise
        return _connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1")
