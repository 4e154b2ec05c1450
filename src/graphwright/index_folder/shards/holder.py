"""A shard in the process that holds it: an ordinary index, and what the graph over all shards asks of it."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import StoreError
from graphwright.extract.extraction import Extractor
from graphwright.graph.columns import TextColumn
from graphwright.graph.evidence import Ints
from graphwright.graph.storage import Sums
from graphwright.index_folder.index import GivenEncoder, Index
from graphwright.index_folder.shards.storage import pull_latest
from graphwright.kernels.blocks import products
from graphwright.kernels.bubble import distances_of
from graphwright.models.protocols import Floats
from graphwright.remote import push
from graphwright.search.snapshot import Snapshot
from graphwright.search.vector_index import row_cosines
from graphwright.search.vector_pages import Keys
from graphwright.store.changes import Changes
from graphwright.store.chunk_columns import ChunkColumns

_OPENED = 2  # snapshots that are kept: the graph over all shards refers to one while the next is made


def shard_of(document: str, shards: int) -> int:
    """Return the shard of a document: a hash of its id."""
    return zlib.crc32(document.encode("utf-8", "surrogatepass")) % shards


class ShardChanged(StoreError):
    """A shard has no snapshot any more that the graph over all shards refers to, after an interrupted change."""


class ShardColumns(NamedTuple):
    """What the graph over all shards is made of, as of the shard's `revision`.

    `chunks`: without their words. `spaces`: by name the keys of the texts and the fingerprints of the vectors, row by
    row, and the length of a vector. `vocabulary`, `frequencies`: the words and the number of passages with each;
    `lengths`: the number of words of each passage. `derived`: values that a language model derived.
    """

    revision: int
    chunks: ChunkColumns
    spaces: dict[str, tuple[Keys, Sums, int]]
    vocabulary: TextColumn
    frequencies: NDArray[np.int64]
    lengths: NDArray[np.int32]
    derived: dict[bytes, str]


class Holder:
    """A shard opened in this process. Rows and passages are numbered as in its snapshot of the `revision` asked.

    Threads may share it.
    """

    def __init__(self, path: str | Path, encoder: GivenEncoder = None, storage: str | None = None) -> None:
        """Open a shard; `encoder`: as in `Index.open`.

        `storage`: the address on object storage from which a missing or older folder is pulled, and to which changes
        are pushed.
        """
        if storage is not None:
            pull_latest(storage, Path(path))
        self._storage = storage
        self._index, self._encoder = Index.open(path, encoder=encoder), encoder
        self._opened: dict[int, Snapshot] = {}
        self._lock = threading.Lock()
        self.revision()

    def alive(self) -> None:
        """Return at once."""

    def revision(self) -> int:
        """Return the revision of the shard's snapshot, which is kept open."""
        return self._newest()[0]

    def _newest(self) -> tuple[int, Snapshot]:
        with self._lock:
            snapshot = self._index.snapshot
            revision = int(snapshot.about["revision"])
            self._opened[revision] = snapshot
            for earlier in sorted(self._opened)[:-_OPENED]:
                del self._opened[earlier]
            return revision, snapshot

    def columns(self) -> ShardColumns:
        """Return what the graph over all shards is made of, once object storage has it."""
        revision, snapshot = self._newest()
        if self._storage is not None:
            push(self._index.path, self._storage)
        store = self._index._store
        spaces = {name: getattr(snapshot, name) for name in snapshot.about["texts"]}
        words, chunks = snapshot.words, store.columns()
        return ShardColumns(
            revision,
            chunks,
            {name: (space.keys, space.pages.sums, space.dimension) for name, space in spaces.items()},
            words.vocabulary,
            np.diff(words.indptr),
            np.asarray(words.lengths[: len(chunks)]),
            store.derived(),
        )

    def several(self, calls: Sequence[tuple[str, Sequence[Any]]]) -> list[Any]:
        """Return what some of the methods below give, each called with its values."""
        return [getattr(self, method)(*values) for method, values in calls]

    def products(self, revision: int, space: str, query: Floats) -> Floats:
        """Return the products of all rows with a vector, or with the columns of a matrix."""
        result: Floats = self._vectors(revision, space) @ query
        return result

    def products_of(self, revision: int, space: str, query: Floats, rows: Ints) -> Floats:
        """Return the products of some rows with a vector."""
        return products(self._vectors(revision, space), rows, query)

    def cosines(self, revision: int, space: str, query: Floats, rows: Ints) -> NDArray[np.float64]:
        """Return the cosines of some rows with a vector."""
        return row_cosines(self._vectors(revision, space), rows, query)

    def vectors(self, revision: int, space: str, rows: Ints) -> Floats:
        """Return the vectors of rows."""
        result: Floats = self._vectors(revision, space)[rows]
        return result

    def lengths(self, revision: int, space: str) -> Floats:
        """Return the lengths of the vectors of all rows."""
        result: Floats = self._vectors(revision, space).lengths()
        return result

    def distances(self, revision: int, space: str, direction: NDArray[np.float64]) -> Ints:
        """Return the cost of each row on the way of a bubble expansion (see `node_costs`)."""
        return distances_of(self._vectors(revision, space), direction)

    def texts(self, revision: int, column: str, rows: Ints) -> TextColumn:
        """Return texts of passages ("texts") or statements ("sentences")."""
        whole: TextColumn = getattr(self._snapshot(revision).graph.columns, column)
        return whole.gather(rows)

    def entries(self, revision: int, words: Sequence[str]) -> list[tuple[NDArray[np.int32], NDArray[Any]]]:
        """Return for each word the passages that have it, and how often each does."""
        index = self._snapshot(revision).words
        return [index.entries(word) for word in words]

    def stored(self, method: str, *values: Any) -> Any:
        """Return what a method of the store gives."""
        return getattr(self._index._store, method)(*values)

    def change(self, method: str, value: Any, options: Mapping[str, Any], extractor: Extractor | str | None) -> Changes:
        """Change the documents of the shard by a method of `Index`: add, sync or remove."""
        if extractor is None:
            changes: Changes = getattr(self._index, method)(value, **options)
        else:
            with Index.open(self._index.path, encoder=self._encoder, extractor=extractor) as writer:
                changes = getattr(writer, method)(value, **options)
        return changes

    def close(self) -> None:
        """Close the index."""
        self._opened.clear()
        self._index.close()

    def _vectors(self, revision: int, space: str) -> Any:
        return getattr(self._snapshot(revision), space).vectors

    def _snapshot(self, revision: int) -> Snapshot:
        if (known := self._opened.get(revision)) is not None:
            return known
        newest, snapshot = self._newest()
        if newest != revision:
            raise ShardChanged(
                f"{self._index.path} has no snapshot of revision {revision}: it was changed without the other shards. "
                f"Open the index of all shards again, which unites them."
            )
        return snapshot
