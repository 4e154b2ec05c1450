"""The SQLite file of a store: opening, transactions, settings, and errors with their remedy."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from graphwright.errors import StoreError, explained
from graphwright.store.chunk_record import RECORD_VERSION, ChunkRecord
from graphwright.store.folder_creation import is_free
from graphwright.store.locks import CHECK, check_locks
from graphwright.store.tables import SCHEMA, connect, create_tables, opened

_RESTORE = "Restore it from a copy, or index the documents again into a new folder."


class StoreFile:
    """An open index.sqlite. Writes are transactions: `with store.writing():`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_file():
            into = path.parent if path.parent.is_dir() and is_free(path.parent) else "NEW-FOLDER"
            raise StoreError(
                f"{path.parent} is not an index: it holds no {path.name}. Make one: graphwright index PATH --into "
                f"{into}"
            )
        try:
            self._db = opened(path)
            schema = self._schema()
            version = self.setting("record version") if schema == SCHEMA else None
            self._kept = False  # whether a part of the `writing` block was committed
        except sqlite3.OperationalError as error:
            check_locks(path.parent)
            raise StoreError(f"{path} cannot be opened now: {explained(error, CHECK, path)}") from error
        except (sqlite3.DatabaseError, StoreError) as error:
            cause = error.__cause__ if isinstance(error, StoreError) and error.__cause__ else error
            raise StoreError(f"{path} cannot be read as an index: {explained(cause, _RESTORE, path)}") from cause
        if schema != SCHEMA or version != str(RECORD_VERSION):
            self._db.close()
            records = f" and record version {version}" if version else ""
            raise StoreError(
                f"{path} has schema {schema}{records}; this version reads schema {SCHEMA} and record version "
                f"{RECORD_VERSION}. Use the version that wrote it, or index the documents again into a new folder."
            )

    @classmethod
    def create(cls, path: Path, settings: Mapping[str, str]) -> Self:
        """Create a store with these settings. The folder must exist; the file must not."""
        db = connect(str(path))
        create_tables(db, {**settings, "record version": str(RECORD_VERSION)})
        db.close()
        return cls(path)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the write lock; the changes of the block are committed at its end, or undone by an error."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            raise StoreError(f"{self.path} cannot be written: {explained(error, CHECK, self.path)}") from error
        self._kept = False
        try:
            if (schema := self._schema()) != SCHEMA:  # changed by a later version since it was opened
                raise StoreError(
                    f"{self.path} was changed to schema {schema}; this version writes schema {SCHEMA}. Nothing was "
                    f"changed now. Use the later version."
                )
            yield
            self._db.commit()
        except BaseException as error:
            self._db.rollback()
            if isinstance(error, sqlite3.Error):
                fault = f"{self.path} could not be written: {explained(error, _RESTORE, self.path)}"
                result = "What was stored before stays." if self._kept else "Nothing was changed."
                raise StoreError(f"{fault} {result}") from error
            raise

    def keep(self) -> None:
        """Commit the changes of the `writing` block so far, so that an error does not undo them."""
        self._db.commit()
        self._kept = True
        self._db.execute("BEGIN IMMEDIATE")

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Commit the changes of the `writing` block so far, which goes on after this block."""
        self._db.commit()
        self._kept = True
        try:
            yield
        finally:
            self._db.execute("BEGIN IMMEDIATE")

    def _schema(self) -> int:
        """Return the schema of the file as it is now; another process may have changed it."""
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])

    def _read(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with self._reading():
            return self._db.execute(query, values).fetchall()

    def _chunks(self, query: str, values: Sequence[object] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query, in place of the content of a chunk, the last column, its text and record."""
        with self._reading():
            for *row, content in self._db.execute(query, values):
                yield (*row, *((None, None) if content is None else ChunkRecord.of_content(content)))

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Raise StoreError if the file cannot be read in the block, or was closed."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            # sqlite3 has no error class of its own for a closed database.
            if isinstance(error, sqlite3.ProgrammingError) and "closed database" in str(error):
                raise StoreError(f"{self.path.parent} was closed ({error}). Open the index again.") from error
            raise StoreError(
                f"{self.path} cannot be read: {explained(error, _RESTORE, self.path)} Questions are answered from the "
                f"last snapshot."
            ) from error

    def setting(self, name: str) -> str | None:
        """Return a setting, None if it was never set."""
        rows = self._read("SELECT value FROM settings WHERE name = ?", (name,))
        return str(rows[0][0]) if rows else None

    def set(self, name: str, value: str) -> None:
        """Change a setting."""
        self._db.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, value))

    def checkpoint(self) -> None:
        """Checkpoint the write-ahead log, where readers allow it, so that it does not grow."""
        with suppress(sqlite3.Error):
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        """Close the file."""
        self._db.close()
