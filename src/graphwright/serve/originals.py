"""Originals: uploaded files, kept by their content in the data folder for as long as their documents are stored.

A row names the document with the hash of its content, and counts only while the index has a document of this hash. So a
document that was replaced or removed, here or by another process, has no original. `sweep` deletes what counts no more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import closing, suppress
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from graphwright.data.file_documents import named_in
from graphwright.data.formats.format import File
from graphwright.errors import GraphwrightError, StoreError
from graphwright.files import link, whole
from graphwright.serve.database import Database
from graphwright.serve.logs import log
from graphwright.serve.settings import ServeSettings
from graphwright.store import IndexLayout, Store

_TABLES = """CREATE TABLE IF NOT EXISTS originals (
    path TEXT NOT NULL, document TEXT NOT NULL, hash BLOB NOT NULL, sent TEXT NOT NULL, file TEXT NOT NULL,
    PRIMARY KEY (path, document, hash)
) STRICT; PRAGMA secure_delete = ON;"""

Source = tuple[str, bytes, Path, str]  # of a document from an uploaded file: id, hash of content, file, its name


class Original(NamedTuple):
    """The kept file that a document was read from, which was sent under a name."""

    document: str
    sent: str
    path: Path

    @property
    def inner(self) -> str:
        """What the id of the document adds to the name of the file, if it lies in a file in that one; else ""."""
        rest = self.document.removeprefix(self.sent)
        return rest if "/" in rest and rest != self.document else ""

    def file(self) -> File:
        """Return the file of the document itself, which may lie in the one that was sent."""
        name = self.path.stem if self.path.suffix == ".gz" else self.path.name
        return named_in(File(name, self.path), self.inner)


class Originals(Database):
    """The originals of the documents of a server's indexes. Thread-safe."""

    def __init__(self, settings: ServeSettings) -> None:
        super().__init__(settings.data / "originals.sqlite", _TABLES)
        self._folder, self._max = settings.data / "originals", settings.max_originals
        self._folder.mkdir(mode=0o700, exist_ok=True)

    def keep(self, index: Path, sources: Iterable[Source]) -> None:
        """Keep the files of documents, as far as there is room. A failure is logged."""
        for path, group in groupby(sources, itemgetter(2)):
            try:
                with self.lock:
                    file = self._kept(path)
                    for document, hash, _, sent in group if file else ():
                        row = str(index.resolve()), document, hash, sent, file
                        self.execute("INSERT OR REPLACE INTO originals VALUES (?, ?, ?, ?, ?)", *row)
            except (GraphwrightError, OSError) as error:
                log.warning("the original of a document is not kept: %s", error)

    def _kept(self, path: Path) -> str:
        """Keep a file and return its name in the folder; "" without room."""
        with path.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        place = self._folder / f"{digest}{''.join(path.suffixes)}"
        if not place.exists():
            if sum(file.stat().st_size for file in (path, *self._folder.iterdir())) > self._max:
                return ""
            with whole(place) as draft:
                link(path, draft)
        return place.name

    def of(self, index: Path, document: str) -> Original | None:
        """Return the original of a document; None if no file of this version of it is kept."""
        query = "SELECT sent, file FROM originals WHERE path = ? AND document = ? AND hash = ?"
        for id, hash in _hashes(index, [document]).items():
            for sent, file in self.execute(query, str(index.resolve()), id, hash):
                if (path := self._folder / file).exists():
                    return Original(id, sent, path)
        return None

    def sweep(self, index: Path | None = None) -> None:
        """Delete the originals of documents that an index, by default each, does not have any more. Logs a failure."""
        try:
            with self.lock:
                query = "SELECT DISTINCT path FROM originals WHERE path = coalesce(?, path)"
                for (path,) in self.execute(query, index and str(index.resolve())):
                    self._forget(path)
                files = {file for (file,) in self.execute("SELECT DISTINCT file FROM originals")}
                for place in self._folder.iterdir():
                    if place.name not in files:
                        place.unlink(missing_ok=True)
        except (GraphwrightError, OSError) as error:
            log.warning("originals that are needed no more cannot be deleted: %s", error)

    def _forget(self, path: str) -> None:
        """Delete the rows of documents that an index does not have any more."""
        rows = self.execute("SELECT document, hash FROM originals WHERE path = ?", path)
        with suppress(StoreError):  # of an index that cannot be read now
            stored = _hashes(Path(path), [document for document, _ in rows])
            for row in rows:
                if stored.get(row[0]) != row[1]:
                    self.execute("DELETE FROM originals WHERE path = ? AND document = ? AND hash = ?", path, *row)


def _hashes(index: Path, documents: list[str]) -> dict[str, bytes]:
    """Return the hashes of stored documents; none for a deleted index. Raises StoreError if it cannot be read."""
    if not index.exists() and index.parent.is_dir():
        return {}
    with closing(Store(IndexLayout(index).store)) as store:
        return store.hashes(documents)
