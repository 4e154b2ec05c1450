"""Atomic writes of files, JSON lines files that survive a killed process, and caches in SQLite files."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from io import RawIOBase
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

from graphwright.errors import DataError, StoreError, explained

_CHECK = "Check that its folder exists and can be written."
_FLUSH_THREADS = 16
_MAX_KNOWN = 10_000  # files whose checksums are kept
_TIMEOUT = 60.0  # seconds to wait for another process that writes


@contextmanager
def whole(path: Path | str) -> Iterator[Path]:
    """Yield the path of a draft that replaces a file when the block ends. After an error the file is unchanged.

    If the path is a symbolic link, its target is replaced. Raises DataError if the file cannot be written.

    >>> import tempfile; path = Path(tempfile.mkdtemp()) / "notes.txt"
    >>> with whole(path) as draft:
    ...     _ = draft.write_text("all of it"), path.exists()
    >>> path.read_text(), [file.name for file in path.parent.iterdir()]
    ('all of it', ['notes.txt'])
    """
    place = Path(path).resolve()
    draft = place.with_name(f".{place.name}.{os.getpid()}.draft")
    try:
        yield draft
        flush(draft)
        os.replace(draft, place)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {explained(error, _CHECK)}") from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def make_private(path: Path) -> None:
    """Create a file and its folder if they are missing, and restrict the file to its owner. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
        path.chmod(0o600)


def write_text(path: Path | str, text: str) -> None:
    """Write a text file atomically. Raises DataError if it cannot be written."""
    with whole(path) as draft:
        draft.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")


@contextmanager
def growing(path: Path) -> Iterator[Callable[[Any], None]]:
    """Open a JSON lines file for appending, and yield `add`, which writes one value as one line.

    An incomplete last line, left by a killed process, is removed first. Raises DataError if the file cannot be written;
    the lines written before remain.

    >>> import tempfile; path = Path(tempfile.mkdtemp()) / "rows.jsonl"
    >>> with growing(path) as add:
    ...     add({"at": 1})
    >>> _ = path.write_text(path.read_text() + '{"at": ')  # as if killed
    >>> with growing(path) as add:
    ...     add({"at": 2})
    >>> whole_lines(path)
    [b'{"at": 1}', b'{"at": 2}']
    """

    def add(value: Any) -> None:
        # Lone surrogates are written as JSON escapes.
        unwritten = memoryview((json.dumps(value, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace"))
        try:
            while unwritten:
                unwritten = unwritten[file.write(unwritten) :]
        except OSError as error:
            raise DataError(
                f"{path} cannot be written: {explained(error, _CHECK)} The lines written so far are kept: run the same "
                f"command again to resume."
            ) from error

    try:
        file = path.open("a+b", buffering=0)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {explained(error, _CHECK)}") from error
    with file:
        _cut(file)
        yield add


def whole_lines(path: Path) -> list[bytes]:
    """Return the complete lines of a file, without an unfinished last one; none if the file does not exist."""
    return path.read_bytes().split(b"\n")[:-1] if path.exists() else []


def _cut(file: RawIOBase) -> None:
    """Truncate the file after its last line end."""
    size = file.seek(0, os.SEEK_END)
    if size:
        with mmap(file.fileno(), 0, access=ACCESS_READ) as data:
            end = data.rfind(b"\n") + 1
        if end < size:
            file.truncate(end)


def remove_drafts(folder: Path) -> None:
    """Remove the drafts that a killed process left in a folder. Call only while nothing else writes there."""
    for draft in folder.glob(".*.draft"):
        draft.unlink(missing_ok=True)


def link(source: Path, target: Path) -> None:
    """Hard-link a file that never changes; copy it if the file system has no links."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
        flush(target)


class KnownFiles:
    """Checksums of files as this process read them; one that was written since is not known."""

    def __init__(self) -> None:
        self._sums = dict[tuple[int, ...], int]()

    def get(self, about: os.stat_result) -> int | None:
        """Return the checksum of a file, None where it is not known."""
        return self._sums.get(_state(about))

    def put(self, about: os.stat_result, checksum: int) -> None:
        """Keep the checksum of a file."""
        if len(self._sums) > _MAX_KNOWN:
            self._sums.clear()
        self._sums[_state(about)] = checksum


def _state(about: os.stat_result) -> tuple[int, ...]:
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns


def flush(path: Path) -> None:
    """Wait until a file is on disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def flush_all(paths: Iterable[Path]) -> None:
    """Wait until files are on disk. Several are flushed at a time, because file systems combine their writes."""
    with ThreadPoolExecutor(_FLUSH_THREADS) as pool:
        for _ in pool.map(flush, paths):
            pass


def flush_folder(path: Path) -> None:
    """Wait until the names in a folder are on disk, if the system supports it."""
    with suppress(OSError):
        number = os.open(path, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def flush_folders(path: Path) -> None:
    """Wait until the names in a folder, and in those inside it, are on disk."""
    for folder, _, _ in os.walk(path):
        flush_folder(Path(folder))


@dataclass(frozen=True)
class SQLiteTable:
    """A cache file of SQLite with one table. `synchronous`: the pragma; `remedy`: advice in errors."""

    application_id: int
    table: str
    columns: str
    synchronous: str
    remedy: str

    @contextmanager
    def open(self, path: Path) -> Iterator[sqlite3.Connection]:
        """Open the file for one operation: connections must not cross threads or forks. Raises StoreError."""
        try:
            with closing(sqlite3.connect(path, timeout=_TIMEOUT)) as db:
                (application_id,) = db.execute("PRAGMA application_id").fetchone()
                if application_id != self.application_id:
                    self._create(db, path)
                db.execute(f"PRAGMA synchronous = {self.synchronous}")
                yield db
        except sqlite3.Error as error:
            raise StoreError(
                f"The cache of {self.table} {path} cannot be used: {explained(error, self.remedy, path)}"
            ) from error

    def _create(self, db: sqlite3.Connection, path: Path) -> None:
        if db.execute("SELECT 1 FROM sqlite_master WHERE tbl_name != ?", (self.table,)).fetchone():
            raise StoreError(f"{path} is an SQLite file, but not a cache of {self.table}. Give another path.")
        db.execute("PRAGMA page_size = 16384")  # ten vectors on a page; two, and a quarter empty, on 4,096
        with suppress(sqlite3.OperationalError):  # another process is setting it concurrently
            db.execute("PRAGMA journal_mode = WAL")
        db.execute(f"CREATE TABLE IF NOT EXISTS {self.table} {self.columns}")
        db.execute(f"PRAGMA application_id = {self.application_id}")


def toml_text(value: object) -> str:
    """Return a text, a number, true or false, or a list of these as TOML, which writes them as JSON does."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
