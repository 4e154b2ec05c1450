"""Publication of snapshots: the graph and its search structures are built from the store and made current."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import Any

from graphwright.build.build import build_from_chunks, idle_edits
from graphwright.build.operation import QUICK, Operation
from graphwright.errors import StoreError
from graphwright.extract.llm import Derived
from graphwright.search.snapshot import Snapshot
from graphwright.search.snapshot_format import open_snapshot, refused, write_snapshot
from graphwright.store.chunk_record import id_digest
from graphwright.store.layout import GRAPH, NEXT


class Publication:
    """The snapshots of one operation: opens the current one, builds and publishes the next, and cleans up."""

    def __init__(self, operation: Operation) -> None:
        self._operation = operation
        self._layout, self._store, self._changes = operation.layout, operation.store, operation.changes
        self._derived: Derived | None = None  # of the last build
        self._prepared: Snapshot | None = None

    @property
    def revision(self) -> int:
        """The revision of the current snapshot, -1 if there is none."""
        with suppress(StoreError):
            return self._layout.published
        return -1

    def refresh(self) -> int | None:
        """Publish the store unless the snapshot is up to date; return the revision it had, None if it was damaged."""
        current = self._current()
        revision: int | None = None if current is None else current.about.get("revision")
        if revision == self._store.revision:
            self._layout.clean()
            self._layout.delete_cache(self._layout.vectors)
        else:
            try:
                snapshot, self._prepared = self._prepared or self._build(current), None
                del current  # or its files would be in use
                self._publish(snapshot)
            except StoreError as error:
                if revision is None or refused(error):
                    raise
                self.rebuild()  # a file of the snapshot is damaged that was not verified when it was opened
        return revision

    def prepare(self) -> Snapshot:
        """Build the snapshot of a transaction that is open, and return it; `refresh` publishes it."""
        try:
            self._prepared = self._build(self._current())
        except StoreError as error:
            if refused(error):
                raise
            self._prepared = self._build(None)  # a file of the snapshot is damaged
        return self._prepared

    def idle_edits(self) -> dict[str, str]:
        """Return why edits change nothing, by id, in a transaction that is open; no snapshot is built."""
        store, settings = self._store, self._store.build_settings
        known = self._current() if "vectors" in settings.resolve else None
        return idle_edits(store.columns(), settings, self._operation.vectors, known, **self._made_from())

    def rebuild(self, known: Snapshot | None = None) -> None:
        """Build the snapshot from the rows of the store, and perhaps the vectors of a snapshot, and publish it."""
        self._publish(self._build(known))

    def replace(self, change: Callable[[], None], graph: Snapshot | None = None) -> None:
        """Change the store and publish a snapshot of it, both or neither: readers see the old one until the end.

        `graph`: the snapshot of an imported graph, in the place of the one that the index has. After the commit the
        store names the new snapshot, so that `complete` can make it current if this process is killed before.
        """
        if graph is not None and self._layout.imported.is_dir():
            return self._replace_imported(change, graph)
        store = self._store
        with store.writing():
            change()
            store.set("revision", str(store.revision + 1))
            if graph is None:
                snapshot = self._build(self._current())
            else:
                snapshot = replace(graph, about={**graph.about, "revision": store.revision})
            self._store_derived(nullcontext())
            store.set(NEXT, self._layout.prepare(store.revision, lambda folder: write_snapshot(folder, snapshot)))
        self.complete()
        self._clean_up(snapshot)

    def _replace_imported(self, change: Callable[[], None], graph: Snapshot) -> None:
        before, write = self._store.revision, partial(write_snapshot, snapshot=graph)

        def with_checksum() -> None:
            change()
            self._store.set(GRAPH, self._layout.imported_checksum)

        with self._layout.replacing_imported(write, lambda: self._store.revision > before):
            self.replace(with_checksum)

    def complete(self) -> None:
        """Make the snapshot current that `replace` has prepared, if the store names one; settle the imported graph."""
        self._layout.recover_imported(self._store.setting(GRAPH))
        if name := self._store.setting(NEXT):
            if (self._layout.path / name).is_dir():
                self._layout.switch(name)
            with self._store.writing():
                self._store.set(NEXT, "")

    def is_quick(self) -> bool:
        """Return whether a snapshot can be built at once: the current one is sound, and lacks few texts."""
        current = self._current()
        if current is None or current.graph.passages is None:
            return False
        withdrawn, documents = self._store.withdrawn(), current.graph.passages.listed()
        unchanged = sum(document.chunks for document in documents if id_digest(document.id) not in withdrawn)
        return self._store.counts()[1] - unchanged <= QUICK

    def missing_values(self) -> Derived:
        """Return the derived values of the last build; without one those that an interrupted run left missing."""
        if self._derived is None:
            self._build(None if self._store.setting("graph") else self._current())
        return self._derived or Derived()

    def delete_replies(self) -> None:
        """Delete the replies of language models if they may quote removed text."""
        if self._store.setting("delete replies") == "1":
            self._layout.delete_cache(self._layout.replies)
            with self._store.writing():
                self._store.set("delete replies", "0")
        self._store.checkpoint()

    def _current(self) -> Snapshot | None:
        """Return the current snapshot, None if it is damaged."""
        try:
            return open_snapshot(self._layout.path / self._layout.current(), self._operation.encoder)
        except StoreError as error:
            if refused(error):
                raise
            return None

    def _build(self, known: Snapshot | None) -> Snapshot:
        """Build a snapshot of the store; the vectors of `known` are reused. Raises StoreError if they are damaged."""
        operation = self._operation
        operation.report("build the graph", 0, 0)
        start = time.perf_counter()
        columns = self._store.columns()
        seconds = time.perf_counter() - start
        snapshot = build_from_chunks(
            columns,
            self._store.build_settings,
            operation.vectors,
            known=known,
            revision=self._store.revision,
            usage=self._changes.usage,
            progress=operation.progress,
            scratch=self._layout.path,
            **self._made_from(),
        )
        self._changes.seconds = {"read": seconds, **snapshot.seconds}
        return snapshot

    def _made_from(self) -> dict[str, Any]:
        """Return what a snapshot is built from beside the chunks; the derived values are noted."""
        self._derived = Derived(self._store.derived(), self._layout.prompts)
        imported = self._layout.imported
        return {
            "derived": self._derived,
            "schema": self._store.schema,
            "imported": open_snapshot(imported, self._operation.encoder) if imported.is_dir() else None,
            "edits": self._store.edits(),
        }

    def _publish(self, snapshot: Snapshot) -> None:
        self._operation.report("write the index", 0, 0)
        start = time.perf_counter()
        self._store_derived(self._store.writing())  # before, so that a kill leaves nothing that the snapshot lacks
        self._layout.publish(snapshot.about["revision"], lambda folder: write_snapshot(folder, snapshot))
        self._changes.seconds["write"] = time.perf_counter() - start
        self._clean_up(snapshot)

    def _clean_up(self, snapshot: Snapshot) -> None:
        self._layout.delete_cache(self._layout.vectors)  # the snapshot contains them now
        self._store.checkpoint()
        self._changes.texts = dict(snapshot.about["texts"])

    def _store_derived(self, transaction: AbstractContextManager[None]) -> None:
        """Delete the derived values that the graph does not use, which may quote removed text; count the missing."""
        derived = self._derived or Derived()
        unused = [key for key in self._store.derived() if key not in derived.used]
        missing = str(len(derived.missing))
        if unused or missing != (self._store.setting("missing values") or "0"):
            with transaction:
                self._store.delete_derived(unused)
                self._store.set("missing values", missing)
