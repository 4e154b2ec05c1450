"""Encoding of texts in blocks, of which only those without a known vector are encoded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile

import numpy as np
from numpy.typing import NDArray

from graphwright.build.known_vectors import positions
from graphwright.errors import ModelError, StoreError, explained
from graphwright.graph.columns import TextColumn
from graphwright.kernels.half import LARGEST, HalfArray, to_half
from graphwright.kernels.strings import distinct
from graphwright.models.protocols import Encoder, Usage, call_metered
from graphwright.search.vector_rows import VectorRows
from graphwright.store.changes import Progress

_BLOCK = 512  # texts that are encoded between two reports of progress
_MAX_IN_MEMORY = 64 * 2**20  # bytes of new vectors in memory
_CHECK = "Check that the folder exists and can be written."


@dataclass(frozen=True)
class BlockEncoder:
    """An encoder that is called for a block of texts at a time.

    `scratch`: a folder for a temporary file that holds many vectors in place of memory.
    """

    encoder: Encoder
    usage: Usage
    progress: Progress | None
    scratch: Path | None = None

    def all(self, name: str, texts: Sequence[str]) -> HalfArray:
        """Return a vector for each text; `name` is that of the space, for progress.

        Raises StoreError where the scratch folder cannot be used, and ModelError for numbers that cannot be stored.
        """
        if not len(texts):
            return HalfArray.of(np.empty((0, getattr(self.encoder, "dimension", 0))))
        blocks = self._blocks(name, texts)
        first = next(blocks)
        if self.scratch is None or len(texts) * first[0].nbytes <= _MAX_IN_MEMORY:
            return HalfArray(np.concatenate([first, *blocks]))
        try:
            with TemporaryFile(dir=self.scratch) as file:  # which has no name that a killed process could leave
                for block in chain((first,), blocks):
                    file.write(block.data)
                file.flush()
                return HalfArray(np.memmap(file, np.uint16, "r", shape=(len(texts), first.shape[1])))
        except OSError as error:
            raise StoreError(f"vectors cannot be held in {self.scratch}: {explained(error, _CHECK)}") from error

    def _blocks(self, name: str, texts: Sequence[str]) -> Iterator[NDArray[np.uint16]]:
        """Yield the halves of vectors, as bits."""
        for start in range(0, len(texts), _BLOCK):
            vectors = call_metered(self.usage, self.encoder, "encode", list(texts[start : start + _BLOCK]))
            try:
                yield to_half(vectors).view(np.uint16)
            except ValueError:
                raise ModelError(
                    f"{self.encoder!r} returned a number above {LARGEST:,.0f} or none, which no index keeps. Scale its "
                    f"vectors, to length 1 for example."
                ) from None
            if self.progress is not None:
                self.progress(f"encode {name}", min(start + _BLOCK, len(texts)), len(texts))

    def new(self, name: str, texts: TextColumn, known: tuple[TextColumn, VectorRows] | None) -> VectorRows:
        """Return a vector for each text; those of known texts are reused, and equal texts share one."""
        if known is None:
            known = TextColumn.of(()), VectorRows.of(self.all(name, ()))
        rows, at = known[1], positions(known[0], texts)
        fresh = texts.gather(np.flatnonzero(at < 0))
        number, first = distinct(fresh.data, fresh.offsets)
        added = self.all(name, fresh.gather(first))
        row = np.empty(len(texts), np.int64)
        row[at < 0] = len(rows.base) + len(rows.new) + number
        row[at >= 0] = rows.row[at[at >= 0]]
        if len(rows.new):
            added = HalfArray.of(np.concatenate([np.asarray(part) for part in (rows.new, added) if len(part)]))
        return VectorRows(rows.base, added, row, rows.sums)
