"""Vectors that are computed once: a cache by content, in memory or in an SQLite file."""

from __future__ import annotations

import sqlite3
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Protocol

import numpy as np

from graphwright.errors import ModelError, OptionError, StoreError
from graphwright.models.base import metered
from graphwright.models.protocols import Floats, Usage
from graphwright.models.bills import Item, bill, shares

__all__ = ["CachedEncoder"]

_BLOCK = 512  # texts that are encoded, then committed, together
_ASKED = 16_384  # keys in one query; SQLite takes 32,766 parameters
_APPLICATION = 0x67777663  # "gwvc", in the header of the file
_SECONDS = 60.0  # to wait for another process that writes

_Piece = tuple[list[bytes], Floats]  # keys, and a row for each
_Made = tuple[bytes, Usage]  # a vector, and what it took


class _Named(Protocol):
    @property
    def id(self) -> str: ...
    def encode(self, texts: Sequence[str]) -> Floats: ...


@dataclass(frozen=True)
class CachedEncoder:
    """An encoder that encodes each distinct text once and then gives the very same bits.

    `encoder`: anything with `encode` and `id`; vectors are kept under its id and the text, so encoders may
    share a file. `path`: an SQLite file, which is made when missing; each block of 512 new texts is
    committed, so an interrupted run resumes. Without a path the last `memory` vectors are kept in memory.
    Threads may share the object, and processes the file.

    >>> from graphwright.models.base import metered
    >>> from graphwright.models.fake import HashEncoder
    >>> encoder = CachedEncoder(HashEncoder())
    >>> with metered() as usage:
    ...     first, again = encoder.encode(["fox", "hen", "fox"]), encoder.encode(["hen"])
    >>> first.shape, usage.texts
    ((3, 64), 2)
    """

    encoder: _Named
    path: Path | None = None
    memory: int = 4096
    _recent: OrderedDict[bytes, _Made] = field(default_factory=OrderedDict, init=False, repr=False, compare=False)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.memory < 0:
            raise OptionError(f"CachedEncoder: memory is {self.memory} vectors; it cannot be negative.")
        if self.path is not None:
            object.__setattr__(self, "path", Path(self.path))

    def __reduce__(self) -> tuple[type[CachedEncoder], tuple[_Named, Path | None, int]]:
        return CachedEncoder, (self.encoder, self.path, self.memory)

    @property
    def id(self) -> str:
        """Name of the vector space: the encoder's own."""
        return self.encoder.id

    @property
    def dimension(self) -> int:
        """Length of a vector; `AttributeError` when the encoder does not say."""
        dimension: int = self.encoder.dimension  # type: ignore[attr-defined]
        return dimension

    def encode(self, texts: Sequence[str], progress: Callable[[int], None] | None = None) -> Floats:
        """Return what the encoder returns: float32, shape (len(texts), dimension).

        `progress` is called with numbers of texts that are done; they add up to all. Raises `StoreError`
        when the file cannot be used, and whatever the encoder raises.
        """
        if isinstance(texts, str):
            raise OptionError(f"CachedEncoder.encode takes a sequence of texts, not one: [{texts[:40]!r}].")
        if not len(texts):
            return self.encoder.encode([])
        keys = self._keys(texts)
        wanted = dict(zip(keys, texts, strict=True))  # each distinct text once, in order
        rows = {key: row for row, key in enumerate(wanted)}
        report = _reporter(keys, progress)
        vectors: Floats | None = None
        for some, piece in self._pieces(wanted):
            if vectors is None:
                vectors = np.empty((len(rows), piece.shape[1]), np.float32)
            self._check(piece.shape[1] == vectors.shape[1])
            vectors[[rows[key] for key in some]] = piece
            report(some)
        if vectors is None:
            raise ModelError(f"{self.encoder!r} gave no vector for {len(texts)} texts.")
        return vectors if len(rows) == len(texts) else vectors[[rows[key] for key in keys]]

    def _pieces(self, wanted: dict[bytes, str]) -> Iterator[_Piece]:
        """Give the vectors that are known, then the others, kept as soon as they are there."""
        missing = dict(wanted)
        for keys, piece in self._remembered(wanted) if self.path is None else self._stored(wanted):
            for key in keys:
                del missing[key]
            yield keys, piece
        new = iter(missing.items())
        while block := dict(islice(new, _BLOCK)):
            begun = time.perf_counter()
            with metered() as usage:
                piece = self._encode(list(block.values()))
            if self.path is None:
                lengths = [len(text) + 1 for text in block.values()]
                took = shares(usage, time.perf_counter() - begun + usage.saved, lengths)
                self._remember(dict(zip(block, zip(map(bytes, piece), took, strict=True), strict=True)))
            else:
                self._store(zip(block, map(bytes, piece), strict=True))
            yield list(block), piece

    def _keys(self, texts: Sequence[str]) -> list[bytes]:
        """Return 16 bytes for each text under this encoder."""
        space = blake2b(self.id.encode(), digest_size=32).digest()
        return [blake2b(t.encode("utf-8", "surrogatepass"), digest_size=16, key=space).digest() for t in texts]

    def _encode(self, texts: list[str]) -> Floats:
        vectors = np.ascontiguousarray(self.encoder.encode(texts), "<f4")
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise ModelError(
                f"{self.encoder!r} gave an array of shape {vectors.shape} for {len(texts)} texts; "
                f"an encoder returns one row per text."
            )
        return vectors

    def _remembered(self, wanted: dict[bytes, str]) -> Iterator[_Piece]:
        with self._lock:
            found = {key: self._recent[key] for key in wanted if key in self._recent}
            for key in found:
                self._recent.move_to_end(key)
        if (due := bill()) is not None:
            for key, (_, took) in found.items():
                due.used(self._item(key, took))
        if found:
            yield list(found), self._matrix(vector for vector, _ in found.values())

    def _remember(self, fresh: dict[bytes, _Made]) -> None:
        with self._lock:
            self._recent.update(fresh)
            while len(self._recent) > self.memory:
                self._recent.popitem(last=False)
        if (due := bill()) is not None:
            for key, (_, took) in fresh.items():
                due.made(self._item(key, took))

    def _item(self, key: bytes, took: Usage) -> Item:
        return Item(("vectors", self.memory), self.memory, key, took)

    def _stored(self, wanted: dict[bytes, str]) -> Iterator[_Piece]:
        keys = iter(wanted)
        with self._opened() as db:
            while asked := list(islice(keys, _ASKED)):
                marks = ",".join("?" * len(asked))
                answer = db.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", asked)
                while rows := answer.fetchmany(_BLOCK):
                    yield [key for key, _ in rows], self._matrix(vector for _, vector in rows)

    def _store(self, fresh: Iterable[tuple[bytes, bytes]]) -> None:
        with self._opened() as db, db:
            db.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", fresh)

    def _matrix(self, vectors: Iterable[bytes]) -> Floats:
        parts = list(vectors)
        self._check(len(parts[0]) % 4 == 0 and len({len(part) for part in parts}) == 1)
        return np.frombuffer(b"".join(parts), "<f4").reshape(len(parts), -1)

    def _check(self, same_length: bool) -> None:
        if not same_length:
            raise StoreError(f"{self.path} holds vectors of several lengths for {self.id}. {_WAY_OUT}")

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one piece of work: connections must not cross threads or forks."""
        try:
            with closing(sqlite3.connect(str(self.path), timeout=_SECONDS)) as db:
                self._prepare(db)
                yield db
        except sqlite3.Error as exc:
            raise StoreError(f"The vector cache {self.path} cannot be used: {exc}. {_WAY_OUT}") from exc

    def _prepare(self, db: sqlite3.Connection) -> None:
        (mark,) = db.execute("PRAGMA application_id").fetchone()
        if mark != _APPLICATION:
            if db.execute("SELECT 1 FROM sqlite_master WHERE tbl_name != 'vectors'").fetchone():
                raise StoreError(f"{self.path} is an SQLite file, but not a cache of vectors. Give another path.")
            db.execute("PRAGMA page_size = 16384")  # ten vectors on a page; two, and a quarter empty, on 4,096
            with suppress(sqlite3.OperationalError):  # another process is just setting it
                db.execute("PRAGMA journal_mode = WAL")
            db.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB NOT NULL UNIQUE, vector BLOB NOT NULL)")
            db.execute(f"PRAGMA application_id = {_APPLICATION}")
        db.execute("PRAGMA synchronous = NORMAL")


_WAY_OUT = (
    "Check that its folder exists and can be written; or delete the file: it only saves time, and its "
    "vectors are computed again."
)


def _reporter(keys: list[bytes], progress: Callable[[int], None] | None) -> Callable[[list[bytes]], None]:
    """Return a function that reports how many of the texts asked for, repeats included, some keys answer."""
    if progress is None:
        return lambda some: None
    repeats = Counter(keys)
    return lambda some: progress(sum(repeats[key] for key in some))
