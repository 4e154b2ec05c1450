"""An index whose documents are in shards, each held by a process; questions are asked as of one index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from graphwright.errors import DataError, GraphwrightError, OptionError, StoreError
from graphwright.extract.extraction import Extractor
from graphwright.index_folder.asking import GivenMethod, Questions
from graphwright.index_folder.index import GivenEncoder, Index
from graphwright.index_folder.reading import checked_ids
from graphwright.index_folder.shards.columns import ShardLost, Shards
from graphwright.index_folder.shards.holder import shard_of
from graphwright.index_folder.shards.spread_store import SpreadReader, SpreadStore
from graphwright.index_folder.shards.storage import COUNT, SHARD, STORAGE, UNITED
from graphwright.index_folder.shards.uniting import unite
from graphwright.methods.method import Method
from graphwright.models.cache import CachedEncoder
from graphwright.models.protocols import Usage
from graphwright.operators.operator import Operator
from graphwright.operators.run import IN_PART, Run
from graphwright.operators.state import Question, State
from graphwright.remote import push
from graphwright.search.snapshot import Snapshot
from graphwright.store.changes import Changes, Progress, Recorder
from graphwright.store.layout import STORE
from graphwright.store.locks import writer_lock
from graphwright.store.store import Store

if TYPE_CHECKING:
    from graphwright.build.document_sources import Source, Transform
    from graphwright.data.connectors import Connector
    from graphwright.data.document import Document
    from graphwright.data.folders import ReadOptions
    from graphwright.engines import Engine
    from graphwright.operators.query.query import Query
    from graphwright.operators.query.result import QueryResult
    from graphwright.search.filter import Filter

Result = TypeVar("Result")


class ShardedIndex(Index):
    """An index in shards, at `ray://FOLDER`: each shard is an index of its own, and one graph is over all.

    Documents are added and removed in the shard of their id. While a shard does not answer, questions are asked of the
    others, and the trace says how many documents were searched. Edits, rebuilds and the like are made before an index
    is divided.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        encoder: GivenEncoder = None,
        extractor: Extractor | str | None = None,
        follow: bool = True,
        shards: Shards | None = None,
        **new: Any,
    ) -> None:
        """Open an index in shards; `shards`: holders that are not actors of Ray. Raises StoreError if there is none."""
        folder = folder_of(path)
        united = folder / UNITED
        if not (united / STORE).exists():
            raise StoreError(f"{folder} has no shards. Make them: graphwright shard INDEX --into {folder} --shards N")
        if given := [name for name, value in new.items() if value is not None]:
            raise OptionError(f"{given[0]} is for a new index, and {path} exists.")
        with closing(Store(united / STORE)) as store:
            count, self._storage = int(store.setting(COUNT) or 0), store.setting(STORAGE)
        if shards is None:
            from graphwright.index_folder.shards.ray_shards import RayShards

            shards = RayShards([folder / SHARD.format(number) for number in range(count)], encoder, self._storage)
        self._shards: Shards = shards
        self._lost: set[int] = set()
        self._in_batch = False
        try:
            super().__init__(united, encoder=encoder, extractor=extractor, follow=follow)
            self.path = Path(f"ray:/{folder}")
            self._store.close()
            self._store = store = SpreadStore(united / STORE, shards, self._lost)
            cached = CachedEncoder(self._encoder, expression="ix.encoder")
            self._reader = SpreadReader(self._layout, store, cached, follow, shards, self._lost)
            with suppress(GraphwrightError):  # a change that was interrupted before its graph was published
                self._unite_changed()
        except BaseException:
            shards.close()
            raise

    @property
    def searched(self) -> tuple[int, int]:
        """The number of documents that can be searched now, and of all."""
        documents: list[int] = self.snapshot.about["documents"]
        return sum(n for shard, n in enumerate(documents) if shard not in self._lost), sum(documents)

    def retrieve(self, question: str | Question, method: GivenMethod | None = None, **options: Any) -> State:
        """Return the state with the evidence and passages of a method; see `Index.retrieve`."""
        return self._asked(partial(super().retrieve, question, method, **options))

    def ask(self, question: str | Question, method: GivenMethod | None = None, **options: Any) -> State:
        """Return the state with an answer and its citations; see `Index.ask`."""
        return self._asked(partial(super().ask, question, method, **options))

    def retrieve_many(self, questions: Questions, method: GivenMethod | None = None, **options: Any) -> list[State]:
        """Return the states of `retrieve` for many questions."""
        return self._asked(partial(super().retrieve_many, questions, method, **options))

    def ask_many(self, questions: Questions, method: GivenMethod | None = None, **options: Any) -> list[State]:
        """Return the states of `ask` for many questions."""
        return self._asked(partial(super().ask_many, questions, method, **options))

    def query(self, query: str | Query, *, filter: Filter | Mapping[str, Any] | None = None) -> QueryResult:
        """Return what a query gives over the statements and records; see `Index.query`."""
        result = self._asked(partial(super().query, query, filter=filter))
        return replace(result, notes=(_in_part(*self.searched), *result.notes)) if self._lost else result

    def text(self, document: str) -> str:
        """Return the text of a document; see `Index.text`."""
        return self._asked(partial(super().text, document))

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
        """Add documents, each to the shard of its id, all shards at once; see `Index.add`.

        The documents are read here and held in memory, and extracted and encoded in the shards, so no engine is needed.
        """
        from graphwright.build.document_sources import is_new, read_sources
        from graphwright.data.folders import ReadOptions

        read, seen = Changes(), dict[str, bytes]()
        reading = replace(options or ReadOptions(), recognised=self._layout.recognised)
        with self._changing(progress, engine) as recorder:
            sources = read_sources(documents, read, self._layout.path, reading, recorder)
            parts: dict[int, list[Document]] = {}
            for document in sources if transform is None else transform(sources):
                if is_new(document, {}, seen, read):  # raises before anything is stored
                    parts.setdefault(self._shard_of(document.id), []).append(document)
            changes = self._change({shard: ("add", part, {}) for shard, part in parts.items()}, usage, recorder)
        return replace(changes, skipped=read.skipped)

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
        """Make the documents match a source; see `Index.sync`. Each shard reads the source, and keeps its documents."""
        from graphwright.data.folders import ReadOptions

        reading = replace(options or ReadOptions(), recognised=None)
        with self._changing(progress, engine) as recorder:
            own = [_Own(shard, self._shards.count, transform) for shard in range(self._shards.count)]
            calls = {each.shard: ("sync", source, {"options": reading, "transform": each}) for each in own}
            return self._change(calls, usage, recorder)

    def remove(self, ids: Iterable[str], progress: Progress | None = None, *, usage: Usage | None = None) -> Changes:
        """Remove documents, as if never there. Raises DataError for an unknown id."""
        wanted = checked_ids(ids)
        with self._changing(progress) as recorder:
            known = self._store.metadata(wanted)
            if unknown := [id for id in wanted if id not in known]:
                raise DataError(
                    f"{self.path} holds no document {unknown[0]!r} ({len(unknown)} unknown); nothing was removed."
                )
            parts: dict[int, list[str]] = {}
            for id in wanted:
                parts.setdefault(self._shard_of(id), []).append(id)
            return self._change({shard: ("remove", part, {}) for shard, part in parts.items()}, usage, recorder)

    @contextmanager
    def batch(self, progress: Progress | None = None) -> Iterator[None]:
        """Make the graph of the changes of the block once, at its end; see `Index.batch`."""
        with self._changing(progress) as recorder:
            self._in_batch = True
            try:
                yield
            finally:
                self._in_batch = False
                self._unite(recorder)

    def close(self) -> None:
        """Close the index, and end the holders of its shards."""
        super().close()
        self._shards.close()

    def _made(self, method: GivenMethod | None, **options: Any) -> tuple[Snapshot, Method]:
        snapshot, made = super()._made(method, **options)
        if self._lost:
            made = replace(made, search=_InPart(*self.searched) >> made.search)
        return snapshot, made

    def _asked(self, ask: Callable[[], Result]) -> Result:
        """Ask all shards that answer; of one that is lost meanwhile, the others are asked again."""
        self._lost.difference_update([shard for shard in tuple(self._lost) if self._shards.answers(shard)])
        while True:
            try:
                return ask()
            except ShardLost as lost:
                self._lost.add(lost.shard)
                if len(self._lost) == self._shards.count:
                    raise

    def _shard_of(self, document: str) -> int:
        return shard_of(document, self._shards.count)

    @contextmanager
    def _changing(self, progress: Progress | None, engine: Engine | None = None) -> Iterator[Recorder]:
        """Hold the write lock, with the record of progress."""
        self._check_open()
        if engine is not None:
            raise OptionError(f"{self.path} extracts and encodes in its shards; leave the engine out.")
        with nullcontext() if self._in_batch else writer_lock(self._layout.path):
            recorder = Recorder(self._layout.progress, progress)
            try:
                yield recorder
            finally:
                recorder.end()
        self._push()

    def _push(self) -> None:
        """Push the graph over all shards, which were pushed before, where they are on object storage."""
        if self._storage is not None and not self._in_batch:
            push(self._layout.path, f"{self._storage}/{UNITED}")

    def _change(self, calls: Mapping[int, Sequence[Any]], usage: Usage | None, progress: Progress) -> Changes:
        """Change shards, all at once, and unite their graphs; raises an error before anything if one is lost."""
        self._shards.every("revision")  # raises ShardLost
        self._lost.clear()
        extractor = self._given["extractor"]
        parts = self._shards.call("change", {shard: (*call, extractor) for shard, call in calls.items()})
        if not self._in_batch:
            self._unite(progress)
        changes = _joined([part for _, part in sorted(parts.items())], usage)
        return replace(changes, texts=dict(self._reader.snapshot().about["texts"]))

    def _unite_changed(self) -> None:
        if self._reader.snapshot().about["revisions"] != self._shards.every("revision"):
            with writer_lock(self._layout.path):
                self._unite(None)
            self._push()

    def _unite(self, progress: Progress | None) -> None:
        self._reader.release()
        unite(self._shards, self._layout, self._store, self._encoder, progress)

    def _refused(self, *_: Any, **__: Any) -> NoReturn:
        raise OptionError(
            f"{self.path} is in shards: documents can be added, synced and removed, and the rest is done in the index "
            f"that it was made of, or in a shard, before they are divided again: graphwright shard --help"
        )

    _write = _writer = verify = sync_graph = _refused

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Index.open, self.path, **self._given), ()


@dataclass(frozen=True)
class _InPart(Operator):
    """Note how many of the documents are searched, where shards do not answer."""

    documents: int
    every: int

    def apply(self, state: State, run: Run) -> State:
        run.note(_in_part(self.documents, self.every))
        return state


def _in_part(documents: int, every: int) -> str:
    share = 100 * documents / max(every, 1)
    return f"{IN_PART} {documents:,} of {every:,} documents ({share:.0f} %); other shards do not answer"


@dataclass(frozen=True)
class _Own:
    """The documents of a shard, after a transformation of all."""

    shard: int
    shards: int
    transform: Transform | None

    def __call__(self, documents: Iterable[Document]) -> Iterable[Document]:
        every = documents if self.transform is None else self.transform(documents)
        return (document for document in every if shard_of(document.id, self.shards) == self.shard)


def folder_of(path: str | Path) -> Path:
    """Return the folder of an address: `ray://shards`, `ray:///data/shards`, or either as a Path, with a slash less."""
    text = str(path).removeprefix("ray:")
    given = Path(text.removeprefix("//" if text.startswith("//") else "/"))
    found = next((each for each in (given, Path("/") / given) if (each / UNITED).is_dir()), given)
    return found.resolve()


def _joined(parts: Sequence[Changes], usage: Usage | None) -> Changes:
    """Return the changes of shards as those of one index."""
    total = Changes(usage=Usage() if usage is None else usage)
    for part in parts:
        for name in (field.name for field in fields(Changes)):
            mine, own = getattr(total, name), getattr(part, name)
            if name == "usage":
                mine.add(own)
            elif isinstance(mine, list):
                setattr(total, name, list(dict.fromkeys((*mine, *own))))
            elif isinstance(mine, Counter):
                mine.update(own)
            elif isinstance(mine, dict):
                setattr(total, name, {key: mine.get(key, 0) + own.get(key, 0) for key in mine | own})
            else:
                setattr(total, name, mine + own if type(mine) is int else mine or own)
    return total
