"""Keys of the server, and sessions of its page, in one SQLite file of the data folder.

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
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from graphwright.errors import OptionError, meant
from graphwright.serve.database import Database
from graphwright.serve.logs import audit
from graphwright.store import IndexLayout

SCOPES = ("read", "write", "admin")  # scopes of a key, each with the rights of the previous ones

KEY_FILE = "keys.sqlite"  # name of the file in the data folder
_TOKEN = re.compile(r"gw_(?P<id>[0-9a-f]{8})_[A-Za-z0-9_-]{43}")
_SESSION = re.compile(r"gws_[A-Za-z0-9_-]{43}")
_NO_HASH = "0" * 64  # compared for an unknown id, so that the time is the same
_USE_RESOLUTION = 60.0  # seconds between two writes of a key's last use
_UNITS = {"h": 3_600, "d": 86_400, "w": 604_800, "y": 31_536_000}
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
    """A key without its token, or the rights of a request without one (`id` is then empty).

    `name`: of the holder, for the audit log. `scope`: one of SCOPES. `indexes`: names of the visible indexes; None is
    all. Times are seconds since 1970; `expires` None is never.
    """

    id: str
    name: str
    scope: str
    indexes: tuple[str, ...] | None = None
    created: float = 0.0
    expires: float | None = None
    used: float | None = None
    revoked: float | None = None

    def state(self, now: float) -> str:
        """Return "active", "expired" or "revoked"."""
        if self.revoked is not None:
            return "revoked"
        return "active" if self.expires is None or now < self.expires else "expired"

    def sees(self, index: str) -> bool:
        """Return whether an index is visible."""
        return self.indexes is None or index in self.indexes

    def may(self, scope: str) -> bool:
        """Return whether the key includes a scope."""
        return SCOPES.index(self.scope) >= SCOPES.index(scope)

    def to_dict(self, now: float) -> dict[str, Any]:
        """Return the facts for JSON, with times in ISO 8601."""
        times = {name: _time(getattr(self, name)) for name in ("created", "expires", "used", "revoked")}
        facts = {"id": self.id, "name": self.name, "scope": self.scope}
        return {**facts, "indexes": self.indexes and list(self.indexes), "state": self.state(now), **times}


LOCAL = Key("", "local", "admin")  # rights of every request to a loopback server without keys


def expiry(text: str, now: float) -> float:
    """Return the end of a duration, or a date (midnight in UTC), in seconds since 1970. Raises OptionError.

    >>> expiry("2d", 1000.0), expiry("2030-01-01", 0.0)
    (173800.0, 1893456000.0)
    """
    match = re.fullmatch(r"(\d{1,6})([hdwy])", text)
    try:
        if match is not None:
            moment = datetime.fromtimestamp(now + int(match[1]) * _UNITS[match[2]], UTC)
        else:
            moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).timestamp()
    except (ValueError, OverflowError):  # also a year after 9999
        raise OptionError(f"expires is {text!r}; give 12h, 90d, 2w, 1y, or a date such as 2030-01-31.") from None


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


class Keys(Database):
    """The keys and sessions of a data folder, safe for several threads and processes.

    >>> import tempfile; keys = Keys(Path(tempfile.mkdtemp()))
    >>> token, key = keys.create("reader", indexes=["wiki"])
    >>> keys.check(token).sees("wiki"), keys.check(token[:-1] + "!")
    (True, None)
    >>> _ = keys.revoke(key.id); keys.check(token), keys.exist()
    (None, True)
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        """Open or create the file, readable only by its owner.

        Raises OptionError for a folder inside an index, which may be copied or published with its keys; StoreError if
        the file cannot be opened.
        """
        self._clock = clock
        for above in (folder.resolve(), *folder.resolve().parents):
            if IndexLayout(above).store.exists():
                raise OptionError(f"{folder} is inside the index {above}; keep keys outside of it: --data DIR.")
        super().__init__(folder / KEY_FILE, _SCHEMA)

    def exist(self) -> bool:
        """Return whether a key was ever created. After that requests need a key, even if all are expired or revoked."""
        return bool(self.execute("SELECT 1 FROM keys LIMIT 1"))

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
        listed = None if key.indexes is None else json.dumps(key.indexes)
        row = key.id, key.name, _hash(token), key.scope, listed, key.created, key.expires
        columns = "id, name, hash, scope, indexes, created, expires"
        self.execute(f"INSERT INTO keys ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", *row)
        return token, key

    def all(self) -> list[Key]:
        """Return all keys, the oldest first."""
        return [_key(row) for row in self.execute(f"SELECT {_COLUMNS} FROM keys ORDER BY created, id")]

    def revoke(self, id: str) -> Key:
        """Revoke a key and end its sessions; a revoked key is unchanged. Raises OptionError for an unknown id."""
        self.execute("UPDATE keys SET revoked = ? WHERE id = ? AND revoked IS NULL", self._clock(), id)
        self.execute("DELETE FROM sessions WHERE key_id = ?", id)
        for key in (keys := self.all()):
            if key.id == id:
                return key
        known = [key.id for key in keys]
        raise OptionError(f"there is no key {id!r}; 'graphwright keys list' shows the ids.{meant(id, known)}")

    def audit(self, action: str, by: str, key: Key) -> None:
        """Write to the audit log that somebody has created or revoked a key."""
        facts = {"target": key.id, "target_name": key.name, "target_scope": key.scope, "target_indexes": key.indexes}
        audit(self.path.parent, {"action": action, "name": by, **facts})

    def rename_index(self, index: str, name: str | None) -> None:
        """Change the name of an index in all keys; None: no key is for it any more."""
        for key in self.all():
            if key.indexes is not None and index in key.indexes:
                names = [name if at == index else at for at in key.indexes if at != index or name is not None]
                self.execute("UPDATE keys SET indexes = ? WHERE id = ?", json.dumps(names), key.id)

    def check(self, token: str) -> Key | None:
        """Return the key of a token; None if it is unknown, expired or revoked."""
        match = _TOKEN.fullmatch(token)
        if match is None:
            return None
        rows = self.execute(f"SELECT hash, {_COLUMNS} FROM keys WHERE id = ?", match["id"])
        equal = hmac.compare_digest(_hash(token), rows[0][0] if rows else _NO_HASH)
        key = _key(rows[0][1:]) if rows and equal else None
        if key is None or key.state(self._clock()) != "active":
            return None
        self._note_use(key)
        return key

    def open_session(self, key: Key, seconds: float) -> tuple[str, int]:
        """Create a session with the rights of a key; return its token and its whole seconds."""
        token, now = f"gws_{secrets.token_urlsafe(32)}", self._clock()
        self.execute("DELETE FROM sessions WHERE expires <= ?", now)
        self.execute("INSERT INTO sessions VALUES (?, ?, ?)", _hash(token), key.id, now + seconds)
        return token, int(seconds)

    def session(self, token: str) -> Key | None:
        """Return the key of a session; None if it has ended or its key is no longer active."""
        if _SESSION.fullmatch(token) is None:
            return None
        query = f"SELECT {_COLUMNS} FROM sessions JOIN keys ON id = key_id WHERE "
        query = f"{query} sessions.hash = ? AND sessions.expires > ?"
        for key in map(_key, self.execute(query, _hash(token), self._clock())):
            return key if key.state(self._clock()) == "active" else None
        return None

    def close_session(self, token: str) -> None:
        """End a session, if there is one."""
        self.execute("DELETE FROM sessions WHERE hash = ?", _hash(token))

    def _note_use(self, key: Key) -> None:
        """Store the time of a key's use, at most once a minute; skip it if the file is busy."""
        now = self._clock()
        if key.used is not None and now - key.used < _USE_RESOLUTION:
            return
        with self.lock, suppress(sqlite3.OperationalError):  # locked by another process, or read-only
            self.connection.execute("PRAGMA busy_timeout=20")
            self.connection.execute("UPDATE keys SET used = ? WHERE id = ?", (now, key.id))
        self.execute("PRAGMA busy_timeout=10000")


def _key(row: Sequence[Any]) -> Key:
    id, name, scope, indexes, *times = row
    return Key(id, name, scope, None if indexes is None else tuple(json.loads(indexes)), *times)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
