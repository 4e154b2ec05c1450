"""Writing of an index, change by change or in a batch; what builds is imported on use, as most only ask."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from graphwright.errors import GraphwrightError, OptionError
from graphwright.extract.distribution import EngineEncoder, on_engine
from graphwright.extract.extraction import Excerpt, Extractor
from graphwright.extract.schema import Schema
from graphwright.extract.typed import with_schema
from graphwright.index_folder.reading import GATE, IndexReading, checked_ids
from graphwright.models.protocols import Usage
from graphwright.operators.rerank.fitted_scorer import MAX_GATE
from graphwright.store.changes import Changes, Progress, Recorder
from graphwright.store.layout import Problem
from graphwright.store.locks import writer_lock

if TYPE_CHECKING:
    from graphwright.build.apply_change import IndexChange
    from graphwright.build.document_sources import Source, Transform
    from graphwright.build.imports.database_import import RowChanges
    from graphwright.build.operation import Batch
    from graphwright.data.connectors import Connector
    from graphwright.data.folders import ReadOptions
    from graphwright.data.graph_database import DatabaseRows, GraphDatabase
    from graphwright.engines import Engine


class IndexWriting(IndexReading):
    """The writing half of `Index`."""

    _extractor: Extractor
    _reported: int  # the revision up to which changes are known to have succeeded
    _batch: Batch | None
    _resumed: bool

    def add(
        self,
        documents: Iterable[Source] | Source,
        progress: Progress | None = None,
        *,
        usage: Usage | None = None,
        options: ReadOptions | None = None,
        transform: Transform | None = None,
        engine: Engine | None = None,
    ) -> Changes:
        """Add documents, replace those with a known id and other content, and publish the new snapshot.

        A document is a text, a mapping with text and perhaps id, title and metadata, a Document, or a Path of a file or
        folder; several are given as a list. A document without an id gets one from its content. Unchanged documents
        cost nothing. After an error in a document, none is added. Before a language model extracts, the offline
        extractor does, so that documents can be searched at once; failures are retried in the next call. After an
        interruption the next call continues where this one stopped. `usage`: a record that the models' work is added
        to. `options`: how files and folders are read (`graphwright.data.ReadOptions`). `transform`: a function from all
        documents read to those that are stored, such as `with_references`. `engine`: where chunks are extracted and
        texts encoded (`graphwright.engines`), by default in this process; the result is the same.
        """
        with self._write(progress, usage, engine) as writer:
            return writer.add(documents, options, transform)

    def sync(
        self,
        source: str | Path | Connector,
        progress: Progress | None = None,
        *,
        usage: Usage | None = None,
        options: ReadOptions | None = None,
        transform: Transform | None = None,
        engine: Engine | None = None,
    ) -> Changes:
        """Add, replace and remove documents, so that those of a folder or another source match its files.

        `source`: a folder; an address as in docs/sources.md, such as `s3://bucket/wiki`; or a Connector. Unchanged
        documents cost nothing. Documents that an unreadable file may contain are not removed (`Changes.retained`,
        `Changes.unreadable`). `options`: how the files are read; documents of files that they leave out are removed.
        `transform`, `engine`: as in `add`. Raises DataError for a source that is missing or has no documents.
        """
        from graphwright.index_folder.sources import source_of

        opened = source_of(source)
        with self._write(progress, usage, engine) as writer:
            if isinstance(opened, Path):
                return writer.sync(opened, options, transform)
            return writer.sync_source(opened, options, transform)

    def sync_graph(
        self, database: GraphDatabase | None = None, progress: Progress | None = None, *, changed_by: str | None = None
    ) -> RowChanges:
        """Make an index that was imported from a graph database match it; by default as it was imported.

        Nothing is written if no node and no relationship has changed. Else the graph is assembled again, beside the old
        one, which answers until the end; texts that are the same are not encoded again. `changed_by`: a property that
        holds the time (or number) of the last change: only what it says has changed, and what is new, is fetched, by
        the second call with it. Raises OptionError for an index of anything else, and DataError if the database cannot
        be read to the end; then nothing is changed.
        """
        from graphwright.build.imports.database_import import sync_database
        from graphwright.build.operation import Operation

        self._check_open()
        self._reader.release()
        with writer_lock(self._layout.path):
            recorder = Recorder(self._layout.progress, progress)
            operation = Operation(self._layout, self._store, self._encoder, self._extractor, recorder)
            try:
                return sync_database(operation, database or self._source_database(), changed_by)
            finally:
                recorder.end()

    def query_database(self, cypher: str) -> DatabaseRows:
        """Run a read-only Cypher query in the imported graph's database as it is now; see `GraphDatabase.query`."""
        self._check_open()
        return self._source_database().query(cypher)

    def _source_database(self) -> GraphDatabase:
        from graphwright.data.graph_database import GraphDatabase

        facts = (self.imported or {}).get("database")
        if facts is None:
            raise OptionError(f"{self.path} was not imported from a graph database.")
        return GraphDatabase(facts["address"], facts["name"], facts["user"])

    def remove(self, ids: Iterable[str], progress: Progress | None = None, *, usage: Usage | None = None) -> Changes:
        """Remove documents, as if never there. Raises DataError for an unknown id, unless a call is repeated."""
        with self._write(progress, usage) as writer:
            return writer.remove(checked_ids(ids))

    @contextmanager
    def batch(self, progress: Progress | None = None) -> Iterator[None]:
        """Publish the changes of the block together at its end, in one merge.

        Each change is stored when its call returns; until the end of the block queries use the index as it was before.
        After an error the earlier changes are published. If the process is killed in the block, the next change
        publishes the stored ones. `progress` is called while they are published. Raises OptionError in a batch.

        >>> import tempfile; from graphwright import Index; from graphwright.models.fake import HashEncoder
        >>> index = Index.create(Path(tempfile.mkdtemp()) / "cities", encoder=HashEncoder())
        >>> with index.batch():
        ...     _ = index.add([{"id": "graz", "text": "Graz lies on the Mur."}])
        ...     _ = index.add([{"id": "lyon", "text": "Lyon lies on the Rhône."}])
        ...     len(index.list_documents())
        0
        >>> len(index.list_documents())
        2
        """
        from graphwright.build.operation import Batch, vector_cache

        if self._batch is not None:
            raise OptionError(f"{self.path} is in a batch already; changes of the outer block are published together.")
        self._check_open()
        with writer_lock(self._layout.path):
            batch = Batch(self._store.revision + 1, vector_cache(self._layout, self._encoder))
            with self._layout.changing(batch.first):
                self._batch = batch
                try:
                    yield
                except Exception:
                    self._publish_batch(progress)
                    raise
                else:
                    self._publish_batch(progress)
                finally:
                    self._batch = None
            self._reported, self._resumed = self._store.revision, False

    def _publish_batch(self, progress: Progress | None) -> None:
        with self._write(progress) as writer:
            writer.publish()

    def reextract(
        self,
        ids: Sequence[str] | None = None,
        progress: Progress | None = None,
        *,
        usage: Usage | None = None,
        engine: Engine | None = None,
        schema: Schema | None = None,
    ) -> Changes:
        """Extract entities and relations again where another extractor did; of all documents by default.

        The texts are stored, so the files are not needed. After an interruption the next call continues. `engine`: as
        in `add`. `schema`: replaces that of the index, for all documents; one without types leaves the index without.
        """
        if schema is not None and ids is not None:
            raise OptionError("a schema is for all documents of an index; leave out the ids, or the schema.")
        with self._write(progress, usage, engine, schema) as writer:
            return writer.reextract(None if ids is None else checked_ids(ids), schema)

    def chunks_to_reextract(self, ids: Sequence[str] | None = None, schema: Schema | None = None) -> list[Excerpt]:
        """Return the chunks that `reextract` would read, for an estimate."""
        return self._writer(schema=schema).outdated_chunks(ids)

    def chunks_to_extract(
        self,
        documents: Iterable[Source] | Source,
        options: ReadOptions | None = None,
        transform: Transform | None = None,
    ) -> list[Excerpt]:
        """Return the chunks that `add` would read, for an estimate; writes nothing."""
        return self._writer().unread_chunks(documents, options, transform)

    def verify(self, *, repair: bool = False) -> list[Problem]:
        """Return the problems of the folder, none if it is sound.

        The store and all files are read, and the snapshot is compared with a rebuilt one. `repair`: rebuild
        the snapshot if it has problems, and return those that are left.
        """
        from graphwright.build.verification import problems_of

        self._check_open()
        problems = problems_of(self._layout, self._store, self._encoder)
        if repair and any(problem.repairable for problem in problems):
            with self._write() as writer:
                writer.rebuild()
            problems = problems_of(self._layout, self._store, self._encoder)
        return problems

    def set_gate(self, gate: float) -> None:
        """Set the scorer's `gate` for all questions; 0 is the package's. Raises OptionError for a value beyond 20."""
        if not abs(gate) <= MAX_GATE:
            raise OptionError(f"gate is {gate!r}; it must be from -{MAX_GATE:g} to {MAX_GATE:g}, 0 for the package's.")
        with writer_lock(self._layout.path) if self._batch is None else nullcontext(), self._store.writing():
            self._store.set(GATE, repr(float(gate)))

    def _writer(
        self,
        progress: Progress | None = None,
        usage: Usage | None = None,
        engine: Engine | None = None,
        schema: Schema | None = None,
    ) -> IndexChange:
        from graphwright.build.apply_change import IndexChange
        from graphwright.build.operation import Operation

        changes = Changes(resumed=self._resumed, usage=Usage() if usage is None else usage)
        encoder = self._encoder
        extractor = with_schema(self._extractor, self._store.schema if schema is None else schema)
        if engine is not None:
            encoder, extractor = EngineEncoder(encoder, engine), on_engine(extractor, engine)
        return IndexChange(
            Operation(self._layout, self._store, encoder, extractor, progress, changes, self._reported, self._batch)
        )

    @contextmanager
    def _write(
        self,
        progress: Progress | None = None,
        usage: Usage | None = None,
        engine: Engine | None = None,
        schema: Schema | None = None,
    ) -> Iterator[IndexChange]:
        """Hold the write lock; first release this object's snapshot, so that its files can be deleted."""
        keeps_graph = self._first_documents()
        self._reader.release()
        with writer_lock(self._layout.path) if self._batch is None else nullcontext():
            if keeps_graph:
                self._layout.keep_imported()
            recorder = Recorder(self._layout.progress, progress)
            try:
                yield self._writer(recorder, usage, engine, schema)
            finally:
                recorder.end()
            if self._batch is None:
                self._reported, self._resumed = self._store.revision, False

    def _resume(self) -> None:
        """Finish an interrupted change, unless that takes long or is impossible; then its documents stay hidden."""
        with suppress(GraphwrightError), writer_lock(self._layout.path):
            self._resumed = self._writer().resume()


def checked_path(path: str | Path) -> Path:
    """Return a path as a Path. Raises OptionError for anything else."""
    if not isinstance(path, str | Path):
        raise OptionError(f"{path!r} is not a path. Give the folder, such as 'my-index'.")
    return Path(path)


def is_address(path: object) -> bool:
    """Return whether a path is the address of an index in shards, `ray://FOLDER`; a Path has one slash less."""
    return str(path).startswith("ray:/")
