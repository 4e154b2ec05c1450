"""The snapshots that queries read: the current one, and the index of a part of the documents."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from graphwright.errors import DataError, StoreError
from graphwright.extract.llm import Derived
from graphwright.models.protocols import NamedEncoder
from graphwright.search.filter import Filter
from graphwright.search.snapshot import Snapshot
from graphwright.search.snapshot_format import open_snapshot
from graphwright.search.statement_times import snapshot_as_of
from graphwright.search.versions import versions_of
from graphwright.store.chunk_columns import ChunkColumns
from graphwright.store.chunk_record import id_digest
from graphwright.store.edits import Edit
from graphwright.store.layout import IndexLayout
from graphwright.store.store import Store

_MAX_FILTERED = 16  # filtered snapshots that are kept in memory


class SnapshotReader:
    """Opens the snapshots of an index. Threads may share it.

    A change first commits to the store and then publishes a snapshot. If its process is killed between the two, the
    current snapshot still has documents that were removed or replaced: they are hidden. While the process runs, they
    are not hidden, and queries use the index as it was before the change.
    """

    def __init__(self, layout: IndexLayout, store: Store, encoder: NamedEncoder, *, follow: bool = True) -> None:
        """`encoder`: encodes questions. `follow`: whether `snapshot` opens a newer snapshot, or only `refresh` does."""
        self._layout, self._store, self._encoder, self._follow = layout, store, encoder, follow
        self._opened: tuple[str, Snapshot] | None = None
        self._last: Snapshot | None = None  # returned by `snapshot`
        self._rest: tuple[tuple[str, list[str]], Snapshot] | None = None  # without hidden documents
        self._filtered: dict[tuple[Filter, int], Snapshot] = {}  # the most recently used last
        self._lock = threading.Lock()
        self._refreshing = threading.Lock()

    def snapshot(self) -> Snapshot:
        """Return the current snapshot without hidden documents. Raises StoreError if it cannot be read."""
        with self._lock:
            if self._follow or self._last is None or not self._is_outdated():
                self._last = self._current()
            return self._last

    def refresh(self, prepare: Callable[[Snapshot], object]) -> bool:
        """Open a newer snapshot, `prepare` it, and let queries use it; return whether. Raises StoreError for damage."""
        with self._refreshing:
            if not self._is_outdated():
                return False
            name, opened = self._newest()
            prepare(opened)
            hidden = self._hidden(opened)
            with self._lock:  # from here on queries use it, even if a newer snapshot is published
                self._opened = name, opened
                self._last = self._without(name, opened, hidden) if hidden else opened
            return True

    def _is_outdated(self) -> bool:
        opened = self._opened  # which `release` may set meanwhile
        return opened is None or opened[0] != self._layout.current()

    def _newest(self) -> tuple[str, Snapshot]:
        """Return the newest snapshot, which is opened if it is not, with its name."""
        while True:
            name, opened = self._layout.current(), self._opened
            if opened is not None and opened[0] == name:
                return opened
            try:
                return name, self._open(self._layout.path / name)
            except StoreError:
                if self._layout.current() == name:  # else a writer has replaced it in the meantime
                    raise

    def _open(self, folder: Path) -> Snapshot:
        return open_snapshot(folder, self._encoder)

    def _current(self) -> Snapshot:
        """Return the newest snapshot without hidden documents; the lock is held."""
        while True:
            name, snapshot = self._opened = self._newest()
            hidden = self._hidden(snapshot)
            if not hidden:
                return snapshot
            if self._layout.current() == name:
                return self._without(name, snapshot, hidden)

    def interrupted(self) -> bool:
        """Return whether a change that removed or replaced documents ended before its snapshot was published."""
        with suppress(StoreError):
            return bool(self._withdrawn(self._layout.published))
        return False

    def filtered(self, filter: Filter) -> Snapshot:
        """Return the snapshot of an index with only the documents that pass a filter, built in memory.

        An imported graph, and what was added by hand, are left out, unless the filter is a date alone. Statements and
        rows are those that hold at it.
        """
        whole = self.snapshot()
        # Documents, metadata and revision of the same commit.
        with self._store.consistent() as store:
            key = filter, store.revision
            with self._lock:
                if key in self._filtered:
                    self._filtered[key] = self._filtered.pop(key)
                    return self._filtered[key]
            later = set() if filter.as_of is None else versions_of(whole.graph.columns).later_than(filter.as_of)
            documents = store.metadata()
            passages = whole.graph.passages
            published = set() if passages is None else set(passages.documents)
            ids = [id for id in filter.passing(documents) if id in published and id not in later]
            imported = self._imported_at(whole, filter.date_alone)
            if not ids and imported is None:
                raise DataError(f"{self._layout.path} holds no document {filter}. {filter.hint(documents)}")
            chunks, edits = store.columns(ids), store.edits()
            if edits and filter.date_alone is None:
                graph = self._imported()
                nodes = None if graph is None else graph.graph.columns
                from graphwright.build.apply_edits import edits_of_part

                edits = edits_of_part(edits, chunks, store.columns(), nodes)
            part = self._part(store, chunks, whole, edits, imported=imported)
        if filter.as_of is not None:
            part = snapshot_as_of(part, filter.as_of)
        if whole.imported is not None and imported is None:
            part = replace(part, about={**part.about, "without graph": True})
        with self._lock:
            self._filtered[key] = part
            if len(self._filtered) > _MAX_FILTERED:
                del self._filtered[next(iter(self._filtered))]
        return part

    def release(self) -> None:
        """Release the snapshot, so that its files can be deleted."""
        with self._lock:
            self._opened = self._rest = self._last = None

    def clear(self) -> None:
        """Release all snapshots."""
        self.release()
        with self._lock:
            self._filtered.clear()

    def _withdrawn(self, published: int) -> set[str]:
        """Return the digests of documents withdrawn by interrupted changes after a revision."""
        if self._store.revision == published:
            return set()
        later = {digest: by for digest, by in self._store.withdrawn().items() if by > published}
        dead = {revision for revision in set(later.values()) if not self._layout.is_changing(revision)}
        return {digest for digest, by in later.items() if by in dead}

    def _hidden(self, snapshot: Snapshot) -> list[str]:
        """Return the documents of a snapshot that are to be hidden."""
        passages, withdrawn = snapshot.graph.passages, self._withdrawn(snapshot.about.get("revision", -1))
        if passages is None or not withdrawn:
            return []
        return [document for document in passages.documents if id_digest(document) in withdrawn]

    def _without(self, name: str, snapshot: Snapshot, hidden: list[str]) -> Snapshot:
        """Return the snapshot of an index without the hidden documents, built in memory."""
        if self._rest is None or self._rest[0] != (name, hidden):
            assert snapshot.graph.passages is not None
            ids = set(snapshot.graph.passages.documents).difference(hidden)
            with self._store.consistent() as store:
                part = self._part(
                    store, store.columns(ids), snapshot, store.edits(), snapshot.about["revision"], self._imported()
                )
                self._rest = (name, hidden), part
        return self._rest[1]

    def _imported_at(self, whole: Snapshot, date: str | None) -> Snapshot | None:
        """Return the imported graph with the statements that hold at a date; None without one, and without a date."""
        if date is None or (whole.graph.passages is not None and whole.imported is None):
            return None
        return snapshot_as_of(self._imported() or whole, date)

    def _imported(self) -> Snapshot | None:
        """Return the imported graph as it was without documents and edits; None if there never were any."""
        folder = self._layout.imported
        return open_snapshot(folder, self._encoder) if folder.is_dir() else None

    def _part(
        self,
        store: Store,
        chunks: ChunkColumns,
        known: Snapshot,
        edits: Sequence[Edit],
        revision: int = 0,
        imported: Snapshot | None = None,
    ) -> Snapshot:
        """Build the index of some documents; texts that have a vector in a snapshot are not encoded."""
        from graphwright.build.build import build_from_chunks  # a process that only asks does not need it

        return build_from_chunks(
            chunks,
            store.build_settings,
            self._encoder,
            known=known,
            revision=revision,
            derived=Derived(store.derived(), self._layout.prompts),
            schema=store.schema,
            imported=imported,
            edits=edits,
        )
