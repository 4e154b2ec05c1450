"""Replies that are paid for once: a cache by content in an SQLite file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

from graphwright.errors import StoreError
from graphwright.models.protocols import Completion, LLM
from graphwright.models.schema import Misfit, described, fitting

__all__ = ["CachedLLM"]

_APPLICATION = 0x67776C72  # "gwlr", in the header of the file
_SECONDS = 60.0  # to wait for another process that writes


@dataclass
class _Turns:
    """A lock for each prompt that is asked right now, so that threads that ask the same pay once."""

    lock: Lock = field(default_factory=Lock)
    locks: WeakValueDictionary[bytes, Any] = field(default_factory=WeakValueDictionary)

    def of(self, key: bytes) -> Any:
        with self.lock:
            return self.locks.setdefault(key, Lock())


@dataclass(frozen=True)
class CachedLLM:
    """A language model that is asked each prompt once; after that, the reply comes from a file.

    `path`: an SQLite file, which is made when missing. A reply is kept under the model's id, the prompt and the
    schema, and is on the disk before it is returned, so an interrupted run pays for nothing twice. A stored reply
    takes no call and no tokens, is checked against the schema again, and is handed to `on_text` in one piece. What
    raises an error is not stored. Threads may share the object, and processes the file.

    >>> import tempfile
    >>> from graphwright.models.fake import ScriptedLLM
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     llm = CachedLLM(ScriptedLLM(["first", "second"]), Path(folder) / "replies.sqlite")
    ...     [llm.complete("", prompt).text for prompt in ("a", "a", "b", "a")]
    ['first', 'first', 'second', 'first']
    """

    llm: LLM
    path: Path
    _turns: _Turns = field(default_factory=_Turns, init=False, repr=False, compare=False)

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
    ) -> Completion:
        """Answer one prompt from the file, else as the model does. Raises StoreError when the file cannot be used."""
        key = self._key(system, user, schema)
        turn = self._turns.of(key)
        with turn:
            known = self._known(key, schema)
            if known is None:
                made = self.llm.complete(system, user, schema=schema, on_text=on_text)
                self._store(key, made.text)
                return made
        if on_text is not None:
            on_text(known.text)
        return known

    def _key(self, system: str, user: str, schema: type[Any] | None) -> bytes:
        asked = [self.llm.id, system, user, "" if schema is None else described(schema)]
        return blake2b(json.dumps(asked).encode(), digest_size=32).digest()

    def _known(self, key: bytes, schema: type[Any] | None) -> Completion | None:
        """Return the stored reply, None where there is none or what counts as fitting has changed."""
        with self._opened() as db:
            row = db.execute("SELECT text FROM replies WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        text = row[0].decode("utf-8", "surrogatepass")
        value = None if schema is None else fitting(schema, text)
        return None if isinstance(value, Misfit) else Completion(text, value)

    def _store(self, key: bytes, text: str) -> None:
        with self._opened() as db, db:
            db.execute("INSERT OR REPLACE INTO replies VALUES (?, ?)", (key, text.encode("utf-8", "surrogatepass")))

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one piece of work: connections must not cross threads or forks."""
        try:
            with closing(sqlite3.connect(self.path, timeout=_SECONDS)) as db:
                self._prepare(db)
                yield db
        except sqlite3.Error as exc:
            raise StoreError(
                f"The file of replies {self.path} cannot be used: {exc}. Check that its folder exists and can be "
                f"written; or move the file away: then prompts are asked, and paid for, again."
            ) from exc

    def _prepare(self, db: sqlite3.Connection) -> None:
        (mark,) = db.execute("PRAGMA application_id").fetchone()
        if mark != _APPLICATION:
            if db.execute("SELECT 1 FROM sqlite_master WHERE tbl_name != 'replies'").fetchone():
                raise StoreError(f"{self.path} is an SQLite file, but not one of replies. Give another path.")
            with suppress(sqlite3.OperationalError):  # another process is just setting it
                db.execute("PRAGMA journal_mode = WAL")
            db.execute("CREATE TABLE IF NOT EXISTS replies (key BLOB PRIMARY KEY, text BLOB NOT NULL) WITHOUT ROWID")
            db.execute(f"PRAGMA application_id = {_APPLICATION}")
        db.execute("PRAGMA synchronous = FULL")  # a reply costs more than waiting for the disk
