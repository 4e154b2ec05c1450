"""The inputs that all parts of one operation on an index share."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphwright.extract.extraction import Extractor
from graphwright.models.cache import CachedEncoder
from graphwright.models.protocols import NamedEncoder
from graphwright.store.changes import Changes, Progress
from graphwright.store.layout import IndexLayout
from graphwright.store.store import Store

QUICK = 500  # number of texts that are encoded in a few seconds


def vector_cache(layout: IndexLayout, encoder: NamedEncoder) -> CachedEncoder:
    """Return a cache of new vectors, which has a file only where they are many: computing them may take hours."""
    return CachedEncoder(encoder, layout.vectors, unsaved=QUICK)


@dataclass(frozen=True)
class Batch:
    """Operations that share one snapshot: the revision of the first, and new vectors."""

    first: int
    vectors: CachedEncoder


@dataclass
class Operation:
    """One operation on an index folder, under its write lock; `changes` records its effects.

    `reported`: the revision up to which the caller has seen operations succeed; a removal by a later one may have been
    interrupted, and is repeated without an error.
    `batch`: operations of which the last alone publishes a snapshot, see `Index.batch`.
    """

    layout: IndexLayout
    store: Store
    encoder: NamedEncoder
    extractor: Extractor
    progress: Progress | None = None
    changes: Changes = field(default_factory=Changes)
    reported: int = -1
    batch: Batch | None = None
    vectors: CachedEncoder = field(init=False)

    def __post_init__(self) -> None:
        self.vectors = vector_cache(self.layout, self.encoder) if self.batch is None else self.batch.vectors

    def report(self, work: str, done: int, total: int) -> None:
        """Report progress to the caller."""
        if self.progress is not None:
            self.progress(work, done, total)
