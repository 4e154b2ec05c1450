"""Index: a folder to which documents are added and questions are asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, Self

from graphwright.build.creation import GraphSource, create_from, create_index
from graphwright.build.operation import Batch
from graphwright.errors import OptionError, StoreError
from graphwright.extract.extraction import Extractor
from graphwright.extract.extractors import extractor_of
from graphwright.graph.evidence import html_table
from graphwright.index_folder.snapshot_reader import SnapshotReader
from graphwright.index_folder.writing import IndexWriting, checked_path
from graphwright.methods.house import with_answer
from graphwright.methods.registry import METHODS, Builder, default_method, operator_of, retrieval_part
from graphwright.models.cache import CachedEncoder
from graphwright.models.deadline import Deadline
from graphwright.models.protocols import NamedEncoder
from graphwright.models.registry import EMBEDDED, encoder_of
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import Question, State, start
from graphwright.search.filter import Filter
from graphwright.search.snapshot import Snapshot
from graphwright.store.changes import Progress
from graphwright.store.folder_creation import clean_creation
from graphwright.store.layout import IndexLayout
from graphwright.store.settings import Settings
from graphwright.store.store import Store
from graphwright.streaming import Event, Events, OnEvent, Work, cancellable, stream, stream_async

Method = str | Operator | Builder
Questions = Sequence[str | Question]
GivenEncoder = NamedEncoder | str | Callable[..., Any] | None
_SYNONYMS = {"k": "top_k", "limit": "top_k", "passages": "top_k", "model": "llm", "where": "filter", "within": "filter"}


class Index(IndexWriting):
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
        layout = IndexLayout(checked_path(path))
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
        clean_creation(layout)
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
        folder = checked_path(path)
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

        >>> import tempfile; from graphwright import Graph; from graphwright.models.fake import HashEncoder
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
    def default_method(self) -> str:
        """The name of the method that is used if none is given."""
        snapshot = self.snapshot
        return default_method(imported=snapshot.graph.passages is None or snapshot.imported is not None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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
