"""Changes to an index: documents are added, replaced, removed and extracted again; then a new snapshot is published."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from graphwright.data.document import Chunk, Document, split
from graphwright.data.reading import ReadOptions
from graphwright.errors import DataError, OptionError, StoreError
from graphwright.build.build import build_from_chunks
from graphwright.store.changes import (
    Changes,
    Progress,
    Source,
    Transform,
    is_new,
    possibly_present,
    read_sources,
    storable,
)
from graphwright.extract.derived import Derived, Refiner, Task
from graphwright.extract.extraction import DeferredExtractor, Excerpt, Extraction, ExtractionFailure, Extractor
from graphwright.store.layout import IndexLayout
from graphwright.search.snapshot import Snapshot
from graphwright.search.snapshot_format import open_snapshot, refused, write_snapshot
from graphwright.store.store import ExtractedChunk, Store, StoredChunk, id_digest
from graphwright.models.cache import CachedEncoder
from graphwright.models.protocols import NamedEncoder

_DOCUMENTS = 500  # held in memory at once
_QUICK = 500  # texts that are encoded in some seconds
_PASSAGES = 256  # read between two reports of progress
_FEW = 32  # passages, which take no second
_KEPT = 20.0  # seconds after which new documents that were read are kept
_CHUNKS = 64  # read by a deferred extractor between two commits
NOT_READ = "not read yet"
ChunkReader = Callable[[Sequence[Chunk]], Iterable[ExtractedChunk]]
"""A function that returns the chunks of a document with their extractions."""


@dataclass(frozen=True)
class Batch:
    """Operations that share one snapshot: the revision of the first, and new vectors."""

    first: int
    vectors: CachedEncoder


@dataclass
class Writer:
    """One operation that changes an index, under its write lock; `changes` records what it does.

    Each operation changes the store in one transaction, all or nothing, and then publishes the new snapshot; queries
    do not wait for it. If the process is killed between the two, the store is ahead of the snapshot, and the next
    operation completes the work. Until then the store names the documents that were withdrawn (removed or replaced), so
    that readers hide them, and the same operation can be called again. New documents that take long to read are kept
    every 20 s, so that an operation that is killed while it reads does not begin anew; an error removes them again.
    `reported`: the revision up to which the caller has seen operations succeed; a removal by a later one may have been
    interrupted, and is repeated without an error.
    `batch`: operations of which the last alone publishes a snapshot, see `Index.batch`.
    """

    layout: IndexLayout
    store: Store
    encoder: NamedEncoder
    extractor: Extractor
    progress: Progress | None = None
    changes: Changes = field(default_factory=Changes)
    reported: int = -1
    batch: Batch | None = None
    _derived: Derived | None = field(default=None, init=False)  # of the last build
    _cache: CachedEncoder = field(init=False)  # of new vectors, because computing them may take hours
    _many_files: bool = field(default=False, init=False)
    _kept: list[str] = field(default_factory=list, init=False)  # documents that this operation has committed
    _failed: set[tuple[str, int]] = field(default_factory=set, init=False)  # documents and chunks, in this run

    def __post_init__(self) -> None:
        self._cache = self.cache(self.layout, self.encoder) if self.batch is None else self.batch.vectors

    @staticmethod
    def cache(layout: IndexLayout, encoder: NamedEncoder) -> CachedEncoder:
        """Return a cache of new vectors, which has a file only where they are many."""
        return CachedEncoder(encoder, layout.vectors, unsaved=_QUICK)

    def add(
        self,
        sources: Iterable[Source] | Source,
        options: ReadOptions | None = None,
        transform: Transform | None = None,
    ) -> Changes:
        """Add documents, and replace those with a known id and other content."""
        documents = self._read(sources, options, transform)
        with self._transaction():
            self._store_documents(documents)
        return self._finish(self._pending_chunks())

    def add_extracted(self, documents: Iterable[tuple[Document, ChunkReader]]) -> Changes:
        """Add documents whose chunks are not read by this extractor, but by a function each."""
        seen = dict[str, bytes]()
        with self._transaction():
            for document, extracted in documents:
                document = storable(document)
                if is_new(document, {}, seen, self.changes):
                    for _, chunks in self._split([document]):
                        self.store.put(document, extracted(chunks))
                self._report("read documents", len(self.changes.added), len(self.changes.added))
        return self._finish([])

    def sync(self, folder: Path, options: ReadOptions | None = None, transform: Transform | None = None) -> Changes:
        """Make the documents of a folder those that it contains now."""
        if not folder.is_dir():
            raise DataError(f"{folder} is not a folder that could be synced; nothing was changed.")
        source, changes = str(folder.resolve()), self.changes
        documents = self._read([folder], options, transform)
        with self._transaction():
            self._check_not_nested(source)
            files = self._store_documents(documents, source)
            present = {*changes.added, *changes.replaced, *changes.unchanged}
            self.store.set_folder(present, source)
            missing = self.store.documents_of(source) - present
            # A file that cannot be read may still be there: a wrong permission must not delete anything.
            known_files = self.store.file_documents()
            changes.retained, changes.unreadable = possibly_present(missing, known_files, changes.skipped, folder)
            self.store.set_files(present, files)
            changes.removed = sorted(missing.difference(changes.retained))
            self.store.remove(changes.removed)
        return self._finish(self._pending_chunks())

    def remove(self, ids: Iterable[str]) -> Changes:
        """Remove documents, also those that an interrupted call has removed. Raises DataError for an unknown id."""
        requested = list(dict.fromkeys(ids))
        end = self.store.revision + 1 if self.batch is None else self.batch.first
        before = {digest for digest, by in self.store.withdrawn().items() if self.reported < by < end}
        stored = self._check_known([i for i in requested if id_digest(i) not in before], "removed")
        stored |= self.store.hashes(requested)
        with self._transaction() as withdrawn:
            if stored:
                self.store.remove(stored)
                withdrawn += requested
        self.changes.removed = requested
        self.changes.resumed |= len(stored) < len(requested)
        return self._finish([])

    def resume(self) -> bool:
        """Publish what an interrupted change has stored, if that is quick; return whether it was published.

        It is not with a damaged snapshot or many new texts; the next operation does it then.
        """
        current = self._current()
        if current is None or current.graph.passages is None:
            return False
        withdrawn, documents = self.store.withdrawn(), current.graph.passages.listed()
        unchanged = sum(document.chunks for document in documents if id_digest(document.id) not in withdrawn)
        del current
        if self.store.counts()[1] - unchanged > _QUICK:
            return False
        self._refresh()
        self._delete_replies()
        return True

    def reextract(self, ids: Sequence[str] | None) -> Changes:
        """Read the chunks of documents with this extractor, where another one read them."""
        outdated = self.outdated(ids)
        read = [chunk for chunk in outdated if chunk.extractor == self.extractor.id]
        outdated = [chunk for chunk in outdated if chunk.extractor != self.extractor.id]
        with self._transaction():
            for chunk in read:  # they wait for another extractor
                self.store.set_pending(chunk, None)
            self.changes.released += len(read)
            for chunk in outdated:
                self.store.set_pending(chunk, chunk.pending or NOT_READ)
        return self._finish(outdated)

    def rebuild(self) -> None:
        """Build the snapshot again from the rows of the store alone."""
        with self.store.writing():
            self.store.discard_packs()
        self._publish(self._build(None))

    def outdated(self, ids: Sequence[str] | None = None) -> list[StoredChunk]:
        """Return the chunks of these documents, or of all, that this extractor has not read."""
        self._check_known(ids or (), "extracted")
        return [c for c in self.store.chunks(ids=ids) if c.pending or c.extractor != self.extractor.id]

    def unread(
        self,
        sources: Iterable[Source] | Source,
        options: ReadOptions | None = None,
        transform: Transform | None = None,
    ) -> list[Excerpt]:
        """Return the chunks that would be read if these documents were added; writes nothing."""
        seen, excerpts = dict[str, bytes](), list[Excerpt]()
        documents = self._read(sources, options, transform)
        while batch := list(islice(documents, _DOCUMENTS)):
            known = self.store.hashes(document.id for document in batch)
            new = [document for document in batch if is_new(document, known, seen, self.changes)]
            excerpts += [Excerpt(d.id, d.title, c.text, c.heading) for d, chunks in self._split(new) for c in chunks]
        replaced = set(self.changes.replaced)
        pending = [c for c in self.store.chunks(pending=True) if c.document not in replaced]
        return excerpts + [chunk.excerpt for chunk in pending]

    def _check_known(self, ids: Iterable[str], verb: str) -> dict[str, bytes]:
        """Return the hashes of documents by id. Raises DataError for one that is not stored."""
        requested = list(ids)
        known = self.store.hashes(requested)
        unknown = [i for i in requested if i not in known]
        if unknown:
            raise DataError(
                f"{self.layout.path} holds no document {unknown[0]!r} ({len(unknown)} unknown); nothing was {verb}."
            )
        return known

    def _split(self, documents: Sequence[Document]) -> Iterator[tuple[Document, list[Chunk]]]:
        settings = self.store.build_settings
        count = getattr(self.encoder, "count_tokens", None)
        counter = {} if count is None else {"count_tokens": count}
        for document in documents:
            yield document, split(document, budget=settings.chunk_tokens, overlap=settings.overlap, **counter)

    def _read(
        self, sources: Iterable[Source] | Source, options: ReadOptions | None, transform: Transform | None
    ) -> Iterator[Document]:
        """Return an iterator over the documents as read, or as a function of them all returns them."""
        documents = read_sources(sources, self.changes, self.layout.path, options, self._report_files)
        return documents if transform is None else map(storable, transform(documents))

    def _report_files(self, done: int, total: int) -> None:
        self._many_files = total > 1
        if self._many_files:
            self._report("read files", done, total)

    def _report(self, work: str, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(work, done, total)

    @contextmanager
    def _transaction(self) -> Iterator[list[str]]:
        """Change the store in the block, all or nothing, and publish the result; yield a list for withdrawn documents.

        The revision is increased if documents change, so that the snapshot counts as outdated; a snapshot of another
        revision than the store's at the start was left by a killed writer. Cached replies that may quote removed text
        are marked, to be deleted at the end.
        """
        before, changes, withdrawn, batch = self.store.revision, self.changes, list[str](), self.batch
        with self.layout.changing(before + 1) if batch is None else nullcontext():
            with self._removing_kept(before), self.store.writing():
                yield withdrawn
                withdrawn += [*changes.removed, *changes.replaced]
                if withdrawn:
                    self.store.set("delete replies", "1")
                if changes.added or withdrawn:
                    self.store.withdraw(withdrawn, before + 1 if batch is None else batch.first, self._published())
                    self.store.set("revision", str(before + 1))
            shown = self._refresh() if batch is None else before
        changes.resumed |= shown is not None and shown != before

    @contextmanager
    def _removing_kept(self, revision: int) -> Iterator[None]:
        """After an error in the block, remove the documents that were kept meanwhile, and restore the revision."""
        try:
            yield
        except Exception:
            if self._kept:
                with suppress(StoreError), self.store.writing():
                    self.store.remove(self._kept)
                    self.store.set("revision", str(revision))
            raise

    def _keep(self) -> None:
        """Keep the new documents that were read, unless others were replaced, which only happens at the end."""
        if len(self.changes.added) > len(self._kept) and not self.changes.replaced:
            self.store.set("revision", str(self.store.revision + (not self._kept)))
            self.store.keep()
            self._kept = list(self.changes.added)

    def _published(self) -> int:
        """Return the revision of the current snapshot, -1 if there is none."""
        with suppress(StoreError):
            return self.layout.published
        return -1

    def _check_not_nested(self, source: str) -> None:
        for other in self.store.folders():
            if other != source and (Path(source) in Path(other).parents or Path(other) in Path(source).parents):
                raise DataError(
                    f"{self.layout.path} is synced with {other}, and {source} lies in it or around it: documents "
                    f"would be added twice. Sync only the outer one, or use two indexes; nothing was changed."
                )

    def _store_documents(self, documents: Iterator[Document], source: str = "") -> set[str]:
        """Store documents; return the ids of those that are whole files."""
        seen, files, due = dict[str, bytes](), set[str](), time.monotonic() + _KEPT
        while batch := list(islice(documents, _DOCUMENTS)):
            ids = [document.id for document in batch]
            files.update(document.id for document in batch if document.file)
            if source:
                self._claim(ids, source)
            known = self.store.hashes(ids)
            self._put([d for d in batch if is_new(d, known, seen, self.changes)], source)
            if time.monotonic() > due:
                self._keep()
                due = time.monotonic() + _KEPT
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
        """Read the chunks of documents with an extractor that is free, and store them."""
        model = self.extractor
        deferred = isinstance(model, DeferredExtractor)
        extractor = model.provisional if isinstance(model, DeferredExtractor) else model
        parts = list(self._split(documents))
        excerpts = [Excerpt(d.id, d.title, c.text, c.heading) for d, chunks in parts for c in chunks]
        results = iter(self._extract(extractor, excerpts))
        for document, chunks in parts:
            known = self.store.extractions(document.id, document.title) if deferred else {}
            extracted = []
            for chunk in chunks:
                result = next(results)
                earlier, reader = known.get(chunk.text, (Extraction(), ""))
                if reader == model.id:  # the model has read this text, and is not paid for it again
                    extracted.append(ExtractedChunk(chunk, earlier, reader))
                elif isinstance(result, ExtractionFailure):
                    extracted.append(ExtractedChunk(chunk, Extraction(), extractor.id, result.reason))
                else:
                    extracted.append(ExtractedChunk(chunk, result, extractor.id, NOT_READ if deferred else None))
            self.store.put(document, extracted, source)
        if unsuitable := getattr(extractor, "unsuitable", None):
            self.changes.unsuitable.update(filter(None, (unsuitable(document.text) for document in documents)))
        done = len(self.changes.added) + len(self.changes.replaced)
        if not self._many_files:  # else files are counted, as their number is known before
            self._report("read documents", done, done)

    def _extract(self, extractor: Extractor, excerpts: Sequence[Excerpt]) -> Sequence[Extraction | ExtractionFailure]:
        if not excerpts:
            return []
        results: Sequence[Extraction | ExtractionFailure]
        if (encoded := getattr(extractor, "extract_encoded", None)) is not None:
            results = self._encoded(encoded, extractor.encoder.id == self.encoder.id, excerpts)  # type: ignore[attr-defined]
        elif (metered := getattr(extractor, "extract_metered", None)) is not None:
            results = metered(excerpts, self.changes.usage)
        else:
            results = extractor.extract(excerpts)
        if len(results) != len(excerpts):
            raise OptionError(
                f"{extractor.id} returned {len(results)} results for {len(excerpts)} chunks; an extractor must return "
                f"one for each."
            )
        return results

    def _encoded(self, extract: Callable[..., Any], is_kept: bool, excerpts: Sequence[Excerpt]) -> list[Extraction]:
        """Extract in parts, and report each; keep the vectors if they are those of the index."""
        results = list[Extraction]()
        for first in range(0, len(excerpts), _PASSAGES):
            if len(excerpts) > _FEW:
                self._report("read passages", first, len(excerpts))
            part = excerpts[first : first + _PASSAGES]
            extractions, vectors = extract(part, self.changes.usage)
            results += extractions
            if is_kept:
                self._cache.add([excerpt.reading for excerpt in part], vectors)
        return results

    def _pending_chunks(self) -> list[StoredChunk]:
        """Return the chunks that a deferred extractor has not read yet, also those of earlier runs."""
        if not isinstance(self.extractor, DeferredExtractor):
            return []
        pending = self.store.chunks(pending=True)
        own = [chunk for chunk in pending if chunk.extractor == self.extractor.id]
        if own:  # this extractor has read them; they were pending for another one
            with self.store.writing():
                for chunk in own:
                    self.store.set_pending(chunk, None)
        return [chunk for chunk in pending if chunk.extractor != self.extractor.id]

    def _finish(self, chunks: Sequence[StoredChunk]) -> Changes:
        """Read chunks with the extractor, refine the graph, publish; delete replies that may quote removed text."""
        if chunks:
            self._extract_pending(chunks)
        if self.batch is None:
            if chunks:
                self._refresh()
            self._complete()
        self.changes.pending = self._still_pending()
        return self.changes

    def publish(self) -> None:
        """Publish what the operations of a batch have stored."""
        self._refresh()
        self._complete()

    def _complete(self) -> None:
        """Refine the graph, and delete replies that may quote removed text."""
        self._refine()
        self._delete_replies()

    def _still_pending(self) -> list[tuple[str, int, str]]:
        """Return the chunks that wait for a model, first those that failed now: their reasons are the present ones."""
        failed, waiting = list[tuple[str, int, str]](), list[tuple[str, int, str]]()
        for chunk in self.store.chunks(pending=True):
            reason = chunk.pending or ""
            if (chunk.document, chunk.ordinal) in self._failed:
                failed.append((chunk.document, chunk.ordinal, reason))
            else:
                earlier = reason if not self._failed or reason == NOT_READ else f"not tried again; earlier: {reason}"
                waiting.append((chunk.document, chunk.ordinal, earlier))
        return failed + waiting

    def _delete_replies(self) -> None:
        """Delete the replies of language models if they may quote removed text."""
        if self.store.setting("delete replies") == "1":
            self.layout.delete_cache(self.layout.replies)
            with self.store.writing():
                self.store.set("delete replies", "0")
        self.store.checkpoint()

    def _extract_pending(self, chunks: Sequence[StoredChunk]) -> None:
        """Read chunks with the extractor, failed ones last; each batch is stored as soon as it is read."""
        chunks, done, final = sorted(chunks, key=lambda chunk: chunk.pending != NOT_READ), 0, False
        while done < len(chunks) and not final:  # after a final failure the rest stays pending
            self._report("extract", done, len(chunks))
            batch = chunks[done : done + _CHUNKS]
            results = self._extract(self.extractor, [chunk.excerpt for chunk in batch])
            failures = [result for result in results if isinstance(result, ExtractionFailure)]
            with self.store.writing():
                for chunk, result in zip(batch, results, strict=True):
                    if isinstance(result, ExtractionFailure):
                        self._failed.add((chunk.document, chunk.ordinal))
                        self.store.set_pending(chunk, result.reason)
                    else:
                        self.store.set_extraction(chunk, result, self.extractor.id)
                if len(failures) < len(batch):
                    self.store.set("revision", str(self.store.revision + 1))
            self.changes.extracted += len(batch) - len(failures)
            done += len(batch)
            final = any(failure.final for failure in failures)
        self._report("extract", done, len(chunks))

    def _refine(self) -> None:
        """Derive what the model can add to the merged graph, until nothing is missing or calls fail; publish it.

        A value may need others before it: a summary of summaries, a description of names that were merged.
        """
        refiner = getattr(self.extractor, "refiner", None)
        if refiner is None or self.store.setting("missing values") in (None, "0"):
            return
        derived = self._derived or self._missing_values()
        while derived.missing and self._derive(refiner, list(derived.missing.values())):
            self._refresh()
            derived = self._derived or Derived()

    def _missing_values(self) -> Derived:
        """Return the derived values that an interrupted run left missing."""
        self._build(None if self.store.setting("graph") else self._current())
        return self._derived or Derived()

    def _derive(self, refiner: Refiner, tasks: Sequence[Task]) -> bool:
        """Derive values, each batch stored as soon as it is done; return whether any was derived."""
        before, done, final = self.changes.refined, 0, False
        self.changes.unrefined = []
        while done < len(tasks) and not final:
            self._report("refine", done, len(tasks))
            batch = tasks[done : done + _CHUNKS]
            results = dict(zip((task.key for task in batch), refiner.answers(batch, self.changes.usage), strict=True))
            values = {key: value for key, value in results.items() if isinstance(value, str)}
            failures = [value for value in results.values() if isinstance(value, ExtractionFailure)]
            if values:
                with self.store.writing():
                    self.store.put_derived(values)
                    self.store.set("revision", str(self.store.revision + 1))
            self.changes.refined += len(values)
            self.changes.unrefined += [failure.reason for failure in failures]
            done += len(batch)
            final = any(failure.final for failure in failures)
        self._report("refine", done, len(tasks))
        return self.changes.refined > before

    def _current(self) -> Snapshot | None:
        """Return the current snapshot, None if it is damaged."""
        try:
            return open_snapshot(self.layout.path / self.layout.current(), self.encoder)
        except StoreError as error:
            if refused(error):
                raise
            return None

    def _refresh(self) -> int | None:
        """Publish a snapshot of the store unless the current one is up to date.

        Return the revision of the snapshot that was current until now, None if it was damaged.
        """
        current = self._current()
        revision: int | None = None if current is None else current.about.get("revision")
        if revision == self.store.revision:
            self.layout.clean()
            self.layout.delete_cache(self.layout.vectors)
        else:
            try:
                snapshot = self._build(current)
                del current  # or its files would be in use
                self._publish(snapshot)
            except StoreError as error:
                if revision is None or refused(error):
                    raise
                self.rebuild()  # a file of the snapshot is damaged that was not verified when it was opened
        return revision

    def _build(self, known: Snapshot | None) -> Snapshot:
        """Build a snapshot of the store; the vectors of `known` are reused. Raises StoreError if they are damaged."""
        self._report("build the graph", 0, 0)
        start = time.perf_counter()
        columns = self.store.packed_columns()
        seconds = time.perf_counter() - start
        self._derived = Derived(self.store.derived())
        kept = self.layout.imported
        snapshot = build_from_chunks(
            columns,
            self.store.build_settings,
            self._cache,
            known=known,
            revision=self.store.revision,
            derived=self._derived,
            usage=self.changes.usage,
            progress=self.progress,
            imported=open_snapshot(kept, self.encoder) if kept.is_dir() else None,
            copied=False,
            scratch=self.layout.path,
        )
        self.changes.seconds = {"read": seconds, **snapshot.seconds}
        return snapshot

    def _store_derived(self, derived: Derived) -> None:
        """Delete the derived values that the graph does not use, which may quote removed text; count the missing."""
        unused = [key for key in self.store.derived() if key not in derived.used]
        missing = str(len(derived.missing))
        if unused or missing != (self.store.setting("missing values") or "0"):
            with self.store.writing():
                self.store.delete_derived(unused)
                self.store.set("missing values", missing)

    def _publish(self, snapshot: Snapshot) -> None:
        self._report("write the index", 0, 0)
        start = time.perf_counter()
        if self._derived is not None:  # before, so that a kill leaves nothing that the snapshot does not use
            self._store_derived(self._derived)
        self.layout.publish(snapshot.about["revision"], lambda folder: write_snapshot(folder, snapshot))
        self.layout.delete_cache(self.layout.vectors)  # the snapshot contains them now
        self.store.checkpoint()
        self.changes.seconds["write"] = time.perf_counter() - start
        self.changes.texts = dict(snapshot.about["texts"])
