"""Sources of the commands that add documents (paths, stdin and web pages), and their index folder."""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphwright.cli.terminal import note
from graphwright.errors import DataError, GraphwrightError, OptionError

if TYPE_CHECKING:
    from graphwright.data import Document, ReadOptions, Skipped
    from graphwright.extract import Extractor
    from graphwright.index_folder.index import Index


def check_paths(paths: list[Path]) -> None:
    """Raise DataError if a path does not exist."""
    missing = [path for path in paths if not path.exists()]
    if missing:
        raise DataError(f"{missing[0]} does not exist; nothing was indexed. Check the path.")


def read_sources(
    sources: list[str], scratch: Path, name: str | None, reading: ReadOptions, skipped: list[Skipped]
) -> list[Path | Document]:
    """Return paths, and the documents of stdin (-) and web pages. Raises DataError if a source cannot be read."""
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


@contextmanager
def opened_index(
    into: Path, settings: Mapping[str, Any], encoder: str | None, extractor: Extractor | str | None
) -> Iterator[Index]:
    """Yield an index. Create it if it is missing; delete it again if nothing could be added."""
    from graphwright.store import check_unwritten

    check_unwritten(into)  # first, because the imports below are slow while another process computes
    from graphwright.index_folder.index import Index
    from graphwright.store import Settings

    created, keep_folder = not (into / "index.sqlite").exists(), into.is_dir()
    if created:
        Index.create(into, encoder=encoder, settings=Settings(**settings)).close()
    else:
        _check_unchanged(into, encoder, settings)
    try:
        yield Index.open(into, extractor=extractor)
    except BaseException:
        if created:
            with suppress(GraphwrightError, OSError):
                _delete_unused(into, keep_folder)
        raise


def _check_unchanged(into: Path, encoder: str | None, settings: Mapping[str, Any]) -> None:
    """Raise OptionError if an option differs from a setting that is fixed when an index is created."""
    from graphwright.index_folder.index import Index
    from graphwright.models import encoder_of

    with Index.open(into) as index:
        stored = {**asdict(index.settings), "encoder": index.encoder}
    options = {**settings, **({} if encoder is None else {"encoder": encoder_of(encoder).id})}
    for name, value in options.items():
        if value != stored[name]:
            raise OptionError(
                f"{into} was created with --{name.replace('_', '-')} {_shown(stored[name])}, not {_shown(value)}. "
                f"Leave the option out, or index into a new folder."
            )


def _shown(value: Any) -> str:
    """Return the value of a setting in the form of the command line."""
    return (",".join(value) or "nothing") if isinstance(value, tuple | list) else str(value)


def _delete_unused(into: Path, keep_folder: bool) -> None:
    """Delete an index without documents, unless another process writes it, or it has cached replies of a model."""
    from graphwright.index_folder.index import Index
    from graphwright.store import IndexLayout, delete_folder, writer_lock

    with writer_lock(into):
        with Index.open(into) as index:
            documents = index.documents
        layout = IndexLayout(into)
        if not documents and not layout.replies.exists():
            delete_folder(layout, keep_folder)
