"""Storage of documents: each is read, compared with the stored one, split into chunks; moved ones are recognised."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath

from graphwright.build.chunk_extraction import NOT_READ, ChunkExtraction
from graphwright.build.document_sources import Source, Transform, is_new, read_sources, storable
from graphwright.build.operation import Operation
from graphwright.data.connectors import scheme_of
from graphwright.data.document import Chunk, Document, split
from graphwright.data.folders import ReadOptions
from graphwright.errors import DataError
from graphwright.extract.extraction import DeferredExtractor, Excerpt, Extraction, ExtractionFailure, Extractor
from graphwright.models.protocols import NamedEncoder
from graphwright.store.chunk_record import text_digest
from graphwright.store.settings import Settings
from graphwright.store.store import ExtractedChunk, StoredChunk
from graphwright.text.characters import file_name

_DOCUMENTS = 500  # held in memory at once
_CHARACTERS = 20_000  # of the first documents that are committed together
_SECONDS = 1.0  # for which documents are read before they are stored, and in which the next ones should be stored
Known = Mapping[str, tuple[Extraction, str]]  # the extractions of texts, each with its extractor
ChunkReader = Callable[[Sequence[Chunk]], Iterable[ExtractedChunk]]  # returns chunks of a document, with extractions


class DocumentStorage:
    """The documents of one operation, from their sources to the store."""

    def __init__(self, operation: Operation, extraction: ChunkExtraction) -> None:
        self._operation, self._extraction = operation, extraction
        self._store, self._changes = operation.store, operation.changes
        self._position = ("read documents", 0, 0)  # of the sources: the work, the amount read, and in all
        self._reported = 0  # the amount that is stored

    def read(
        self, sources: Iterable[Source] | Source, options: ReadOptions | None, transform: Transform | None
    ) -> Iterator[Document]:
        """Return an iterator over the documents read, or over the result of `transform`."""
        layout = self._operation.layout
        options = replace(options or ReadOptions(), recognised=layout.recognised)
        documents = read_sources(sources, self._changes, layout.path, options, self.read_up_to)
        return documents if transform is None else map(storable, transform(documents))

    def put_all(
        self, documents: Iterator[Document], keep: Callable[[], None], folder: str = "", *, moves: bool = True
    ) -> set[str]:
        """Store documents; return the ids of those that are whole files.

        `keep`: called after the first documents and then about once a second, to commit what was read. `folder`: the
        folder or the address that they are synced with. `moves`: whether moved files of the folder are recognised.
        """
        # Ids whose files are gone, by the digest of their text.
        self._gone: dict[bytes, list[str]] | None = None if moves else {}
        seen, files, characters = dict[str, bytes](), set[str](), _CHARACTERS
        while batch := _next(documents, characters):
            start = time.monotonic()
            ids = [document.id for document in batch]
            files.update(document.id for document in batch if document.file)
            if folder:
                self._claim(ids, folder)
            known = self._store.hashes(ids)
            self._put([d for d in batch if is_new(d, known, seen, self._changes)], folder)
            if not folder:
                self._store.set_read({document.id: document.folder for document in batch})
            self._report_part(1)
            keep()
            is_quick = time.monotonic() - start < _SECONDS
            characters = characters * 2 if is_quick else max(characters // 2, _CHARACTERS)
        return files

    def put_extracted(self, documents: Iterable[tuple[Document, ChunkReader]]) -> None:
        """Store documents, each with a function that extracts its chunks in place of the extractor."""
        seen = dict[str, bytes]()
        for document, read_chunks in documents:
            document = storable(document)
            if is_new(document, {}, seen, self._changes):
                for _, chunks in self._split([document]):
                    self._store.put(document, read_chunks(chunks))
            self._operation.report("read documents", len(self._changes.added), len(self._changes.added))

    def check_not_nested(self, folder: str) -> None:
        """Raise DataError if the index is synced with a folder in this one, or around it."""
        for other in self._store.folders():
            if other != folder and (Path(folder) in Path(other).parents or Path(other) in Path(folder).parents):
                raise DataError(
                    f"{self._operation.layout.path} is synced with {other}, and {folder} lies in it or around it: "
                    f"documents would be added twice. Sync only the outer one, or use two indexes; nothing was changed."
                )

    def check_stored(self, ids: Iterable[str], verb: str) -> dict[str, bytes]:
        """Return the hashes of documents by id. Raises DataError for a document that is not stored."""
        requested = list(ids)
        known = self._store.hashes(requested)
        unknown = [i for i in requested if i not in known]
        if unknown:
            raise DataError(
                f"{self._operation.layout.path} holds no document {unknown[0]!r} ({len(unknown)} unknown); nothing was "
                f"{verb}."
            )
        return known

    def unread_chunks(self, documents: Iterator[Document]) -> list[Excerpt]:
        """Return the chunks that would be read if these documents were added; writes nothing."""
        seen, excerpts = dict[str, bytes](), list[Excerpt]()
        while batch := list(islice(documents, _DOCUMENTS)):
            known = self._store.hashes(document.id for document in batch)
            excerpts += self._excerpts(self._split(d for d in batch if is_new(d, known, seen, self._changes)))
        replaced = set(self._changes.replaced)
        pending = [c for c in self._store.chunks(pending=True) if c.document not in replaced]
        return excerpts + [chunk.excerpt for chunk in pending]

    def outdated_chunks(self, ids: Sequence[str] | None) -> list[StoredChunk]:
        """Return the chunks of these documents, or of all, that the extractor has not read."""
        self.check_stored(ids or (), "extracted")
        extractor = self._operation.extractor.id
        return [c for c in self._store.chunks(ids=ids) if c.pending or c.extractor != extractor]

    def _split(self, documents: Iterable[Document]) -> list[tuple[Document, list[Chunk]]]:
        divide = chunker(self._operation.encoder, self._store.build_settings)
        return [(document, divide(document)) for document in documents]

    @staticmethod
    def _excerpts(parts: Iterable[tuple[Document, Sequence[Chunk]]]) -> list[Excerpt]:
        return [Excerpt.of(document.title, chunk) for document, chunks in parts for chunk in chunks]

    def _claim(self, ids: Sequence[str], folder: str) -> None:
        """Check that no other folder has documents of these ids; documents of a folder that was moved follow it."""
        for document, other in self._store.folders_of(ids).items():
            if other != folder and (scheme_of(other) or Path(other).is_dir()):
                raise DataError(
                    f"document {document!r} of {folder} has the id of one from another source ({other}). Sync a "
                    f"folder that contains both, or use two indexes; nothing was changed."
                )
            if other != folder:
                self._store.set_folder(self._store.documents_of(other), folder)

    def _put(self, documents: Sequence[Document], folder: str) -> None:
        """Read the chunks of documents with an extractor that is free, and store them."""
        model = self._operation.extractor
        extractor = model.provisional if isinstance(model, DeferredExtractor) else model
        parts = self._split(documents)
        earlier = self._moved(parts, folder) if folder else {}
        known = [self._known(document, earlier.get(document.id), extractor) for document, _ in parts]
        unread = [(d, [c for c in chunks if c.text not in k]) for (d, chunks), k in zip(parts, known, strict=True)]
        results = iter(self._extraction.extract(extractor, self._excerpts(unread), self._report_part))
        self._store.remove(earlier.values())
        for (document, chunks), read in zip(parts, known, strict=True):
            self._store.put(document, self._extracted(chunks, extractor.id, read, results), folder)
        if unsuitable := getattr(extractor, "unsuitable", None):
            texts = (document.text for document in documents if document.id not in earlier)
            self._changes.unsuitable.update(filter(None, map(unsuitable, texts)))

    def _moved(self, parts: Sequence[tuple[Document, Sequence[Chunk]]], folder: str) -> dict[str, str]:
        """Return the ids that new documents of a synced folder had earlier, by their ids; record them as moved."""
        added = {identity for identity in self._changes.added[-len(parts) :]} if parts else set()
        moved = {
            document.id: earlier
            for document, chunks in parts
            if document.id in added and (earlier := self._earlier_id(document.id, chunks, folder))
        }
        if moved:
            self._changes.added[-len(parts) :] = [
                identity for identity in self._changes.added[-len(parts) :] if identity not in moved
            ]
            self._changes.moved += [(earlier, identity) for identity, earlier in moved.items()]
        return moved

    def _earlier_id(self, identity: str, chunks: Sequence[Chunk], folder: str) -> str:
        """Return the earlier id of a new document, "" for none: of the same name, or in its folder; each id once."""
        if self._gone is None:
            self._gone = {}
            ids = _missing(self._store.documents_of(folder), _names(Path(folder)))
            for earlier, digest in self._store.text_digests(ids).items():
                self._gone.setdefault(digest, []).append(earlier)
        digest = text_digest(chunk.text for chunk in chunks)
        same = self._gone.get(digest, [])
        if not same or not chunks:
            return ""
        path, paths = PurePosixPath(identity), map(PurePosixPath, same)
        at = min(enumerate(paths), key=lambda other: (other[1].name != path.name, other[1].parent != path.parent))[0]
        return same.pop(at)

    def _known(self, document: Document, earlier: str | None, extractor: Extractor) -> Known:
        """Return the extractions of chunks of a document that need not be made again, with their extractor, by text.

        A language model is not paid again for a text that it has read in this document, under this name or an earlier
        one. A free extractor reads a document again, unless only its id has changed.
        """
        model = self._operation.extractor
        deferred = isinstance(model, DeferredExtractor)
        if not deferred and earlier is None:
            return {}
        any_title = deferred and earlier is not None
        stored = self._store.extractions(earlier or document.id, None if any_title else document.title)
        return {text: known for text, known in stored.items() if known[1] == (model if deferred else extractor).id}

    def _extracted(
        self, chunks: Sequence[Chunk], reader: str, known: Known, results: Iterator[Extraction | ExtractionFailure]
    ) -> list[ExtractedChunk]:
        """Return chunks as they are stored; `results`: of the extractor `reader`, for those that are not known."""
        pending = NOT_READ if isinstance(self._operation.extractor, DeferredExtractor) else None
        return [
            ExtractedChunk(chunk, *known[chunk.text])
            if chunk.text in known
            else extracted(chunk, next(results), reader, pending)
            for chunk in chunks
        ]

    def read_up_to(self, work: str, done: int, total: int) -> None:
        """Record how far the sources were read; what was read is reported as done when it is stored."""
        if self._position[0] != work:
            self._reported = 0
        self._position = work, done, total

    def _report_part(self, part: float) -> None:
        """Report progress where a part of the documents at hand is stored, from 0 to 1."""
        work, done, total = self._position
        self._operation.report(work, round(self._reported + (done - self._reported) * part), total)
        if part == 1:
            self._reported = done


def chunker(encoder: NamedEncoder, settings: Settings) -> Callable[[Document], list[Chunk]]:
    """Return the function that splits documents by these settings; the encoder counts the tokens if it can."""
    count = getattr(encoder, "count_tokens", None)
    counter = {} if count is None else {"count_tokens": count}
    return partial(split, budget=settings.chunk_tokens, overlap=settings.overlap, **counter)


def extracted(
    chunk: Chunk, result: Extraction | ExtractionFailure, extractor: str, pending: str | None
) -> ExtractedChunk:
    """Return a chunk as it is stored after an extractor of this id has read it, pending if that failed."""
    if isinstance(result, ExtractionFailure):
        return ExtractedChunk(chunk, Extraction(), extractor, result.reason)
    return ExtractedChunk(chunk, result, extractor, pending)


def _next(documents: Iterator[Document], characters: int) -> list[Document]:
    """Return the next documents, about as many as have these characters and can be read in a second."""
    batch, end = list[Document](), time.monotonic() + _SECONDS
    for document in documents:
        batch.append(document)
        characters -= len(document.text)
        if len(batch) == _DOCUMENTS or characters <= 0 or time.monotonic() > end:
            break
    return batch


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
