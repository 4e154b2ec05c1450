"""Files of an index folder: their atomic replacement, the lock of its writer, and the leases of its readers.

Locks are SQLite locks on small files, which the operating system releases when a process ends or is killed, on every
platform.
"""

from __future__ import annotations

import glob
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from graphwright.errors import StoreError
from graphwright.files import flush, flush_folder

__all__ = ["IndexLayout", "Lease", "is_free", "is_written", "writer_lock"]

_READERS = "readers.lock"
_REPAIR = "Run 'graphwright verify --index {} --repair' to rebuild the snapshot from the stored documents."


@dataclass(frozen=True)
class IndexLayout:
    """The files of an index folder.

    `index.sqlite` is the store; queries map a `snapshot-N/`, and `CURRENT` names the current one;
    `vectors.sqlite` and `replies.sqlite` are caches; `settings.toml` is written by the user.
    """

    path: Path

    @property
    def store(self) -> Path:
        """Documents, chunks and extractions."""
        return self.path / "index.sqlite"

    @property
    def vectors(self) -> Path:
        """Cache of vectors that no snapshot has yet, so that an interrupted run does not repeat encodings."""
        return self.path / "vectors.sqlite"

    @property
    def replies(self) -> Path:
        """Cache of language models' replies, so that nothing is paid for twice."""
        return self.path / "replies.sqlite"

    @staticmethod
    def delete_cache(file: Path) -> None:
        """Delete a cache with the files that SQLite keeps beside it."""
        for suffix in ("", "-wal", "-shm"):
            file.with_name(file.name + suffix).unlink(missing_ok=True)

    def current(self) -> str:
        """Return the name of the current snapshot."""
        remedy = _REPAIR.format(self.path)
        try:
            name = (self.path / "CURRENT").read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise StoreError(f"{self.path} has no current snapshot ({error}). {remedy}") from error
        if not name.startswith("snapshot-") or "/" in name or "\\" in name:
            raise StoreError(f"{self.path / 'CURRENT'} names no snapshot ({name[:40]!r}). {remedy}")
        return name

    def publish(self, revision: int, write: Callable[[Path], None]) -> None:
        """Write a snapshot, make it current atomically, and delete those without readers."""
        name = f"snapshot-{revision}"
        while (self.path / name).exists():  # a snapshot of the same revision stays until the new one is complete
            name += "a"
        draft = self.path / f".{name}.draft"
        shutil.rmtree(draft, ignore_errors=True)
        try:
            write(draft)
            _create_lease_file(draft)
            for folder in (draft, *(part for part in draft.iterdir() if part.is_dir())):
                flush_folder(folder)
            os.replace(draft, self.path / name)
            flush_folder(self.path)
            pointer = self.path / ".CURRENT.draft"
            pointer.write_text(name, encoding="utf-8")
            flush(pointer)
            os.replace(pointer, self.path / "CURRENT")
            flush_folder(self.path)
        except (OSError, sqlite3.Error) as error:
            shutil.rmtree(draft, ignore_errors=True)
            raise StoreError(
                f"{self.path} could not be written ({error}); queries still use the previous snapshot. Free some space "
                f"or correct the permissions, then run the same command again: stored documents are not lost."
            ) from error
        self.clean()

    def clean(self) -> None:
        """Delete snapshots that are neither current nor read, and drafts of killed writers.

        Only the writer may call this.
        """
        current = self.current()
        old = [s for s in self.path.glob("snapshot-*") if s.name != current and s.is_dir() and not _is_read(s)]
        for folder in [*old, *self.path.glob(".snapshot-*.draft")]:
            shutil.rmtree(folder, ignore_errors=True)

    def bytes(self) -> int:
        """Return the size of the folder in bytes."""
        total = 0
        for file in self.path.rglob("*"):
            with suppress(OSError):  # deleted meanwhile
                total += file.stat().st_size if file.is_file() else 0
        return total

    @classmethod
    def create(cls, folder: Path, fill: Callable[[IndexLayout], None]) -> IndexLayout:
        """Create an index folder atomically; `fill` writes into a draft, which is then renamed."""
        if folder.exists() and not (folder.is_dir() and is_free(folder)):
            problem = "is a file" if folder.is_file() else "is not empty"
            if (folder / "index.sqlite").exists():
                problem = "is an index already; open it with Index.open or graphwright ask --index"
            raise StoreError(f"{folder} {problem}. A new index needs a new or empty folder.")
        draft: Path | None = None
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            for old in folder.parent.glob(f".{glob.escape(folder.name)}-????????.new"):  # of killed processes
                shutil.rmtree(old, ignore_errors=True)
            draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", suffix=".new", dir=folder.parent))
            fill(cls(draft))
            draft.chmod(0o755)
            _rename(draft, folder)
        except (OSError, sqlite3.Error) as error:
            raise StoreError(
                f"{folder} cannot be written ({error}). Free some space, or choose a folder that can be written."
            ) from error
        finally:
            if draft is not None:
                shutil.rmtree(draft, ignore_errors=True)
        return cls(folder)


def is_free(folder: Path) -> bool:
    """Return whether a folder is empty, but for the settings that its user wrote."""
    return all(part.name == "settings.toml" for part in folder.iterdir())


def _rename(draft: Path, folder: Path) -> None:
    """Rename the draft; if the folder itself must stay, move its parts, first the one that makes it an index."""
    try:
        os.replace(draft, folder)
    except OSError:
        if not folder.is_dir() or not is_free(folder):
            raise
        for part in sorted(draft.iterdir(), key=lambda part: part.name != "index.sqlite"):
            shutil.move(part, folder / part.name)


@contextmanager
def writer_lock(folder: Path) -> Iterator[None]:
    """Hold the write lock of an index folder. Raises StoreError at once if another process holds it."""
    path = folder / "writer.lock"
    try:
        db = sqlite3.connect(path, isolation_level=None, timeout=0.2)
    except sqlite3.Error as error:
        raise StoreError(f"{path} cannot be opened for writing ({error}). Is the folder read-only?") from error
    with closing(db):
        try:
            db.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            raise StoreError(
                f"{folder} cannot be written now ({error}): another process is indexing into it, or the folder is "
                f"read-only. Wait for the other to finish, or check the folder's permissions."
            ) from error
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise StoreError(
                f"{folder / 'index.sqlite'} cannot be read or written ({error}). Restore index.sqlite from a copy, or "
                f"index the documents again into a new folder; queries still use the last snapshot."
            ) from error


def is_written(folder: Path) -> bool:
    """Return whether some process holds the write lock."""
    error = _lock_error(folder / "writer.lock", "SELECT count(*) FROM sqlite_master")
    return "locked" in str(error)


class Lease:
    """A shared lock on a snapshot that is being read.

    A read-only folder cannot be locked, but its snapshots cannot be deleted either.
    """

    def __init__(self, snapshot: Path) -> None:
        """Take the lease."""
        self._db: sqlite3.Connection | None = None
        with suppress(sqlite3.Error):
            self._db = _opened(snapshot / _READERS, timeout=0.2)
            self._db.execute("BEGIN")
            self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()

    def __del__(self) -> None:
        if self._db is not None:
            self._db.close()


def _create_lease_file(snapshot: Path) -> None:
    """Create the file that readers lock."""
    with closing(sqlite3.connect(snapshot / _READERS, isolation_level=None)) as db:
        db.execute("PRAGMA user_version = 1")  # SQLite locks a file for reading only if it is not empty


def _is_read(snapshot: Path) -> bool:
    """Return whether some process still reads a snapshot."""
    # Any other error means that the file is damaged, and no process can have locked it.
    return isinstance(_lock_error(snapshot / _READERS, "BEGIN EXCLUSIVE", mode="rw"), sqlite3.OperationalError)


def _lock_error(path: Path, statement: str, mode: str = "ro") -> sqlite3.Error | None:
    """Return the error with which a statement on a lock file fails, None if it succeeds or there is no file."""
    if not path.is_file():
        return None
    try:
        with closing(_opened(path, mode=mode)) as db:
            db.execute(statement).fetchall()
    except sqlite3.Error as error:
        return error
    return None


def _opened(path: Path, timeout: float = 0, mode: str = "ro") -> sqlite3.Connection:
    uri = f"{path.resolve().as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=timeout, check_same_thread=False)
