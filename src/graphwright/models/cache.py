"""Caches of model outputs: vectors in memory or in an SQLite file, replies of language models in an SQLite file."""

from __future__ import annotations

import json
import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Annotated, Any
from weakref import WeakValueDictionary

import numpy as np

from graphwright.constraints import AtLeast, Checked
from graphwright.errors import ModelError, OptionError, StoreError
from graphwright.models.protocols import LLM, Cancellation, Completion, Floats, NamedEncoder, Usage, call_metered
from graphwright.models.structured import Mismatch, parse_reply, schema_text

__all__ = ["CachedEncoder", "CachedLLM"]

_BLOCK = 512  # texts that are encoded, then committed, together
_MAX_KEYS = 16_384  # in one query; SQLite takes 32,766 parameters
_TIMEOUT = 60.0  # seconds to wait for another process that writes

_Rows = tuple[list[bytes], Floats]  # keys, and a row for each


@dataclass(frozen=True)
class _Database:
    """An SQLite file with one table, which is created when missing."""

    application_id: int  # in the header of the file
    table: str
    columns: str
    content: str  # for errors
    remedy: str
    pragmas: tuple[str, ...] = ()

    @contextmanager
    def open(self, path: Path) -> Iterator[sqlite3.Connection]:
        """Open the file for one operation: connections must not cross threads or forks. Raises StoreError."""
        try:
            with closing(sqlite3.connect(path, timeout=_TIMEOUT)) as db:
                self._prepare(db, path)
                yield db
        except sqlite3.Error as error:
            raise StoreError(f"The cache of {self.content} {path} cannot be used: {error}. {self.remedy}") from error

    def _prepare(self, db: sqlite3.Connection, path: Path) -> None:
        (application_id,) = db.execute("PRAGMA application_id").fetchone()
        if application_id != self.application_id:
            if db.execute("SELECT 1 FROM sqlite_master WHERE tbl_name != ?", (self.table,)).fetchone():
                raise StoreError(f"{path} is an SQLite file, but not a cache of {self.content}. Give another path.")
            db.execute("PRAGMA page_size = 16384")  # ten vectors on a page; two, and a quarter empty, on 4,096
            with suppress(sqlite3.OperationalError):  # another process is setting it concurrently
                db.execute("PRAGMA journal_mode = WAL")
            db.execute(f"CREATE TABLE IF NOT EXISTS {self.table} {self.columns}")
            db.execute(f"PRAGMA application_id = {self.application_id}")
        for pragma in self.pragmas:
            db.execute(f"PRAGMA {pragma}")


_VECTORS = _Database(
    0x67777663,  # "gwvc"
    "vectors",
    "(key BLOB NOT NULL UNIQUE, vector BLOB NOT NULL)",
    "vectors",
    "Check that its folder exists and is writable; or delete the file: its vectors are then computed again.",
    ("synchronous = NORMAL",),
)
_REPLIES = _Database(
    0x67776C72,  # "gwlr"
    "replies",
    "(key BLOB PRIMARY KEY, text BLOB NOT NULL) WITHOUT ROWID",
    "replies",
    "Check that its folder exists and is writable; or move the file away: its prompts are then paid for again.",
    ("synchronous = FULL",),  # a reply costs more than waiting for the disk
)


@dataclass(frozen=True)
class CachedEncoder(Checked):
    """An encoder that encodes each distinct text once, and then returns the identical vector.

    `encoder`: an encoder with an `id`; vectors are stored under its id and the text, so that encoders may share a file.
    `path`: an SQLite file, which is created when missing; each block of 512 new texts is committed, so that an
    interrupted run resumes. Without a path the most recent `memory` vectors are kept in memory. Threads may share the
    object, and processes the file.

    >>> from graphwright.models.fake import HashEncoder
    >>> encoder, usage = CachedEncoder(HashEncoder()), Usage()
    >>> first, again = encoder.encode_metered(["fox", "hen", "fox"], usage), encoder.encode_metered(["hen"], usage)
    >>> first.shape, usage.texts
    ((3, 64), 2)
    """

    encoder: NamedEncoder
    path: Path | None = None
    memory: Annotated[int, AtLeast(0)] = 4096
    _recent: OrderedDict[bytes, bytes] = field(default_factory=OrderedDict, init=False, repr=False, compare=False)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.path is not None:
            object.__setattr__(self, "path", Path(self.path))

    def __reduce__(self) -> tuple[type[CachedEncoder], tuple[NamedEncoder, Path | None, int]]:
        return CachedEncoder, (self.encoder, self.path, self.memory)

    @property
    def id(self) -> str:
        """Name of the vector space: the encoder's own."""
        return self.encoder.id

    @property
    def dimension(self) -> int:
        """Length of a vector. Raises AttributeError where the encoder has no dimension."""
        dimension: int = self.encoder.dimension  # type: ignore[attr-defined]
        return dimension

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return the vectors of the encoder: float32, shape (len(texts), dimension).

        Raises StoreError where the file cannot be used, and whatever the encoder raises.
        """
        return self.encode_metered(texts, Usage())

    def encode_metered(self, texts: Sequence[str], usage: Usage) -> Floats:
        """Encode as `encode` does, and add the work for texts that were not cached to `usage`."""
        if isinstance(texts, str):
            raise OptionError(f"CachedEncoder.encode takes a sequence of texts, not one: [{texts[:40]!r}].")
        if not len(texts):
            return np.empty((0, getattr(self.encoder, "dimension", 0)), np.float32)
        keys = self._keys(texts)
        distinct = dict(zip(keys, texts, strict=True))
        positions = {key: position for position, key in enumerate(distinct)}
        vectors: Floats | None = None
        for some_keys, rows in self._rows(distinct, usage):
            if vectors is None:
                vectors = np.empty((len(positions), rows.shape[1]), np.float32)
            self._check_length(rows.shape[1] == vectors.shape[1])
            vectors[[positions[key] for key in some_keys]] = rows
        if vectors is None:
            raise ModelError(f"{self.encoder!r} returned no vector for {len(texts)} texts.")
        return vectors if len(positions) == len(texts) else vectors[[positions[key] for key in keys]]

    def _rows(self, texts: dict[bytes, str], usage: Usage) -> Iterator[_Rows]:
        """Yield the vectors that are cached, then the others, which are cached at once."""
        missing = dict(texts)
        for keys, rows in self._remembered(texts) if self.path is None else self._stored(self.path, texts):
            for key in keys:
                del missing[key]
            yield keys, rows
        new = iter(missing.items())
        while block := dict(islice(new, _BLOCK)):
            rows = self._computed(list(block.values()), usage)
            self._keep(dict(zip(block, map(bytes, rows), strict=True)))
            yield list(block), rows

    def _keys(self, texts: Sequence[str]) -> list[bytes]:
        """Return 16 bytes for each text under this encoder."""
        space = blake2b(self.id.encode(), digest_size=32).digest()
        return [blake2b(t.encode("utf-8", "surrogatepass"), digest_size=16, key=space).digest() for t in texts]

    def _computed(self, texts: list[str], usage: Usage) -> Floats:
        vectors = np.ascontiguousarray(call_metered(usage, self.encoder, "encode", texts), "<f4")
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise ModelError(
                f"{self.encoder!r} returned an array of shape {vectors.shape} for {len(texts)} texts; an encoder "
                f"returns one row per text."
            )
        return vectors

    def _remembered(self, texts: dict[bytes, str]) -> Iterator[_Rows]:
        with self._lock:
            vectors = {key: self._recent[key] for key in texts if key in self._recent}
            for key in vectors:
                self._recent.move_to_end(key)
        if vectors:
            yield list(vectors), self._matrix(vectors.values())

    def _stored(self, path: Path, texts: dict[bytes, str]) -> Iterator[_Rows]:
        keys = iter(texts)
        with _VECTORS.open(path) as db:
            while some_keys := list(islice(keys, _MAX_KEYS)):
                marks = ",".join("?" * len(some_keys))
                cursor = db.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", some_keys)
                while rows := cursor.fetchmany(_BLOCK):
                    yield [key for key, _ in rows], self._matrix(vector for _, vector in rows)

    def _keep(self, vectors: dict[bytes, bytes]) -> None:
        if self.path is not None:
            with _VECTORS.open(self.path) as db, db:
                db.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", vectors.items())
            return
        with self._lock:
            self._recent.update(vectors)
            while len(self._recent) > self.memory:
                self._recent.popitem(last=False)

    def _matrix(self, vectors: Iterable[bytes]) -> Floats:
        parts = list(vectors)
        self._check_length(len(parts[0]) % 4 == 0 and len({len(part) for part in parts}) == 1)
        return np.frombuffer(b"".join(parts), "<f4").reshape(len(parts), -1)

    def _check_length(self, same: bool) -> None:
        if not same:
            raise StoreError(f"{self.path} holds vectors of several lengths for {self.id}. {_VECTORS.remedy}")


@dataclass
class _Locks:
    """A lock for each pending prompt, so that threads with the same prompt cause one call."""

    lock: Lock = field(default_factory=Lock)
    locks: WeakValueDictionary[bytes, Any] = field(default_factory=WeakValueDictionary)

    def of(self, key: bytes) -> Any:
        with self.lock:
            return self.locks.setdefault(key, Lock())


@dataclass(frozen=True)
class CachedLLM:
    """A language model that receives each prompt once; repeated prompts are answered from a file.

    `path`: an SQLite file, which is created when missing. A reply is stored under the model's id, the prompt and the
    schema, and is on disk before it is returned, so that an interrupted run repeats no paid call. A stored reply has
    no usage, is checked against the schema again, and is passed to `on_text` in one piece. Failed calls are not stored.
    Threads may share the object, and processes the file.

    >>> import tempfile
    >>> from graphwright.models.fake import ScriptedLLM
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     llm = CachedLLM(ScriptedLLM(["first", "second"]), Path(folder) / "replies.sqlite")
    ...     [llm.complete("", prompt).text for prompt in ("a", "a", "b", "a")]
    ['first', 'first', 'second', 'first']
    """

    llm: LLM
    path: Path
    _locks: _Locks = field(default_factory=_Locks, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))

    def __reduce__(self) -> tuple[type[CachedLLM], tuple[LLM, Path]]:
        return CachedLLM, (self.llm, self.path)

    @property
    def id(self) -> str:
        """Name of the model: a cache changes no reply."""
        return self.llm.id

    def complete(
        self,
        system: str,
        user: str,
        *,
        schema: type[Any] | None = None,
        on_text: Callable[[str], None] | None = None,
        cancel: Cancellation | None = None,
    ) -> Completion:
        """Answer one prompt from the file, else as the model does. Raises StoreError where the file cannot be used."""
        key = self._key(system, user, schema)
        lock = self._locks.of(key)
        with (cancel or Cancellation()).acquire(lock):
            stored = self._stored(key, schema)
            if stored is None:
                completion = self.llm.complete(system, user, schema=schema, on_text=on_text, cancel=cancel)
                self._store(key, completion.text)
                return completion
        if on_text is not None:
            on_text(stored.text)
        return stored

    def _key(self, system: str, user: str, schema: type[Any] | None) -> bytes:
        parts = [self.llm.id, system, user, "" if schema is None else schema_text(schema)]
        return blake2b(json.dumps(parts).encode(), digest_size=32).digest()

    def _stored(self, key: bytes, schema: type[Any] | None) -> Completion | None:
        """Return the stored reply, None where there is none or it no longer fits the schema."""
        with _REPLIES.open(self.path) as db:
            row = db.execute("SELECT text FROM replies WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        text = row[0].decode("utf-8", "surrogatepass")
        value = None if schema is None else parse_reply(schema, text)
        return None if isinstance(value, Mismatch) else Completion(text, value)

    def _store(self, key: bytes, text: str) -> None:
        with _REPLIES.open(self.path) as db, db:
            db.execute("INSERT OR REPLACE INTO replies VALUES (?, ?)", (key, text.encode("utf-8", "surrogatepass")))
