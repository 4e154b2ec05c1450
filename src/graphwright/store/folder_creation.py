"""Creation and deletion of index folders, each atomic: a killed process leaves no half index."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatch
from pathlib import Path

from graphwright.errors import StoreError, explained
from graphwright.files import flush_folder
from graphwright.store.layout import HIDDEN, IMPORTED, ROWS, STORE, IndexLayout, delete_all
from graphwright.store.locks import CHECK, PROGRESS, WRITER, check_locks, hold, is_held

_DRAFT = ".draft.new"  # of an index in a folder that exists
_TRIALS = 5  # to own a draft
_REMOTE = "remote.json"  # where the index was pushed to, or pulled from
_CACHES = ("vectors.sqlite*", "replies.sqlite*", "recognised.sqlite*", f"*{ROWS}")
_FILES = (f"{STORE}*", "CURRENT", f"*{IMPORTED}", "snapshot-[0-9]*", _DRAFT, WRITER, *_CACHES)
_OWN = (*_FILES, PROGRESS, _REMOTE, *HIDDEN)


def create_folder(folder: Path, fill: Callable[[IndexLayout], None]) -> IndexLayout:
    """Create an index folder atomically; `fill` writes into a draft, which then takes its place.

    The draft of a new folder is beside it and renamed as a whole; that of a folder that exists is inside, and its parts
    are moved, last the file that makes the folder an index. A draft is locked by the process that writes it; that of a
    dead process is taken over. Raises StoreError if the folder is not free, or another process creates it.
    """
    _check_free(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        inside = folder.is_dir()
        draft = folder / _DRAFT if inside else _draft_beside(folder)
        with _owned(draft, folder):
            _check_free(folder)  # another process may have created it meanwhile
            if inside:
                delete_all(part for part in folder.iterdir() if _is_own(part) and part != draft)
            fill(IndexLayout(draft))
            _move(draft, folder)
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"{folder} cannot be written: {explained(error, CHECK)}") from error
    return IndexLayout(folder)


def clean_creation(layout: IndexLayout, imported: str | None) -> None:
    """Delete what a killed creation or replacement left; `imported`: the checksum of the last committed graph."""
    if layout.replaced.is_dir() and not is_held(layout.path / WRITER):
        layout.recover_imported(imported)
    draft = layout.path / _DRAFT
    if draft.exists() and not is_held(draft / WRITER):
        shutil.rmtree(draft, ignore_errors=True)


def delete_folder(layout: IndexLayout, keep_folder: bool) -> None:
    """Delete the index; an interrupted deletion leaves a folder in which an index can be created."""
    if keep_folder:
        (layout.path / _DRAFT).mkdir(exist_ok=True)
        layout.store.unlink()  # first, so that the rest is no index
        flush_folder(layout.path)
        delete_all(part for part in layout.path.iterdir() if _is_own(part) and part.name != _DRAFT)
        shutil.rmtree(layout.path / _DRAFT, ignore_errors=True)
    else:
        draft = _draft_beside(layout.path)
        os.replace(layout.path, draft)
        flush_folder(draft.parent)
        shutil.rmtree(draft, ignore_errors=True)


def is_free(folder: Path) -> bool:
    """Return whether a folder is empty, apart from settings and the remains of an interrupted creation."""
    parts = {part.name: part for part in folder.iterdir() if part.name != "settings.toml"}
    return not parts or (_DRAFT in parts and STORE not in parts and all(map(_is_own, parts.values())))


def _is_own(part: Path) -> bool:
    return any(fnmatch(part.name, pattern) for pattern in _OWN)


def _check_free(folder: Path) -> None:
    if folder.exists() and not (folder.is_dir() and is_free(folder)):
        problem = "is a file" if folder.is_file() else "is not empty"
        if (folder / STORE).exists():
            problem = "is an index already; open it with Index.open or graphwright ask --index"
        raise StoreError(f"{folder} {problem}. A new index needs a new or empty folder.")


def _draft_beside(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}-draft.new")


@contextmanager
def _owned(draft: Path, folder: Path) -> Iterator[None]:
    """Own the draft of an index in the block, deleted afterwards. Raises StoreError if another process owns it."""
    lock = draft / WRITER
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
                delete_all(part for part in draft.iterdir() if part != lock)
                yield
            finally:
                if _inode(lock) == number:  # the draft did not become the folder
                    shutil.rmtree(draft, ignore_errors=True)
            return
    raise StoreError(f"{folder} is being created by other processes. Choose another folder; nothing was changed.")


def _inode(path: Path) -> int | None:
    return path.stat().st_ino if path.exists() else None


def _move(draft: Path, folder: Path) -> None:
    """Put a complete draft in the place of its folder; all of it is on disk when this returns."""
    flush_folder(draft)
    if draft.parent == folder:
        parts = sorted(draft.iterdir(), key=lambda part: part.name == STORE)
        for part in parts:
            if part.name == STORE:
                flush_folder(folder)  # all else is there when the folder becomes an index
            if part.name != WRITER:
                os.replace(part, folder / part.name)
        flush_folder(folder)
    else:
        os.replace(draft, folder)
        flush_folder(folder.parent)
