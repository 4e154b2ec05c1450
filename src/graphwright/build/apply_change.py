"""Apply one change of documents to an index, in order.

1. read: documents come from texts, files and folders (`document_sources`); those that are stored already are left out;
2. chunk: each is split into passages (`data.document.split`);
3. extract: a free extractor reads the passages (`chunk_extraction`);
4. store: documents, passages and extractions are committed in one transaction (`document_storage`);
5. merge: extractions become one graph (`merge`, `resolution`, and `combination` with an imported graph);
6. search structures: texts are embedded, words and names indexed (`build`);
7. publish: the snapshot is written, then made current by an atomic rename (`publication`);
8. a language model, if one extracts, reads the passages and refines the merged graph, each followed by steps 5 to 7
   (`chunk_extraction`);
9. clean up: old snapshots, caches of vectors, and replies that may quote removed text are deleted (`publication`).

While documents are read for long, those that are stored are published after a minute, and then whenever that time has
doubled, so that they can be searched. All these merges together cost about as much as the last one.

Each change is one transaction of the store, all or nothing; queries do not wait for it. If the process is killed
between steps 4 and 7, the store is ahead of the snapshot, and the next change completes the work. Until then readers
hide the documents that were withdrawn (removed or replaced), and the same change can be made again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from graphwright.build.apply_edits import PREFIX
from graphwright.build.chunk_extraction import NOT_READ, ChunkExtraction
from graphwright.build.document_sources import Source, Transform, possibly_present, storable
from graphwright.build.document_storage import ChunkReader, DocumentStorage
from graphwright.build.operation import Operation
from graphwright.build.publication import Publication
from graphwright.build.source_reading import SourceReading
from graphwright.data.connectors import Connector
from graphwright.data.document import Document
from graphwright.data.folders import ReadOptions
from graphwright.errors import DataError, GraphwrightError, StoreError
from graphwright.extract.extraction import Excerpt, ExtractionFailure
from graphwright.extract.llm import Task
from graphwright.extract.schema import Schema
from graphwright.search.name_index import name_index_of
from graphwright.search.snapshot import Snapshot
from graphwright.store.changes import Changes
from graphwright.store.chunk_record import id_digest
from graphwright.store.edits import Edit
from graphwright.store.store import StoredChunk

_FIRST = 60.0  # seconds after which what was read is published for the first time


class IndexChange:
    """One change of an index, under its write lock; each step is done by a class of its own."""

    def __init__(self, operation: Operation) -> None:
        self._operation, self._store, self._changes = operation, operation.store, operation.changes
        self._extraction = ChunkExtraction(operation)
        self._documents = DocumentStorage(operation, self._extraction)
        self._publication = Publication(operation)
        self._kept = 0  # number of new documents that were committed before the end
        self._shown, self._searchable = self._store.revision, 0  # last published: revision, number of new documents
        self._start, self._due = (now := time.monotonic()), now + _FIRST

    def add(
        self, sources: Iterable[Source] | Source, options: ReadOptions | None = None, transform: Transform | None = None
    ) -> Changes:
        """Add documents, and replace those with a known id and other content."""
        documents = self._documents.read(sources, options, transform)
        with self._transaction():
            self._documents.put_all(documents, self._keep)
        return self._finish(self._extraction.outstanding())

    def add_extracted(self, documents: Iterable[tuple[Document, ChunkReader]]) -> Changes:
        """Add documents, each with a function that extracts its chunks in place of this extractor."""
        with self._transaction():
            self._documents.put_extracted(documents)
        return self._finish([])

    def sync(self, folder: Path, options: ReadOptions | None = None, transform: Transform | None = None) -> Changes:
        """Add, replace, move and remove documents, so that those of a folder match its files."""
        if not folder.is_dir():
            raise DataError(f"{folder} is not a folder, so it cannot be synced; nothing was changed.")
        source, changes = str(folder.resolve()), self._changes
        documents = self._documents.read([folder], options, transform)
        with self._transaction():
            self._documents.check_not_nested(source)
            files = self._documents.put_all(documents, self._keep, source)
            present, missing = self._compare(source)
            # A file that cannot be read may still be there: a wrong permission must not delete anything.
            known_files = self._store.file_documents()
            changes.retained, changes.unreadable = possibly_present(missing, known_files, changes.skipped, folder)
            self._store.set_files(present, files)
            self._store.follow_moved(dict(changes.moved))
            self._remove_missing(missing)
        return self._finish(self._extraction.outstanding())

    def sync_source(
        self, source: Connector, options: ReadOptions | None = None, transform: Transform | None = None
    ) -> Changes:
        """Add, replace and remove documents, so that those of a connector's source match its files."""
        store, changes = self._store, self._changes
        reading = SourceReading(source, store, changes, options or ReadOptions(), whole=transform is not None)
        documents = reading.documents(self._documents.read_up_to)

        def keep() -> None:
            reading.save_sometimes()
            self._keep()

        with self._transaction():
            self._documents.check_not_nested(source.address)
            given = documents if transform is None else map(storable, transform(documents))
            files = self._documents.put_all(given, keep, source.address, moves=False)
            present, missing = self._compare(source.address)
            changes.retained, changes.unreadable = reading.possibly_present(missing)
            store.set_files(present - reading.unchanged, files)
            reading.save()
            self._remove_missing(missing)
        return self._finish(self._extraction.outstanding())

    def _compare(self, source: str) -> tuple[set[str], set[str]]:
        """Note that the documents that were read belong to a source; return them, and its others."""
        changes = self._changes
        present = {*changes.added, *changes.replaced, *changes.unchanged, *(now for _, now in changes.moved)}
        self._store.set_folder(present, source)
        return present, set(self._store.documents_of(source) - present)

    def _remove_missing(self, missing: Collection[str]) -> None:
        self._changes.removed = sorted(set(missing).difference(self._changes.retained))
        self._store.remove(self._changes.removed)

    def remove(self, ids: Iterable[str]) -> Changes:
        """Remove documents, also those that an interrupted call has removed. Raises DataError for an unknown id."""
        operation, requested = self._operation, list(dict.fromkeys(ids))
        end = self._store.revision + 1 if operation.batch is None else operation.batch.first
        before = {digest for digest, by in self._store.withdrawn().items() if operation.reported < by < end}
        stored = self._documents.check_stored([i for i in requested if id_digest(i) not in before], "removed")
        stored |= self._store.hashes(requested)
        with self._transaction(requested if stored else ()):
            self._store.remove(stored)
        self._changes.removed = requested
        self._changes.resumed |= len(stored) < len(requested)
        return self._finish([])

    def reextract(self, ids: Sequence[str] | None, schema: Schema | None = None) -> Changes:
        """Read with this extractor the chunks of documents that another one has read; `schema`: its new one."""
        outdated, extractor = self._documents.outdated_chunks(ids), self._operation.extractor.id
        read = [chunk for chunk in outdated if chunk.extractor == extractor]
        outdated = [chunk for chunk in outdated if chunk.extractor != extractor]
        with self._transaction():
            if schema is not None:
                self._store.set("schema", schema.to_toml())
                self._store.set("revision", str(self._shown + 1))  # for its types are in the graph
            for chunk in read:  # they wait for another extractor
                self._store.set_pending(chunk, None)
            self._changes.released += len(read)
            for chunk in outdated:
                self._store.set_pending(chunk, chunk.pending or NOT_READ)
        return self._finish(outdated)

    def edit(self, added: Sequence[Edit], removed: Sequence[str] = (), *, strict: bool = False) -> None:
        """Add and remove edits. Raises DataError for an unknown id, and if `strict` for a name that is not there."""
        store, known = self._store, {edit.id for edit in self._store.edits()}
        if unknown := [id for id in removed if id not in known]:
            raise DataError(f"{self._operation.layout.path} has no edit {unknown[0]!r}; nothing was changed.")
        new = [edit for edit in added if edit.id not in known]
        self._shown = store.revision
        with ExitStack() as self._locks:
            self._hold()
            if new or removed:
                with store.writing():
                    self._put_edits(new, removed)
                    # In a batch the graph is built at its end, and before only to say what is wrong.
                    is_last = self._operation.batch is None
                    if is_last or (strict and self._publication.idle_edits().keys() & {edit.id for edit in new}):
                        snapshot = self._publication.prepare()
                        if strict:
                            check_edits(new, snapshot)
            if self._operation.batch is None:
                self._refresh()
        self._finish([])

    def _put_edits(self, added: Sequence[Edit], removed: Sequence[str]) -> None:
        """Store and remove edits, in an open transaction; readers hide what those removed have added."""
        store = self._store
        if gone := [PREFIX + edit.id for edit in store.edits() if edit.is_addition and edit.id in removed]:
            self._withdraw(gone)
            store.set("delete replies", "1")
        store.put_edits(added)
        store.remove_edits(removed)
        store.set("revision", str(self._shown + 1))

    def _withdraw(self, ids: Sequence[str]) -> None:
        """Have readers hide documents until the next snapshot is published."""
        batch = self._operation.batch
        revision = self._shown + 1 if batch is None else batch.first
        self._store.withdraw(ids, revision, self._publication.revision)

    @contextmanager
    def _transaction(self, withdrawn: Sequence[str] = ()) -> Iterator[None]:
        """Change the store in the block, all or nothing, and publish the result at its end.

        The revision is increased if documents change, so that the snapshot counts as outdated; a snapshot of another
        revision than the store's at the start was left by a killed process. The store names the documents that were
        withdrawn (removed, replaced, and `withdrawn`), so that readers hide them until the new snapshot is published.
        Cached replies that may quote removed text are marked, to be deleted at the end.
        """
        store, changes, batch = self._store, self._changes, self._operation.batch
        before = self._shown = store.revision
        with ExitStack() as self._locks:
            self._hold()
            with self._removing_kept(before), store.writing():
                yield
                gone = [*withdrawn, *changes.removed, *changes.replaced]
                if gone:
                    store.set("delete replies", "1")
                gone += [earlier for earlier, _ in changes.moved]
                if len(changes.added) > self._searchable or gone:
                    self._withdraw(gone)
                    store.set("revision", str(self._shown + 1))
            if batch is None:
                self._refresh()

    def _hold(self) -> None:
        """Hold the lock of a change to the next revision, which tells readers that this process is at work on it."""
        if self._operation.batch is None:
            self._locks.enter_context(self._operation.layout.changing(self._shown + 1))

    def _refresh(self) -> None:
        """Publish the store; note whether the snapshot lacked documents of an interrupted change."""
        revision = self._publication.refresh()
        self._changes.resumed |= revision is not None and revision != self._shown
        self._shown = self._store.revision

    def _keep(self) -> None:
        """Commit the new documents that were read, unless others were replaced or moved, which only happens at the end.

        So a killed operation does not begin anew; an error removes them again. They are published in time.
        """
        if len(self._changes.added) > self._kept and not (self._changes.replaced or self._changes.moved):
            self._store.set("revision", str(self._shown + 1))
            self._store.keep()
            self._kept = len(self._changes.added)
            if time.monotonic() >= self._due and self._operation.batch is None:
                self._publish_kept()

    def _publish_kept(self) -> None:
        """Publish the documents that were kept; after an error they wait for the end, where it is raised again."""
        self._operation.report("publish what was read", 0, 0)
        progress, self._operation.progress = self._operation.progress, None
        try:
            with self._store.suspended():
                self._refresh()
                self._searchable = self._kept
                self._hold()
            self._due = 2 * time.monotonic() - self._start
        except GraphwrightError:
            self._due = math.inf
        finally:
            self._operation.progress = progress

    @contextmanager
    def _removing_kept(self, revision: int) -> Iterator[None]:
        """After an error in the block, remove the documents that were kept meanwhile, also from the snapshot."""
        try:
            yield
        except Exception:
            if self._kept:
                with suppress(StoreError), self._store.writing():
                    kept = self._changes.added[: self._kept]
                    self._store.remove(kept)
                    if self._searchable:
                        revision = self._shown + 1
                        self._store.withdraw(kept, revision, self._shown)
                    self._store.set("revision", str(revision))
                if self._searchable:
                    with suppress(GraphwrightError):
                        self._publication.refresh()
            raise

    def _finish(self, chunks: Sequence[StoredChunk]) -> Changes:
        """Read chunks with the extractor, and publish, unless a later change of a batch does."""
        if chunks:
            self._extraction.extract_stored(chunks)
        if self._operation.batch is None:
            if chunks:
                self._publication.refresh()
            self._complete()
        self._changes.pending = self._extraction.pending()
        return self._changes

    def _complete(self) -> None:
        refine(self._operation, self._publication)
        self._publication.delete_replies()

    def publish(self) -> None:
        """Publish the stored changes of a batch."""
        self._publication.refresh()
        self._complete()

    def resume(self) -> bool:
        """Publish the stored part of an interrupted change if that is quick (see is_quick); return whether it was."""
        self._publication.complete()
        if not self._publication.is_quick():
            return False
        self._publication.refresh()
        self._publication.delete_replies()
        return True

    def rebuild(self) -> None:
        """Build the snapshot again from the rows of the store alone."""
        self._publication.rebuild()

    def unread_chunks(
        self, sources: Iterable[Source] | Source, options: ReadOptions | None = None, transform: Transform | None = None
    ) -> list[Excerpt]:
        """Return the chunks that `add` would read; writes nothing."""
        return self._documents.unread_chunks(self._documents.read(sources, options, transform))

    def outdated_chunks(self, ids: Sequence[str] | None = None) -> list[Excerpt]:
        """Return the chunks that `reextract` would read; writes nothing."""
        return [chunk.excerpt for chunk in self._documents.outdated_chunks(ids)]


def check_edits(edits: Sequence[Edit], snapshot: Snapshot) -> None:
    """Raise DataError if one of the edits changes nothing in a snapshot, or less than it says."""
    idle = snapshot.about.get("idle edits", {})
    for edit in (edit for edit in edits if edit.id in idle):
        index, near = name_index_of(snapshot.graph.columns), ""
        for form in (index.form(name) for name in edit.change.entities if repr(name) in idle[edit.id]):
            if not len(index.find(form)) and len(nodes := index.near(form, _NEAR)[0]):
                near = f" Did you mean {snapshot.graph.names[int(nodes[0])]!r}?"
        kind = edit.change.kind.replace("-", " ")
        raise DataError(f"cannot {kind}: {idle[edit.id]}{near} Nothing was changed.")


_NEAR = 0.7  # least likeness of a name that may be meant
_TASKS = 64  # derived between two commits


def refine(operation: Operation, publication: Publication) -> None:
    """Derive the model's additions to the merged graph, until nothing is missing or calls fail; publish them.

    A value may need others before it: a summary of summaries, a description of names that were merged.
    """
    if not hasattr(operation.extractor, "derive") or operation.store.setting("missing values") in (None, "0"):
        return
    derived = publication.missing_values()
    while derived.missing and _derive(operation, list(derived.missing.values())):
        publication.refresh()
        derived = publication.missing_values()


def _derive(operation: Operation, tasks: Sequence[Task]) -> bool:
    """Derive values, each batch stored as soon as it is done; return whether any was derived."""
    changes, store = operation.changes, operation.store
    before, done, final = changes.refined, 0, False
    changes.unrefined = []
    while done < len(tasks) and not final:
        operation.report("refine", done, len(tasks))
        batch = tasks[done : done + _TASKS]
        answers = operation.extractor.derive(batch, changes.usage)  # type: ignore[attr-defined]
        results = dict(zip((task.key for task in batch), answers, strict=True))
        values = {key: value for key, value in results.items() if isinstance(value, str)}
        failures = [value for value in results.values() if isinstance(value, ExtractionFailure)]
        if values:
            with store.writing():
                store.put_derived(values)
                store.set("revision", str(store.revision + 1))
        changes.refined += len(values)
        changes.unrefined += [failure.reason for failure in failures]
        done += len(batch)
        final = any(failure.final for failure in failures)
    operation.report("refine", done, len(tasks))
    return changes.refined > before
