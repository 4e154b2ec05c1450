"""Encoding of texts in blocks, and reuse of an earlier snapshot: vectors of equal texts, and pairs of near names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphwright.build.near_pairs import KnownPairs, NearPairs
from graphwright.errors import ModelError, StoreError, explained
from graphwright.graph.columns import Passages, TextColumn
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import SYNONYM
from graphwright.kernels.half import LARGEST, HalfArray, to_half
from graphwright.kernels.strings import fingerprints
from graphwright.models.protocols import Encoder, Usage, call_metered
from graphwright.search.snapshot import Snapshot
from graphwright.search.vector_index import VectorIndex
from graphwright.search.vector_rows import VectorRows
from graphwright.store.changes import Progress
from graphwright.store.chunk_columns import texts_with_titles


def positions(known: TextColumn, texts: TextColumn) -> Ints:
    """Return the position of an equal text in another column, -1 for none: int64[len(texts)].

    Equal beginnings and ends of both columns are only compared, text by text, and what lies between is looked up: a
    change leaves most of a column as it is.

    >>> positions(TextColumn.of(["a", "b", "c", "d"]), TextColumn.of(["a", "x", "a", "d"])).tolist()
    [0, -1, 0, 3]
    """
    first, last = _equal_ends(known, texts)
    rows = np.arange(len(texts))
    rows[len(texts) - last :] += len(known) - len(texts)
    middle = rows[first : len(texts) - last]
    between = np.arange(first, len(known) - last)
    middle[:] = np.append(between, -1)[known.gather(between).positions(texts.gather(middle))]
    lost = np.flatnonzero(rows < 0)
    if len(lost) and first + last:  # they may equal texts outside the middle
        missing = texts.gather(lost)
        sums = fingerprints(known.data, known.offsets)
        candidates = np.flatnonzero(np.isin(sums, fingerprints(missing.data, missing.offsets)))
        rows[lost] = np.append(candidates, -1)[known.gather(candidates).positions(missing)]
    return rows


def _equal_ends(first: TextColumn, second: TextColumn) -> tuple[int, int]:
    """Return the number of equal strings at the beginning of two columns, and at the end of the remaining strings."""
    begin = _equal_first(np.asarray(first.offsets), np.asarray(second.offsets), first.data, second.data)
    borders = [np.asarray(column.offsets)[begin:] for column in (first, second)]
    # From the end, a column is one of strings that are read backwards.
    backwards = [border[-1] - border[::-1] for border in borders]
    data = [column.data[border[0] : border[-1]][::-1] for column, border in zip((first, second), borders, strict=True)]
    return begin, _equal_first(*backwards, *data)


def _equal_first(first: Ints, second: Ints, data: NDArray[np.uint8], other: NDArray[np.uint8]) -> int:
    """Return how many first strings are equal, given the borders of both columns and their bytes."""
    count = min(len(first), len(second)) - 1
    differ = np.diff(first[: count + 1]) != np.diff(second[: count + 1])
    count = int(differ.argmax()) if differ.any() else count
    unequal = data[first[0] : first[count]] != other[second[0] : second[count]]
    if not unequal.any():
        return count
    return int(np.searchsorted(first, first[0] + unequal.argmax(), side="right")) - 1


def known_vectors(snapshot: Snapshot) -> dict[str, tuple[TextColumn, VectorRows]]:
    """Return the texts of a snapshot and their vectors, by space."""
    columns, passages = snapshot.graph.columns, snapshot.graph.passages
    if passages is not None and "graph passages" in snapshot.about:
        return _known_rows(snapshot, passages)
    known = {}
    if passages is not None and columns.texts is not None:
        p = np.arange(len(passages))
        texts = texts_with_titles(passages.titles, passages.title, columns.texts.gather(p))
        known["passages"] = texts, snapshot.passages.by_text()[0]
        if snapshot.names is not None:
            names = columns.names.gather(np.arange(len(p), len(columns.names)))
            known["names"] = names, snapshot.names.by_text()[0]
    if snapshot.triples is not None and columns.sentences is not None:
        known["triples"] = columns.sentences, snapshot.triples.by_text()[0]
    return known


def _known_rows(snapshot: Snapshot, passages: Passages) -> dict[str, tuple[TextColumn, VectorRows]]:
    """Return the texts that have a vector in a snapshot with an imported graph, and their vectors, by space."""
    columns, p, known = snapshot.graph.columns, len(passages), {}
    if columns.texts is not None:
        read = texts_with_titles(passages.titles, passages.title, columns.texts.gather(np.arange(p)))
        known["passages"] = _with_rows(snapshot.passages, np.arange(p), read, np.arange(p))
    if snapshot.names is not None:
        nodes = np.arange(p, len(columns.names))
        known["names"] = _with_rows(snapshot.names, nodes, columns.names, nodes)
    if snapshot.triples is not None and columns.sentences is not None and columns.edge_text is not None:
        edges = np.flatnonzero(columns.edge_text >= 0)
        known["triples"] = _with_rows(snapshot.triples, edges, columns.sentences, columns.edge_text[edges])
    return known


def _with_rows(
    space: VectorIndex, ids: NDArray[np.int64], texts: TextColumn, number: NDArray[np.integer[Any]]
) -> tuple[TextColumn, VectorRows]:
    """Return the texts of the ids that have a row in a space, and their rows; `number` is each id's among the texts."""
    has = np.flatnonzero(space.has(ids))
    known, rows = texts.gather(number[has].astype(np.int64)), space.rows_of(ids[has])[1]
    return known, VectorRows(space.vectors, np.empty((0, space.dimension), np.float32), rows)


def known_pairs(snapshot: Snapshot, vectors: VectorRows) -> KnownPairs | None:
    """Return the synonyms of a snapshot, and the row of each of its names among `vectors`, which it is the base of."""
    columns, passages = snapshot.graph.columns, snapshot.graph.passages
    nearest = snapshot.nearest
    if snapshot.names is None or passages is None or nearest is None or SYNONYM not in columns.own:
        return None
    edges = columns.edges_of(SYNONYM)
    pairs = np.stack((columns.heads[edges], columns.tails[edges]), axis=1).astype(np.int64) - len(passages)
    known = snapshot.names.by_text()[0]
    return KnownPairs(NearPairs(pairs, nearest), known.fingerprints(), vectors.positions()[known.row])


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
        number, first = fresh.numbered()
        added = self.all(name, fresh.gather(first))
        row = np.empty(len(texts), np.int64)
        row[at < 0] = len(rows.base) + len(rows.new) + number
        row[at >= 0] = rows.row[at[at >= 0]]
        if len(rows.new):
            added = HalfArray.of(np.concatenate([np.asarray(part) for part in (rows.new, added) if len(part)]))
        return VectorRows(rows.base, added, row, rows.sums)
