"""Files of an index folder: their atomic replacement, the lock of its writer, and the leases of its readers.

Locks are SQLite locks on small files, which the operating system releases when a process ends or is killed, on every
platform.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from graphwright.errors import StoreError, explained
from graphwright.files import flush, flush_folder, link
from graphwright.store.locks import PROBE, check_locks, hold, is_held

_READERS = "readers.lock"
_WRITER = "writer.lock"
_DRAFT = ".draft.new"  # of an index in a folder that exists
_STORE = "index.sqlite"
_TRIALS = 5  # to own a draft
_PROGRESS = ".progress.json"
_IMPORTED = "imported"
_REMOTE = "remote.json"  # where the index was pushed to, or pulled from
# Left by dead processes.
_HIDDEN = (".snapshot-*.draft", f".{_IMPORTED}.draft", ".CURRENT.draft", ".change-*.lock*", f"{PROBE}*")
_FILES = (f"{_STORE}*", "CURRENT", _IMPORTED, "snapshot-[0-9]*", _DRAFT, _WRITER, "vectors.sqlite*", "replies.sqlite*")
_OWN = (*_FILES, _PROGRESS, _REMOTE, *_HIDDEN)
_CHECK = "Is the folder missing or read-only? Correct its permissions, or choose one that can be written."
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
        return self.path / _STORE

    @property
    def vectors(self) -> Path:
        """Cache of vectors that no snapshot has yet, so that an interrupted run does not repeat encodings."""
        return self.path / "vectors.sqlite"

    @property
    def replies(self) -> Path:
        """Cache of language models' replies, so that nothing is paid for twice."""
        return self.path / "replies.sqlite"

    @property
    def progress(self) -> Path:
        """How far the writer is; what a killed one left says nothing."""
        return self.path / _PROGRESS

    @staticmethod
    def delete_cache(file: Path) -> None:
        """Delete a cache with the files that SQLite keeps beside it."""
        for suffix in ("", "-journal", "-wal", "-shm"):
            file.with_name(file.name + suffix).unlink(missing_ok=True)

    @property
    def imported(self) -> Path:
        """The first snapshot of an imported graph, kept once documents are added."""
        return self.path / _IMPORTED

    def keep_imported(self) -> None:
        """Keep the current snapshot, which is that of an imported graph alone; does nothing if one is kept."""
        if self.imported.is_dir():
            return
        draft = self.path / f".{_IMPORTED}.draft"
        shutil.rmtree(draft, ignore_errors=True)
        try:
            shutil.copytree(self.path / self.current(), draft, copy_function=_linked)
            flush_folder(draft)
            os.replace(draft, self.imported)
            flush_folder(self.path)
        except OSError as error:
            raise StoreError(
                f"{self.path} could not be written: {explained(error, _CHECK)} Nothing was changed."
            ) from error

    def current(self) -> str:
        """Return the name of the current snapshot."""
        remedy = _REPAIR.format(self.path)
        try:
            name = (self.path / "CURRENT").read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise StoreError(f"{self.path / 'CURRENT'} cannot be read: {explained(error, remedy)}") from error
        if not re.fullmatch(r"snapshot-\d+a*", name):
            raise StoreError(f"{self.path / 'CURRENT'} names no snapshot ({name[:40]!r}). {remedy}")
        return name

    @property
    def published(self) -> int:
        """The revision of the current snapshot. Raises StoreError if there is none."""
        return int(self.current().removeprefix("snapshot-").rstrip("a"))

    @contextmanager
    def changing(self, revision: int) -> Iterator[None]:
        """Hold the lock of a change that leads to this revision, from its commit to the publication of its snapshot."""
        path = self._change_lock(revision)
        with ExitStack() as stack:
            try:
                stack.enter_context(hold(path))
            except sqlite3.Error as error:
                raise StoreError(
                    f"{path} cannot be written: {explained(error, _CHECK)} Nothing was changed."
                ) from error
            stack.callback(path.unlink, missing_ok=True)
            yield

    def is_changing(self, revision: int) -> bool:
        """Return whether the process that made the change to this revision is still at work on it."""
        return is_held(self._change_lock(revision))

    def _change_lock(self, revision: int) -> Path:
        return self.path / f".change-{revision}.lock"

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
                f"{self.path} could not be written: {explained(error, _CHECK)} Queries still use the previous "
                f"snapshot, and stored changes are not lost."
            ) from error
        self.clean()

    def clean(self) -> None:
        """Delete snapshots that are neither current nor read, and drafts of killed writers.

        Only the writer may call this.
        """
        current = self.current()
        old = [s for s in self.path.glob("snapshot-*") if s.name != current and s.is_dir() and not _is_read(s)]
        for folder in old:
            shutil.rmtree(folder, ignore_errors=True)
        for pattern in _HIDDEN:
            _delete(self.path.glob(pattern))

    def bytes(self) -> int:
        """Return the size of the folder in bytes."""
        total = 0
        for folder, _, names in os.walk(self.path):  # which passes over folders that are deleted meanwhile
            for name in names:
                with suppress(OSError):
                    total += os.stat(os.path.join(folder, name)).st_size
        return total

    @classmethod
    def create(cls, folder: Path, fill: Callable[[IndexLayout], None]) -> IndexLayout:
        """Create an index folder atomically; `fill` writes into a draft, which then takes its place.

        The draft is beside a new folder and is renamed as a whole. It is inside a folder that exists, and its parts are
        moved, last the one that makes the folder an index. A draft is locked by the process that writes it; the draft
        of a dead process is taken over. Raises StoreError if the folder is not free, or another process creates it.
        """
        _check_free(folder)
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            inside = folder.is_dir()
            draft = folder / _DRAFT if inside else _draft_beside(folder)
            with _owned(draft, folder):
                _check_free(folder)  # another process may have created it meanwhile
                if inside:
                    _delete(part for part in folder.iterdir() if _is_own(part) and part != draft)
                fill(cls(draft))
                _move(draft, folder)
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"{folder} cannot be written: {explained(error, _CHECK)}") from error
        return cls(folder)

    def clean_creation(self) -> None:
        """Delete what a process left that died just after it had created the index."""
        draft = self.path / _DRAFT
        if draft.exists() and not is_held(draft / _WRITER):
            shutil.rmtree(draft, ignore_errors=True)

    def delete(self, keep_folder: bool) -> None:
        """Delete the index; an interrupted deletion leaves a folder in which an index can be created."""
        if keep_folder:
            (self.path / _DRAFT).mkdir(exist_ok=True)
            self.store.unlink()  # first, so that the rest is no index
            flush_folder(self.path)
            _delete(part for part in self.path.iterdir() if _is_own(part) and part.name != _DRAFT)
            shutil.rmtree(self.path / _DRAFT, ignore_errors=True)
        else:
            draft = _draft_beside(self.path)
            os.replace(self.path, draft)
            flush_folder(draft.parent)
            shutil.rmtree(draft, ignore_errors=True)


def _linked(source: str, target: str) -> None:
    """Link a file of a snapshot, or copy it."""
    if Path(source).name == _READERS:  # a lock belongs to the file, not to its name
        shutil.copy2(source, target)
    else:
        link(Path(source), Path(target))


def is_free(folder: Path) -> bool:
    """Return whether a folder is empty, but for its user's settings and what a dead process left of a new index."""
    parts = {part.name: part for part in folder.iterdir() if part.name != "settings.toml"}
    return not parts or (_DRAFT in parts and _STORE not in parts and all(map(_is_own, parts.values())))


def _is_own(part: Path) -> bool:
    """Return whether a part of a folder belongs to an index, going by its name."""
    return any(fnmatch(part.name, pattern) for pattern in _OWN)


def _check_free(folder: Path) -> None:
    if folder.exists() and not (folder.is_dir() and is_free(folder)):
        problem = "is a file" if folder.is_file() else "is not empty"
        if (folder / _STORE).exists():
            problem = "is an index already; open it with Index.open or graphwright ask --index"
        raise StoreError(f"{folder} {problem}. A new index needs a new or empty folder.")


def _draft_beside(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}-draft.new")


@contextmanager
def _owned(draft: Path, folder: Path) -> Iterator[None]:
    """Own the draft of an index in the block: an empty folder with a lock. What is left of it then is deleted.

    Raises StoreError if another process owns it.
    """
    lock = draft / _WRITER
    for _ in range(_TRIALS):
        draft.mkdir(exist_ok=True)
        check_locks(draft)
        with ExitStack() as stack:
            try:
                lock.touch()
                number = lock.stat().st_ino
                stack.enter_context(hold(lock))
            except (FileNotFoundError, sqlite3.OperationalError) as error:
                if not lock.exists():
                    continue  # its owner has just finished
                raise StoreError(
                    f"{folder} is being created by another process ({error}). Wait for it to finish, or choose another "
                    f"folder; nothing was changed."
                ) from error
            if _inode(lock) != number:
                continue
            try:
                _delete(part for part in draft.iterdir() if part != lock)
                yield
            finally:
                if _inode(lock) == number:  # the draft did not become the folder
                    shutil.rmtree(draft, ignore_errors=True)
            return
    raise StoreError(f"{folder} is being created by other processes. Choose another folder; nothing was changed.")


def _inode(path: Path) -> int | None:
    """Return the number of a file, None if there is none."""
    return path.stat().st_ino if path.exists() else None


def _delete(parts: Iterable[Path]) -> None:
    """Delete files and folders."""
    for part in list(parts):
        shutil.rmtree(part, ignore_errors=True) if part.is_dir() else part.unlink(missing_ok=True)


def _move(draft: Path, folder: Path) -> None:
    """Put a complete draft in the place of its folder; all of it is on disk when this returns."""
    flush_folder(draft)
    if draft.parent == folder:
        parts = sorted(draft.iterdir(), key=lambda part: part.name == _STORE)
        for part in parts:
            if part.name == _STORE:
                flush_folder(folder)  # all else is there when the folder becomes an index
            if part.name != _WRITER:
                os.replace(part, folder / part.name)
        flush_folder(folder)
    else:
        os.replace(draft, folder)
        flush_folder(folder.parent)


@contextmanager
def writer_lock(folder: Path) -> Iterator[None]:
    """Hold the write lock of an index folder. Raises StoreError at once if another process holds it."""
    path = folder / _WRITER
    check_locks(folder)
    try:
        db = sqlite3.connect(path, isolation_level=None, timeout=0.2)
    except sqlite3.Error as error:
        raise StoreError(f"{path} cannot be opened for writing: {explained(error, _CHECK, path)}") from error
    with closing(db):
        try:
            db.execute("PRAGMA journal_mode = OFF")  # nothing is written
            db.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            reason = explained(error, _CHECK, path)
            raise StoreError(f"{folder} cannot be written now: {reason}{_holder(folder)}") from error
        try:
            yield
        except sqlite3.DatabaseError as error:
            remedy = "Restore index.sqlite from a copy, or index the documents again into a new folder."
            store = folder / "index.sqlite"
            raise StoreError(
                f"{store} cannot be read or written: {explained(error, remedy, store)} Queries still use the last "
                f"snapshot."
            ) from error


def check_unwritten(folder: Path) -> None:
    """Raise StoreError, as `writer_lock` does, where some process holds the write lock."""
    if is_written(folder):
        with writer_lock(folder):
            pass


def _holder(folder: Path) -> str:
    """Return a sentence about the process that holds the write lock; nothing where it has not reported yet."""
    try:
        record = json.loads((folder / _PROGRESS).read_text(encoding="utf-8"))
        work, done, total = str(record["work"]), int(record["done"]), int(record["total"])
        return f" It is process {int(record['process'])}: {work}, {done:,} of {total:,}."
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def is_written(folder: Path) -> bool:
    """Return whether some process holds the write lock."""
    return is_held(folder / _WRITER)


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
