"""An index folder: what a builder holds. Documents go in; questions are answered from its current snapshot."""

from __future__ import annotations

import json
import shutil
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from graphwright.data.document import Document
from graphwright.data.knowledge_graphs import Dump, dump_of
from graphwright.errors import DataError, OptionError, StoreError, meant
from graphwright.graph.graph import Graph
from graphwright.graph.passages import Listed
from graphwright.index.build import SPACES, Progress, Settings, build, checked_spaces, given
from graphwright.index.changes import Changes, Source
from graphwright.index.extraction import Excerpt, Extractor
from graphwright.index.filter import Filter
from graphwright.index.graph_import import Imported, read_dumps
from graphwright.index.layout import IndexLayout
from graphwright.index.lexical import LexicalExtractor
from graphwright.index.locks import is_written
from graphwright.index.snapshot import Snapshot, open_snapshot
from graphwright.index.store import Store
from graphwright.index.verify import Problem, verify
from graphwright.index.writer import Writer, revision_of, settings_of
from graphwright.methods.registry import pipeline, retrieval_part
from graphwright.models.cache import CachedEncoder
from graphwright.models.registry import EMBEDDED, encoder_of
from graphwright.models.protocols import NamedEncoder
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import Question, State, start

__all__ = ["Changes", "Index"]

Method = str | Operator | Callable[[Snapshot], Operator]
_MANY = 5_000  # documents that a wrong id is compared with
_PARTS = 16  # parts of an index (see Filter) that stay in memory


class Index:
    """Documents, the graph made of them, and answers.

    Queries map the current snapshot and never wait for indexing; a snapshot is written whole and then
    made current at one stroke.

    >>> import tempfile; from graphwright.models.fake import HashEncoder
    >>> index = Index.create(Path(tempfile.mkdtemp()) / "cities", encoder=HashEncoder())
    >>> _ = index.add([{"id": "graz", "title": "Graz", "text": "Graz lies on the Mur in Styria."}])
    >>> reply = index.ask("On which river does Graz lie?").answer
    >>> reply.citations[0].document, reply.citations[0].start, reply.citations[0].end
    ('graz', 0, 31)
    """

    def __init__(self, path: Path, store: Store, encoder: NamedEncoder, extractor: Extractor) -> None:
        """Use `create` or `open`."""
        self.path = path
        self._place = IndexLayout(path)
        self._store = store
        self._encoder = encoder
        self._asking = CachedEncoder(encoder)
        self._writer = Writer(self._place, store, encoder, extractor)
        self._opened: tuple[str, Snapshot] | None = None
        self._parts: OrderedDict[tuple[Filter, int], Snapshot] = OrderedDict()
        self._lock = threading.Lock()
        self._closed = False

    @classmethod
    def create(
        cls,
        path: str | Path,
        *,
        encoder: NamedEncoder | str | None = None,
        extractor: Extractor | None = None,
        settings: Settings | None = None,
    ) -> Index:
        """Make an empty index in a new or empty folder, all of it or nothing.

        `encoder`: the embedded MiniLM unless given; its id is kept, and another one is refused later. One that is given
        by name (see `graphwright.models.registry.encoder_of`) is kept by that, so that `open` need not be told.
        `extractor`: lexical unless given. Raises StoreError if the folder holds something already.
        """
        folder, settings = Path(path).resolve(), _checked(settings or Settings())
        name = encoder if isinstance(encoder, str) else EMBEDDED if encoder is None else ""
        encoder = encoder_of(name) if encoder is None or isinstance(encoder, str) else encoder

        def fill(place: IndexLayout) -> None:
            kept = {"encoder": encoder.id, "encoder name": name, "settings": json.dumps(asdict(settings))}
            store = Store.create(place.store, {**kept, "revision": "0"})
            place.publish(0, build(store.ledger(), settings, encoder).write)
            store.close()

        IndexLayout.create(folder, fill)
        return cls.open(folder, encoder=encoder, extractor=extractor)

    @classmethod
    def from_graph(
        cls,
        path: str | Path,
        source: Graph | str | Path | Dump | Sequence[str | Path | Dump],
        *,
        names: Sequence[str | Path] = (),
        malformed: int | None = None,
        embed: Sequence[str] | None = None,
        encoder: NamedEncoder | str | None = None,
        progress: Progress | None = None,
    ) -> Index:
        """Make an index of a knowledge graph in a new or empty folder, all of it or nothing.

        `source`: a graph, or files of triples: TSV, CSV, N-Triples, Parquet or GraphML, text also gzipped (`dump_of`
        says more about a file than its name does). Files are read out of core, so they may be larger than memory; the
        graph equals `Graph.from_triples` of their rows. `names`: files of an id and a name in each line, that nodes and
        relations of this id go by. `malformed`: how many rows may be left out, unless given
        100, and one in ten of a file; with more nothing is made. `embed`:
        which of names, triples and passages (a node's triples, written out) get a vector; unless given names, of a
        graph of at most 50,000 nodes.

        Every method runs over it; its nodes stand for passages. Documents cannot be added to it.

        >>> import tempfile; from graphwright.models.fake import HashEncoder
        >>> graph = Graph.from_triples([("Graz", "lies on", "Mur"), ("Mur", "flows into", "Drava")])
        >>> index = Index.from_graph(Path(tempfile.mkdtemp()) / "rivers", graph, encoder=HashEncoder())
        >>> index.ask("What does the Mur flow into?", method="lego-1").answer.text.splitlines()[-1]
        'Drava'
        """
        folder = Path(path).resolve()
        name = encoder if isinstance(encoder, str) else EMBEDDED if encoder is None else ""
        encoder = encoder_of(name) if encoder is None or isinstance(encoder, str) else encoder
        wanted = None if embed is None else checked_spaces(embed)
        files = [] if isinstance(source, Graph) else [_dump(file) for file in _listed(source)]
        called = [_dump(file) for file in names]

        def fill(place: IndexLayout) -> None:
            scratch = place.path / "import"
            read = (
                Imported(source.columns)
                if isinstance(source, Graph)
                else read_dumps(files, scratch, names=called, malformed=malformed, progress=progress)
            )
            built = given(Graph(read.columns), encoder, embed=wanted, ids=read.ids, progress=progress)
            held = {
                "files": [str(file.path.resolve()) for file in files],
                "relations": len(read.columns.relations),
                "malformed": read.malformed,
                "shown": read.shown,
                "seconds": {part: round(spent, 3) for part, spent in {**read.seconds, **built.seconds}.items()},
            }
            settings = Settings(embed=tuple(built.about["texts"]))
            kept = {"encoder": encoder.id, "encoder name": name, "settings": json.dumps(asdict(settings))}
            store = Store.create(place.store, {**kept, "revision": "0", "graph": json.dumps(held)})
            place.publish(0, built.write)
            store.close()
            shutil.rmtree(scratch, ignore_errors=True)

        IndexLayout.create(folder, fill)
        return cls.open(folder, encoder=encoder)

    @classmethod
    def open(
        cls, path: str | Path, *, encoder: NamedEncoder | str | None = None, extractor: Extractor | None = None
    ) -> Index:
        """Open an index. The encoder must be the one that it was made with, by its id; that one unless given.

        `extractor` reads what is added from now on; documents read by several extractors may stand side by side.
        """
        folder = Path(path)
        if folder.is_file():
            raise StoreError(
                f"{folder} is a file, and an index is a folder. Make one: graphwright index PATH --into NEW-FOLDER"
            )
        if not folder.is_dir():
            raise StoreError(f"{folder} is not an index folder. Make one: graphwright index PATH --into {folder}")
        if not IndexLayout(folder).store.exists() and IndexLayout(folder / "index").store.exists():
            raise StoreError(f"{folder} is the folder of a run; its index is {folder / 'index'}.")
        store = Store(IndexLayout(folder).store)
        if encoder is None or isinstance(encoder, str):
            encoder = encoder_of(encoder or store.setting("encoder name") or EMBEDDED)
        written, given = store.setting("encoder"), encoder.id
        if written != given:
            store.close()
            raise StoreError(
                f"{folder} was written with the encoder {written!r}, and {given!r} was given. Their vectors cannot be "
                f"compared: open it with the encoder it was written with, or index the documents again."
            )
        return cls(folder, store, encoder, extractor or LexicalExtractor())

    @property
    def snapshot(self) -> Snapshot:
        """The current snapshot; a newer one is opened when a writer has made it current."""
        if self._closed:
            raise StoreError(f"{self.path} was closed. Open the index again.")
        with self._lock:
            while True:
                name = self._place.current()
                if self._opened is not None and self._opened[0] == name:
                    return self._opened[1]
                try:
                    self._opened = name, open_snapshot(self.path / name, self._asking)
                except StoreError:
                    # A writer may have replaced it between the two steps; then there is a newer one.
                    if self._place.current() == name:
                        raise

    def part(self, within: Filter) -> Snapshot:
        """Return the snapshot of an index that holds these documents and no others.

        Nothing of the others shows: no entity or relation that only they name, no wording of a name, no description,
        no share in what counts as rare. It is made at the first call, in memory, without encoding what has a vector.
        Raises DataError if there is no such document.
        """
        if not isinstance(within, Filter):
            raise OptionError(
                f"within={within!r} names no part; give Filter(documents=…), Filter(folder=…) or the like."
            )
        whole = self.snapshot
        # Documents, metadata and revision of one moment: what is committed, and nothing that is being written.
        with self._store.moment() as store:
            known = within, revision_of(store)
            with self._lock:
                if known in self._parts:
                    self._parts.move_to_end(known)
                    return self._parts[known]
            ids = [document for document, said in store.metadata().items() if within.holds(document, said)]
            if not ids:
                found = sorted({name for said in store.metadata().values() for name in said})
                raise DataError(
                    f"{self.path} holds no document {within}. Ids are paths from the folder that was read, or rows' "
                    f"own ids; metadata has the names {', '.join(found[:20]) or '(none)'}."
                )
            ledger, settings = store.ledger(ids), settings_of(store)
        part = build(ledger, settings, self._asking, known=whole).snapshot(self._asking)
        with self._lock:
            self._parts[known] = part
            while len(self._parts) > _PARTS:
                self._parts.popitem(last=False)
        return part

    @property
    def graph(self) -> Graph:
        """The graph of the current snapshot."""
        return self.snapshot.graph

    @property
    def documents(self) -> int:
        """How many documents are stored."""
        return self._store.counts()[0]

    @property
    def encoder(self) -> str:
        """The id of the encoder that the index was made with."""
        return self._store.setting("encoder") or ""

    @property
    def settings(self) -> Settings:
        """How documents become a graph here."""
        return settings_of(self._store)

    def add(self, documents: Iterable[Source] | Source, progress: Progress | None = None) -> Changes:
        """Add documents, replace those whose id is known and whose content changed, and make the new snapshot current.

        A document is a Document, a mapping with id, text and perhaps title and more, or a Path to a file or folder.
        Documents that did not change cost nothing. All or nothing: an error in the last one leaves none of the first.
        Where the extractor is a language model the documents can be asked at once, read by the offline extractor, and
        the model reads them after that; what it could not read is tried again in the next call. Interrupted, the next
        call goes on where this one stopped.
        """
        return self._writing().add(_several(documents), progress)

    def sync(self, folder: str | Path, progress: Progress | None = None) -> Changes:
        """Make the documents that came from a folder those that are in it now: added, replaced and removed.

        Compared by content, so what did not change costs nothing. What may be in a file that cannot be read is not
        removed (`Changes.kept`, `Changes.unread`). Raises DataError for a folder that is missing or holds nothing.
        """
        return self._writing().sync(Path(folder), progress)

    def remove(self, ids: Iterable[str], progress: Progress | None = None) -> Changes:
        """Take documents away; the graph is then the one built without them. Raises DataError for an unknown id."""
        return self._writing().remove([ids] if isinstance(ids, str) else ids, progress)

    def upgrade(self, ids: Sequence[str] | None = None, progress: Progress | None = None) -> Changes:
        """Read documents again with this index's extractor, where another one read them; all documents if no ids.

        What they say need not be there any more: it is kept. Interrupted, the next call goes on.
        """
        return self._writing().upgrade([ids] if isinstance(ids, str) else ids, progress)

    def unlike(self, ids: Sequence[str] | None = None) -> list[Excerpt]:
        """Return the chunks that `upgrade` would read, for an estimate."""
        return [Excerpt(c.document, c.title, c.text) for c in self._writer.unlike(ids)]

    def unseen(self, documents: Iterable[Source] | Source) -> list[Excerpt]:
        """Return the chunks that would be read if these documents were added, for an estimate; writes nothing."""
        return self._writer.unseen(_several(documents), Changes())

    def verify(self, *, repair: bool = False) -> list[Problem]:
        """Return what is wrong with the folder, empty if nothing: the store, and whether the snapshot is what it says.

        `repair`: make the snapshot again where it is the snapshot that is wrong; what is returned is then what is left.
        """
        found = verify(self._place, self._store, self._encoder)
        if repair and self.imported is None and any(problem.mendable for problem in found):
            self._writing().renew()
            found = verify(self._place, self._store, self._encoder)
        return found

    def retrieve(
        self, question: str | Question, method: Method | None = None, *, within: Filter | None = None, **options: Any
    ) -> State:
        """Return the state with the evidence and passages of a method, before anything is answered.

        `method`: a name (`graphwright methods` lists them; `options` are its arguments), an operator, or a
        function from a snapshot to an operator; `ppr` unless given, over an imported graph `rog`. `within`: the
        documents that are searched; the others are hidden.
        """
        snapshot, operator = self._ready(method, within, options)
        return retrieval_part(operator)(start(question, snapshot.graph))

    def ask(
        self,
        question: str | Question,
        method: Method | None = None,
        *,
        within: Filter | None = None,
        run: Run | None = None,
        **options: Any,
    ) -> State:
        """Return the state with an answer and its citations.

        `run`: such as Run(on_text=print), which passes on the answer's text while a language model writes it.
        """
        snapshot, operator = self._ready(method, within, options)
        return operator(start(question, snapshot.graph), run)

    def retrieve_many(
        self,
        questions: Sequence[str | Question],
        method: Method | None = None,
        *,
        threads: int = 2,
        within: Filter | None = None,
        **options: Any,
    ) -> list[State]:
        """`retrieve` for many questions, over threads."""
        snapshot, operator = self._ready(method, within, options)
        return _many(questions, snapshot, retrieval_part(operator), threads)

    def ask_many(
        self,
        questions: Sequence[str | Question],
        method: Method | None = None,
        *,
        threads: int = 2,
        within: Filter | None = None,
        **options: Any,
    ) -> list[State]:
        """`ask` for many questions, over threads."""
        snapshot, operator = self._ready(method, within, options)
        return _many(questions, snapshot, operator, threads)

    def pipeline(self, method: Method, **options: Any) -> Operator:
        """Return a method as an operator over the current snapshot."""
        return _pipeline(method, self.snapshot, options)

    @property
    def imported(self) -> dict[str, Any] | None:
        """What is known of the files that a graph was imported from; None for an index of documents."""
        held = self._store.setting("graph")
        return None if held is None else dict(json.loads(held))

    def _writing(self) -> Writer:
        """Return the writer; the snapshot held here is let go first, so that it can be cleaned up."""
        if self.imported is not None:
            raise StoreError(
                f"{self.path} is an imported graph, and documents are not added to it or taken out of it. Index "
                f"documents into a folder of their own, or import a changed graph into a new one."
            )
        with self._lock:
            self._opened = None
        return self._writer

    @property
    def method(self) -> str:
        """The name of the method that questions are asked with unless another is given."""
        return "ppr" if self.imported is None else "rog"

    def _ready(
        self, method: Method | None, within: Filter | None, options: Mapping[str, Any]
    ) -> tuple[Snapshot, Operator]:
        if within is not None and isinstance(method, Operator):
            raise OptionError(
                f"{method!r} searches the indexes that it was built over, so within={within!r} would hide nothing. "
                f"Give the method's name, or a function from a snapshot to an operator."
            )
        snapshot = self.snapshot if within is None else self.part(within)
        return snapshot, _pipeline(self.method if method is None else method, snapshot, options)

    @property
    def busy(self) -> bool:
        """Whether some process is writing into the index right now."""
        return is_written(self.path)

    def listed(self) -> list[Listed]:
        """Return the documents that can be searched, by id: title, characters, chunks. None of an imported graph."""
        passages = self.graph.passages
        return [] if passages is None else passages.listed()

    def text(self, document: str) -> str:
        """Return the text of a document as it was read, in whose characters citations count.

        White space that no chunk holds, as before the first and between two, is given as line ends. Raises OptionError
        for one that cannot be searched.
        """
        graph = self.graph
        known = {} if graph.passages is None else graph.passages.rows_of_document
        if graph.passages is None or not isinstance(document, str) or document not in known:
            like = [] if len(known) > _MANY else known  # to compare with all would take long
            raise OptionError(
                f"there is no document {document!r} among the {len(known):,} of {self.path}.{meant(document, like)} "
                f"'graphwright documents --index {self.path}' lists them."
            )
        return graph.passages.text(document, [graph.text(int(graph.passages.nodes[row])) for row in known[document]])

    @property
    def current(self) -> bool:
        """Whether the snapshot holds all that the store does; not so after indexing was interrupted."""
        return bool(self.snapshot.about.get("revision") == revision_of(self._store))

    def info(self) -> dict[str, Any]:
        """Return what the index holds: counts, encoder, extractors, settings, bytes on disk."""
        snapshot = self.snapshot
        documents, chunks = self._store.counts()
        return {
            "path": str(self.path),
            "documents": documents,
            "chunks": chunks,
            "nodes": len(snapshot.graph),
            "edges": len(snapshot.graph.edges),
            "embedded": snapshot.about["texts"],
            "encoder": self._store.setting("encoder"),
            "extractors": self._store.extractors(),
            "waiting": self._store.waiting(),
            "folders": self._store.sources(),
            **({} if self.imported is None else {"imported": self.imported}),
            "settings": asdict(self.settings),
            "bytes": self._place.bytes(),
            "current": self.current,
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store's file, and let the snapshot go; as does the end of `with Index.open(path) as index:`."""
        self._closed = True
        self._store.close()
        self._opened = None
        self._parts.clear()

    def __repr__(self) -> str:
        return f"Index({str(self.path)!r})"


def _listed(source: str | Path | Dump | Sequence[str | Path | Dump]) -> Sequence[str | Path | Dump]:
    listed = [source] if isinstance(source, str | Path | Dump) else list(source)
    if not listed:
        raise OptionError("give at least one file of triples to import.")
    return listed


def _dump(file: str | Path | Dump) -> Dump:
    return file if isinstance(file, Dump) else dump_of(file)


def _several(documents: Iterable[Source] | Source) -> Iterable[Source]:
    if isinstance(documents, Document | Mapping | Path | str):
        return [documents]
    return documents


def _checked(settings: Settings) -> Settings:
    if not 0 <= settings.overlap < settings.chunk_tokens:
        raise OptionError(f"{settings}: the overlap must be at least 0 and below the tokens of a chunk.")
    unknown = set(settings.embed) - set(SPACES)
    if unknown or "passages" not in settings.embed:
        raise OptionError(f"embed={settings.embed}: choose from {SPACES}; passages are always embedded.")
    return settings


def _pipeline(method: Method, snapshot: Snapshot, options: Mapping[str, Any]) -> Operator:
    if isinstance(method, str):
        return pipeline(method, snapshot, **options)
    if options:
        raise OptionError(f"{sorted(options)} are arguments of a named method; {method!r} takes none.")
    if isinstance(method, Operator):
        return method
    if not callable(method):
        raise OptionError(f"{method!r} is no method: give a name, an operator, or a function from a snapshot to one.")
    return method(snapshot)


def _many(questions: Sequence[str | Question], snapshot: Snapshot, operator: Operator, threads: int) -> list[State]:
    if threads < 1 or isinstance(questions, str):
        raise OptionError(f"give a list of questions and 1 thread or more; given: {questions!r}, {threads} threads.")
    with ThreadPoolExecutor(max_workers=threads) as pool:
        # A copy of the context for each, so that what they take is counted by the caller's meters.
        answering = [
            pool.submit(copy_context().run, lambda asked: operator(start(asked, snapshot.graph)), question)
            for question in questions
        ]
        return [answer.result() for answer in answering]
