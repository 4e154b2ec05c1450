"""The store and the snapshots of an index in shards, without what lies in shards that are lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graphwright.index_folder.shards.columns import Shards
from graphwright.index_folder.shards.holder import shard_of
from graphwright.index_folder.shards.uniting import living, open_united
from graphwright.index_folder.snapshot_reader import SnapshotReader
from graphwright.models.protocols import NamedEncoder
from graphwright.search.snapshot import Snapshot
from graphwright.store.chunk_columns import ChunkColumns
from graphwright.store.layout import IndexLayout
from graphwright.store.store import Store


class SpreadStore(Store):
    """The settings of an index in shards, and what the stores of its shards hold together, without those lost."""

    def __init__(self, path: Path, shards: Shards, lost: set[int]) -> None:
        super().__init__(path)
        self._shards, self._lost = shards, lost

    def _each(self, method: str) -> list[Any]:
        live = [shard for shard in range(self._shards.count) if shard not in self._lost]
        return list(self._shards.call("stored", dict.fromkeys(live, (method,))).values())

    def _of(self, method: str, ids: Iterable[str] | None) -> list[Any]:
        """Return what each shard gives for its documents among these, or for all."""
        if ids is None:
            return self._each(method)
        parts: dict[int, tuple[str, list[str]]] = {}
        for id in ids:
            if (shard := shard_of(id, self._shards.count)) not in self._lost:
                parts.setdefault(shard, (method, []))[1].append(id)
        return list(self._shards.call("stored", parts).values())

    def counts(self) -> tuple[int, int]:
        documents, chunks = zip(*self._each("counts"), strict=True)
        return sum(documents), sum(chunks)

    def metadata(self, ids: Iterable[str] | None = None) -> dict[str, dict[str, str]]:
        return dict(sorted(item for part in self._of("metadata", ids) for item in part.items()))

    def columns(self, ids: Iterable[str] | None = None) -> ChunkColumns:
        return ChunkColumns.joined(self._of("columns", ids) or [ChunkColumns.of([])]).ordered()[0]

    def derived(self) -> dict[bytes, str]:
        return {key: value for part in self._each("derived") for key, value in part.items()}

    def extractors(self) -> dict[str, int]:
        return self._counted("extractors")

    def pending(self) -> dict[str, int]:
        return self._counted("pending")

    def folders(self) -> dict[str, int]:
        return self._counted("folders")

    def _counted(self, method: str) -> dict[str, int]:
        total = Counter[str]()
        for part in self._each(method):
            total.update(part)
        return dict(total)

    @contextmanager
    def consistent(self) -> Iterator[Store]:
        yield self


class SpreadReader(SnapshotReader):
    """Opens the graph over all shards, and leaves out what shards hold that are lost."""

    def __init__(
        self, layout: IndexLayout, store: Store, encoder: NamedEncoder, follow: bool, shards: Shards, lost: set[int]
    ) -> None:
        super().__init__(layout, store, encoder, follow=follow)
        self._shards, self._lost = shards, lost
        self._living: tuple[Snapshot, frozenset[int], Snapshot] | None = None

    def _open(self, folder: Path) -> Snapshot:
        return open_united(folder, self._encoder, self._shards)

    def snapshot(self) -> Snapshot:
        whole, lost, known = super().snapshot(), frozenset(self._lost), self._living
        if not lost:
            return whole
        if known is None or known[0] is not whole or known[1] != lost:
            self._living = known = whole, lost, living(whole, lost)
        return known[2]

    def release(self) -> None:
        super().release()
        self._living = None
