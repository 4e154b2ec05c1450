"""Caches of model outputs: vectors in memory or in an SQLite file, replies of language models in an SQLite file."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Annotated, Any
from weakref import WeakValueDictionary

import numpy as np

from graphwright.constraints import AtLeast, Checked
from graphwright.errors import ModelError, StoreError
from graphwright.files import SQLiteTable
from graphwright.models.protocols import (
    LLM,
    ByArguments,
    Cancel,
    Cancellation,
    Completion,
    Floats,
    NamedEncoder,
    OnText,
    Schema,
    Usage,
    call_metered,
    refuse_text,
)
from graphwright.models.structured import Mismatch, parse_reply, schema_text

_BLOCK = 512  # texts for each encoding and commit
_MAX_KEYS = 16_384  # in one query; SQLite takes 32,766 parameters

_VECTORS = SQLiteTable(
    0x67777663,  # "gwvc"
    "vectors",
    "(key BLOB NOT NULL UNIQUE, vector BLOB NOT NULL)",
    "NORMAL",
    "Check that its folder exists and is writable; or delete the file: its vectors are then computed again.",
)
_REPLIES = SQLiteTable(
    0x67776C72,  # "gwlr"
    "replies",
    "(key BLOB PRIMARY KEY, text BLOB NOT NULL) WITHOUT ROWID",
    "FULL",  # a reply costs more than waiting for the disk
    "Check that its folder exists and is writable; or move the file away: its prompts are then paid for again.",
)


@dataclass(frozen=True)
class CachedEncoder(Checked, ByArguments):
    """An encoder that encodes each distinct text once, and returns the identical vector afterwards.

    `path`: an SQLite file, which encoders may share, written by blocks of 512 texts, so that a run can resume.
    Without a path the most recent `memory` vectors are kept in memory. `unsaved`: vectors that are buffered before the
    file is written. `expression`: the repr. Threads may share the object, and processes the file.

    >>> from graphwright.models.fake import HashEncoder
    >>> encoder, usage = CachedEncoder(HashEncoder()), Usage()
    >>> first, again = encoder.encode(["fox", "hen", "fox"], usage), encoder.encode(["hen"], usage)
    >>> first.shape, usage.texts
    ((3, 64), 2)
    """

    encoder: NamedEncoder
    path: Path | None = None
    memory: Annotated[int, AtLeast(0)] = 4096
    unsaved: Annotated[int, AtLeast(0)] = 0
    expression: str = field(default="", repr=False, compare=False)
    _recent: OrderedDict[bytes, bytes] = field(default_factory=OrderedDict, init=False, repr=False, compare=False)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.path is not None:
            object.__setattr__(self, "path", Path(self.path))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in ("encoder", "path", "memory", "unsaved"))
        return self.expression or f"CachedEncoder({shown})"

    @property
    def id(self) -> str:
        """Name of the vector space: the encoder's own."""
        return self.encoder.id

    @property
    def dimension(self) -> int:
        """Length of a vector. Raises AttributeError where the encoder has no dimension."""
        return int(self.encoder.dimension)  # type: ignore[attr-defined]

    def encode(self, texts: Sequence[str], usage: Usage | None = None) -> Floats:
        """Return the encoder's vectors; add new work to `usage`. Raises StoreError for the file, and its errors."""
        refuse_text(texts, "CachedEncoder.encode")
        if not len(texts):
            return np.empty((0, getattr(self.encoder, "dimension", 0)), np.float32)
        keys = self._keys(texts)
        distinct = dict(zip(keys, texts, strict=True))
        vectors = self._cached(list(distinct))
        missing = [key for key in distinct if key not in vectors]
        for start in range(0, len(missing), _BLOCK):
            block = missing[start : start + _BLOCK]
            rows = self._computed([distinct[key] for key in block], usage or Usage())
            new = dict(zip(block, map(bytes, rows), strict=True))
            self._store(new)
            vectors |= new
        if len({len(vector) for vector in vectors.values()}) > 1 or len(vectors[keys[0]]) % 4:
            raise StoreError(f"{self.path} holds vectors of several lengths for {self.id}. {_VECTORS.remedy}")
        return np.frombuffer(bytearray().join(vectors[key] for key in keys), "<f4").reshape(len(keys), -1)

    def add(self, texts: Sequence[str], vectors: Floats) -> None:
        """Cache vectors that this encoder returned elsewhere, one row per text."""
        rows = np.ascontiguousarray(vectors, "<f4")
        self._store(dict(zip(self._keys(texts), map(bytes, rows), strict=True)))

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

    def _cached(self, keys: list[bytes]) -> dict[bytes, bytes]:
        with self._lock:
            vectors = {key: self._recent[key] for key in keys if key in self._recent}
            for key in vectors:
                self._recent.move_to_end(key)
        if self.path is None or (self.unsaved and not self.path.exists()):
            return vectors
        rest = [key for key in keys if key not in vectors]
        with _VECTORS.open(self.path) as db:
            for start in range(0, len(rest), _MAX_KEYS):
                batch = rest[start : start + _MAX_KEYS]
                placeholders = ",".join("?" * len(batch))
                vectors |= db.execute(f"SELECT key, vector FROM vectors WHERE key IN ({placeholders})", batch)
        return vectors

    def _store(self, vectors: dict[bytes, bytes]) -> None:
        with self._lock:
            self._recent.update(vectors)
            if self.path is None:
                while len(self._recent) > self.memory:
                    self._recent.popitem(last=False)
            elif len(self._recent) > self.unsaved:
                with _VECTORS.open(self.path) as db, db:
                    db.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", self._recent.items())
                self._recent.clear()


@dataclass
class _Locks:
    """A lock for each pending prompt, so that threads with the same prompt cause one call."""

    lock: Lock = field(default_factory=Lock)
    locks: WeakValueDictionary[bytes, Any] = field(default_factory=WeakValueDictionary)

    def of(self, key: bytes) -> Any:
        with self.lock:
            return self.locks.setdefault(key, Lock())


@dataclass(frozen=True)
class CachedLLM(ByArguments):
    """A language model that receives each prompt once; repeated prompts are answered from a file.

    `path`: an SQLite file. A reply is stored under the model's id, the prompt and the schema before it is returned. A
    stored reply has no usage. Failed calls are not stored. Threads may share the object, and processes the file.
    """

    llm: LLM
    path: Path
    _locks: _Locks = field(default_factory=_Locks, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))

    @property
    def id(self) -> str:
        """Name of the model: a cache changes no reply."""
        return self.llm.id

    def with_grammar(self, grammar: str) -> CachedLLM:
        """Return the same cache of the model with every reply constrained by a grammar."""
        return CachedLLM(self.llm.with_grammar(grammar), self.path)  # type: ignore[attr-defined]

    def complete(
        self,
        system: str,
        user: str,
        *,
        schema: Schema = None,
        on_text: OnText = None,
        cancel: Cancel = None,
        images: Sequence[str] = (),
    ) -> Completion:
        """Answer one prompt from the file, else as the model does. Raises StoreError where the file cannot be used."""
        key = self._key(system, user, schema, images)
        complete = partial(self.llm.complete, images=images) if images else self.llm.complete  # type: ignore[call-arg]
        lock = self._locks.of(key)
        with (cancel or Cancellation()).acquire(lock):
            stored = self._stored(key, schema)
            if stored is None:
                completion = complete(system, user, schema=schema, on_text=on_text, cancel=cancel)
                self._store(key, completion.text)
                return completion
        if on_text is not None:
            on_text(stored.text)
        return stored

    def _key(self, system: str, user: str, schema: Schema, images: Sequence[str]) -> bytes:
        parts = [self.llm.id, system, user, "" if schema is None else schema_text(schema), *images]
        return blake2b(json.dumps(parts).encode(), digest_size=32).digest()

    def _stored(self, key: bytes, schema: Schema) -> Completion | None:
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
