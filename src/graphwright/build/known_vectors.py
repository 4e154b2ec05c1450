"""Encoding of texts in blocks, and reuse of an earlier snapshot: vectors of equal texts, and pairs of near names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile

import numpy as np
from numpy.typing import NDArray

from graphwright.build.near_pairs import KnownPairs, NearPairs
from graphwright.errors import ModelError, StoreError, explained
from graphwright.graph.columns import TextColumn
from graphwright.graph.graph import SYNONYM
from graphwright.kernels.blocks import LARGEST, HalfArray, to_half
from graphwright.models.protocols import Encoder, Usage, call_metered
from graphwright.search.snapshot import Snapshot
from graphwright.search.vector_pages import VectorRows, text_keys
from graphwright.store.changes import Progress
from graphwright.store.settings import SPACES


def known_vectors(snapshot: Snapshot) -> dict[str, VectorRows]:
    """Return the vectors of a snapshot with the keys of their texts, by space."""
    spaces = {name: getattr(snapshot, name) for name in SPACES if name in snapshot.about["texts"]}
    return {name: space.by_text()[0] for name, space in spaces.items() if space is not None and space.keys is not None}


def known_pairs(snapshot: Snapshot, vectors: VectorRows) -> KnownPairs | None:
    """Return the synonyms of a snapshot, and the row of each of its names among `vectors`, which it is the base of."""
    columns, passages = snapshot.graph.columns, snapshot.graph.passages
    nearest = snapshot.nearest
    if snapshot.names is None or passages is None or nearest is None or SYNONYM not in columns.own:
        return None
    edges = columns.edges_of(SYNONYM)
    pairs = np.stack((columns.heads[edges], columns.tails[edges]), axis=1).astype(np.int64) - len(passages)
    known, row = snapshot.names.by_text()[0], np.asarray(snapshot.names.row_of)[len(passages) :]
    sums = VectorRows(known.base, known.new, row, known.sums).fingerprints()
    return KnownPairs(NearPairs(pairs, nearest), sums, vectors.positions()[row])


_BLOCK = 512  # texts that are encoded between two reports of progress
_MAX_IN_MEMORY = 64 * 2**20  # bytes of new vectors in memory
_CHECK = "Check that the folder exists and can be written."


@dataclass(frozen=True)
class BlockEncoder:
    """An encoder called for blocks of texts. `scratch`: a folder for vectors that would take too much memory."""

    encoder: Encoder
    usage: Usage
    progress: Progress | None
    scratch: Path | None = None

    def all(self, name: str, texts: Sequence[str]) -> HalfArray:
        """Return each text's vector of the space `name`. Raises StoreError for a scratch folder, else ModelError."""
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

    def new(self, name: str, texts: TextColumn, known: VectorRows | None) -> VectorRows:
        """Return a vector for each text; those of known texts are reused, and equal texts share one."""
        before = VectorRows.of(self.all(name, ())) if known is None else known
        keys = text_keys(texts)
        row = before.find(keys)
        missing = np.flatnonzero(row < 0)
        number, first = texts.gather(missing).numbered()
        row[missing] = len(before.keys) + number
        fresh = missing[first]
        return before.extended(self.all(name, texts.gather(fresh)), keys[fresh], row)
