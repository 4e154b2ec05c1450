"""The packs of a store: its chunks as columns, of some hundred neighbouring documents each.

They repeat the rows, and are made again from them where a document has changed; reading them takes a fraction of the
time of reading rows. Triggers of the store mark those that are outdated.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

from graphwright.store.chunk_columns import ChunkColumns
from graphwright.store.chunk_packs import Pack, pack, unpacked
from graphwright.store.tables import ROWS

_SIZE = 256  # rows of chunks; a pack of more than twice as many is split


class Packs:
    """The packs in a database. A pack has the documents from its first id to that of the next one."""

    def __init__(self, db: sqlite3.Connection) -> None:
        """`db`: an open store."""
        self._db = db

    def renew(self) -> None:
        """Make outdated packs again, and split large ones; a transaction must be open."""
        outdated = self._db.execute("SELECT first FROM packs WHERE sizes IS NULL ORDER BY first").fetchall()
        for (first,) in outdated:
            (end,) = self._db.execute("SELECT min(first) FROM packs WHERE first > ?", (first,)).fetchone()
            self._db.execute("DELETE FROM packs WHERE first = ?", (first,))
            name = first
            for rows in self._parts(first, end):
                self._put(rows[0][0] if name is None else name, rows)
                name = None
            if name == "":  # so that each document that may come belongs to a pack
                self._put(name, [])

    def discard(self) -> None:
        """Make all packs outdated, as one; a transaction must be open."""
        self._db.execute("DELETE FROM packs")
        self._db.execute("INSERT INTO packs (first) VALUES ('')")

    def columns(self) -> ChunkColumns | None:
        """Return the chunks of all packs, None if one is outdated or damaged."""
        sizes = self._db.execute("SELECT sizes, length(data) FROM packs ORDER BY first").fetchall()
        rows = self._db.execute("SELECT sizes, data, checksum FROM packs ORDER BY first")
        try:
            return unpacked(sizes, map(Pack._make, rows))
        except (ValueError, TypeError):  # damage may be of the type, too
            return None

    def _put(self, first: str, rows: list[tuple[Any, ...]]) -> None:
        packed = pack(ChunkColumns.of(rows))
        self._db.execute("INSERT INTO packs VALUES (?, ?, ?, ?)", (first, packed.sizes, packed.checksum, packed.data))

    def _parts(self, first: str, end: str | None) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the rows of the documents from one id to another, as many as a pack has, whole documents each."""
        chosen, values = ("d.id >= ?", (first,)) if end is None else ("d.id >= ? AND d.id < ?", (first, end))
        count = "SELECT count(*) FROM documents d LEFT JOIN chunks c ON c.document = d.number"
        (size,) = self._db.execute(f"{count} WHERE {chosen}", values).fetchone()
        size, rows = size if size <= 2 * _SIZE else _SIZE, list[tuple[Any, ...]]()
        for _, group in groupby(
            self._db.execute(f"{ROWS} WHERE {chosen} ORDER BY d.id, c.ordinal", values), itemgetter(0)
        ):
            more = list(group)
            if rows and len(rows) + len(more) > size:
                yield rows
                rows = []
            rows += more
        if rows:
            yield rows
