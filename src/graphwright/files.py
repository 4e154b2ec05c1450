"""Files that are there whole or not at all, and files of lines that outlive a process that is killed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import RawIOBase
from pathlib import Path
from typing import Any

from graphwright.errors import DataError

__all__ = ["clean", "flush", "flush_folder", "growing", "scratch", "whole", "whole_lines", "write_text"]


_BLOCK = 1 << 16


@contextmanager
def scratch(path: Path) -> Iterator[Path]:
    """Give a name beside a file for a draft of it, which is gone when the block ends."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        yield draft
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


@contextmanager
def whole(path: Path | str) -> Iterator[Path]:
    """Give a draft to be written, which takes the place of a file when the block ends; where that fails, nothing does.

    A link stays, and what it points to is replaced. Raises DataError where the file cannot be written.

    >>> import tempfile; path = Path(tempfile.mkdtemp()) / "said.txt"
    >>> with whole(path) as draft:
    ...     _ = draft.write_text("all of it"), path.exists()
    >>> path.read_text(), [held.name for held in path.parent.iterdir()]
    ('all of it', ['said.txt'])
    """
    place = Path(path).resolve()
    with scratch(place) as draft:
        try:
            yield draft
            flush(draft)
            os.replace(draft, place)
        except OSError as error:
            raise DataError(
                f"{path} cannot be written ({error}); see that its folder is there, may be written to, and has space."
            ) from error


def write_text(path: Path | str, text: str) -> None:
    """Write a text, whole or not at all. Raises DataError where that cannot be done."""
    with whole(path) as draft:
        draft.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")


@contextmanager
def growing(path: Path) -> Iterator[Callable[[Any], None]]:
    """Open a file of JSON lines at its end; a value that is added is a line of it when `add` returns.

    A line that was being written when a process died is cut off first. Raises DataError where the file cannot be
    written; the lines before that hold.

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
        # Half a pair of surrogates is written as JSON escapes it.
        left = memoryview((json.dumps(value, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace"))
        try:
            while left:
                left = left[file.write(left) :]
        except OSError as error:
            raise DataError(
                f"{path} cannot be written ({error}). The lines that it holds are kept: free some space or mend the "
                f"permissions, and the same command goes on from there."
            ) from error

    try:
        file = path.open("a+b", buffering=0)
    except OSError as error:
        said = f"{path} cannot be written ({error}); mend its permissions, or choose another place."
        raise DataError(said) from error
    with file:
        _cut(file)
        yield add


def whole_lines(path: Path) -> list[bytes]:
    """Return the lines of a file, without one that was not ended; none where there is no file."""
    return path.read_bytes().split(b"\n")[:-1] if path.exists() else []


def _cut(file: RawIOBase) -> None:
    """Cut off what stands after the last end of line."""
    end = at = file.seek(0, os.SEEK_END)
    kept = -1
    while at and kept < 0:
        begin = max(at - _BLOCK, 0)
        file.seek(begin)
        kept, at = (file.read(at - begin) or b"").rfind(b"\n"), begin
    if at + kept + 1 < end:
        file.truncate(at + kept + 1)


def clean(folder: Path) -> None:
    """Remove the drafts of a folder that a process left which was killed. Nothing else may write there meanwhile."""
    for left in folder.glob(".*.draft"):
        left.unlink(missing_ok=True)


def flush(path: Path) -> None:
    """Wait until a file is on disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def flush_folder(path: Path) -> None:
    """Wait until the names in a folder are on disk, where the system knows such a thing."""
    with suppress(OSError):
        number = os.open(path, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
