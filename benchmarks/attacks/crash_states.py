"""Record the writes of an operation, and rebuild every state in which a crash could leave its folder.

A `Recorder` looks at a folder before each call that renames, deletes, makes or flushes a file or folder, and before and
after each commit of SQLite: each prefix of the writes, at these calls. A file has versions of its contents since it was
last flushed, and a folder versions of its names; after a loss of power any of them may be there, independently of those
of other files and folders. What SQLite commits counts as flushed.
"""

from __future__ import annotations

import hashlib
import os
import random
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any
from unittest.mock import patch
from urllib.parse import urlparse

__all__ = ["Moment", "Recorder", "Tree", "digest", "recording", "write_tree"]

Tree = dict[str, bytes | None]
"""Contents of files by path; None for a folder."""
Names = dict[str, int]
"""Numbers of files and folders, by name in their folder."""
_CALLS = ("replace", "rename", "unlink", "remove", "rmdir", "mkdir")


@dataclass(frozen=True)
class Moment:
    """A folder at a call: the versions of each folder and file since it was flushed, the oldest first."""

    call: str
    root: int
    folders: Mapping[int, tuple[Names, ...]]
    files: Mapping[int, tuple[bytes, ...]]

    def states(self, rng: random.Random, draws: int) -> Iterator[tuple[str, Tree]]:
        """Yield the states in which a crash at this moment may leave the folder, by name.

        `draws`: number of states with randomly chosen versions.
        """
        yield "killed", self._tree(lambda versions: versions[-1], lambda versions: versions[-1])
        yield "nothing unflushed kept", self._tree(lambda versions: versions[0], lambda versions: versions[0])
        yield "only names kept", self._tree(lambda versions: versions[-1], lambda versions: versions[0])
        for number in range(draws):
            yield f"reordered {number}", self._tree(rng.choice, lambda versions: _torn(versions, rng))

    def _tree(
        self, names_of: Callable[[tuple[Names, ...]], Names], content_of: Callable[[tuple[bytes, ...]], bytes]
    ) -> Tree:
        """Return the tree of chosen versions."""
        tree: Tree = {}

        def add(folder: int, path: str) -> None:
            for name, number in names_of(self.folders[folder]).items():
                place = f"{path}{name}"
                if number in self.files:
                    tree[place] = content_of(self.files[number])
                elif number in self.folders:
                    tree[place] = None
                    add(number, f"{place}/")

        add(self.root, "")
        return tree


def _torn(versions: tuple[bytes, ...], rng: random.Random) -> bytes:
    """Return one of the versions of a file, or half of the newest if it was not flushed."""
    newest = versions[-1]
    return rng.choice((*versions, newest[: len(newest) // 2]) if len(versions) > 1 else versions)


def digest(tree: Tree) -> bytes:
    """Return a digest of a tree."""
    total = hashlib.blake2b(digest_size=16)
    for path, content in sorted(tree.items()):
        total.update(f"{path}\0{None if content is None else len(content)}\0".encode() + (content or b""))
    return total.digest()


def write_tree(tree: Tree, folder: Path) -> None:
    """Write a tree into a new folder."""
    folder.mkdir(parents=True)
    for path, content in sorted(tree.items()):
        if content is None:
            (folder / path).mkdir()
        else:
            (folder / path).write_bytes(content)


@dataclass
class Recorder:
    """The moments of a folder. Files that SQLite maps into memory (-shm) are left out: they are made anew."""

    root: Path
    moments: list[Moment] = field(default_factory=list)
    _numbers: dict[int, int] = field(default_factory=dict)  # own numbers by inode, which systems use again
    _stamps: dict[int, tuple[int, int]] = field(default_factory=dict)
    _folders: dict[int, list[Names]] = field(default_factory=dict)
    _files: dict[int, list[bytes]] = field(default_factory=dict)
    _next: int = 0

    def begin(self) -> None:
        """Take all that is there for flushed."""
        self._scan()
        for versions in (*self._folders.values(), *self._files.values()):
            del versions[:-1]  # type: ignore[attr-defined]

    def look(self, call: str) -> None:
        """Record the folder at a call."""
        self._scan()
        folders = {number: tuple(versions) for number, versions in self._folders.items()}
        files = {number: tuple(versions) for number, versions in self._files.items()}
        self.moments.append(Moment(call, self._number(self.root.stat().st_ino), folders, files))

    def flushed(self, inode: int) -> None:
        """Note that a file or folder was flushed."""
        number = self._numbers.get(inode, -1)
        versions: list[Any] | None = self._files.get(number) or self._folders.get(number)
        if versions:
            del versions[:-1]

    def committed(self, path: Path) -> None:
        """Note that SQLite has flushed a database, its log, and their names."""
        if not path.parent.is_dir():
            return
        self._scan()
        versions = self._folders.get(self._numbers.get(path.parent.stat().st_ino, -1), [])
        for file in path.parent.glob(f"{path.name}*"):
            if not file.name.endswith("-shm"):
                inode = file.stat().st_ino
                self.flushed(inode)
                for names in versions:
                    names[file.name] = self._number(inode)

    def _number(self, inode: int) -> int:
        if inode not in self._numbers:
            self._numbers[inode], self._next = self._next, self._next + 1
        return self._numbers[inode]

    def _scan(self) -> None:
        seen: set[int] = {self.root.stat().st_ino}
        todo = [self.root]
        while todo:
            folder, names = todo.pop(), Names()
            for entry in os.scandir(folder):
                if entry.name.endswith("-shm"):
                    continue
                facts = entry.stat(follow_symlinks=False)
                seen.add(facts.st_ino)
                names[entry.name] = number = self._number(facts.st_ino)
                if entry.is_dir():
                    todo.append(Path(entry))
                elif self._stamps.get(number) != (stamp := (facts.st_mtime_ns, facts.st_size)):
                    self._stamps[number] = stamp
                    _extend(self._files.setdefault(number, [b""]), Path(entry).read_bytes())
            _extend(self._folders.setdefault(self._number(folder.stat().st_ino), [Names()]), names)
        self._numbers = {inode: number for inode, number in self._numbers.items() if inode in seen}


def _extend(versions: list[Any], newest: Any) -> None:
    if versions[-1] != newest:
        versions.append(newest)


@contextmanager
def recording(root: Path) -> Iterator[Recorder]:
    """Record the writes to a folder in the block."""
    recorder, lock = Recorder(root), Lock()
    recorder.begin()

    def around(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any, **more: Any) -> Any:
            recorder.look(f"{name} {Path(arguments[-1] if name == 'replace' else arguments[0]).name}")
            return call(*arguments, **more)

        return watched

    def fsync(file: Any) -> None:
        inode = os.fstat(file).st_ino
        with lock:  # several files are flushed at a time
            recorder.look("fsync")
            recorder.flushed(inode)

    with ExitStack() as stack:
        for name in _CALLS:
            stack.enter_context(patch.object(os, name, around(name, getattr(os, name))))
        stack.enter_context(patch.object(os, "fsync", fsync))
        stack.enter_context(patch.object(sqlite3, "connect", _watched(sqlite3.connect, recorder)))
        yield recorder
    recorder.look("returned")


def _watched(connect: Callable[..., Any], recorder: Recorder) -> Callable[..., Any]:
    """Return `sqlite3.connect` with connections whose commits are recorded."""

    def opened(name: Any, *arguments: Any, **more: Any) -> Any:
        path = Path(urlparse(str(name)).path)

        def around(what: str, call: Callable[[], Any]) -> Any:
            recorder.look(f"{what} {path.name}")
            try:
                return call()
            finally:
                recorder.committed(path)
                recorder.look(f"{what} {path.name}, done")

        class Watched(sqlite3.Connection):
            def commit(self) -> None:
                around("commit", super().commit)

            def __exit__(self, *error: Any) -> Any:
                return around("commit", lambda: super(Watched, self).__exit__(*error))

            def executescript(self, script: str) -> Any:
                return around("script", lambda: super(Watched, self).executescript(script))

            def execute(self, query: str, *values: Any) -> Any:
                if self.in_transaction or query.startswith(("SELECT", "BEGIN")):
                    return super().execute(query, *values)
                return around(query[:30], lambda: super(Watched, self).execute(query, *values))

            def close(self) -> None:
                around("close", super().close)

        return connect(name, *arguments, factory=Watched, **more)

    return opened
