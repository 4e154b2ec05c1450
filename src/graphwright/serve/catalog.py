"""Catalog: the open indexes of a server, by name; copies of indexes on object storage are kept up to date."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from graphwright import Graph, Index, start
from graphwright.data import is_url
from graphwright.engines import repeated
from graphwright.errors import GraphwrightError, OptionError, StoreError
from graphwright.extract import Extractor
from graphwright.graph import Kind
from graphwright.methods.registry import make_method
from graphwright.models import NamedEncoder, encoder_of
from graphwright.models.registry import EMBEDDED
from graphwright.remote import pull
from graphwright.search import Snapshot
from graphwright.store import IndexLayout, Store

_log = logging.getLogger("graphwright.serve")


@dataclass(frozen=True)
class Replica:
    """A local copy of an index on object storage."""

    name: str
    url: str
    folder: Path

    def follow(self) -> None:
        """Pull the latest push. Raises GraphwrightError."""
        if pull(self.url, self.folder).changed:
            _log.info("%s was pulled from %s", self.name, self.url)

    def start(self) -> None:
        """Pull the latest push; without it keep the last pulled state. Raises GraphwrightError if there is neither."""
        try:
            self.follow()
        except GraphwrightError as error:
            if not IndexLayout(self.folder).store.exists():
                raise
            _log.warning("%s serves its last pulled state: %s", self.name, error)


def _tried(work: Callable[[], object], failure: str) -> Callable[[], None]:
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
                _log.warning("%s: %s", failure, error, exc_info=fault)
            logged = str(error)

    return call


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
        self,
        indexes: Mapping[str, Index],
        encoders: Mapping[str, NamedEncoder | None] | None = None,
        replicas: Iterable[Replica] = (),
    ) -> None:
        self._indexes = dict(indexes)
        self._encoders = dict(encoders or {})
        self.replicas = {replica.name: replica for replica in replicas}

    @classmethod
    def open(
        cls,
        places: Iterable[str | Path],
        *,
        encoder: NamedEncoder | None = None,
        remote_encoders: Iterable[str] = (),
        data: Path | None = None,
    ) -> Catalog:
        """Open indexes, each given as DIR, URL, NAME=DIR or NAME=URL; by default the last part is the name.

        A URL of object storage is pulled into a folder below `data`, and later pushes are pulled too. `encoder`: for
        all indexes, by default the one that each was created with. `remote_encoders`: names of allowed encoders on
        other servers. Raises OptionError for two indexes with the same name, StoreError for a folder that is no index,
        or has an encoder on a server that is not allowed; GraphwrightError for a URL that was never pulled and cannot
        be.
        """
        paths, replicas = dict[str, Path](), list[Replica]()
        for place in map(str, places):
            name, source = _named(place)
            replica = Replica(name, source, data / "replicas" / name) if data is not None and is_url(source) else None
            path = Path(source) if replica is None else replica.folder
            if name in paths:
                raise OptionError(
                    f"{path} and {paths[name]} are both named {name!r}. Give one of them another name: NAME={path}"
                )
            if replica is not None:
                replica.start()
                replicas.append(replica)
            paths[name] = path
        encoders: dict[str, NamedEncoder] = {}
        allowed = frozenset(remote_encoders)
        chosen = {name: encoder or _encoder(path, encoders, allowed) for name, path in paths.items()}
        indexes = {name: Index.open(path, encoder=chosen[name], follow=False) for name, path in paths.items()}
        return cls(indexes, chosen, replicas)

    def __getitem__(self, name: str) -> Index:
        return self._indexes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._indexes)

    def __len__(self) -> int:
        return len(self._indexes)

    def open_writer(self, name: str, extractor: Extractor | None = None) -> Index:
        """Open an index a second time, to change it. `extractor`: by default the one that suits the index's encoder."""
        return Index.open(self[name].path, encoder=self._encoders.get(name), extractor=extractor)

    def warm_up(self) -> None:
        """Open every index and warm it up with a few questions."""
        for name, index in self.items():
            begun = time.perf_counter()
            try:
                warm_up(index.snapshot, index.default_method)
            except GraphwrightError as error:
                _log.warning("%s cannot be searched: %s", name, error)
            except Exception:
                _log.exception("%s was not warmed up", name)
            else:
                _log.info("%s is ready to be searched after %.1f seconds", name, time.perf_counter() - begun)

    def refresh(self, name: str) -> bool:
        """Open and warm up a newer snapshot of an index, if there is one, and return whether. Raises StoreError."""
        index = self[name]
        return index.refresh(lambda snapshot: warm_up(snapshot, index.default_method))

    @contextmanager
    def refreshing(self, poll: float = 10.0) -> Iterator[None]:
        """Refresh indexes within a second of a change, and replicas every `poll` seconds, until the block ends."""
        with ExitStack() as stack:
            for replica in self.replicas.values():  # a running pull is not awaited: the next server continues it
                failure = f"{replica.name} cannot be pulled"
                stack.enter_context(repeated(_tried(replica.follow, failure), poll, wait=False))
            for name in self:
                failure = f"the new snapshot of {name} cannot be opened"
                stack.enter_context(repeated(_tried(partial(self.refresh, name), failure), _INTERVAL))
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
    if name in ("", ".", "..") or set(name) & set("/\\:") or not name.isprintable():
        raise OptionError(f"{place!r} gives no usable name; give NAME=DIR or NAME=URL, without / \\ and : in the name.")
    return name, source


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
