"""Files of an index folder, and their atomic replacement."""

from __future__ import annotations

import glob
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from graphwright.errors import StoreError
from graphwright.files import flush, flush_folder
from graphwright.index.locks import create_lease_file, is_read

__all__ = ["IndexLayout", "is_free"]


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
        try:
            name = (self.path / "CURRENT").read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise StoreError(f"{self.path} has no current snapshot ({error}). {REPAIR.format(self.path)}") from error
        if not name.startswith("snapshot-") or "/" in name or "\\" in name:
            raise StoreError(f"{self.path / 'CURRENT'} names no snapshot ({name[:40]!r}). {REPAIR.format(self.path)}")
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
            create_lease_file(draft)
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

    def clean(self) -> list[str]:
        """Delete snapshots that are neither current nor read, and drafts of killed writers; return the names.

        Only the writer may call this.
        """
        current, deleted = self.current(), []
        old = [s for s in sorted(self.path.glob("snapshot-*")) if s.name != current and s.is_dir() and not is_read(s)]
        for folder in [*old, *self.path.glob(".snapshot-*.draft")]:
            shutil.rmtree(folder, ignore_errors=True)
            deleted.append(folder.name)
        return deleted

    def bytes(self) -> int:
        """Return the size of the folder in bytes."""
        total = 0
        for file in self.path.rglob("*"):
            try:
                total += file.stat().st_size if file.is_file() else 0
            except OSError:  # deleted meanwhile
                continue
        return total

    @classmethod
    def create(cls, folder: Path, fill: Callable[[IndexLayout], None]) -> IndexLayout:
        """Create an index folder atomically; `fill` writes into a draft, which is then renamed."""
        if folder.exists() and not (folder.is_dir() and is_free(folder)):
            problem = "is a file" if folder.is_file() else "is not empty"
            if (folder / "index.sqlite").exists():
                problem = "is an index already; open it with Index.open or graphwright ask --index"
            raise StoreError(f"{folder} {problem}. A new index needs a new or empty folder.")
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            for old in folder.parent.glob(f".{glob.escape(folder.name)}-????????.new"):  # of killed processes
                shutil.rmtree(old, ignore_errors=True)
            draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", suffix=".new", dir=folder.parent))
        except OSError as error:
            raise StoreError(f"{folder} cannot be created ({error}). Choose a folder that can be written.") from error
        try:
            fill(cls(draft))
            draft.chmod(0o755)
            _rename(draft, folder)
        except BaseException as error:
            shutil.rmtree(draft, ignore_errors=True)
            if isinstance(error, OSError | sqlite3.Error):
                raise StoreError(
                    f"{folder} cannot be written ({error}). Free some space, or choose another folder."
                ) from error
            raise
        return cls(folder)


REPAIR = "Run 'graphwright verify --index {} --repair' to rebuild the snapshot from the stored documents."


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
        draft.rmdir()
