"""Changes to an index: documents are added, replaced, removed and extracted again; then a new snapshot is published."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from graphwright.data.document import Chunk, Document, split
from graphwright.errors import DataError, OptionError, StoreError
from graphwright.index.build import Built, Progress, build_from_chunks
from graphwright.index.changes import Changes, Source, count_unsuitable, is_new, possibly_present, read_sources
from graphwright.index.extraction import DeferredExtractor, Excerpt, Extraction, ExtractionFailure, Extractor
from graphwright.index.layout import IndexLayout
from graphwright.index.locks import writer_lock
from graphwright.index.snapshot import Snapshot, damaged_files, open_snapshot
from graphwright.index.store import ExtractedChunk, Store, StoredChunk
from graphwright.models.cache import CachedEncoder
from graphwright.models.protocols import NamedEncoder, Usage

__all__ = ["Operation", "Writer"]

_DOCUMENTS = 500  # held in memory at once
_CHUNKS = 64  # read by a deferred extractor between two commits
NOT_READ = "not read yet"


def _no_progress(work: str, done: int, total: int) -> None:
    """Report nothing."""


@dataclass(frozen=True)
class Writer:
    """The operations that change an index. One runs at a time, across processes; queries do not wait for it.

    Each operation changes the store in one transaction, all or nothing, and then publishes the new snapshot. If the
    process is killed between the two, the store is ahead of the snapshot, and the next operation completes the work.
    """

    layout: IndexLayout
    store: Store
    encoder: NamedEncoder
    extractor: Extractor

    @contextmanager
    def operation(self, progress: Progress | None = None, usage: Usage | None = None) -> Iterator[Operation]:
        """Hold the write lock while an operation runs."""
        with writer_lock(self.layout.path):
            yield Operation(self, progress or _no_progress, Changes(usage=Usage() if usage is None else usage))

    def outdated(self, ids: Sequence[str] | None = None) -> list[StoredChunk]:
        """Return the chunks of these documents, or of all, that this extractor has not read."""
        self.check_known(ids or (), "extracted")
        return [c for c in self.store.chunks(ids=ids) if c.pending or c.extractor != self.extractor.id]

    def unread(self, sources: Iterable[Source]) -> list[Excerpt]:
        """Return the chunks that would be read if these documents were added; writes nothing."""
        changes, seen, excerpts = Changes(), dict[str, bytes](), list[Excerpt]()
        documents = read_sources(sources, changes, self.layout.path)
        while batch := list(islice(documents, _DOCUMENTS)):
            known = self.store.hashes(document.id for document in batch)
            new = [document for document in batch if is_new(document, known, seen, changes)]
            excerpts += [Excerpt(d.id, d.title, c.text) for d, chunks in self.split(new) for c in chunks]
        replaced = set(changes.replaced)
        pending = [c for c in self.store.chunks(pending=True) if c.document not in replaced]
        return excerpts + [Excerpt(c.document, c.title, c.text) for c in pending]

    def split(self, documents: Sequence[Document]) -> Iterator[tuple[Document, list[Chunk]]]:
        """Split documents into chunks."""
        settings = self.store.build_settings
        count = getattr(self.encoder, "count_tokens", None)
        counter = {} if count is None else {"count_tokens": count}
        for document in documents:
            yield document, split(document, budget=settings.chunk_tokens, overlap=settings.overlap, **counter)

    def check_known(self, ids: Iterable[str], verb: str) -> None:
        """Raise DataError for a document that is not stored."""
        requested = list(ids)
        known = self.store.hashes(requested)
        unknown = [i for i in requested if i not in known]
        if unknown:
            raise DataError(
                f"{self.layout.path} holds no document {unknown[0]!r} ({len(unknown)} unknown); nothing was {verb}."
            )


class Operation:
    """One operation under the write lock, and the changes that it makes."""

    def __init__(self, writer: Writer, progress: Progress, changes: Changes) -> None:
        self.writer, self.store, self.layout = writer, writer.store, writer.layout
        self.progress, self.changes = progress, changes

    def add(self, sources: Iterable[Source]) -> Changes:
        """Add documents, and replace those with a known id and other content."""
        documents = read_sources(sources, self.changes, self.layout.path)
        before = self.store.revision
        with self.store.writing():
            self._store_documents(documents)
            self._count_change()
        self._finish(before)
        return self.changes

    def sync(self, folder: Path) -> Changes:
        """Make the documents of a folder those that it contains now."""
        if not folder.is_dir():
            raise DataError(f"{folder} is not a folder that could be synced; nothing was changed.")
        source = str(folder.resolve())
        documents = read_sources([folder], self.changes, self.layout.path)
        before = self.store.revision
        with self.store.writing():
            self._check_not_nested(source)
            files = self._store_documents(documents, source)
            present = {*self.changes.added, *self.changes.replaced, *self.changes.unchanged}
            self.store.set_folder(present, source)
            missing = self.store.documents_of(source) - present
            # A file that cannot be read may still be there: a wrong permission must not delete anything.
            retained, unreadable = possibly_present(missing, self.store.file_documents(), self.changes.skipped, folder)
            self.changes.retained, self.changes.unreadable = retained, unreadable
            self.store.set_files(present, files)
            self.changes.removed = sorted(missing.difference(retained))
            self.store.remove(self.changes.removed)
            self._count_change()
        self._finish(before)
        return self.changes

    def remove(self, ids: Iterable[str]) -> Changes:
        """Remove documents. Raises DataError for an unknown id."""
        self.changes.removed = list(dict.fromkeys(ids))
        self.writer.check_known(self.changes.removed, "removed")
        with self.store.writing():
            self.store.remove(self.changes.removed)
            self._count_change()
        self._refresh()
        self._clean()
        return self.changes

    def reextract(self, ids: Sequence[str] | None) -> Changes:
        """Read the chunks of documents with this extractor, where another one read them."""
        outdated = self.writer.outdated(ids)
        with self.store.writing():
            for chunk in outdated:
                self.store.set_pending(chunk, chunk.pending or NOT_READ)
        self._extract_pending(outdated)
        self._refresh()
        self._clean()
        self._list_pending()
        return self.changes

    def rebuild(self) -> Changes:
        """Build the snapshot again from the store alone."""
        self._publish(self._build(None))
        return self.changes

    def _count_change(self) -> None:
        """Increase the revision if documents changed, so that the snapshot counts as outdated.

        Cached replies that may quote removed text are marked, to be deleted at the end.
        """
        if self.changes.removed or self.changes.replaced:
            self.store.set("delete replies", "1")
        if self.changes.added or self.changes.removed or self.changes.replaced:
            self._increase_revision()

    def _increase_revision(self) -> None:
        self.store.set("revision", str(self.store.revision + 1))

    def _clean(self) -> None:
        """Delete language models' replies that may quote removed text, also those of an interrupted run."""
        if self.store.setting("delete replies") == "1":
            self.layout.delete_cache(self.layout.replies)
            with self.store.writing():
                self.store.set("delete replies", "0")
        self.store.checkpoint()

    def _list_pending(self) -> None:
        self.changes.pending = [(c.document, c.ordinal, c.pending or "") for c in self.store.chunks(pending=True)]

    def _check_not_nested(self, source: str) -> None:
        for other in self.store.folders():
            if other != source and (Path(source) in Path(other).parents or Path(other) in Path(source).parents):
                raise DataError(
                    f"{self.layout.path} is synced with {other}, and {source} lies in it or around it: documents "
                    f"would be added twice. Sync only the outer one, or use two indexes; nothing was changed."
                )

    def _store_documents(self, documents: Iterator[Document], source: str = "") -> set[str]:
        """Store documents; return the ids of those that are whole files."""
        seen, files = dict[str, bytes](), set[str]()
        while batch := list(islice(documents, _DOCUMENTS)):
            ids = [document.id for document in batch]
            files.update(document.id for document in batch if document.file)
            if source:
                self._claim(ids, source)
            known = self.store.hashes(ids)
            self._put([d for d in batch if is_new(d, known, seen, self.changes)], source)
        return files

    def _claim(self, ids: Sequence[str], source: str) -> None:
        """Check that no other folder has documents of these ids; documents of a folder that was moved follow it."""
        for document, other in self.store.folders_of(ids).items():
            if other != source and Path(other).is_dir():
                raise DataError(
                    f"document {document!r} of {source} has the id of one from another folder ({other}). Sync a "
                    f"folder that contains both, or use two indexes; nothing was changed."
                )
            if other != source:
                self.store.set_folder(self.store.documents_of(other), source)

    def _put(self, documents: Sequence[Document], source: str) -> None:
        if not documents:
            return
        deferred = isinstance(self.writer.extractor, DeferredExtractor)
        extractor = _provisional(self.writer.extractor)
        parts = list(self.writer.split(documents))
        results = iter(
            self._extract(extractor, [Excerpt(d.id, d.title, c.text) for d, chunks in parts for c in chunks])
        )
        for document, chunks in parts:
            known = self.store.extractions(document.id, document.title) if deferred else {}
            extracted = []
            for chunk in chunks:
                new = _extracted_chunk(chunk, next(results), extractor.id, NOT_READ if deferred else None)
                extraction, reader = known.get(chunk.text, (new.extraction, ""))
                # A chunk that the model has read, and that did not change, is not read, and paid for, again.
                reused = reader == self.writer.extractor.id
                extracted.append(ExtractedChunk(chunk, extraction, reader) if reused else new)
            self.store.put(document, extracted, source)
        self.changes.unsuitable.update(count_unsuitable(extractor, documents))
        done = len(self.changes.added) + len(self.changes.replaced)
        self.progress("read documents", done, done)

    def _extract(self, extractor: Extractor, excerpts: Sequence[Excerpt]) -> Sequence[Extraction | ExtractionFailure]:
        if not excerpts:
            return []
        metered = getattr(extractor, "extract_metered", None)
        results: Sequence[Extraction | ExtractionFailure] = (
            extractor.extract(excerpts) if metered is None else metered(excerpts, self.changes.usage)
        )
        if len(results) != len(excerpts):
            raise OptionError(
                f"{extractor.id} returned {len(results)} results for {len(excerpts)} chunks; an extractor must return "
                f"one for each."
            )
        return results

    def _finish(self, before: int) -> None:
        """Publish the stored documents; then read pending chunks, also those of earlier runs, and publish again.

        `before`: the store's revision at the start. A snapshot of another one was left by a killed writer.
        """
        shown = self._refresh()
        self.changes.resumed = shown is not None and shown != before
        if isinstance(self.writer.extractor, DeferredExtractor):
            pending = self.store.chunks(pending=True)
            own = [chunk for chunk in pending if chunk.extractor == self.writer.extractor.id]
            if own:  # this extractor has read them; they were pending for another one
                with self.store.writing():
                    for chunk in own:
                        self.store.set_pending(chunk, None)
            self._extract_pending([chunk for chunk in pending if chunk.extractor != self.writer.extractor.id])
            self._refresh()
        self._clean()
        self._list_pending()

    def _extract_pending(self, chunks: Sequence[StoredChunk]) -> None:
        """Read chunks with the extractor, failed ones last; each batch is stored as soon as it is read."""
        chunks = sorted(chunks, key=lambda chunk: chunk.pending != NOT_READ)
        for start in range(0, len(chunks), _CHUNKS):
            self.progress("extract", start, len(chunks))
            results = self._extract_batch(chunks[start : start + _CHUNKS])
            failures = [result for result in results if isinstance(result, ExtractionFailure)]
            self.changes.extracted += len(results) - len(failures)
            if any(failure.final for failure in failures):
                break  # the rest stays pending
        if chunks:
            self.progress("extract", min(start + _CHUNKS, len(chunks)), len(chunks))

    def _extract_batch(self, chunks: Sequence[StoredChunk]) -> Sequence[Extraction | ExtractionFailure]:
        """Read some chunks again and store the results."""
        results = self._extract(self.writer.extractor, [Excerpt(c.document, c.title, c.text) for c in chunks])
        with self.store.writing():
            for chunk, result in zip(chunks, results, strict=True):
                if isinstance(result, ExtractionFailure):
                    self.store.set_pending(chunk, result.reason)
                else:
                    self.store.set_extraction(chunk, result, self.writer.extractor.id)
            if any(isinstance(result, Extraction) for result in results):
                self._increase_revision()
        return results

    def _refresh(self) -> int | None:
        """Publish a snapshot of the store unless the current one is up to date.

        Return the revision of the snapshot that was current until now, None if it was damaged.
        """
        current = self._current()
        revision: int | None = None if current is None else current.about.get("revision")
        built = None if revision == self.store.revision else self._build(current)
        del current  # or its files would be in use
        if built is None:
            self.layout.clean()
            self.layout.delete_cache(self.layout.vectors)
        else:
            self._publish(built)
        return revision

    def _current(self) -> Snapshot | None:
        """Return the current snapshot; None if it is damaged, and has to be rebuilt."""
        try:
            return open_snapshot(self.layout.path / self.layout.current(), self.writer.encoder)
        except StoreError:
            return None

    def _build(self, known: Snapshot | None) -> Built:
        """Build a snapshot of the store; the vectors of `known` are reused if they are undamaged."""
        if known is not None and damaged_files(self.layout.path / self.layout.current(), vectors=True):
            known = None
        start = time.perf_counter()
        columns = self.store.columns()
        seconds = time.perf_counter() - start
        built = build_from_chunks(
            columns,
            self.store.build_settings,
            # New vectors are cached while they are computed, because that may take hours.
            CachedEncoder(self.writer.encoder, self.layout.vectors),
            known=known,
            revision=self.store.revision,
            usage=self.changes.usage,
            progress=None if self.progress is _no_progress else self.progress,
        )
        built.seconds = {"read": seconds, **built.seconds}
        return built

    def _publish(self, built: Built) -> None:
        self.layout.publish(built.about["revision"], built.write)
        self.layout.delete_cache(self.layout.vectors)  # the snapshot contains them now
        self.store.checkpoint()
        self.changes.seconds, self.changes.texts = dict(built.seconds), dict(built.about["texts"])


def _provisional(extractor: Extractor) -> Extractor:
    return extractor.provisional if isinstance(extractor, DeferredExtractor) else extractor


def _extracted_chunk(
    chunk: Chunk, result: Extraction | ExtractionFailure, extractor: str, pending: str | None
) -> ExtractedChunk:
    if isinstance(result, ExtractionFailure):
        return ExtractedChunk(chunk, Extraction(), extractor, result.reason)
    return ExtractedChunk(chunk, result, extractor, pending)
