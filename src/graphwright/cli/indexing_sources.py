"""Sources of the commands that add documents: paths, stdin and web pages."""

from __future__ import annotations

import hashlib
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from graphwright.cli.terminal import note
from graphwright.errors import DataError, OptionError

if TYPE_CHECKING:
    from graphwright.data import Document, ReadOptions, Skipped


def check_paths(paths: list[Path]) -> None:
    """Raise DataError if a path does not exist."""
    missing = [path for path in paths if not path.exists()]
    if missing:
        raise DataError(f"{missing[0]} does not exist; nothing was indexed. Check the path.")


def read_sources(
    sources: list[str], scratch: Path, name: str | None, reading: ReadOptions, skipped: list[Skipped]
) -> list[Path | Document]:
    """Return paths unchanged, and the documents of stdin (-) and of web pages.

    Raises DataError, before anything is indexed, if a source cannot be read.
    """
    from graphwright.data import fetch, is_url, read_file

    if name is not None and "-" not in sources:
        raise OptionError(f"--name {name} is the id of the document on stdin; give - as a path to read it.")
    check_paths([Path(source) for source in sources if source != "-" and not is_url(source)])
    documents: list[Path | Document] = []
    for number, source in enumerate(dict.fromkeys(sources)):
        if source != "-" and not is_url(source):
            documents.append(Path(source))
            continue
        folder = scratch / str(number)
        folder.mkdir()
        file = fetch(source, folder) if is_url(source) else _save_stdin(folder, name)
        before = len(skipped)
        id = source if is_url(source) else name or _id_of_content(file)
        part = list(read_file(file, id, skipped.append, reading))
        skipped[before:] = [replace(item, path=item.path.replace(str(file), id)) for item in skipped[before:]]
        if not part:
            reason = skipped[-1].reason if len(skipped) > before else "empty"
            raise DataError(f"nothing to read in {'stdin' if source == '-' else source}: {reason}.")
        documents += part
    return documents


def _save_stdin(folder: Path, name: str | None) -> Path:
    """Write stdin to a file with the suffix of its name."""
    if sys.stdin is None or sys.stdin.isatty():
        note("reading from stdin; end with Ctrl-D")
    if sys.stdin is None:
        raise DataError("stdin is closed; pipe a document into the command, or name a file.")
    file = folder / f"stdin{''.join(Path(name or '').suffixes[-2:])}"
    with file.open("wb") as output:
        shutil.copyfileobj(sys.stdin.buffer, output)
    return file


def _id_of_content(file: Path) -> str:
    """Return the id of a text without a name, which depends only on the text."""
    with file.open("rb") as content:
        return f"stdin-{hashlib.file_digest(content, 'sha256').hexdigest()[:16]}"
