"""All chunks of an index as columns: what the store holds, put end to end, ready to be merged as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.columns import TextColumn
from graphwright.graph.evidence import Ints
from graphwright.index.entry import Entry
from graphwright.kernels.strings import distinct

__all__ = ["Ledger", "Numbers", "StoredDocument", "Strings", "readings"]


class StoredDocument(NamedTuple):
    """A document without its text; `number` is its own in the store."""

    number: int
    id: str
    title: str


class Strings(NamedTuple):
    """Strings of chunks: those of chunk c are `column[indptr[c]:indptr[c + 1]]`."""

    column: TextColumn
    indptr: Ints

    @property
    def owner(self) -> Ints:
        """The chunk of each string: int64."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))


class Numbers(NamedTuple):
    """Rows of numbers of chunks: `rows: int32[n, width]`, those of chunk c from `indptr[c]` to `indptr[c + 1]`."""

    rows: NDArray[np.int32]
    indptr: Ints

    @property
    def owner(self) -> Ints:
        """The chunk of each row: int64."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))


@dataclass(frozen=True, eq=False)
class Ledger:
    """The chunks of some documents, in order: by document id, then by place in the document.

    `document: int32[p]` numbers into `documents`; `ordinal`, `start`, `end: int64[p]`; `blobs` has for each field of
    Entry one value a chunk. `links`: the ids that documents refer to, each ended by a NUL, by place in `documents`;
    those that refer to none are left out.
    """

    documents: Sequence[StoredDocument]
    document: NDArray[np.int32]
    ordinal: Ints
    start: Ints
    end: Ints
    text: TextColumn
    blobs: dict[str, tuple[bytes, ...]]
    links: Mapping[int, bytes] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.document)

    def strings(self, field: str) -> Strings:
        """Return a field of strings of all chunks."""
        blobs = self.blobs[field]
        column = TextColumn.terminated(b"".join(blobs))
        # The terminator of string j stands where its bytes end, after the j terminators before it.
        ends = column.offsets[1:] + np.arange(len(column))
        return Strings(column, np.searchsorted(ends, _borders(blobs)))

    def numbers(self, field: str, width: int = 1) -> Numbers:
        """Return a field of numbers of all chunks, `width` to a row."""
        blobs = self.blobs[field]
        rows = np.frombuffer(b"".join(blobs), "<i4").reshape(-1, width)
        return Numbers(rows, _borders(blobs) // (4 * width))

    @cached_property
    def about(self) -> NDArray[np.bool_]:
        """Whether the first form of each chunk is its topic: bool[p]."""
        return np.array(self.blobs["about"], bool)

    @cached_property
    def references(self) -> tuple[Ints, Ints]:
        """Pairs of a document and another one here that it refers to, places in `documents`: distinct, ascending."""
        if not self.links:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        ids, named = TextColumn.of(d.id for d in self.documents), TextColumn.terminated(b"".join(self.links.values()))
        counts = [blob.count(b"\0") for blob in self.links.values()]
        source = np.repeat(np.fromiter(self.links, np.int64, len(counts)), counts)
        both = TextColumn.joined((ids, named))
        target = distinct(both.data, both.offsets)[0][len(ids) :]  # ids are distinct, so each has its own place
        known = (target < len(ids)) & (target != source)
        pairs = np.unique(source[known] * len(ids) + target[known])
        return pairs // len(ids), pairs % len(ids)

    @cached_property
    def names(self) -> list[str]:
        """The name of each chunk's node."""
        ids = [document.id for document in self.documents]
        return [f"{ids[row]}#{at}" for row, at in zip(self.document.tolist(), self.ordinal.tolist(), strict=True)]

    @cached_property
    def readings(self) -> TextColumn:
        """Each chunk as `Graph.reading` gives it to models: its document's title before it."""
        return readings([document.title for document in self.documents], self.document, self.text)

    @classmethod
    def of(cls, rows: Sequence[tuple[Any, ...]]) -> Ledger:
        """Take rows in order: number, id, title and links of a document; ordinal, start, end, text, Entry of a chunk.

        Links stand in the first row of a document. One without chunks has one row, with nothing after its links.
        """
        documents = {row[0]: StoredDocument(*row[:3]) for row in rows}
        place = {number: at for at, number in enumerate(documents)}
        held = [row for row in rows if row[4] is not None]
        columns = list(zip(*held, strict=True)) if held else [()] * (8 + len(Entry._fields))
        texts = columns[7]
        ordinal, start, end = (np.array(column, np.int64) for column in columns[4:7])
        return cls(
            list(documents.values()),
            np.array([place[number] for number in columns[0]], np.int32),
            ordinal,
            start,
            end,
            TextColumn(np.frombuffer(b"".join(texts), np.uint8), _borders(texts)),
            dict(zip(Entry._fields, columns[8:], strict=True)),
            {place[row[0]]: row[3] for row in rows if row[3]},
        )


def readings(titles: Iterable[str], document: NDArray[np.int32], texts: TextColumn) -> TextColumn:
    """Return chunks with their titles before them; `document` numbers into `titles`."""
    lines = TextColumn.of(f"{title}\n" if title else "" for title in titles)
    return TextColumn.paired(lines.gather(document.astype(np.int64)), texts)


def _borders(blobs: Sequence[bytes]) -> Ints:
    lengths = np.fromiter(map(len, blobs), np.int64, len(blobs))
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
