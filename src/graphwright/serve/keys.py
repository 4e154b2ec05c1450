"""Keys of the server, their grants, and sessions of its page, in one SQLite file of the data folder.

A key's token is `gw_ID_SECRET`. The file has only its SHA-256; the secret has 256 random bits, so a slow hash would add
no protection. Other processes may create and revoke keys; changes apply from the next request on.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import Annotated, Any

from graphwright.constraints import Checked, OneOf
from graphwright.errors import DataError, OptionError, meant
from graphwright.files import make_private
from graphwright.store import IndexLayout

SCOPES = ("read", "write", "admin")
"""Scopes of a key, each with the rights of the previous ones."""


@dataclass(frozen=True)
class Grant(Checked):
    """Rights of one request.

    `key_id`: id of the key, None without one. `name`: name of its holder, for the audit log. `scope`: one
    of SCOPES. `indexes`: names of the visible indexes; None is all.

    >>> grant = Grant("k1", "wiki page", "write", ("wiki",))
    >>> grant.may("read", "wiki"), grant.may("admin", "wiki"), grant.may("read", "mail")
    (True, False, False)
    """

    key_id: str | None
    name: str
    scope: Annotated[str, OneOf(*SCOPES)]
    indexes: tuple[str, ...] | None = None

    def sees(self, index: str) -> bool:
        """Return whether an index is visible."""
        return self.indexes is None or index in self.indexes

    def may(self, scope: str, index: str | None = None) -> bool:
        """Return whether the grant includes a scope, and the index, if one is given, is visible."""
        return SCOPES.index(self.scope) >= SCOPES.index(scope) and (index is None or self.sees(index))


LOCAL = Grant(None, "local", "admin")
"""Grant of every request to a loopback server without keys."""


KEY_FILE = "keys.sqlite"
"""Name of the file in the data folder."""
_TOKEN = re.compile(r"gw_(?P<id>[0-9a-f]{8})_[A-Za-z0-9_-]{43}")
_SESSION = re.compile(r"gws_[A-Za-z0-9_-]{43}")
_NO_HASH = "0" * 64  # compared for an unknown id, so that the time is the same
_USE_RESOLUTION = 60.0  # seconds between two writes of a key's last use
_SCHEMA = """
CREATE TABLE IF NOT EXISTS keys (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, hash TEXT NOT NULL, scope TEXT NOT NULL, indexes TEXT,
    created REAL NOT NULL, expires REAL, used REAL, revoked REAL
) STRICT;
CREATE TABLE IF NOT EXISTS sessions (
    hash TEXT PRIMARY KEY, key_id TEXT NOT NULL, expires REAL NOT NULL
) STRICT;
"""
_COLUMNS = "id, name, scope, indexes, created, keys.expires, used, revoked"


@dataclass(frozen=True)
class Key:
    """A key without its token. Times are seconds since 1970; `indexes` None is all, `expires` None is never."""

    id: str
    name: str
    scope: str
    indexes: tuple[str, ...] | None
    created: float
    expires: float | None = None
    used: float | None = None
    revoked: float | None = None

    def state(self, now: float) -> str:
        """Return "active", "expired" or "revoked"."""
        if self.revoked is not None:
            return "revoked"
        return "active" if self.expires is None or now < self.expires else "expired"

    @property
    def grant(self) -> Grant:
        """The rights of the key's holder."""
        return Grant(self.id, self.name, self.scope, self.indexes)


class Keys:
    """The keys and sessions of a data folder, safe for several threads and processes.

    >>> import tempfile; keys = Keys(Path(tempfile.mkdtemp()))
    >>> token, key = keys.create("reader", indexes=["wiki"])
    >>> keys.check(token).may("read", "wiki"), keys.check(token[:-1] + "!")
    (True, None)
    >>> _ = keys.revoke(key.id); keys.check(token), keys.exist()
    (None, True)
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        """Open or create the file, readable only by its owner.

        Raises OptionError for a folder inside an index, which may be copied or published with its keys; DataError if
        the file cannot be opened.
        """
        self.path = folder / KEY_FILE
        self._clock, self._lock = clock, RLock()
        for above in (folder.resolve(), *folder.resolve().parents):
            if IndexLayout(above).store.exists():
                raise OptionError(f"{folder} is inside the index {above}; keep keys outside of it: --data DIR.")
        try:
            make_private(self.path)
            self._database = sqlite3.connect(self.path, timeout=10, check_same_thread=False, isolation_level=None)
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=NORMAL")
            self._database.executescript(_SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise DataError(
                f"{self.path} cannot be opened ({error}); check that its folder is writable and its disk not full, or "
                f"give another: --data."
            ) from error

    def exist(self) -> bool:
        """Return whether a key was ever created. After that requests need a key, even if all are expired or revoked."""
        return bool(self._rows("SELECT 1 FROM keys LIMIT 1"))

    def create(
        self, name: str, scope: str = "read", indexes: Sequence[str] | None = None, expires: float | None = None
    ) -> tuple[str, Key]:
        """Create a key; return its token, which is not stored, and the key. Raises OptionError for unusable values."""
        now = self._clock()
        if scope not in SCOPES:
            raise OptionError(f"scope is {scope!r}; the scopes are {', '.join(SCOPES)}.{meant(scope, SCOPES)}")
        if not name.strip() or not name.isprintable() or isinstance(indexes, str):
            raise OptionError(f"name is {name!r}, indexes are {indexes!r}; give a readable name and a list of names.")
        if expires is not None and expires <= now:
            raise OptionError("the key would have expired already; give a later time.")
        key = Key(secrets.token_hex(4), name, scope, None if indexes is None else tuple(indexes), now, expires)
        token = f"gw_{key.id}_{secrets.token_urlsafe(32)}"
        with self._write() as database:
            listed = None if key.indexes is None else json.dumps(key.indexes)
            row = (key.id, key.name, _hash(token), key.scope, listed, key.created, key.expires)
            database.execute(
                "INSERT INTO keys (id, name, hash, scope, indexes, created, expires) VALUES (?, ?, ?, ?, ?, ?, ?)", row
            )
        return token, key

    def all(self) -> list[Key]:
        """Return all keys, the oldest first."""
        return [_key(row) for row in self._rows(f"SELECT {_COLUMNS} FROM keys ORDER BY created, id")]

    def revoke(self, id: str) -> Key:
        """Revoke a key and end its sessions; a revoked key is unchanged. Raises OptionError for an unknown id."""
        with self._write() as database:
            database.execute("UPDATE keys SET revoked = ? WHERE id = ? AND revoked IS NULL", (self._clock(), id))
            database.execute("DELETE FROM sessions WHERE key_id = ?", (id,))
        for key in (keys := self.all()):
            if key.id == id:
                return key
        known = [key.id for key in keys]
        raise OptionError(f"there is no key {id!r}; 'graphwright keys list' shows the ids.{meant(id, known)}")

    def check(self, token: str) -> Grant | None:
        """Return the rights of a token; None if it is unknown, expired or revoked."""
        match = _TOKEN.fullmatch(token)
        if match is None:
            return None
        rows = self._rows(f"SELECT hash, {_COLUMNS} FROM keys WHERE id = ?", match["id"])
        equal = hmac.compare_digest(_hash(token), rows[0][0] if rows else _NO_HASH)
        key = _key(rows[0][1:]) if rows and equal else None
        if key is None or key.state(self._clock()) != "active":
            return None
        self._note_use(key)
        return key.grant

    def open_session(self, grant: Grant, seconds: float) -> tuple[str, int]:
        """Create a session with the rights of a key's grant; return its token and its whole seconds."""
        token, now = f"gws_{secrets.token_urlsafe(32)}", self._clock()
        with self._write() as database:
            database.execute("DELETE FROM sessions WHERE expires <= ?", (now,))
            database.execute("INSERT INTO sessions VALUES (?, ?, ?)", (_hash(token), grant.key_id, now + seconds))
        return token, int(seconds)

    def session(self, token: str) -> Grant | None:
        """Return the rights of a session; None if it has ended or its key is no longer active."""
        if _SESSION.fullmatch(token) is None:
            return None
        query = f"SELECT {_COLUMNS} FROM sessions JOIN keys ON id = key_id WHERE "
        query = f"{query} sessions.hash = ? AND sessions.expires > ?"
        for key in map(_key, self._rows(query, _hash(token), self._clock())):
            return key.grant if key.state(self._clock()) == "active" else None
        return None

    def close_session(self, token: str) -> None:
        """End a session, if there is one."""
        with self._write() as database:
            database.execute("DELETE FROM sessions WHERE hash = ?", (_hash(token),))

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        """Run the block in a transaction. Raises DataError if the file cannot be written."""
        with self._lock:
            try:
                self._database.execute("PRAGMA synchronous=FULL")  # a revocation survives a power failure
                self._database.execute("BEGIN IMMEDIATE")
                try:
                    yield self._database
                except BaseException:
                    self._database.execute("ROLLBACK")
                    raise
                self._database.execute("COMMIT")
            except sqlite3.Error as error:
                raise DataError(
                    f"{self.path} cannot be written ({error}); check its permissions and the space on its disk."
                ) from error
            finally:
                self._database.execute("PRAGMA synchronous=NORMAL")

    def _rows(self, query: str, *values: object) -> list[Any]:
        with self._lock:
            return self._database.execute(query, values).fetchall()

    def _note_use(self, key: Key) -> None:
        """Store the time of a key's use, at most once a minute; skip it if the file is busy."""
        now = self._clock()
        if key.used is not None and now - key.used < _USE_RESOLUTION:
            return
        with self._lock, suppress(sqlite3.OperationalError):  # locked by another process, or read-only
            self._database.execute("PRAGMA busy_timeout=20")
            self._database.execute("UPDATE keys SET used = ? WHERE id = ?", (now, key.id))
        self._rows("PRAGMA busy_timeout=10000")


def _key(row: Sequence[Any]) -> Key:
    id, name, scope, indexes, *times = row
    return Key(id, name, scope, None if indexes is None else tuple(json.loads(indexes)), *times)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
