"""Documents of a synced folder that have another name now, recognised by their text."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from graphwright.data.document import Chunk
from graphwright.store.digests import text_digest
from graphwright.store.store import Store
from graphwright.text.characters import file_name


class MovedDocuments:
    """The stored documents of a folder whose files are gone, by the digest of their text.

    They are looked up at the first document with a new id; of documents that are still there no text is read.
    """

    def __init__(self, store: Store, folder: str) -> None:
        self._store, self._folder = store, folder
        self._gone: dict[bytes, list[str]] | None = None

    def earlier_id(self, identity: str, chunks: Sequence[Chunk]) -> str:
        """Return the id that a new document had, "" if it is new: one of the same name, else in the same folder.

        An id is returned once.
        """
        if self._gone is None:
            self._gone = {}
            ids = _missing(self._store.documents_of(self._folder), _names(Path(self._folder)))
            for earlier, digest in self._store.text_digests(ids).items():
                self._gone.setdefault(digest, []).append(earlier)
        digest = text_digest(chunk.text.encode("utf-8", "surrogatepass") for chunk in chunks)
        same = self._gone.get(digest, [])
        if not same or not chunks:
            return ""
        path, paths = PurePosixPath(identity), map(PurePosixPath, same)
        at = min(enumerate(paths), key=lambda other: (other[1].name != path.name, other[1].parent != path.parent))[0]
        return same.pop(at)


def _names(folder: Path) -> set[str]:
    """Return the names of all files below a folder, as in ids."""
    paths = (Path(root, name) for root, _, names in os.walk(folder) for name in names)
    return {file_name(path.relative_to(folder).as_posix()) for path in paths}


def _missing(ids: Iterable[str], names: set[str]) -> list[str]:
    """Return the ids that belong to none of these files: neither a file nor a part of one (`box.mbox#3`, `a.zip/b`)."""
    return sorted(identity for identity in ids if names.isdisjoint(_files_of(identity)))


def _files_of(identity: str) -> Iterator[str]:
    yield identity
    yield from (identity[:at] for at, sign in enumerate(identity) if sign in "#/")
