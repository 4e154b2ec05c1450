"""Uploads: documents from the network, each upload stored in a folder until its job is done.

Stored files have generated names. The name that the client sent is cleaned and used as document id, never as a path.
"""

from __future__ import annotations

import json
import re
import shutil
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple

from graphwright.build.document_sources import Source, storable
from graphwright.data import Skipped, read_file
from graphwright.data.formats.archives import measured
from graphwright.data.formats.format import UnreadableError
from graphwright.errors import DataError, GraphwrightError
from graphwright.files import flush
from graphwright.serve import originals
from graphwright.serve.problems import ServeError, TooLargeError
from graphwright.store.chunk_record import content_hash

_LIST = "upload.json"
_ROWS = "documents.jsonl"
_MAX_NAME = 500  # characters
_SUFFIX = re.compile(r"\.[a-z0-9]{1,8}")
_DRIVE = re.compile(r"[A-Za-z]:")
_INVISIBLE = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")  # Unicode categories, with marks that reverse the direction


class ArchiveError(ServeError):
    """An archive is damaged, or of an unsupported kind."""

    status, kind = 422, "archive"


@dataclass
class Limits:
    """Remaining number of files, and of unpacked bytes, of an upload."""

    files: int = 10_000
    bytes: int = 2**30

    def take(self, path: Path, name: str) -> None:
        """Subtract a stored file, or the files in an archive. Raises TooLargeError or ArchiveError."""
        try:
            files, size = measured(path, self.files, self.bytes)
        except (UnreadableError, DataError) as error:
            reason = str(error).replace(str(path), name).removesuffix(".")
            raise ArchiveError(f"{name} cannot be unpacked: {reason}.") from error
        self.files, self.bytes = self.files - files, self.bytes - size
        if self.files < 0 or self.bytes < 0:
            raise TooLargeError(
                "The upload holds more files, or is larger, unpacked, than this server takes. Send it in parts."
            )


class Sent(NamedTuple):
    """A file of a request: the name that the client sent, and its content, open for reading."""

    name: str
    content: IO[bytes]


def clean_name(name: str) -> str:
    r"""Return a file's name as document id: parts joined by slashes, without drives, "..", and leading slashes.

    >>> [clean_name(name) for name in ("..\\..\\etc\\passwd", "/a//b/./c.md", "C:\\x\\\u202etxt.exe", "")]
    ['etc/passwd', 'a/b/c.md', 'x/txt.exe', 'file']
    """
    text = unicodedata.normalize("NFC", name.encode("utf-8", "replace").decode())
    visible = "".join(letter for letter in text if unicodedata.category(letter) not in _INVISIBLE)
    parts = [" ".join(part.split()) for part in visible.replace("\\", "/").split("/")]
    if _DRIVE.fullmatch(parts[0]):
        parts = parts[1:]
    usable = [part for part in parts if part.strip(". ")]
    return "/".join(usable)[-_MAX_NAME:].strip("/") or "file"


@dataclass(frozen=True)
class Upload:
    """Uploaded documents in a folder: stored and cleaned name of each file, and the names left out with the reasons."""

    folder: Path
    files: tuple[tuple[str, str], ...]
    skipped: tuple[tuple[str, str], ...] = ()
    sources: list[originals.Source] = field(default_factory=list, compare=False)  # that were read so far

    @classmethod
    def open(cls, folder: Path) -> Upload | None:
        """Return the upload in a folder, None if there is none or it is incomplete."""
        with suppress(FileNotFoundError):
            table = json.loads((folder / _LIST).read_text(encoding="utf-8"))
            return cls(folder, tuple(map(tuple, table["files"])), tuple(map(tuple, table["skipped"])))
        return None

    def documents(self, skip: Callable[[Skipped], None], check: Callable[[], None]) -> Iterator[Source]:
        """Yield documents; `skip` unreadable parts; `check` before each. Raises DataError if nothing can be read."""
        skipped = [Skipped(*part) for part in self.skipped]
        for part in skipped:
            skip(part)
        count = 0
        try:
            for document in self._read(skipped.append):
                check()
                yield document
                count += 1
        except GraphwrightError as error:
            raise type(error)(self.shown(str(error))) from error
        for part in skipped[len(self.skipped) :]:
            skip(Skipped(self.shown(part.path), self.shown(part.reason), part.unread))
        if not count and skipped:
            reasons = "; ".join(f"{self.shown(part.path)}: {self.shown(part.reason)}" for part in skipped[:5])
            raise DataError(f"None of the uploaded documents can be read. {reasons}.")

    def _read(self, skip: Callable[[Skipped], None]) -> Iterator[Source]:
        rows = self.folder / _ROWS
        if rows.exists():
            with rows.open(encoding="ascii") as lines:
                yield from map(json.loads, lines)
        for stored, name in self.files:
            for document in read_file(path := self.folder / stored, name, skip):
                stored_as = storable(document)
                self.sources.append((stored_as.id, content_hash(stored_as), path, name))
                yield document

    def shown(self, text: str) -> str:
        """Return a message with original file names in place of the stored ones."""
        for stored, name in self.files:
            text = text.replace(str(self.folder / stored), name)
        return text


@dataclass(frozen=True)
class UploadFolder:
    """The folder of all uploads, each in the subfolder RUNNER/JOB. `runner`: the name of this server."""

    path: Path
    runner: str = "runner"

    def store_files(self, id: str, files: Iterable[Sent], limits: Limits) -> Upload:
        """Store files; jobs unpack archives. Stores nothing where it raises TooLargeError or ArchiveError."""
        names, skipped = dict[str, str](), list[tuple[str, str]]()
        with _new_folder(self.path / self.runner / id) as folder:
            for file in files:
                name = clean_name(file.name)
                if name in names:
                    skipped.append((name, "another file of this name was sent"))
                    continue
                stored = folder / f"{len(names):06}{_suffix(name)}"
                with stored.open("xb") as to:
                    shutil.copyfileobj(file.content, to)
                limits.take(stored, name)
                names[name] = stored.name
            return _finished(Upload(folder, tuple((stored, name) for name, stored in names.items()), tuple(skipped)))

    def store_documents(self, id: str, documents: Iterable[Mapping[str, Any]]) -> Upload:
        """Store documents given as mappings with id, text, title and metadata."""
        with _new_folder(self.path / self.runner / id) as folder:
            with (folder / _ROWS).open("w", encoding="ascii") as rows:
                for document in documents:
                    source = {**document, **(document.get("metadata") or {})}
                    source.pop("metadata", None)
                    rows.write(f"{json.dumps(source)}\n")
            flush(folder / _ROWS)
            return _finished(Upload(folder, ()))

    def open(self, id: str) -> Upload | None:
        """Return the upload of a job, or None."""
        return next((upload for folder in self.path.glob(f"*/{id}") if (upload := Upload.open(folder))), None)

    def delete(self, id: str) -> None:
        """Delete the upload of a job."""
        for folder in self.path.glob(f"*/{id}"):
            shutil.rmtree(folder, ignore_errors=True)

    def delete_others(self, ids: set[str], is_running: Callable[[str], bool]) -> None:
        """Delete the uploads of servers that do not run (`is_running`), except those of the jobs `ids`."""
        for runner in self.path.iterdir() if self.path.is_dir() else ():
            if not is_running(runner.name):
                for folder in runner.iterdir() if runner.is_dir() else ():
                    if folder.name not in ids:
                        shutil.rmtree(folder, ignore_errors=True)
                with suppress(OSError):
                    runner.rmdir()  # unless uploads are left


@contextmanager
def _new_folder(folder: Path) -> Iterator[Path]:
    folder.mkdir(mode=0o700, parents=True)
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _finished(upload: Upload) -> Upload:
    """Write the list of an upload's files, without which it counts as incomplete."""
    listed = upload.folder / _LIST
    listed.write_text(json.dumps({"files": upload.files, "skipped": upload.skipped}), encoding="utf-8")
    flush(listed)
    return upload


def _suffix(name: str) -> str:
    """Return the suffix of a stored file, by which its format is chosen.

    >>> _suffix("a.JSONL.gz"), _suffix("notes/v1.2 final.md"), _suffix("x.tar.gz"), _suffix("a.b/c")
    ('.jsonl.gz', '.md', '.tgz', '')
    """
    path = Path(name.lower().replace(".tar.", ".t"))
    before = Path(path.stem).suffix if path.suffix == ".gz" else ""
    return "".join(suffix for suffix in (before, path.suffix) if _SUFFIX.fullmatch(suffix))
