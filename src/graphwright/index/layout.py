"""An index folder on disk: what lies where, and how it changes at one stroke."""

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
from graphwright.index.locks import is_read, prepare

__all__ = ["IndexLayout", "is_free"]


@dataclass(frozen=True)
class IndexLayout:
    """The parts of an index folder.

    `index.sqlite` is the truth; `snapshot-N/` is what queries map, and `CURRENT` names the one of today;
    `vectors.sqlite` and `replies.sqlite` save work; `settings.toml` is yours to write.
    """

    path: Path

    @property
    def store(self) -> Path:
        """Documents, chunks and contributions."""
        return self.path / "index.sqlite"

    @property
    def vectors(self) -> Path:
        """Vectors that no snapshot has yet, so that an interrupted run encodes nothing twice."""
        return self.path / "vectors.sqlite"

    def forget(self, *files: Path) -> None:
        """Delete files that only save work, with what SQLite keeps beside them."""
        for file in files:
            for end in ("", "-wal", "-shm"):
                file.with_name(file.name + end).unlink(missing_ok=True)

    @property
    def replies(self) -> Path:
        """What language models answered, so that nothing is paid twice."""
        return self.path / "replies.sqlite"

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
        """Write a snapshot, make it current at one stroke, and clean up those that nobody reads any more."""
        name = f"snapshot-{revision}"
        while (self.path / name).exists():  # one that is made again takes no other's place before it is whole
            name += "a"
        draft = self.path / f".{name}.draft"
        shutil.rmtree(draft, ignore_errors=True)
        try:
            write(draft)
            prepare(draft)
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
                f"{self.path} could not be written ({error}); queries see the index as it was before. Free some space "
                f"or mend the permissions, then run the same command again: what was stored is not lost."
            ) from error
        self.clean()

    def clean(self) -> list[str]:
        """Delete snapshots that are not current and that nobody reads, and what killed writers left; return the names.

        Only the writer may call this.
        """
        current, gone = self.current(), []
        for old in sorted(self.path.glob("snapshot-*")):
            if old.name != current and old.is_dir() and not is_read(old):
                shutil.rmtree(old, ignore_errors=True)
                gone.append(old.name)
        for left in self.path.glob(".snapshot-*.draft"):
            shutil.rmtree(left, ignore_errors=True)
            gone.append(left.name)
        return gone

    def bytes(self) -> int:
        """Return how much space the folder takes."""
        total = 0
        for file in self.path.rglob("*"):
            try:
                total += file.stat().st_size if file.is_file() else 0
            except OSError:  # gone meanwhile
                continue
        return total

    @classmethod
    def create(cls, folder: Path, fill: Callable[[IndexLayout], None]) -> IndexLayout:
        """Make a new index folder, all of it or nothing; `fill` writes into the draft that then takes its place."""
        if folder.exists() and not (folder.is_dir() and is_free(folder)):
            held = "is a file" if folder.is_file() else "is not empty"
            if (folder / "index.sqlite").exists():
                held = f"is an index already; it is asked by graphwright ask … --index {folder}, or Index.open"
            raise StoreError(f"{folder} {held}. A new index needs a new or empty folder.")
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            for left in folder.parent.glob(f".{glob.escape(folder.name)}-????????.new"):  # by a process that was killed
                shutil.rmtree(left, ignore_errors=True)
            draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", suffix=".new", dir=folder.parent))
        except OSError as error:
            raise StoreError(f"{folder} cannot be made ({error}). Choose a folder that can be written.") from error
        try:
            fill(cls(draft))
            draft.chmod(0o755)
            _become(draft, folder)
        except BaseException as error:
            shutil.rmtree(draft, ignore_errors=True)
            if isinstance(error, OSError | sqlite3.Error):
                raise StoreError(
                    f"{folder} cannot be made an index ({error}). Free some space, or choose another folder."
                ) from error
            raise
        return cls(folder)


REPAIR = "Run 'graphwright verify --index {} --repair': it makes the snapshot again from what is stored."


def is_free(folder: Path) -> bool:
    """Whether nothing is in a folder but perhaps the settings that its user wrote."""
    return all(part.name == "settings.toml" for part in folder.iterdir())


def _become(draft: Path, folder: Path) -> None:
    """Put a new index in its place: at one stroke, or where the folder itself must stay, what makes it one first."""
    try:
        os.replace(draft, folder)
    except OSError:
        if not folder.is_dir() or not is_free(folder):
            raise
        for part in sorted(draft.iterdir(), key=lambda part: part.name != "index.sqlite"):
            shutil.move(part, folder / part.name)
        draft.rmdir()
