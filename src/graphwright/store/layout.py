"""The files of an index folder, and their atomic replacement: a snapshot becomes current as a whole, or not at all."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from graphwright.errors import StoreError, explained
from graphwright.files import flush, flush_folder, flush_folders, link
from graphwright.prompts.templates import Prompts
from graphwright.store.locks import CHECK, PROBE, PROGRESS, READERS, create_lease_file, hold, is_held, is_read

NEXT = "next snapshot"  # setting of the store: the name of a snapshot that is to be current
GRAPH = "imported checksum"  # setting: checksum of the imported graph beside documents, once replaced
STORE = "index.sqlite"
IMPORTED = "imported"
ROWS = "database.jsonl.gz"
HIDDEN = (".snapshot-*.draft", f".*{IMPORTED}.draft", ".CURRENT.draft", ".change-*.lock*", f"{PROBE}*")
"""Patterns of files that dead processes leave."""
_REPAIR = "Run 'graphwright verify --index {} --repair' to rebuild the snapshot from the stored documents."


class IndexLayout:
    """The files of an index folder.

    `index.sqlite` is the store (documents, chunks and extractions); queries map a `snapshot-N/`, and `CURRENT` names
    the current one. Caches: `vectors.sqlite`, of vectors that no snapshot has yet, so that an interrupted run does not
    repeat encodings; `replies.sqlite`, of language models' replies, so that nothing is paid for twice;
    `recognised.sqlite`, of the text in pictures, which is found out once; `database.jsonl.gz`, of the rows of an
    imported graph database, so that only changed ones are fetched again. `imported/` is the first snapshot of an
    imported graph, kept once documents or edits are added. The progress of the writer means nothing after the writer
    was killed. `settings.toml` and `prompts/` are written by the user.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.store, self.imported = path, path / STORE, path / IMPORTED
        self.vectors, self.replies = path / "vectors.sqlite", path / "replies.sqlite"
        self.recognised = path / "recognised.sqlite"
        self.progress = path / PROGRESS
        self.replaced = path / f"old-{IMPORTED}"
        self.rows, self.new_rows = path / ROWS, path / f"draft-{ROWS}"
        self._prompts: tuple[list[tuple[str, int, int]], Prompts] | None = None  # with name, time and size of each file

    @property
    def prompts(self) -> Prompts:
        """The index's prompts, read again when a file changes. Raises OptionError for a file that does not fit."""
        files, folder = list[tuple[str, int, int]](), self.path / "prompts"
        with suppress(OSError):
            for file in os.scandir(folder):
                about = file.stat()
                files.append((file.name, about.st_mtime_ns, about.st_size))
        found = sorted(files)
        if self._prompts is None or self._prompts[0] != found:
            self._prompts = found, Prompts.of(folder)
        return self._prompts[1]

    @staticmethod
    def delete_cache(file: Path) -> None:
        """Delete a cache with the files that SQLite keeps beside it."""
        for suffix in ("", "-journal", "-wal", "-shm"):
            file.with_name(file.name + suffix).unlink(missing_ok=True)

    def keep_imported(self) -> None:
        """Keep the current snapshot, which has the imported graph alone. Nothing happens if it was kept before."""
        if self.imported.is_dir():
            return
        draft = self.path / f".{IMPORTED}.draft"
        shutil.rmtree(draft, ignore_errors=True)
        try:
            shutil.copytree(self.path / self.current(), draft, copy_function=_linked)
            flush_folders(draft)
            os.replace(draft, self.imported)
            flush_folder(self.path)
        except OSError as error:
            raise StoreError(
                f"{self.path} could not be written: {explained(error, CHECK)} Nothing was changed."
            ) from error

    @contextmanager
    def replacing_imported(self, write: Callable[[Path], None], is_done: Callable[[], bool]) -> Iterator[None]:
        """Write a snapshot in the imported graph's place; an error puts the old one back, unless it `is_done`."""
        draft = self.path / f".new-{IMPORTED}.draft"
        shutil.rmtree(draft, ignore_errors=True)
        with self._publishing():
            write(draft)
            create_lease_file(draft)
            flush_folders(draft)
            os.replace(self.imported, self.replaced)
            os.replace(draft, self.imported)
            flush_folder(self.path)
        try:
            yield
        except BaseException:
            if not is_done():
                shutil.rmtree(self.imported)
            raise
        finally:
            self.settle_imported()

    @property
    def imported_checksum(self) -> str:
        """The checksum of the imported graph that is kept."""
        return str(json.loads((self.imported / "about.json").read_text(encoding="utf-8"))["sum"])

    def recover_imported(self, committed: str | None) -> None:
        """Settle a killed replacement of the imported graph: if it is not `committed`, the old one is put back."""
        if self.replaced.is_dir():
            if self.imported.is_dir() and self.imported_checksum != committed:
                shutil.rmtree(self.imported)
            self.settle_imported()

    def settle_imported(self) -> None:
        """Delete the imported graph that was replaced, or put it back where there is no other."""
        if self.imported.is_dir():
            shutil.rmtree(self.replaced, ignore_errors=True)
        else:
            os.replace(self.replaced, self.imported)
            flush_folder(self.path)

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
        """Hold the lock of a change to this revision, from its commit to the publication of its snapshot."""
        path = self._change_lock(revision)
        with ExitStack() as stack:
            try:
                stack.enter_context(hold(path))
            except sqlite3.Error as error:
                raise StoreError(f"{path} cannot be written: {explained(error, CHECK)} Nothing was changed.") from error
            stack.callback(path.unlink, missing_ok=True)
            yield

    def is_changing(self, revision: int) -> bool:
        """Return whether the process that made the change to this revision is still at work on it."""
        return is_held(self._change_lock(revision))

    def _change_lock(self, revision: int) -> Path:
        return self.path / f".change-{revision}.lock"

    def publish(self, revision: int, write: Callable[[Path], None]) -> None:
        """Write a snapshot, make it current atomically, and delete those without readers."""
        self.switch(self.prepare(revision, write))

    def prepare(self, revision: int, write: Callable[[Path], None]) -> str:
        """Write a snapshot beside the current one, and return its name; readers do not see it before `switch`."""
        name = f"snapshot-{revision}"
        while (self.path / name).exists():  # a snapshot of the same revision stays until the new one is complete
            name += "a"
        draft = self.path / f".{name}.draft"
        shutil.rmtree(draft, ignore_errors=True)
        try:
            with self._publishing():
                write(draft)
                create_lease_file(draft)
                flush_folders(draft)
                os.replace(draft, self.path / name)
                flush_folder(self.path)
        except StoreError:
            shutil.rmtree(draft, ignore_errors=True)
            raise
        return name

    def switch(self, name: str) -> None:
        """Make a snapshot current atomically, and delete those without readers."""
        pointer = self.path / ".CURRENT.draft"
        with self._publishing():
            pointer.write_text(name, encoding="utf-8")
            flush(pointer)
            os.replace(pointer, self.path / "CURRENT")
            flush_folder(self.path)
        self.clean()

    @contextmanager
    def _publishing(self) -> Iterator[None]:
        """Raise StoreError where a file cannot be written in the block."""
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise StoreError(
                f"{self.path} could not be written: {explained(error, CHECK)} Queries still use the previous "
                f"snapshot, and stored changes are not lost."
            ) from error

    def clean(self) -> None:
        """Delete snapshots neither current nor read, and drafts of killed writers. Only the writer may call this."""
        current = self.current()
        old = [s for s in self.path.glob("snapshot-*") if s.name != current and s.is_dir() and not is_read(s)]
        for folder in old:
            shutil.rmtree(folder, ignore_errors=True)
        for pattern in HIDDEN:
            delete_all(self.path.glob(pattern))

    def bytes(self) -> int:
        """Return the size of the folder in bytes."""
        total = 0
        for folder, _, names in os.walk(self.path):  # which skips folders that are deleted meanwhile
            for name in names:
                with suppress(OSError):
                    total += os.stat(os.path.join(folder, name)).st_size
        return total


def _linked(source: str, target: str) -> None:
    if Path(source).name == READERS:  # a lock belongs to the file, not to its name
        shutil.copy2(source, target)
    else:
        link(Path(source), Path(target))


def delete_all(parts: Iterable[Path]) -> None:
    """Delete files and folders."""
    for part in list(parts):
        shutil.rmtree(part, ignore_errors=True) if part.is_dir() else part.unlink(missing_ok=True)


@dataclass(frozen=True)
class Problem:
    """A problem of an index folder and its remedy; `repairable` if only the snapshot has to be rebuilt."""

    problem: str
    remedy: str
    repairable: bool = False

    def __str__(self) -> str:
        return f"{self.problem} {self.remedy}"
