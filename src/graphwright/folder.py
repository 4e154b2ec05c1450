"""An index folder: what a builder holds. Documents go in; questions are answered from its current snapshot."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

from graphwright.data.base import Chunk, Document
from graphwright.data.chunks import split
from graphwright.errors import DataError, OptionError, StoreError
from graphwright.graph.graph import Graph
from graphwright.index.build import SPACES, Progress, Settings, build
from graphwright.index.contribution import Contribution, Excerpt, Extractor
from graphwright.index.intake import Added, Source, documents_of, is_new, unfit
from graphwright.index.lexical import LexicalExtractor
from graphwright.index.lock import writer_lock
from graphwright.index.snapshot import Snapshot, open_snapshot
from graphwright.index.store import Store
from graphwright.methods.registry import pipeline, retrieval_part
from graphwright.models.base import NamedEncoder
from graphwright.models.cache import CachedEncoder
from graphwright.models.minilm import MiniLM
from graphwright.retrieve.operator import Operator
from graphwright.retrieve.state import Question, State, start

__all__ = ["Added", "Index"]

Method = str | Operator | Callable[[Snapshot], Operator]
_BATCH = 500  # documents that are held in memory at once


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
        self._store = store
        self._encoder = encoder
        self._asking = CachedEncoder(encoder)
        self._extractor = extractor
        self._opened: tuple[str, Snapshot] | None = None
        self._lock = threading.Lock()

    @classmethod
    def create(
        cls,
        path: str | Path,
        *,
        encoder: NamedEncoder | None = None,
        extractor: Extractor | None = None,
        settings: Settings | None = None,
    ) -> Index:
        """Make an empty index in a new or empty folder, all of it or nothing.

        `encoder`: the embedded MiniLM unless given; its id is kept, and another one is refused later.
        `extractor`: lexical unless given. Raises StoreError if the folder holds something already.
        """
        folder, encoder, extractor = Path(path).resolve(), encoder or MiniLM(), extractor or LexicalExtractor()
        settings = settings or Settings()
        if not 0 <= settings.overlap < settings.chunk_tokens:
            raise OptionError(f"{settings}: the overlap must be at least 0 and below the tokens of a chunk.")
        unknown = set(settings.embed) - set(SPACES)
        if unknown or "passages" not in settings.embed:
            raise OptionError(f"embed={settings.embed}: choose from {SPACES}; passages are always embedded.")
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            held = (
                "is an index already; open it with Index.open" if (folder / "index.sqlite").exists() else "is not empty"
            )
            raise StoreError(f"{folder} {held}. A new index needs a new or empty folder.")
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        except OSError as error:
            raise StoreError(f"{folder} cannot be made ({error}). Choose a folder that can be written.") from error
        try:
            kept = {
                "encoder": encoder.id,
                "extractor": extractor.id,
                "settings": json.dumps(asdict(settings)),
            }
            store = Store.create(draft / "index.sqlite", {**kept, "revision": "0"})
            build(store, settings, encoder, draft / "snapshot-0")
            store.close()
            (draft / "CURRENT").write_text("snapshot-0", encoding="utf-8")
            draft.chmod(0o755)
            _become(draft, folder)
        except BaseException as error:
            shutil.rmtree(draft, ignore_errors=True)
            if isinstance(error, OSError | sqlite3.Error):
                raise StoreError(f"{folder} cannot be made an index ({error}); choose a folder of your own.") from error
            raise
        return cls.open(folder, encoder=encoder, extractor=extractor)

    @classmethod
    def open(
        cls, path: str | Path, *, encoder: NamedEncoder | None = None, extractor: Extractor | None = None
    ) -> Index:
        """Open an index. The encoder must be the one that it was made with, by its id."""
        folder, encoder = Path(path), encoder or MiniLM()
        if not folder.is_dir():
            raise StoreError(f"{folder} is not an index folder. Make one: graphwright index PATH --into {folder}")
        store = Store(folder / "index.sqlite")
        written, given = store.setting("encoder"), encoder.id
        if written != given:
            raise StoreError(
                f"{folder} was written with the encoder {written!r}, and {given!r} was given. Their vectors cannot be "
                f"compared: open it with the encoder it was written with, or index the documents again."
            )
        return cls(folder, store, encoder, extractor or LexicalExtractor())

    @property
    def snapshot(self) -> Snapshot:
        """The current snapshot; a newer one is opened when a writer has made it current."""
        with self._lock:
            while True:
                name = self._current()
                if self._opened is not None and self._opened[0] == name:
                    return self._opened[1]
                try:
                    self._opened = name, open_snapshot(self.path / name, self._asking)
                except StoreError:
                    # A writer may have replaced it between the two steps; then there is a newer one.
                    if self._current() == name:
                        raise

    def _current(self) -> str:
        try:
            return (self.path / "CURRENT").read_text(encoding="utf-8").strip()
        except OSError as error:
            raise StoreError(f"{self.path} has no current snapshot ({error}); index its documents again.") from error

    @property
    def graph(self) -> Graph:
        """The graph of the current snapshot."""
        return self.snapshot.graph

    @property
    def documents(self) -> int:
        """How many documents are stored."""
        return self._store.counts()[0]

    @property
    def settings(self) -> Settings:
        """How documents become a graph here."""
        kept = json.loads(self._store.setting("settings") or "{}")
        return Settings(**{**kept, "embed": tuple(kept.get("embed", ("passages",)))})

    def add(self, documents: Iterable[Source] | Source, progress: Progress | None = None) -> Added:
        """Add documents, replace those whose id is known and whose content changed, and make the new snapshot current.

        A document is a Document, a mapping with id, text and perhaps title and more, or a Path to a file or folder.
        Documents that did not change cost nothing. Interrupted, the next call goes on where this one stopped.
        """
        made = Added()
        with writer_lock(self.path):
            self._check_extractor()
            known: dict[str, bytes] = self._store.hashes()
            seen: dict[str, bytes] = {}
            sources = [documents] if isinstance(documents, Document | Mapping | Path | str) else documents
            given = documents_of(sources, made, self.path)
            # All or nothing: an error in the last document leaves none of the first.
            with self._store.writing():
                while batch := list(islice(given, _BATCH)):
                    self._put([d for d in batch if is_new(d, known, seen, made)], made, progress)
                if made.added or made.replaced:
                    self._bump()
            self._renew(made, progress)
        return made

    def remove(self, ids: Iterable[str]) -> None:
        """Take documents away; the graph is then the one built without them. Raises DataError for an unknown id."""
        wanted = [ids] if isinstance(ids, str) else list(ids)
        with writer_lock(self.path):
            known = self._store.hashes()
            unknown = [i for i in wanted if i not in known]
            if unknown:
                raise DataError(
                    f"{self.path} holds no document {unknown[0]!r} ({len(unknown)} unknown); nothing was removed."
                )
            if wanted:
                with self._store.writing():
                    self._store.remove(wanted)
                    self._bump()
            self._renew(Added(), None)

    def retrieve(self, question: str | Question, method: Method = "ppr", **options: Any) -> State:
        """Return the state with the evidence and passages of a method, before anything is answered.

        `method`: a name (`graphwright methods` lists them; `options` are its arguments), an operator, or a
        function from a snapshot to an operator.
        """
        snapshot = self.snapshot
        return retrieval_part(_pipeline(method, snapshot, options))(start(question, snapshot.graph))

    def ask(self, question: str | Question, method: Method = "ppr", **options: Any) -> State:
        """Return the state with an answer and its citations."""
        snapshot = self.snapshot
        return _pipeline(method, snapshot, options)(start(question, snapshot.graph))

    def retrieve_many(
        self, questions: Sequence[str | Question], method: Method = "ppr", *, threads: int = 2, **options: Any
    ) -> list[State]:
        """`retrieve` for many questions, over threads."""
        snapshot = self.snapshot
        return _many(questions, snapshot, retrieval_part(_pipeline(method, snapshot, options)), threads)

    def ask_many(
        self, questions: Sequence[str | Question], method: Method = "ppr", *, threads: int = 2, **options: Any
    ) -> list[State]:
        """`ask` for many questions, over threads."""
        snapshot = self.snapshot
        return _many(questions, snapshot, _pipeline(method, snapshot, options), threads)

    def pipeline(self, method: Method, **options: Any) -> Operator:
        """Return a method as an operator over the current snapshot."""
        return _pipeline(method, self.snapshot, options)

    @property
    def current(self) -> bool:
        """Whether the snapshot holds all that the store does; not so after indexing was interrupted."""
        return bool(self.snapshot.about.get("revision") == self._revision())

    def info(self) -> dict[str, Any]:
        """Return what the index holds: counts, encoder, settings, bytes on disk."""
        snapshot = self.snapshot
        documents, chunks = self._store.counts()
        size = sum(f.stat().st_size for f in self.path.rglob("*") if f.is_file())
        return {
            "path": str(self.path),
            "documents": documents,
            "chunks": chunks,
            "nodes": len(snapshot.graph),
            "edges": len(snapshot.graph.edges),
            "embedded": snapshot.about["texts"],
            "encoder": self._store.setting("encoder"),
            "extractor": self._store.setting("extractor"),
            "settings": asdict(self.settings),
            "bytes": size,
            "current": self.current,
        }

    def close(self) -> None:
        """Close the store's file."""
        self._store.close()

    def __repr__(self) -> str:
        return f"Index({str(self.path)!r})"

    def _check_extractor(self) -> None:
        written = self._store.setting("extractor")
        if written != self._extractor.id:
            raise StoreError(
                f"{self.path} was written with the extractor {written!r}, and {self._extractor.id!r} was given; "
                f"open it with the same extractor to add to it."
            )

    def _put(self, documents: Sequence[Document], made: Added, progress: Progress | None) -> None:
        if not documents:
            return
        settings = self.settings
        count = getattr(self._encoder, "count_tokens", None)
        counter = {} if count is None else {"count_tokens": count}
        chunks: list[Chunk] = []
        owner: list[Document] = []
        for document in documents:
            some = split(document, budget=settings.chunk_tokens, overlap=settings.overlap, **counter)
            chunks += some
            owner += [document] * len(some)
        excerpts = [Excerpt(d.id, d.title, c.text) for d, c in zip(owner, chunks, strict=True)]
        contributions = self._extractor.extract(excerpts)
        of: dict[str, list[tuple[Chunk, Contribution]]] = {d.id: [] for d in documents}
        for chunk, contribution in zip(chunks, contributions, strict=True):
            of[chunk.document].append((chunk, contribution))
        for document in documents:
            self._store.put(document, of[document.id], self._extractor.id)
        made.unfit.update(unfit(self._extractor, documents))
        if progress is not None:
            done = len(made.added) + len(made.replaced)
            progress("read documents", done, done)

    def _revision(self) -> int:
        return int(self._store.setting("revision") or 0)

    def _bump(self) -> None:
        self._store.set("revision", str(self._revision() + 1))

    def _renew(self, made: Added, progress: Progress | None) -> None:
        """Write a snapshot of the store as it is now and make it current, unless the current one is that."""
        revision = self._revision()
        with suppress(StoreError):  # a damaged snapshot is made again
            if self.snapshot.about.get("revision") == revision:
                return
        name = f"snapshot-{revision}"
        draft = self.path / f".{name}.draft"
        shutil.rmtree(draft, ignore_errors=True)
        try:
            encoder = CachedEncoder(self._encoder, self.path / "vectors.sqlite")
            built = build(self._store, self.settings, encoder, draft, progress, revision)
            shutil.rmtree(self.path / name, ignore_errors=True)
            os.replace(draft, self.path / name)
            pointer = self.path / ".CURRENT.draft"
            pointer.write_text(name, encoding="utf-8")
            os.replace(pointer, self.path / "CURRENT")
        except (OSError, sqlite3.Error) as error:
            shutil.rmtree(draft, ignore_errors=True)
            raise StoreError(f"{self.path} could not be written ({error}); the index is as it was before.") from error
        made.seconds, made.texts = built.seconds, built.texts
        for old in self.path.glob("snapshot-*"):
            if old.name != name:
                shutil.rmtree(old, ignore_errors=True)


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
        return list(pool.map(lambda question: operator(start(question, snapshot.graph)), questions))


def _become(draft: Path, folder: Path) -> None:
    """Put a new index in its place: at one stroke, or where the folder itself must stay, CURRENT last."""
    try:
        os.replace(draft, folder)
    except OSError:
        if not folder.is_dir() or any(folder.iterdir()):
            raise
        for part in sorted(draft.iterdir(), key=lambda part: part.name == "CURRENT"):
            shutil.move(part, folder / part.name)
        draft.rmdir()
