"""Index: a folder to which documents are added and questions are asked."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, replace
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, Self

from graphwright.build.creation import create_index
from graphwright.build.graph_sources import GraphSource, create_from
from graphwright.build.verification import problems_of
from graphwright.build.writer import Batch, Writer
from graphwright.data.read_options import ReadOptions
from graphwright.engines import Engine
from graphwright.errors import DataError, GraphwrightError, OptionError, StoreError, meant
from graphwright.extract.distribution import EngineEncoder, on_engine
from graphwright.extract.extraction import Excerpt, Extractor
from graphwright.extract.extractors import extractor_of
from graphwright.graph.columns import Listed, Passages
from graphwright.graph.evidence import html_table
from graphwright.graph.graph import Graph
from graphwright.index_folder.snapshot_reader import SnapshotReader
from graphwright.methods.house import with_answer
from graphwright.methods.registry import METHODS, Builder, default_method, operator_of, retrieval_part
from graphwright.models.cache import CachedEncoder
from graphwright.models.deadline import Deadline
from graphwright.models.protocols import NamedEncoder, Usage
from graphwright.models.registry import EMBEDDED, encoder_of
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import Question, State, start
from graphwright.search.filter import Filter
from graphwright.search.name_index import MAX_NORMALISED
from graphwright.search.snapshot import Snapshot
from graphwright.store.changes import Changes, Problem, Progress, Recorder, Settings, Source, Transform
from graphwright.store.layout import IndexLayout, is_written, writer_lock
from graphwright.store.store import Store
from graphwright.streaming import Event, Events, OnEvent, Work, cancellable, stream, stream_async
from graphwright.text.places import Places

Method = str | Operator | Builder
Questions = Sequence[str | Question]
GivenEncoder = NamedEncoder | str | Callable[..., Any] | None
_SYNONYMS = {"k": "top_k", "limit": "top_k", "passages": "top_k", "model": "llm", "where": "filter", "within": "filter"}
_MAX_COMPARED = 5_000  # document ids that a wrong one is compared with


class Index:
    """Documents, the graph made of them, and answers.

    `Index(path)` opens an index, or creates one if the folder is new or empty. Queries map the current snapshot and
    never wait for indexing; a new snapshot is written completely and then made current atomically.

    >>> import tempfile; from graphwright.models.fake import HashEncoder
    >>> index = Index(Path(tempfile.mkdtemp()) / "cities", encoder=HashEncoder())
    >>> _ = index.add([{"id": "graz", "title": "Graz", "text": "Graz lies on the Mur in Styria."}])
    >>> answer = index.ask("On which river does Graz lie?").answer
    >>> answer.citations[0].document, answer.citations[0].start, answer.citations[0].end
    ('graz', 0, 31)
    """

    def __init__(
        self,
        path: str | Path,
        *,
        encoder: GivenEncoder = None,
        extractor: Extractor | str | None = None,
        settings: Settings | None = None,
        follow: bool = True,
    ) -> None:
        """Open an index, or create one in a new or empty folder.

        `encoder`: a name (see graphwright.models.registry), an encoder with an id, or a function of a list of texts. An
        index can only be opened with the encoder that it was created with, which is the default; for a new one that is
        the embedded MiniLM. `extractor` reads the documents that are added from now on: an extractor or its name,
        mentions, rules or spacy:PIPELINE; by default the first with the embedded encoder, else the second.
        `settings`: of a new index. `follow`: whether the first query after a change opens the new snapshot; otherwise
        queries use the one that they have until `refresh`. Raises StoreError if the folder cannot be opened or created.
        """
        layout = IndexLayout(_path(path))
        if not layout.store.exists():
            layout = create_index(layout.path, encoder, settings or Settings())
            settings = None
        self.path = layout.path
        self._layout = layout
        self._store = Store(layout.store)
        self._encoder = encoder_of(encoder if encoder is not None else self._store.setting("encoder name") or EMBEDDED)
        self._extractor = extractor_of(extractor, self._encoder)
        cached = CachedEncoder(self._encoder, expression="ix.encoder")
        self._reader = SnapshotReader(layout, self._store, cached, follow=follow)
        self._reported = -1  # the revision up to which changes are known to have succeeded
        self._batch: Batch | None = None
        self._resumed = False
        self._closed = False
        self._given: dict[str, Any] = {"encoder": encoder, "extractor": extractor}
        if self.encoder != self._encoder.id:
            name = self.encoder
            self.close()
            raise StoreError(
                f"{self.path} was written with the encoder {name!r}, and opened with {self._encoder.id!r}. Their "
                f"vectors cannot be compared: open it with the encoder that it was written with, or index the "
                f"documents again."
            )
        if settings is not None and settings != (stored := self.settings):
            self.close()
            raise OptionError(f"{self.path} was created with {stored}, not {settings}. Use a new folder.")
        layout.clean_creation()
        if self._reader.interrupted():
            self._resume()

    @classmethod
    def create(
        cls,
        path: str | Path,
        *,
        encoder: GivenEncoder = None,
        extractor: Extractor | str | None = None,
        settings: Settings | None = None,
    ) -> Index:
        """Create an empty index in a new or empty folder. Arguments as in `Index`; raises StoreError for others."""
        layout = create_index(Path(path), encoder, settings or Settings())
        return cls(layout.path, encoder=encoder, extractor=extractor)

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        encoder: GivenEncoder = None,
        extractor: Extractor | str | None = None,
        follow: bool = True,
    ) -> Index:
        """Open an index. Arguments as in `Index`; raises StoreError if there is none."""
        folder = _path(path)
        if not folder.is_dir():
            problem, into = "is not an index folder", str(folder)
            if folder.is_file():
                problem, into = "is a file, and an index is a folder", "NEW-FOLDER"
            raise StoreError(f"{folder} {problem}. Make one: graphwright index PATH --into {into}")
        if not IndexLayout(folder).store.exists() and IndexLayout(folder / "index").store.exists():
            raise StoreError(f"{folder} is the folder of an evaluation; its index is {folder / 'index'}.")
        Store(IndexLayout(folder).store).close()  # raises StoreError if there is none
        return cls(folder, encoder=encoder, extractor=extractor, follow=follow)

    @classmethod
    def from_graph(
        cls,
        path: str | Path,
        source: GraphSource,
        *,
        names: Sequence[str | Path] = (),
        max_malformed: int | None = None,
        embed: Sequence[str] | None = None,
        encoder: GivenEncoder = None,
        reports: bool = False,
        progress: Progress | None = None,
    ) -> Index:
        """Create an index of a knowledge graph, or of another system's index, in a new or empty folder.

        `source`: a graph, or files of triples: TSV, CSV, RDF, Parquet or GraphML, text also packed with gzip
        (`dump_of` describes a file further), or the files of a property graph (see read_property_graph). Files of
        triples may be larger than memory; the graph equals `Graph.from_triples` of their rows. `names`: files with an
        id and a name in each row, for nodes and relations. `max_malformed`: the number of rows that may be left out, by
        default 100, and one in ten of a file; with more, no index is created.
        `embed`: which of names, triples and passages (a node's triples as text) are embedded; by default names, if the
        graph has at most 50,000 nodes, and triples, if it has at most 50,000.

        Every method runs on it, and its nodes take the place of passages. Documents that are added to it are linked
        with it by entity names, and its nodes are then passages beside theirs (see docs/graphs.md).

        `source` may also be the output folder of Microsoft GraphRAG 2 or 3, or the working folder of LightRAG: the
        result is an index of its documents, with its entities and relationships in place of an extraction, so that no
        language model is asked. `reports`: community reports are documents too. `info()["source"]` has the counts, and
        remarks on what was left out.

        >>> import tempfile; from graphwright.models.fake import HashEncoder
        >>> graph = Graph.from_triples([("Graz", "lies on", "Mur"), ("Mur", "flows into", "Drava")])
        >>> index = Index.from_graph(Path(tempfile.mkdtemp()) / "rivers", graph, encoder=HashEncoder())
        >>> index.ask("What does the Mur flow into?", method="lego-1").answer.text.splitlines()[-1]
        'Drava'
        """
        folder = create_from(
            Path(path),
            source,
            names=names,
            max_malformed=max_malformed,
            embed=embed,
            encoder=encoder,
            reports=reports,
            progress=progress,
        )
        return cls(folder, encoder=encoder)

    @property
    def snapshot(self) -> Snapshot:
        """The current snapshot; a newer one is opened when a writer has made it current.

        Documents that an interrupted change removed or replaced are not in it.
        """
        self._check_open()
        return self._reader.snapshot()

    def refresh(self, prepare: Callable[[Snapshot], object] = lambda snapshot: None) -> bool:
        """Open the newest snapshot of an index that was opened with follow=False; return whether there was a newer one.

        `prepare` gets it before queries do, which use the older one meanwhile and do not wait.
        """
        self._check_open()
        return self._reader.refresh(prepare)

    def filtered(self, filter: Filter | Mapping[str, Any]) -> Snapshot:
        """Return the snapshot of an index with only the documents that pass a filter.

        Nothing of the others is visible: no entity or relation that only they name, no form of a name, no description,
        no share in document frequencies. It is built in memory at the first call, without encoding texts that have a
        vector. Raises DataError if no document passes.
        """
        return self._reader.filtered(Filter.of(filter))

    @property
    def graph(self) -> Graph:
        """The graph of the current snapshot."""
        return self.snapshot.graph

    @property
    def documents(self) -> int:
        """The number of stored documents."""
        return self._store.counts()[0]

    @property
    def encoder(self) -> str:
        """The id of the encoder that the index was created with."""
        return self._store.setting("encoder") or ""

    @property
    def settings(self) -> Settings:
        """The settings of the conversion of documents to a graph."""
        return self._store.build_settings

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
        folder; several are given as a list. A document without an id is named by its content. Unchanged documents cost
        nothing. An error in one document leaves none of them.
        If the extractor is a language model, the offline extractor reads the documents first, so that they can be
        searched at once; then the model reads them, with failures retried in the next call. After an interruption the
        next call continues where this one stopped. `usage`: a record that the models' work is added to. `options`: how
        files and folders are read (`graphwright.data.ReadOptions`). `transform`: a function from all documents read to
        those that are stored, such as `with_references`. `engine`: where chunks are extracted and texts encoded
        (`graphwright.engines`), by default in this process; the result is the same.
        """
        with self._write(progress, usage, engine) as writer:
            return writer.add(documents, options, transform)

    def sync(
        self,
        folder: str | Path,
        progress: Progress | None = None,
        *,
        usage: Usage | None = None,
        options: ReadOptions | None = None,
        transform: Transform | None = None,
        engine: Engine | None = None,
    ) -> Changes:
        """Make the documents that came from a folder those that it contains now: added, replaced and removed.

        Unchanged documents cost nothing. Documents that an unreadable file may contain are not removed
        (`Changes.retained`, `Changes.unreadable`). `options`: how the folder is read; documents of files that they
        leave out are removed. `transform`, `engine`: as in `add`. Raises DataError for a folder that is missing or has
        no documents.
        """
        with self._write(progress, usage, engine) as writer:
            return writer.sync(_path(folder), options, transform)

    def remove(self, ids: Iterable[str], progress: Progress | None = None, *, usage: Usage | None = None) -> Changes:
        """Remove documents; the graph is then the one built without them. Raises DataError for an unknown id.

        An interrupted call can be repeated: documents that it has removed are not unknown.
        """
        with self._write(progress, usage) as writer:
            return writer.remove(_ids(ids))

    @contextmanager
    def batch(self, progress: Progress | None = None) -> Iterator[None]:
        """Publish the changes of the block together, at its end: they cost one merge instead of one each.

        Each is stored when its call returns, all or nothing as ever; until the end of the block questions see the
        index as it was before. An error leaves the changes before it, which are published too. If the process is
        killed in the block, the next change publishes what was stored. `progress` is called while they are published.
        Raises OptionError in a batch.

        >>> import tempfile; from graphwright.models.fake import HashEncoder
        >>> index = Index.create(Path(tempfile.mkdtemp()) / "cities", encoder=HashEncoder())
        >>> with index.batch():
        ...     _ = index.add([{"id": "graz", "text": "Graz lies on the Mur."}])
        ...     _ = index.add([{"id": "lyon", "text": "Lyon lies on the Rhône."}])
        ...     len(index.list_documents())
        0
        >>> len(index.list_documents())
        2
        """
        if self._batch is not None:
            raise OptionError(f"{self.path} is in a batch already; changes of the outer block are published together.")
        self._check_open()
        with writer_lock(self.path):
            batch = Batch(self._store.revision + 1, Writer.cache(self._layout, self._encoder))
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

    def matching(self, patterns: Iterable[str]) -> list[str]:
        """Return the ids that patterns stand for, in order: `notes/*.md`, a folder `notes/`, or an id as it is.

        The name of a file whose rows or messages are documents, `box.mbox`, stands for all of them, `box.mbox#*`.
        Raises DataError for a folder or a pattern with * or ? that no document matches.
        """
        stored, matching = self._store.metadata(), dict[str, None]()
        for pattern in _ids(patterns):
            if pattern in stored or not (pattern.endswith("/") or "*" in pattern or "?" in pattern):
                parts = [] if pattern in stored else sorted(id for id in stored if id.startswith(f"{pattern}#"))
                matching |= dict.fromkeys(parts) or {pattern: None}
                continue
            glob = f"{pattern}*" if pattern.endswith("/") else pattern
            found = sorted(fnmatch.filter(stored, glob.replace("[", "[[]")))
            if not found:
                raise DataError(f"{self.path} holds no document that matches {pattern!r}; nothing was changed.")
            matching |= dict.fromkeys(found)
        return list(matching)

    def reextract(
        self,
        ids: Sequence[str] | None = None,
        progress: Progress | None = None,
        *,
        usage: Usage | None = None,
        engine: Engine | None = None,
    ) -> Changes:
        """Extract entities and relations again where another extractor did; of all documents by default.

        The texts are stored, so the files are not needed. After an interruption the next call continues. `engine`: as
        in `add`.
        """
        with self._write(progress, usage, engine) as writer:
            return writer.reextract(None if ids is None else _ids(ids))

    def chunks_to_reextract(self, ids: Sequence[str] | None = None) -> list[Excerpt]:
        """Return the chunks that `reextract` would read, for an estimate."""
        return [chunk.excerpt for chunk in self._writer().outdated(ids)]

    def chunks_to_extract(
        self,
        documents: Iterable[Source] | Source,
        options: ReadOptions | None = None,
        transform: Transform | None = None,
    ) -> list[Excerpt]:
        """Return the chunks that `add` would read, for an estimate; writes nothing."""
        return self._writer().unread(documents, options, transform)

    def verify(self, *, repair: bool = False) -> list[Problem]:
        """Return the problems of the folder, none if it is sound.

        The store and all files are read, and the snapshot is compared with one that is built anew. `repair`: rebuild
        the snapshot if it has problems, and return those that are left.
        """
        self._check_open()
        problems = problems_of(self._layout, self._store, self._encoder)
        if repair and any(problem.repairable for problem in problems):
            with self._write() as writer:
                writer.rebuild()
            problems = problems_of(self._layout, self._store, self._encoder)
        return problems

    def retrieve(
        self,
        question: str | Question,
        method: Method | None = None,
        *,
        top_k: int | None = None,
        filter: Filter | Mapping[str, Any] | None = None,
        run: Run | None = None,
        **options: Any,
    ) -> State:
        """Return the state with the evidence and passages of a method, without an answer.

        `method`: a name (`graphwright methods` lists them), an operator, or a function from a snapshot to an operator;
        by default `multihop`, over an imported graph, also with documents, `graph`. `top_k`: number of passages.
        `filter`: the documents that are searched; nothing of the others is visible, nor of an imported graph. `run`:
        streams the answer, counts usage, and can be cancelled.
        `options`: further arguments of the method. Models (`llm`, `cross_encoder`, `reader`, `encoder`) are given by
        name, as objects, or as functions.
        """
        snapshot, operator = self._pipeline(method, top_k=top_k, filter=filter, **options)
        return retrieval_part(operator)(start(question, snapshot.graph), run)

    def ask(
        self,
        question: str | Question,
        method: Method | None = None,
        *,
        run: Run | None = None,
        deadline: float | None = None,
        on_event: OnEvent | None = None,
        **options: Any,
    ) -> State:
        """Return the state with an answer and its citations. Arguments as in `retrieve`.

        A method of your own that only retrieves is followed by the steps that end every method offline.

        `deadline`: seconds for all that is asked of a language model; by default there is no limit but that of each
        reply. After them no request is sent, a running one is cut, and the steps that are left are done without the
        model, as their notes say; passages, usage and seconds of the other steps are kept. `on_event`: called with each
        Event of the answer, as in `stream`.
        """
        run = Run() if run is None else run
        cancel = run.cancel
        if deadline is not None:
            run = replace(run, cancel=Deadline(deadline, cancel))
        snapshot, operator = self._answering(method, **options)
        state = start(question, snapshot.graph)
        if on_event is None:
            return operator(state, run)
        name = method if isinstance(method, str) else self.default_method if method is None else None
        return Events(on_event, method=name, top_k=options.get("top_k"), cancel=cancel).answer(operator, state, run)

    def stream(self, question: str | Question, method: Method | None = None, **options: Any) -> Iterator[Event]:
        """Yield the events of an answer while it is made: steps, evidence, text, citations. Arguments as in `ask`.

        The text of `token` events is provisional; the last event, `done`, has the verified answer. Closing the
        generator cancels what runs.

        >>> import tempfile; from graphwright.models.fake import HashEncoder
        >>> index = Index(Path(tempfile.mkdtemp()) / "cities", encoder=HashEncoder())
        >>> _ = index.add([{"id": "graz", "title": "Graz", "text": "Graz lies on the Mur in Styria."}])
        >>> events = list(index.stream("On which river does Graz lie?", "bm25"))
        >>> [event.kind for event in events if event.kind != "trace"]
        ['evidence', 'token', 'citation', 'usage', 'done']
        """
        return stream(self._reporting(question, method, options))

    def stream_async(
        self, question: str | Question, method: Method | None = None, **options: Any
    ) -> AsyncIterator[Event]:
        """Yield the events of `stream` in an event loop, which is not blocked: `async for event in …`."""
        return stream_async(self._reporting(question, method, options))

    async def ask_async(self, question: str | Question, method: Method | None = None, **options: Any) -> State:
        """Return the state of `ask` without blocking the event loop. If the task is cancelled, so is what runs."""
        return await cancellable(lambda run: self.ask(question, method, run=run, **options))

    def retrieve_many(
        self, questions: Questions, method: Method | None = None, *, threads: int = 2, **options: Any
    ) -> list[State]:
        """Return the states of `retrieve` for many questions, processed in threads; options as in `retrieve`."""
        snapshot, operator = self._pipeline(method, **options)
        return _many(questions, snapshot, retrieval_part(operator), threads)

    def ask_many(
        self,
        questions: Questions,
        method: Method | None = None,
        *,
        threads: int = 2,
        deadline: float | None = None,
        **options: Any,
    ) -> list[State]:
        """Return the states of `ask` for many questions, processed in threads; options as in `ask`."""
        return _many(questions, *self._answering(method, **options), threads, deadline)

    def pipeline(self, method: Method | None = None, **options: Any) -> Operator:
        """Return a method as an operator over the current snapshot."""
        return self._pipeline(method, **options)[1]

    @property
    def imported(self) -> dict[str, Any] | None:
        """Facts about the files that a graph was imported from; None for an index of documents."""
        about = self._store.setting("graph")
        return None if about is None else dict(json.loads(about))

    @property
    def takes_documents(self) -> bool:
        """Whether documents can be added; not to an imported graph of more than a million nodes."""
        return self._imported_nodes <= MAX_NORMALISED

    @property
    def _imported_nodes(self) -> int:
        """The number of nodes of an imported graph that has had no documents so far, 0 otherwise."""
        return 0 if self.imported is None or self._layout.imported.is_dir() else len(self.graph)

    @property
    def default_method(self) -> str:
        """The name of the method that is used if none is given."""
        snapshot = self.snapshot
        return default_method(imported=snapshot.graph.passages is None or snapshot.imported is not None)

    @property
    def is_being_written(self) -> bool:
        """Whether some process is changing the index now."""
        return is_written(self.path)

    @property
    def progress(self) -> tuple[str, int, int] | None:
        """How far the process is that changes the index now: work, done, total; None if there is none or not known."""
        if not self.is_being_written:
            return None
        try:
            record = json.loads(self._layout.progress.read_text(encoding="utf-8"))
            return str(record["work"]), int(record["done"]), int(record["total"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    @property
    def is_current(self) -> bool:
        """Whether the snapshot contains all stored documents; false after indexing was interrupted."""
        return bool(self.snapshot.about.get("revision") == self._store.revision)

    def list_documents(self) -> list[Listed]:
        """Return the documents that can be searched, by id: title, characters, chunks. Empty for an imported graph.

        Numbers in ids count by their value: `#2` is before `#10`.
        """
        snapshot = self.snapshot
        passages = snapshot.graph.passages
        if passages is None:
            return []
        nodes = snapshot.about.get("graph passages", 0)  # the last ones are passages of an imported graph's nodes
        own = set(passages.documents[: len(passages.documents) - nodes])
        return [listed for listed in passages.listed() if listed.id in own]

    def metadata(self, document: str) -> dict[str, str]:
        """Return the metadata of a document, empty for an unknown one."""
        return self._store.metadata([document]).get(document, {})

    def metadata_by_document(self, documents: Iterable[str] | None = None) -> dict[str, dict[str, str]]:
        """Return the metadata of these documents, or of all, by id; unknown ones are left out."""
        return self._store.metadata(documents)

    def text(self, document: str) -> str:
        """Return the text of a document as it was read, in whose characters citations are counted.

        White space that no chunk contains, such as that between two, is returned as line ends. Raises OptionError for
        an unknown document.
        """
        graph, passages, rows = self._rows(document)
        return passages.text(document, [graph.text(int(passages.nodes[row])) for row in rows])

    def places(self, document: str) -> Places | None:
        """Return the pages, slides, cells or lines of a document's file, by characters of its text; None without any.

        Raises OptionError for an unknown document.
        """
        _, passages, rows = self._rows(document)
        return passages.places_of(rows[0])

    def _rows(self, document: str) -> tuple[Graph, Passages, list[int]]:
        """Return the rows of a document. Raises OptionError for an unknown one."""
        graph = self.graph
        known = {} if graph.passages is None else graph.passages.rows_of_document
        if graph.passages is None or not isinstance(document, str) or document not in known:
            candidates = known if len(known) <= _MAX_COMPARED else ()
            raise OptionError(
                f"there is no document {document!r} among the {len(known):,} of {self.path}."
                f"{meant(document, candidates)} 'graphwright documents --index {self.path}' lists them."
            )
        return graph, graph.passages, known[document]

    def info(self) -> dict[str, Any]:
        """Return facts about the index: counts, encoder, extractors, settings, bytes on disk."""
        snapshot = self.snapshot
        documents, chunks = self._store.counts()
        return {
            "path": str(self.path),
            "documents": documents,
            "chunks": chunks,
            "nodes": len(snapshot.graph),
            "edges": len(snapshot.graph.edges),
            "embedded": snapshot.about["texts"],
            "encoder": self.encoder,
            "extractors": self._store.extractors(),
            "pending": self._store.pending(),
            "missing_values": int(self._store.setting("missing values") or 0),
            "folders": self._store.folders(),
            **({} if self.imported is None else {"imported": self.imported}),
            **({} if (source := self._store.setting("source")) is None else {"source": json.loads(source)}),
            "settings": asdict(self.settings),
            "bytes": self._layout.bytes(),
            "current": self.is_current,
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store and release the snapshot; `with Index(path) as index:` does it at the end of the block."""
        self._closed = True
        self._store.close()
        self._reader.clear()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError(f"{self.path} was closed. Open the index again.")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the path, with the encoder and the extractor that were given."""
        return partial(Index.open, self.path.absolute(), **self._given), ()

    def __repr__(self) -> str:
        if self._closed:
            return f"Index({str(self.path)!r}, closed)"
        if self.imported is not None and not self.documents:
            nodes, edges = len(self.graph), len(self.graph.edges)
            return f"Index({str(self.path)!r}, graph of {nodes:,} nodes and {edges:,} edges)"
        documents, chunks = self._store.counts()
        return f"Index({str(self.path)!r}, {documents:,} documents, {chunks:,} chunks)"

    def _repr_html_(self) -> str:
        return html_table(repr(self), (), [] if self._closed else list(self.info().items()))

    def _writer(
        self, progress: Progress | None = None, usage: Usage | None = None, engine: Engine | None = None
    ) -> Writer:
        changes = Changes(resumed=self._resumed, usage=Usage() if usage is None else usage)
        encoder, extractor = self._encoder, self._extractor
        if engine is not None:
            encoder, extractor = EngineEncoder(encoder, engine), on_engine(extractor, engine)
        return Writer(self._layout, self._store, encoder, extractor, progress, changes, self._reported, self._batch)

    @contextmanager
    def _write(
        self, progress: Progress | None = None, usage: Usage | None = None, engine: Engine | None = None
    ) -> Iterator[Writer]:
        """Hold the write lock; first release this object's snapshot, so that its files can be deleted."""
        nodes = self._imported_nodes
        if not self.takes_documents:
            raise StoreError(
                f"{self.path} is an imported graph of {nodes:,} nodes; documents can be added to one of at most "
                f"{MAX_NORMALISED:,}. Index documents into a folder of their own."
            )
        self._reader.release()
        with writer_lock(self.path) if self._batch is None else nullcontext():
            if nodes:
                self._layout.keep_imported()
            recorder = Recorder(self._layout.progress, progress)
            try:
                yield self._writer(recorder, usage, engine)
            finally:
                recorder.end()
            if self._batch is None:
                self._reported, self._resumed = self._store.revision, False

    def _resume(self) -> None:
        """Finish an interrupted change that removed or replaced documents, unless that takes long or is not possible.

        Then they are hidden from queries until the next change.
        """
        with suppress(GraphwrightError), writer_lock(self.path):
            self._resumed = self._writer().resume()

    def _reporting(self, question: str | Question, method: Method | None, options: Mapping[str, Any]) -> Work:
        """Return the call of `ask` that reports its events."""
        return lambda on_event, run: self.ask(question, method, run=run, on_event=on_event, **options)

    def _answering(self, method: Method | None, **options: Any) -> tuple[Snapshot, Operator]:
        """Return a snapshot, and a pipeline over it that answers."""
        snapshot, operator = self._pipeline(method, **options)
        return snapshot, with_answer(operator, snapshot)

    def _pipeline(
        self,
        method: Method | None,
        *,
        top_k: int | None = None,
        filter: Filter | Mapping[str, Any] | None = None,
        **options: Any,
    ) -> tuple[Snapshot, Operator]:
        """Return a snapshot, and the pipeline of a method over it."""
        if filter is not None and isinstance(method, Operator):
            raise OptionError(
                f"{method!r} searches the indexes that it was built over, so filter={filter!r} would have no effect. "
                f"Give the method's name, or a function from a snapshot to an operator."
            )
        if top_k is not None and (isinstance(top_k, bool) or not isinstance(top_k, Integral) or top_k < 1):
            raise OptionError(f"top_k is {top_k!r}; it must be a whole number, at least 1.")
        own = METHODS[method].options if isinstance(method, str) and method in METHODS else ()
        for name in options.keys() & _SYNONYMS.keys() - set(own):
            raise OptionError(f"{name!r} is not an option; did you mean {_SYNONYMS[name]!r}?")
        snapshot = self.snapshot if filter is None else self.filtered(filter)
        options |= {} if top_k is None else {"top_k": top_k}
        return snapshot, operator_of(self.default_method if method is None else method, snapshot, **options)


def _path(path: str | Path) -> Path:
    if not isinstance(path, str | Path):
        raise OptionError(f"{path!r} is not a path. Give the folder, such as 'my-index'.")
    return Path(path)


def _ids(ids: str | Iterable[str]) -> list[str]:
    listed = [ids] if isinstance(ids, str) or not isinstance(ids, Iterable) else list(ids)
    if wrong := [one for one in listed if not isinstance(one, str)]:
        raise OptionError(f"{wrong[0]!r} is not the id of a document. Give ids as strings.")
    return listed


def _many(
    questions: Questions, snapshot: Snapshot, operator: Operator, threads: int, deadline: float | None = None
) -> list[State]:
    if isinstance(questions, str) or not isinstance(questions, Iterable):
        raise OptionError(f"{questions!r} is not a list of questions. Give a list, or use ask or retrieve for one.")
    if isinstance(threads, bool) or not isinstance(threads, Integral) or threads < 1:
        raise OptionError(f"threads is {threads!r}; it must be a whole number, at least 1.")

    def state(question: str | Question) -> State:
        cancel = None if deadline is None else Deadline(deadline)
        return operator(start(question, snapshot.graph), Run(cancel=cancel))

    with ThreadPoolExecutor(max_workers=threads) as pool:
        return list(pool.map(state, questions))
