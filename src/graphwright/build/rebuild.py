"""Rebuild of an index in place, from the stored texts: by another encoder, other settings, or chunks of another size.

An imported graph is taken from its snapshot, because the files that it came from are not stored.

A language model reads the title and the text of a chunk, a free extractor also the headings above and in it. A chunk
with the same input keeps its extraction. The others are read again by the free extractor of their document; where a
language model had read the document, they then wait for one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from graphwright.build.build import build_from_graph
from graphwright.build.chunk_extraction import NOT_READ, ChunkExtraction
from graphwright.build.creation import stored_settings
from graphwright.build.document_storage import chunker, extracted
from graphwright.build.operation import Operation
from graphwright.build.publication import Publication
from graphwright.data.document import Chunk, Document, Labels
from graphwright.errors import OptionError, StoreError
from graphwright.extract.extraction import DeferredExtractor, Excerpt, Extraction, ExtractionFailure, Extractor
from graphwright.extract.extractors import EXTRACTORS, extractor_of
from graphwright.extract.rules import LexicalExtractor
from graphwright.extract.typed import with_schema
from graphwright.graph.storage import load_graph
from graphwright.models.registry import EMBEDDED, encoder_of
from graphwright.search.snapshot import Snapshot
from graphwright.search.snapshot_format import damaged_files, open_snapshot
from graphwright.store.changes import Changes, Progress, Recorder
from graphwright.store.layout import IndexLayout
from graphwright.store.locks import writer_lock
from graphwright.store.settings import Settings
from graphwright.store.store import ExtractedChunk, Store, StoredText

_DOCUMENTS = 200  # divided at once
_SIZES = {"chunk_tokens", "overlap"}


@dataclass(frozen=True)
class _Divided:
    """A document with its new chunks, each with its extraction or None; `extractor`: of those without."""

    document: Document
    chunks: Sequence[tuple[Chunk, ExtractedChunk | None]]
    extractor: Extractor
    pending: str | None

    @property
    def unread(self) -> list[Excerpt]:
        title = self.document.title
        return [Excerpt.of(title, chunk) for chunk, known in self.chunks if known is None]

    def extracted(self, results: Iterator[Extraction | ExtractionFailure]) -> Iterator[ExtractedChunk]:
        """Yield the chunks as they are stored; `results`: of those that were unread."""
        for chunk, known in self.chunks:
            if known is None:
                yield extracted(chunk, next(results), self.extractor.id, self.pending)
            else:
                yield known._replace(chunk=chunk)


def rebuild(
    layout: IndexLayout, encoder: object, extractor: Extractor | None, progress: Progress | None, **settings: Any
) -> Changes:
    """Rebuild an index, all or nothing, and return the chunks that were read again and that wait for a model.

    `encoder`: as users give it, by default that of the index. `extractor`: of the changed chunks, by default the free
    one that read the document before. `settings`: those that change.
    """
    with writer_lock(layout.path), closing(Store(layout.store)) as store:
        recorder = Recorder(layout.progress, progress)
        operation, given, after = _operation(layout, store, encoder, extractor, settings, recorder)
        publication = Publication(operation)
        publication.complete()

        def change() -> None:
            if _SIZES & settings.keys():
                _Division(operation, after, extractor).store()
            for key, value in stored_settings(operation.encoder, given, after).items():
                store.set(key, value)

        try:
            publication.replace(change, _imported(operation, after))
        finally:
            recorder.end()
        operation.changes.rebuilt = True
        operation.changes.pending = ChunkExtraction(operation).pending()
        return operation.changes


def paid_chunks(layout: IndexLayout, encoder: object, **settings: Any) -> list[Excerpt]:
    """Return the chunks that a language model would have to read again after `rebuild`; writes nothing."""
    with closing(Store(layout.store)) as store:
        operation, _, after = _operation(layout, store, encoder, None, settings)
        return _Division(operation, after, None).paid() if _SIZES & settings.keys() else []


def _operation(
    layout: IndexLayout,
    store: Store,
    encoder: object,
    extractor: Extractor | None,
    settings: Mapping[str, Any],
    progress: Progress | None = None,
) -> tuple[Operation, object, Settings]:
    """Return the operation, the encoder as it was given, and the new settings."""
    name, stored = store.setting("encoder name"), store.setting("encoder")
    given = encoder or name or EMBEDDED
    model, after = encoder_of(given), replace(store.build_settings, **settings)
    if model.id == stored:
        given = name  # as it was given first
    elif encoder is None:
        raise OptionError(
            f"{layout.path} was written with the encoder {stored!r}, which has no name. Give it, or the name of "
            f"another one: graphwright rebuild --index {layout.path} --encoder NAME"
        )
    return Operation(layout, store, model, extractor_of(extractor, model), progress), given, after


def _imported(operation: Operation, settings: Settings) -> Snapshot | None:
    """Return the snapshot of an imported graph by other settings; None where that stays, and without such a graph."""
    layout, store, encoder = operation.layout, operation.store, operation.encoder
    if store.setting("graph") is None:
        return None
    has_documents, same_encoder = layout.imported.is_dir(), encoder.id == store.setting("encoder")
    if has_documents and same_encoder and settings.embed == store.build_settings.embed:
        return None
    folder = layout.imported if has_documents else layout.path / layout.current()
    if files := damaged_files(folder):
        raise StoreError(f"{folder / files[0]} is missing or damaged. Import the graph again, into a new folder.")
    known = open_snapshot(folder, encoder) if same_encoder else None
    graph = load_graph(folder / "graph")
    return build_from_graph(graph, encoder, embed=settings.embed, known=known, progress=operation.progress)


class _Division:
    """The division of all documents by other settings; the encoder of the operation counts the tokens."""

    def __init__(self, operation: Operation, settings: Settings, extractor: Extractor | None) -> None:
        self._operation, self._split = operation, chunker(operation.encoder, settings)
        schema = operation.store.schema
        self._default = with_schema(LexicalExtractor(), schema)
        given = None if isinstance(extractor, DeferredExtractor) else extractor
        self._given = None if given is None else with_schema(given, schema)
        every = [with_schema(make(), schema) for make in EXTRACTORS.values()]
        self._free = {each.id: each for each in (*every, *filter(None, (self._given,)))}

    def paid(self) -> list[Excerpt]:
        """Return the chunks that a language model would have to read again; writes nothing."""
        return [excerpt for part in self._divisions() for each in part if each.pending for excerpt in each.unread]

    def store(self) -> None:
        """Replace the chunks of all documents, in an open transaction of the store."""
        extraction = ChunkExtraction(self._operation)
        for part in self._divisions():
            for extractor in {each.extractor.id: each.extractor for each in part}.values():
                of_one = [each for each in part if each.extractor.id == extractor.id]
                excerpts = [excerpt for each in of_one for excerpt in each.unread]
                results = iter(extraction.extract(extractor, excerpts))
                self._operation.changes.extracted += len(excerpts)
                for each in of_one:
                    self._operation.store.put_chunks(each.document, each.extracted(results))

    def _divisions(self) -> Iterator[list[_Divided]]:
        store, done = self._operation.store, 0
        ids, total = iter(store.metadata()), store.counts()[0]
        while part := list(islice(ids, _DOCUMENTS)):
            self._operation.report("split documents", done, total)
            done += len(part)
            yield [self._divided(text) for text in store.texts(part)]

    def _divided(self, stored: StoredText) -> _Divided:
        known, before = dict[tuple[str, tuple[str, Labels] | None], ExtractedChunk](), list[Extractor]()
        for chunk in stored.chunks:
            free = self._free.get(chunk.extractor)
            known[chunk.chunk.text, None if free is None else (chunk.chunk.heading, chunk.chunk.labels)] = chunk
            before += [] if free is None else [free]
        waits = len(before) < len(stored.chunks) or any(chunk.pending for chunk in stored.chunks)
        chunks = [
            (chunk, known.get((chunk.text, None)) or known.get((chunk.text, (chunk.heading, chunk.labels))))
            for chunk in self._split(stored.document)
        ]
        extractor = self._given or next(iter(before), None) or self._default
        return _Divided(stored.document, chunks, extractor, NOT_READ if waits else None)
