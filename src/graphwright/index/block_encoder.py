"""Encoding of texts in blocks, of which only those without a known vector are encoded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphwright.graph.columns import TextColumn
from graphwright.index.changes import Progress
from graphwright.index.known_vectors import positions
from graphwright.index.vector_rows import VectorRows
from graphwright.kernels.strings import distinct
from graphwright.models.protocols import Encoder, Floats, Usage, call_metered

__all__ = ["BlockEncoder"]

_BLOCK = 512  # texts that are encoded between two reports of progress


@dataclass(frozen=True)
class BlockEncoder:
    """An encoder that is called for a block of texts at a time, so that progress can be reported."""

    encoder: Encoder
    usage: Usage
    progress: Progress | None

    def all(self, name: str, texts: Sequence[str]) -> Floats:
        """Return a vector for each text; `name` is that of the space, for progress."""
        if not len(texts):
            return np.empty((0, getattr(self.encoder, "dimension", 0)), np.float32)
        size = len(texts) if self.progress is None else _BLOCK
        blocks = []
        for start in range(0, len(texts), size):
            blocks.append(call_metered(self.usage, self.encoder, "encode", texts[start : start + size]))
            if self.progress is not None:
                self.progress(f"encode {name}", min(start + size, len(texts)), len(texts))
        return np.concatenate(blocks)

    def new(self, name: str, texts: TextColumn, known: tuple[TextColumn, VectorRows] | None) -> VectorRows:
        """Return a vector for each text; those of known texts are reused, and equal texts share one."""
        if known is None:
            known = TextColumn.of(()), VectorRows.of(self.all(name, ()))
        rows, at = known[1], positions(known[0], texts)
        fresh = texts.gather(np.flatnonzero(at < 0))
        number, first = distinct(fresh.data, fresh.offsets)
        added = self.all(name, list(fresh.gather(first)))
        row = np.empty(len(texts), np.int64)
        row[at < 0] = len(rows.base) + len(rows.new) + number
        row[at >= 0] = rows.row[at[at >= 0]]
        if len(rows.new):
            added = np.concatenate([part for part in (np.asarray(rows.new), added) if len(part)])
        return VectorRows(rows.base, added, row, rows.sums)
