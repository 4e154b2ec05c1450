"""What an index folder remembers: documents, their chunks, and what each chunk contributed.

One SQLite file in WAL mode, so that readers never wait for a writer. Snapshots are made from it and can
always be made again.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from graphwright.data.document import Chunk, Document
from graphwright.errors import StoreError
from graphwright.graph.columns import terminate
from graphwright.index.chunk_columns import FORM, ChunkColumns, ChunkRecord
from graphwright.index.extraction import Extraction
from graphwright.index.layout import is_free

__all__ = ["SCHEMA", "Read", "Store", "StoredChunk", "content_hash"]

SCHEMA = 4

_TABLES = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, title TEXT NOT NULL,
    hash BLOB NOT NULL, metadata TEXT NOT NULL, source TEXT NOT NULL, {added}
);
CREATE TABLE chunks (
    document INTEGER NOT NULL REFERENCES documents(number) ON DELETE CASCADE, ordinal INTEGER NOT NULL,
    start INTEGER NOT NULL, "end" INTEGER NOT NULL, text BLOB NOT NULL,
    extractor TEXT NOT NULL, waiting TEXT, digest BLOB NOT NULL, {entry}, PRIMARY KEY (document, ordinal)
) WITHOUT ROWID;
CREATE INDEX waiting ON chunks (waiting) WHERE waiting IS NOT NULL;
"""
# What documents had not before a schema: links, ids each ended by a NUL; whether one is a file of its own, and no row.
# The first change to a store from before makes it one of today.
_ADDED = {3: "links BLOB NOT NULL DEFAULT x''", 4: "file INTEGER NOT NULL DEFAULT 0"}
_READ = range(min(_ADDED) - 1, SCHEMA + 1)
_ENTRY = ", ".join(f'"{name}"' for name in ChunkRecord._fields)
_MARKS = ", ".join("?" * len(ChunkRecord._fields))
_CHUNK = f'c.ordinal, c.start, c."end", c.text, {", ".join(f"c.{name}" for name in _ENTRY.split(", "))}'


class Read(NamedTuple):
    """A chunk as it was read: what it contributes, by which extractor, and why it waits for another, if it does."""

    chunk: Chunk
    contribution: Extraction
    extractor: str
    waiting: str | None = None


class StoredChunk(NamedTuple):
    """A chunk of a stored document: where it is kept, and what an extractor needs to read it again."""

    number: int
    ordinal: int
    document: str
    title: str
    text: str
    extractor: str
    waiting: str | None


def content_hash(document: Document) -> bytes:
    """Return sixteen bytes that change with anything that the document says."""
    digest = hashlib.blake2b(digest_size=16)
    parts = (
        document.title,
        document.text,
        json.dumps(dict(document.metadata), sort_keys=True),
        str(document.whole),
        *([json.dumps(sorted(set(document.links)))] if document.links else []),  # none: as before there were any
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
            free = path.parent.is_dir() and is_free(path.parent)
            into = path.parent if free else "NEW-FOLDER"  # what holds something else is made none
            raise StoreError(
                f"{path.parent} is not an index: it holds no {path.name}. Make one: graphwright index PATH --into "
                f"{into}"
            )
        try:
            self._db = _opened(path)
            found = self._schema()
            form = self.setting("form") if found in _READ else None
        except sqlite3.OperationalError as error:
            raise StoreError(
                f"{path} cannot be opened now ({error}). Is the disk full, or the folder read-only? Then try again."
            ) from error
        except (sqlite3.DatabaseError, StoreError) as error:
            raise StoreError(
                f"{path} cannot be read as an index ({error}). Restore it from a copy, or index the documents again."
            ) from error
        if found not in _READ or form != str(FORM):
            self._db.close()
            raise StoreError(
                f"{path} has schema {found}{f' of form {form}' if form else ''}; this version reads schema {SCHEMA} of "
                f"form {FORM}. Use the version that wrote it, or index the documents again into a new folder."
            )

    @classmethod
    def create(cls, path: Path, settings: Mapping[str, str]) -> Store:
        """Make a store with these settings. The folder must exist; the file must not."""
        db = _connect(str(path))
        # A chunk's row is some kilobytes: on the usual pages of 4,096 bytes most would overflow.
        db.execute("PRAGMA page_size = 16384")
        # SnapshotCache in the file: readers and one writer at a time, without waiting for each other.
        db.execute("PRAGMA journal_mode = WAL")
        tables = _TABLES.format(
            added=", ".join(_ADDED.values()), entry=f"{_ENTRY}".replace(",", " NOT NULL,") + " NOT NULL"
        )
        with db:
            db.executescript(f"BEGIN; {tables} PRAGMA user_version = {SCHEMA}; COMMIT;")
            db.executemany("INSERT INTO settings VALUES (?, ?)", {**settings, "form": str(FORM)}.items())
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
            if (found := self._schema()) not in _READ:  # by a later version, since this opened it
                raise StoreError(
                    f"{self.path} was made one of schema {found}; this version writes schema {SCHEMA}. Nothing was "
                    f"changed. Use the version that made it so."
                )
            for later in range(found + 1, SCHEMA + 1):
                self._db.execute(f"ALTER TABLE documents ADD COLUMN {_ADDED[later]}")
                self._db.execute(f"PRAGMA user_version = {later}")
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

    def _schema(self) -> int:
        """Return the schema of the file as it is now; another process may have changed it."""
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])

    def _read(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a query. Raises StoreError where the file cannot be read, or was closed."""
        try:
            return self._db.execute(query, values).fetchall()
        except sqlite3.DatabaseError as error:
            # sqlite3 has no class of its own for this; other ProgrammingErrors are not mended by opening again.
            if isinstance(error, sqlite3.ProgrammingError) and "closed database" in str(error):
                raise StoreError(f"{self.path.parent} was closed ({error}). Open the index again.") from error
            raise StoreError(
                f"{self.path} cannot be read ({error}). Restore it from a copy, or index the documents again in a new "
                f"folder; questions are answered from the last snapshot."
            ) from error

    def setting(self, name: str) -> str | None:
        """Return a setting, None if it was never set."""
        rows = self._read("SELECT value FROM settings WHERE name = ?", (name,))
        return str(rows[0][0]) if rows else None

    def set(self, name: str, value: str) -> None:
        """Change a setting."""
        self._db.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, value))

    def hashes(self, ids: Iterable[str]) -> dict[str, bytes]:
        """Return the content hash of those of these documents that are stored, by id."""
        query = "SELECT id, hash FROM documents WHERE id IN (SELECT value FROM json_each(?))"
        return dict(self._read(query, (json.dumps(list(ids)),)))

    def followed(self, ids: Iterable[str]) -> dict[str, str]:
        """Return the folder that each of these documents is kept in step with, of those that are with any."""
        query = "SELECT id, source FROM documents WHERE source != '' AND id IN (SELECT value FROM json_each(?))"
        return dict(self._read(query, (json.dumps(list(ids)),)))

    def following(self, source: str) -> frozenset[str]:
        """Return the ids of all documents that are kept in step with a folder."""
        return frozenset(row[0] for row in self._read("SELECT id FROM documents WHERE source = ?", (source,)))

    def files(self) -> frozenset[str]:
        """Return the ids of all documents that are known to have been a file of their own when their folder was read.

        Inside `writing`: a store of an older schema has nothing to tell it by.
        """
        return frozenset(row[0] for row in self._read("SELECT id FROM documents WHERE file"))

    def put(self, document: Document, chunks: Iterable[Read], source: str = "") -> None:
        """Add a document, or replace the one of that id; `source` is the folder that it is kept in step with."""
        metadata, links = json.dumps(dict(document.metadata)), terminate(sorted(set(document.links)))
        row = (document.title, content_hash(document), metadata, links, document.file, source, document.id)
        changed = self._db.execute(
            "UPDATE documents SET title = ?, hash = ?, metadata = ?, links = ?, file = ?, "
            "source = coalesce(nullif(?, ''), source) WHERE id = ?",
            row,
        )
        if not changed.rowcount:
            self._db.execute(
                "INSERT INTO documents (title, hash, metadata, links, file, source, id) VALUES (?, ?, ?, ?, ?, ?, ?)",
                row,
            )
        number = self._db.execute("SELECT number FROM documents WHERE id = ?", (document.id,)).fetchone()[0]
        self._db.execute("DELETE FROM chunks WHERE document = ?", (number,))
        self._db.executemany(
            f"INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?, {_MARKS})",
            (_row(number, document.title, read) for read in chunks),
        )

    def follow(self, ids: Iterable[str], source: str) -> None:
        """Note that documents came from a source, without touching what they hold."""
        query = "UPDATE documents SET source = ? WHERE id = ? AND source != ?"
        self._db.executemany(query, ((source, i, source) for i in ids))

    def note_files(self, ids: Iterable[str], files: Collection[str]) -> None:
        """Note which of these documents are files of their own, and no rows, where `put` had nothing to change."""
        query = "UPDATE documents SET file = ? WHERE id = ? AND file != ?"
        self._db.executemany(query, ((i in files, i, i in files) for i in ids))

    def remove(self, ids: Iterable[str]) -> None:
        """Take documents away, with their chunks."""
        self._db.executemany("DELETE FROM documents WHERE id = ?", ((i,) for i in ids))

    def revise(self, chunk: StoredChunk, made: Extraction | None, extractor: str, waiting: str | None) -> None:
        """Give a chunk another contribution; None leaves the one that it has."""
        place = (chunk.number, chunk.ordinal)
        if made is None:
            self._db.execute("UPDATE chunks SET waiting = ? WHERE document = ? AND ordinal = ?", (waiting, *place))
            return
        columns = ", ".join(f"{name} = ?" for name in _ENTRY.split(", "))
        text, entry = chunk.text.encode("utf-8", "surrogatepass"), ChunkRecord.of(chunk.title, chunk.text, made)
        self._db.execute(
            f"UPDATE chunks SET extractor = ?, waiting = ?, digest = ?, {columns} WHERE document = ? AND ordinal = ?",
            (extractor, waiting, _digest(text, entry), *entry, *place),
        )

    def chunks(self, *, waiting: bool = False, ids: Sequence[str] | None = None) -> list[StoredChunk]:
        """Return the chunks of all documents, of those in `ids`, or those that wait for another extractor, in order."""
        where = ["c.waiting IS NOT NULL"] * waiting + ["d.id IN (SELECT value FROM json_each(?))"] * (ids is not None)
        rows = self._read(
            "SELECT c.document, c.ordinal, d.id, d.title, c.text, c.extractor, c.waiting FROM chunks c "
            f"JOIN documents d ON d.number = c.document {'WHERE' if where else ''} {' AND '.join(where)} "
            "ORDER BY d.id, c.ordinal",
            () if ids is None else (json.dumps(list(ids)),),
        )
        return [
            StoredChunk(number, ordinal, document, title, text.decode("utf-8", "surrogatepass"), extractor, reason)
            for number, ordinal, document, title, text, extractor, reason in rows
        ]

    def read(self, document: str, title: str) -> dict[str, tuple[Extraction, str]]:
        """Return what the chunks of a document contribute and which extractor read them, by text.

        None where the document is not stored or has another title; chunks that wait for another extractor left out.
        """
        rows = self._read(
            f"SELECT c.text, c.extractor, {_ENTRY} FROM chunks c JOIN documents d ON d.number = c.document "
            "WHERE d.id = ? AND d.title = ? AND c.waiting IS NULL",
            (document, title),
        )
        return {row[0].decode("utf-8", "surrogatepass"): (ChunkRecord(*row[2:]).contribution(), row[1]) for row in rows}

    def entry(self, document: str, ordinal: int) -> ChunkRecord | None:
        """Return what a chunk contributes, None where there is no such chunk."""
        rows = self._read(
            f"SELECT {_ENTRY} FROM chunks WHERE document = (SELECT number FROM documents WHERE id = ?) AND ordinal = ?",
            (document, ordinal),
        )
        return ChunkRecord(*rows[0]) if rows else None

    def ledger(self, ids: Iterable[str] | None = None) -> ChunkColumns:
        """Return the chunks of all documents, or of those in `ids`, as columns ordered by document id.

        One statement, so that what it gives is of one moment, whatever is written meanwhile; links are of that moment
        too inside `moment` and `writing`, or where there were links before.
        """
        some = ids is not None
        # Once for each document, not for each of its chunks.
        known = self._read("PRAGMA user_version") != [(_READ[0],)]
        links = "CASE WHEN c.ordinal > 0 THEN x'' ELSE d.links END" if known else "x''"
        rows = self._read(
            f"SELECT d.number, d.id, d.title, {links}, {_CHUNK} FROM documents d "
            "LEFT JOIN chunks c ON c.document = d.number "
            f"{'WHERE d.id IN (SELECT value FROM json_each(?)) ' * some}ORDER BY d.id, c.ordinal",
            (json.dumps(list(ids)),) if ids is not None else (),
        )
        return ChunkColumns.of(rows)

    def metadata(self) -> dict[str, dict[str, str]]:
        """Return the metadata of every document by id."""
        rows = self._read("SELECT id, metadata FROM documents ORDER BY id")
        return {known: json.loads(metadata) for known, metadata in rows}

    def counts(self) -> tuple[int, int]:
        """Return how many documents and chunks there are."""
        query = "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM chunks)"
        ((documents, chunks),) = self._read(query)
        return documents, chunks

    def extractors(self) -> dict[str, int]:
        """Return how many chunks each extractor read."""
        return dict(self._read("SELECT extractor, count(*) FROM chunks GROUP BY extractor ORDER BY 1"))

    def waiting(self) -> dict[str, int]:
        """Return how many chunks wait for a better extractor, by the reason why."""
        query = "SELECT waiting, count(*) FROM chunks WHERE waiting IS NOT NULL GROUP BY waiting ORDER BY 2 DESC, 1"
        return dict(self._read(query))

    def sources(self) -> dict[str, int]:
        """Return how many documents are kept in step with each folder."""
        return dict(self._read("SELECT source, count(*) FROM documents WHERE source != '' GROUP BY source"))

    def problems(self) -> list[str]:
        """Return what SQLite finds wrong with the file, empty if nothing."""
        try:
            found = [str(row[0]) for row in self._db.execute("PRAGMA integrity_check")]
            found += [
                f"row {row[1]} of {row[0]} refers to nothing" for row in self._db.execute("PRAGMA foreign_key_check")
            ]
            rows = self._db.execute(f"SELECT document, ordinal, digest, text, {_ENTRY} FROM chunks")
            damaged = [(row[0], row[1]) for row in rows if _digest(row[3], row[4:]) != row[2]]
            found += [
                f"chunk {ordinal} of document number {number} is not what was stored" for number, ordinal in damaged
            ]
        except (sqlite3.DatabaseError, TypeError) as error:
            return [str(error)]
        return [problem for problem in found if problem != "ok"]

    @contextmanager
    def moment(self) -> Iterator[Store]:
        """Give the store as it is now and stays inside the block, whatever is written meanwhile, by this object too."""
        other = Store(self.path)
        try:
            other._db.execute("BEGIN")
            yield other
        finally:
            other.close()

    def settle(self) -> None:
        """Move what the log holds into the file, as far as readers allow, so that the log does not grow."""
        with suppress(sqlite3.Error):
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def _row(number: int, title: str, read: Read) -> tuple[object, ...]:
    c, made, extractor, waiting = read
    text, entry = c.text.encode("utf-8", "surrogatepass"), ChunkRecord.of(title, c.text, made)
    return number, c.ordinal, c.start, c.end, text, extractor, waiting, _digest(text, entry), *entry


def _digest(text: bytes, entry: Sequence[bytes | int]) -> bytes:
    """Return sixteen bytes that change with anything that is kept of a chunk, so that damage is found."""
    digest = hashlib.blake2b(text, digest_size=16)
    for part in entry:
        digest.update(b"%d:" % part if isinstance(part, int) else b"%d:%b" % (len(part), part))
    return digest.digest()


def _connect(name: str) -> sqlite3.Connection:
    db = sqlite3.connect(name, isolation_level=None, timeout=2.0, check_same_thread=False, uri=name.startswith("file:"))
    db.execute("PRAGMA foreign_keys = ON")
    # What is removed is overwritten, not only unlinked.
    db.execute("PRAGMA secure_delete = ON")
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
