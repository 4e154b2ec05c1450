"""Extraction of chunks: at once by a free extractor, later by a language model, with retries in the next run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphwright.build.operation import Operation
from graphwright.errors import OptionError
from graphwright.extract.extraction import DeferredExtractor, Excerpt, Extraction, ExtractionFailure, Extractor
from graphwright.models.protocols import has_argument
from graphwright.store.store import StoredChunk

_PASSAGES = 256  # read between two reports of progress
_CHUNKS = 64  # read by a deferred extractor between two commits
NOT_READ = "not read yet"  # pending reason of a chunk that a deferred extractor has not tried to read


class ChunkExtraction:
    """The extraction of chunks in one operation."""

    def __init__(self, operation: Operation) -> None:
        self._operation = operation
        self._failed: set[tuple[str, int]] = set()  # documents and chunks, in this run

    def extract(
        self, extractor: Extractor, excerpts: Sequence[Excerpt], report: Callable[[float], None] | None = None
    ) -> Sequence[Extraction | ExtractionFailure]:
        """Return a result for each excerpt, else raise OptionError; `report` is called with the part done, up to 1."""
        if not excerpts:
            return []
        operation = self._operation
        results: Sequence[Extraction | ExtractionFailure]
        if getattr(extractor, "extract_encoded", None) is not None:
            results = self._encoded(extractor, excerpts, report)
        elif has_argument(extractor.extract, "usage"):
            results = extractor.extract(excerpts, usage=operation.changes.usage)  # type: ignore[call-arg]
        else:
            results = extractor.extract(excerpts)
        if len(results) != len(excerpts):
            raise OptionError(
                f"{extractor.id} returned {len(results)} results for {len(excerpts)} chunks; an extractor must return "
                f"one for each."
            )
        found = (result for result in results if isinstance(result, Extraction))
        operation.changes.off_schema += sum(extraction.off_schema for extraction in found)
        return results

    def _encoded(
        self, extractor: Any, excerpts: Sequence[Excerpt], report: Callable[[float], None] | None
    ) -> list[Extraction]:
        """Extract in parts, and report each; keep the vectors if they are those of the index."""
        operation, results = self._operation, list[Extraction]()
        is_kept = extractor.encoder.id == operation.encoder.id
        for first in range(0, len(excerpts), _PASSAGES):
            if report is not None:
                report(first / len(excerpts))
            part = excerpts[first : first + _PASSAGES]
            extractions, vectors = extractor.extract_encoded(part, operation.changes.usage)
            results += extractions
            if is_kept:
                operation.vectors.add([excerpt.reading for excerpt in part], vectors)
        return results

    def outstanding(self) -> list[StoredChunk]:
        """Return the chunks that a deferred extractor has not read yet, also those of earlier runs."""
        extractor, store = self._operation.extractor, self._operation.store
        if not isinstance(extractor, DeferredExtractor):
            return []
        pending = store.chunks(pending=True)
        already_read = [chunk for chunk in pending if chunk.extractor == extractor.id]
        if already_read:  # this extractor has read them; they were pending for another one
            with store.writing():
                for chunk in already_read:
                    store.set_pending(chunk, None)
        return [chunk for chunk in pending if chunk.extractor != extractor.id]

    def extract_stored(self, chunks: Sequence[StoredChunk]) -> None:
        """Read stored chunks with the extractor, failed ones last; each batch is stored as soon as it is read."""
        operation, store, extractor = self._operation, self._operation.store, self._operation.extractor
        chunks, done, final = sorted(chunks, key=lambda chunk: chunk.pending != NOT_READ), 0, False
        provisional, operation.changes.off_schema = operation.changes.off_schema, 0  # in what is read again here
        while done < len(chunks) and not final:  # after a final failure the rest stays pending
            operation.report("extract", done, len(chunks))
            batch = chunks[done : done + _CHUNKS]
            results = self.extract(extractor, [chunk.excerpt for chunk in batch])
            failures = [result for result in results if isinstance(result, ExtractionFailure)]
            with store.writing():
                for chunk, result in zip(batch, results, strict=True):
                    if isinstance(result, ExtractionFailure):
                        self._failed.add((chunk.document, chunk.ordinal))
                        store.set_pending(chunk, result.reason)
                    else:
                        store.set_extraction(chunk, result, extractor.id)
                if len(failures) < len(batch):
                    store.set("revision", str(store.revision + 1))
            operation.changes.extracted += len(batch) - len(failures)
            done += len(batch)
            final = any(failure.final for failure in failures)
        if not operation.changes.extracted:
            operation.changes.off_schema = provisional
        operation.report("extract", done, len(chunks))

    def pending(self) -> list[tuple[str, int, str]]:
        """Return the chunks that wait for a model, first those that failed in this run, with their current reasons."""
        failed, waiting = list[tuple[str, int, str]](), list[tuple[str, int, str]]()
        for chunk in self._operation.store.chunks(pending=True):
            reason = chunk.pending or ""
            if (chunk.document, chunk.ordinal) in self._failed:
                failed.append((chunk.document, chunk.ordinal, reason))
            else:
                earlier = reason if not self._failed or reason == NOT_READ else f"not tried again; earlier: {reason}"
                waiting.append((chunk.document, chunk.ordinal, earlier))
        return failed + waiting
