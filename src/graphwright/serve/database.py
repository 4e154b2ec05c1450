"""An SQLite file of the data folder, which only its owner can read."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from threading import RLock
from typing import Any

from graphwright.errors import StoreError
from graphwright.files import make_private


class Database:
    """An SQLite file for threads and processes; a statement is a transaction. Raises StoreError if unusable."""

    def __init__(self, path: Path, tables: str, schema: int = 0) -> None:
        self.path, self.lock = path, RLock()
        try:
            make_private(path)
            self.connection = sqlite3.connect(path, timeout=10.0, check_same_thread=False, isolation_level=None)
            self.connection.execute("PRAGMA journal_mode = WAL")
            version = int(self.connection.execute("PRAGMA user_version").fetchone()[0])
            if version not in (0, schema):
                self.connection.close()
                raise StoreError(
                    f"{path} has schema {version}; this version reads schema {schema}. Use the version that wrote it, "
                    f"or another folder: --data DIR."
                )
            self.connection.executescript(f"{tables} PRAGMA user_version = {schema};")
        except (OSError, sqlite3.Error) as error:
            raise StoreError(
                f"{path} cannot be opened ({error}). Check its permissions and the space on its disk, or give another "
                f"folder: --data DIR."
            ) from error

    def execute(self, query: str, *values: object) -> list[Any]:
        """Run one statement, and return its rows."""
        with self.lock:
            try:
                return self.connection.execute(query, values).fetchall()
            except sqlite3.Error as error:
                raise StoreError(f"{self.path} cannot be read or written ({error}). Is its disk full?") from error

    def close(self) -> None:
        """Close the file."""
        with self.lock:
            self.connection.close()
