"""The transaction of one change: all or nothing in the store, with documents kept while others are read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress

from graphwright.build.operation import Operation
from graphwright.build.publication import Publication
from graphwright.errors import StoreError


class Transaction:
    """A change of the store in a block, all or nothing, whose result is published at the end of the block.

    The revision is increased if documents change, so that the snapshot counts as outdated; a snapshot of another
    revision than the store's at the start was left by a killed process. The store names the documents that were
    withdrawn (removed or replaced), so that readers hide them until the new snapshot is published. Cached replies that
    may quote removed text are marked, to be deleted at the end.
    """

    def __init__(self, operation: Operation, publication: Publication) -> None:
        """`publication`: publishes the result, unless the operation belongs to a batch."""
        self._operation, self._publication = operation, publication
        self._kept: list[str] = []  # documents that were committed before the end
        self.withdrawn: list[str] = []
        """Ids of documents that are withdrawn besides those of `changes`."""

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Change the store in the block."""
        operation, store, batch = self._operation, self._operation.store, self._operation.batch
        changes, before = operation.changes, store.revision
        with operation.layout.changing(before + 1) if batch is None else nullcontext():
            with self._removing_kept(before), store.writing():
                yield
                withdrawn = [*self.withdrawn, *changes.removed, *changes.replaced]
                if withdrawn:
                    store.set("delete replies", "1")
                if changes.added or withdrawn:
                    revision = before + 1 if batch is None else batch.first
                    store.withdraw(withdrawn, revision, self._publication.revision)
                    store.set("revision", str(before + 1))
            shown = self._publication.refresh() if batch is None else before
        changes.resumed |= shown is not None and shown != before

    def keep(self) -> None:
        """Commit the new documents that were read, unless others were replaced, which only happens at the end.

        So an operation that is killed while it reads does not begin anew; an error removes them again.
        """
        changes, store = self._operation.changes, self._operation.store
        if len(changes.added) > len(self._kept) and not changes.replaced:
            store.set("revision", str(store.revision + (not self._kept)))
            store.keep()
            self._kept = list(changes.added)

    @contextmanager
    def _removing_kept(self, revision: int) -> Iterator[None]:
        """After an error in the block, remove the documents that were kept meanwhile, and restore the revision."""
        store = self._operation.store
        try:
            yield
        except Exception:
            if self._kept:
                with suppress(StoreError), store.writing():
                    store.remove(self._kept)
                    store.set("revision", str(revision))
            raise
