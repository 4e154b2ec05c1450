"""The packs of a store: its chunks as columns, of some hundred neighbouring documents each.

They repeat the rows, and are made again from them where a document has changed; reading them takes a fraction of the
time of reading rows. Triggers of the store mark those that are outdated.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import fields
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.columns import TextColumn
from graphwright.kernels.csr import row_pointers
from graphwright.store.chunk_columns import STRINGS, ChunkColumns, PerChunk
from graphwright.store.tables import ROWS

Array = NDArray[Any]


class Pack(NamedTuple):
    """Columns as bytes: the number of values of each array as little-endian int64, the arrays, and a checksum."""

    sizes: bytes
    data: bytes
    checksum: int


def _packed(columns: ChunkColumns) -> Pack:
    arrays = [array.astype(kind, copy=False) for array, kind in zip(_arrays(columns), _KINDS, strict=True)]
    sizes, data = np.array([array.size for array in arrays], "<i8").tobytes(), b"".join(a.tobytes() for a in arrays)
    return Pack(sizes, data, zlib.crc32(data, zlib.crc32(sizes)))


def unpacked(sizes: Iterable[tuple[bytes, int]], packs: Iterator[Pack]) -> ChunkColumns:
    """Return packs' columns end to end, one in memory at a time; `sizes`: of all. Raises ValueError for damage."""
    numbers, lengths = zip(*sizes, strict=True)
    counts = np.frombuffer(b"".join(numbers), "<i8").reshape(len(lengths), len(_KINDS))
    if (counts < 0).any() or (counts @ [kind.itemsize for kind in _KINDS]).tolist() != list(lengths):
        raise ValueError("the sizes of a pack are damaged")
    whole = [np.empty(size, kind) for size, kind in zip(counts.sum(axis=0).tolist(), _KINDS, strict=True)]
    ends = np.zeros(len(_KINDS), np.int64)
    for row, part in zip(counts, packs, strict=True):
        if zlib.crc32(part.data, zlib.crc32(part.sizes)) != part.checksum or part.sizes != row.tobytes():
            raise ValueError("a pack is damaged")
        at = 0
        for array, kind, end, size in zip(whole, _KINDS, ends.tolist(), row.tolist(), strict=True):
            array[end : end + size] = np.frombuffer(part.data, kind, size, at)
            at += size * kind.itemsize
        ends += row
    return _columns(iter(whole))


def _arrays(columns: ChunkColumns) -> Iterator[Array]:
    """Yield the arrays that columns consist of; borders as lengths."""
    for name in _PLAIN:
        value = getattr(columns, name)
        yield from _of_strings(value) if isinstance(value, TextColumn) else (value,)
    for field in columns.fields.values():
        yield np.diff(field.indptr)
        yield from _of_strings(field.values) if isinstance(field.values, TextColumn) else (field.values,)


def _of_strings(column: TextColumn) -> tuple[Array, Array]:
    return np.diff(column.offsets), column.data


def _columns(arrays: Iterator[Array]) -> ChunkColumns:
    plain: dict[str, Any] = {name: _text(arrays) if name in _TEXTS else next(arrays) for name in _PLAIN}
    parts = {}
    for name in _NAMES:
        indptr = row_pointers(next(arrays))
        parts[name] = PerChunk(_text(arrays) if name in STRINGS else next(arrays), indptr)
    return ChunkColumns(**plain, fields=parts)


def _text(arrays: Iterator[Array]) -> TextColumn:
    offsets = row_pointers(next(arrays))
    return TextColumn(next(arrays), offsets)


_NOTHING = ChunkColumns.of([])
_PLAIN = [field.name for field in fields(ChunkColumns) if field.name != "fields"]
_TEXTS = {name for name in _PLAIN if isinstance(getattr(_NOTHING, name), TextColumn)}
_NAMES = list(_NOTHING.fields)
_KINDS = [np.dtype(np.int32) if array.dtype == np.int64 else array.dtype for array in _arrays(_NOTHING)]

_SIZE = 256  # rows of chunks; a pack of more than twice as many is split


class Packs:
    """The packs in a database. A pack has the documents from its first id to the first id of the next pack."""

    def __init__(self, db: sqlite3.Connection) -> None:
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
        """Mark all packs as outdated. A transaction must be open."""
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
        packed = _packed(ChunkColumns.of(rows))
        self._db.execute("INSERT INTO packs VALUES (?, ?, ?, ?)", (first, packed.sizes, packed.checksum, packed.data))

    def _parts(self, first: str, end: str | None) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the rows of the documents between two ids in parts of the size of a pack; no document is divided."""
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
