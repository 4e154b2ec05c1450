"""Apply one change of documents to an index, in order.

1. read: documents come from texts, files and folders (`document_sources`); those that are stored already are left out;
2. chunk: each is split into passages (`data.document.split`);
3. extract: a free extractor reads the passages (`chunk_extraction`);
4. store: documents, passages and extractions are committed in one transaction (`document_storage`, `transaction`);
5. merge: extractions become one graph (`merge`, `resolution`, and `combination` with an imported graph);
6. search structures: texts are embedded, words and names indexed (`build`);
7. publish: the snapshot is written, then made current by an atomic rename (`publication`);
8. a language model, if one extracts, reads the passages and refines the merged graph, each followed by steps 5 to 7
   (`chunk_extraction`, `refinement`);
9. clean up: old snapshots, caches of vectors, and replies that may quote removed text are deleted (`publication`).

Each change is one transaction of the store, all or nothing; queries do not wait for it. If the process is killed
between steps 4 and 7, the store is ahead of the snapshot, and the next change completes the work. Until then readers
hide the documents that were withdrawn (removed or replaced), and the same change can be made again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from graphwright.build.chunk_extraction import NOT_READ, ChunkExtraction
from graphwright.build.document_sources import Source, Transform, possibly_present
from graphwright.build.document_storage import ChunkReader, DocumentStorage
from graphwright.build.operation import Operation
from graphwright.build.publication import Publication
from graphwright.build.refinement import refine
from graphwright.build.transaction import Transaction
from graphwright.data.document import Document
from graphwright.data.read_options import ReadOptions
from graphwright.errors import DataError
from graphwright.extract.extraction import Excerpt
from graphwright.store.changes import Changes
from graphwright.store.digests import id_digest
from graphwright.store.store import StoredChunk


class IndexChange:
    """One change of an index, under its write lock; each step is done by a class of its own."""

    def __init__(self, operation: Operation) -> None:
        """`operation`: the change and its models."""
        self._operation, self._store, self._changes = operation, operation.store, operation.changes
        self._extraction = ChunkExtraction(operation)
        self._documents = DocumentStorage(operation, self._extraction)
        self._publication = Publication(operation)
        self._transaction = Transaction(operation, self._publication)

    def add(
        self,
        sources: Iterable[Source] | Source,
        options: ReadOptions | None = None,
        transform: Transform | None = None,
    ) -> Changes:
        """Add documents, and replace those with a known id and other content."""
        documents = self._documents.read(sources, options, transform)
        with self._transaction():
            self._documents.put_all(documents, self._transaction.keep)
        return self._finish(self._extraction.outstanding())

    def add_extracted(self, documents: Iterable[tuple[Document, ChunkReader]]) -> Changes:
        """Add documents, each with a function that extracts its chunks in place of this extractor."""
        with self._transaction():
            self._documents.put_extracted(documents)
        return self._finish([])

    def sync(self, folder: Path, options: ReadOptions | None = None, transform: Transform | None = None) -> Changes:
        """Add, replace and remove documents, so that those of a folder match its files."""
        if not folder.is_dir():
            raise DataError(f"{folder} is not a folder, so it cannot be synced; nothing was changed.")
        source, changes = str(folder.resolve()), self._changes
        documents = self._documents.read([folder], options, transform)
        with self._transaction():
            self._documents.check_not_nested(source)
            files = self._documents.put_all(documents, self._transaction.keep, source)
            present = {*changes.added, *changes.replaced, *changes.unchanged}
            self._store.set_folder(present, source)
            missing = self._store.documents_of(source) - present
            # A file that cannot be read may still be there: a wrong permission must not delete anything.
            known_files = self._store.file_documents()
            changes.retained, changes.unreadable = possibly_present(missing, known_files, changes.skipped, folder)
            self._store.set_files(present, files)
            changes.removed = sorted(missing.difference(changes.retained))
            self._store.remove(changes.removed)
        return self._finish(self._extraction.outstanding())

    def remove(self, ids: Iterable[str]) -> Changes:
        """Remove documents, also those that an interrupted call has removed. Raises DataError for an unknown id."""
        operation, requested = self._operation, list(dict.fromkeys(ids))
        end = self._store.revision + 1 if operation.batch is None else operation.batch.first
        before = {digest for digest, by in self._store.withdrawn().items() if operation.reported < by < end}
        stored = self._documents.check_stored([i for i in requested if id_digest(i) not in before], "removed")
        stored |= self._store.hashes(requested)
        with self._transaction():
            if stored:
                self._store.remove(stored)
                self._transaction.withdrawn += requested
        self._changes.removed = requested
        self._changes.resumed |= len(stored) < len(requested)
        return self._finish([])

    def reextract(self, ids: Sequence[str] | None) -> Changes:
        """Read with this extractor the chunks of documents that another one has read."""
        outdated, extractor = self._documents.outdated_chunks(ids), self._operation.extractor.id
        read = [chunk for chunk in outdated if chunk.extractor == extractor]
        outdated = [chunk for chunk in outdated if chunk.extractor != extractor]
        with self._transaction():
            for chunk in read:  # they wait for another extractor
                self._store.set_pending(chunk, None)
            self._changes.released += len(read)
            for chunk in outdated:
                self._store.set_pending(chunk, chunk.pending or NOT_READ)
        return self._finish(outdated)

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
        """Refine the published graph, and delete replies that may quote removed text."""
        refine(self._operation, self._publication)
        self._publication.delete_replies()

    def publish(self) -> None:
        """Publish the stored changes of a batch."""
        self._publication.refresh()
        self._complete()

    def resume(self) -> bool:
        """Publish the stored part of an interrupted change, if that is quick; return whether it was published.

        With a damaged snapshot or many new texts, this is left to the next change.
        """
        if not self._publication.is_quick():
            return False
        self._publication.refresh()
        self._publication.delete_replies()
        return True

    def rebuild(self) -> None:
        """Build the snapshot again from the rows of the store alone."""
        self._publication.rebuild()

    def unread_chunks(
        self,
        sources: Iterable[Source] | Source,
        options: ReadOptions | None = None,
        transform: Transform | None = None,
    ) -> list[Excerpt]:
        """Return the chunks that `add` would read; writes nothing."""
        return self._documents.unread_chunks(self._documents.read(sources, options, transform))

    def outdated_chunks(self, ids: Sequence[str] | None = None) -> list[Excerpt]:
        """Return the chunks that `reextract` would read; writes nothing."""
        return [chunk.excerpt for chunk in self._documents.outdated_chunks(ids)]
