"""Columns of chunks: the records of many chunks end to end, which are merged without an object for each chunk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphwright.data.document import passage_title
from graphwright.graph.columns import TextColumn
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Ids32
from graphwright.kernels.csr import row_entries, row_pointers
from graphwright.kernels.ranking import sorted_distinct
from graphwright.store.chunk_record import NUMBERS, PARTS
from graphwright.store.packing import unpacked
from graphwright.text.words import terms

_STRINGS = ("forms", "surfaces", "types", "descriptions", "labels", "texts", "aliases", "topic_phrases")
_READ = ("text", *_STRINGS, *NUMBERS, "has_topic", "name_words", "copy_keys", "wide")  # parts of chunks
_ROWS = 4000  # read at once
Values = TypeVar("Values")


class PerChunk(NamedTuple, Generic[Values]):
    """Strings or rows of numbers of chunks: those of chunk c are `values[indptr[c]:indptr[c + 1]]`."""

    values: Values
    indptr: Ints

    @property
    def owner(self) -> Ints:
        """The chunk of each value: int64."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))


@dataclass(frozen=True, eq=False)
class ChunkColumns:
    """The chunks of some documents, by document id, then by position in the document.

    By document: `ids`, `document_titles`, `chunk_counts: int64[d]`, `links` (the ids that it refers to, each ended by a
    NUL), `places` (those of its file, see Places) and `records` (see `read_records`). By chunk: `ordinal`, `start`,
    `end: int64[p]`, `has_topic: bool[p]` (whether its first form is its topic), `text`, `headings` (those above it).
    `fields`: those of their chunk records, but that relations have forms, not surfaces, as head and tail; and `counts`,
    how often each surface is mentioned, the topic once at least.
    """

    ids: TextColumn
    document_titles: TextColumn
    chunk_counts: Ints
    links: TextColumn
    places: TextColumn
    records: TextColumn
    ordinal: Ints
    start: Ints
    end: Ints
    has_topic: NDArray[np.bool_]
    text: TextColumn
    headings: TextColumn
    fields: dict[str, PerChunk[Any]]

    def __len__(self) -> int:
        return len(self.ordinal)

    def strings(self, field: str) -> PerChunk[TextColumn]:
        """Return a field of strings of all chunks."""
        return self.fields[field]

    def numbers(self, field: str, width: int = 1) -> PerChunk[NDArray[np.int32]]:
        """Return a field of numbers of all chunks, `width` per row."""
        values, indptr = self.fields[field]
        return PerChunk(values.reshape(-1, width), indptr // width)

    def release(self, *fields: str) -> None:
        """Release the values of fields that are no longer needed: gigabytes of a large index."""
        for name in fields:
            values, indptr = self.fields[name]
            empty = TextColumn.of(()) if isinstance(values, TextColumn) else values[:0].copy()
            self.fields[name] = PerChunk(empty, indptr)

    @cached_property
    def document(self) -> NDArray[np.int32]:
        """The document of each chunk, by position: int32[p]."""
        return np.repeat(np.arange(len(self.ids), dtype=np.int32), self.chunk_counts)

    @cached_property
    def references(self) -> tuple[Ints, Ints]:
        """Pairs of documents by position, the first referring to the second: distinct, ascending."""
        links = parted(self.links)
        source, target = links.owner, self.ids.positions(links.values)
        valid = (target >= 0) & (target != source)
        pairs = sorted_distinct(source[valid] * len(self.ids) + target[valid])
        return pairs // max(len(self.ids), 1), pairs % max(len(self.ids), 1)

    @cached_property
    def names(self) -> TextColumn:
        """The name of each chunk's node."""
        suffixes = TextColumn.of(f"#{at}" for at in range(int(self.ordinal.max(initial=-1)) + 1))
        return TextColumn.paired(self.ids.gather(self.document.astype(np.int64)), suffixes.gather(self.ordinal))

    @cached_property
    def texts_with_titles(self) -> TextColumn:
        """Each chunk as models read it (`Graph.reading`): after its title."""
        titles, number = self.titles
        return texts_with_titles(titles, number, self.text)

    @cached_property
    def titles(self) -> tuple[TextColumn, NDArray[np.int32]]:
        """Titles, those of the documents first, then those with headings; and int32[p], the title of each chunk."""
        number, below, d = self.document.copy(), dict[str, int](), len(self.ids)
        for chunk in np.flatnonzero(np.diff(self.headings.offsets)).tolist():
            title = passage_title(self.document_titles[int(self.document[chunk])], self.headings[chunk])
            number[chunk] = below.setdefault(title, d + len(below))
        return TextColumn.joined((self.document_titles, TextColumn.of(below))), number

    def words(self, chunks: Ints) -> TextColumn:
        """Return the words of some chunks as BM25 reads them: of title, title and text (see `terms`)."""
        titles, number = self.titles
        parts = list[TextColumn]()
        for first in range(0, len(chunks), _ROWS):
            some = chunks[first : first + _ROWS]
            pairs = zip(titles.gather(number[some].astype(np.int64)), self.text.gather(some), strict=True)
            read = (f"{title}\n{title}\n{text}" if title else text for title, text in pairs)
            parts.append(TextColumn.of(" ".join(terms(text)) for text in read))
        return TextColumn.joined(parts)

    @classmethod
    def of(cls, rows: Iterable[tuple[Any, ...]]) -> ChunkColumns:
        """Read rows: a document (id, title, links, places, records) and a chunk (ordinal, span, heading, content).

        Only the first row of a document has its links, places and records. A document without chunks has one row, with
        None for a chunk. Few rows are held as objects at a time.
        """
        rest, parts = iter(rows), list[ChunkColumns]()
        while some := list(islice(rest, _ROWS)):
            last = some[-1][0]
            for row in rest:
                if row[0] != last:
                    rest = chain((row,), rest)
                    break
                some.append(row)
            parts.append(_of_rows(some))
        return cls.joined(parts or [_of_rows([])])

    @classmethod
    def joined(cls, parts: Sequence[ChunkColumns]) -> ChunkColumns:
        """Put columns end to end; there must be one at least, and no document in two of them."""
        plain = {
            name: _joined([getattr(part, name) for part in parts])
            for name in cls.__dataclass_fields__
            if name != "fields"
        }
        fields = {
            name: PerChunk(
                _joined([part.fields[name].values for part in parts]),
                row_pointers(np.concatenate([np.diff(part.fields[name].indptr) for part in parts])),
            )
            for name in parts[0].fields
        }
        return cls(**plain, fields=fields)

    def ordered(self) -> tuple[ChunkColumns, Ints]:
        """Return the columns by document id, as the store gives them, and the chunk here that each chunk is."""
        order = self.ids.order()
        chunk = row_entries(row_pointers(self.chunk_counts), order)
        of_documents = ("ids", "document_titles", "chunk_counts", "links", "places", "records")
        plain = {
            name: _at(getattr(self, name), order if name in of_documents else chunk)
            for name in self.__dataclass_fields__
            if name != "fields"
        }
        fields = {
            name: PerChunk(_at(values, row_entries(indptr, chunk)), row_pointers(np.diff(indptr)[chunk]))
            for name, (values, indptr) in self.fields.items()
        }
        return ChunkColumns(**plain, fields=fields), chunk


def _at(values: Any, positions: Ints) -> Any:
    return values.gather(positions) if isinstance(values, TextColumn) else values[positions]


def _joined(parts: list[Any]) -> Any:
    return np.concatenate(parts) if isinstance(parts[0], np.ndarray) else TextColumn.joined(parts)


def _of_rows(rows: Sequence[tuple[Any, ...]]) -> ChunkColumns:
    firsts = [at for at, row in enumerate(rows) if not at or row[0] != rows[at - 1][0]]
    documents, chunks = [rows[at] for at in firsts], [row for row in rows if row[5] is not None]
    columns = list(zip(*chunks, strict=True)) if chunks else [()] * 10
    chosen = [PARTS.index(name) for name in _READ]
    parts = divided(TextColumn.of_bytes(unpacked(columns[9])), len(PARTS), chosen)
    record = dict(zip(_READ, parts, strict=True))
    ordinal, start, end = (np.array(column, np.int64) for column in columns[5:8])
    counts = np.diff([*firsts, len(rows)]) - [row[5] is None for row in documents]
    has_topic, wide = (np.diff(record[name].offsets) > 0 for name in ("has_topic", "wide"))
    fields: dict[str, PerChunk[Any]] = {name: parted(record[name]) for name in _STRINGS}
    fields |= {name: _numbers(record[name], wide) for name in NUMBERS}
    fields["copy_keys"] = _numbers(record["copy_keys"], np.ones(len(wide), bool))
    fields["name_words"] = PerChunk(record["name_words"], np.arange(len(wide) + 1))
    fields["counts"], fields["relations"] = _counts(fields, has_topic), _between_forms(fields)
    ids, titles = (TextColumn.of(row[at] for row in documents) for at in (0, 1))
    links, places, records = (TextColumn.of_bytes([row[at] for row in documents]) for at in (2, 3, 4))
    headings = TextColumn.of(columns[8])
    return ChunkColumns(
        ids, titles, counts.astype(np.int64), links, places, records, ordinal, start, end, has_topic, record["text"],
        headings, fields,
    )  # fmt: skip


def _numbers(blobs: TextColumn, wide: NDArray[np.bool_]) -> PerChunk[Ids32]:
    """Return the numbers of chunks, of 32 bits where they are wide and of 16 elsewhere (see `ChunkRecord.content`)."""
    if not wide.any():
        return PerChunk(blobs.data.view("<u2").astype(np.int32), blobs.offsets // 2)
    sizes = np.diff(blobs.offsets) // np.where(wide, 4, 2)
    values, is_wide = np.empty(sizes.sum(), np.int32), np.repeat(wide, sizes)
    for chosen, of_chunk, width in ((is_wide, wide, "<i4"), (~is_wide, ~wide, "<u2")):
        values[chosen] = blobs.gather(np.flatnonzero(of_chunk)).data.view(width)
    return PerChunk(values, row_pointers(sizes))


def _counts(fields: dict[str, PerChunk[Any]], has_topic: NDArray[np.bool_]) -> PerChunk[Ids32]:
    """Return how often each surface is mentioned; a topic, the first one, once at least."""
    surfaces, mentions = fields["surfaces"].indptr, fields["mentions"]
    at = np.repeat(surfaces[:-1], np.diff(mentions.indptr) // 3) + mentions.values[::3]
    counts = np.bincount(at, minlength=int(surfaces[-1])).astype(np.int32)
    topics = surfaces[:-1][has_topic]
    counts[topics] = np.maximum(counts[topics], 1)
    return PerChunk(counts, surfaces)


def _between_forms(fields: dict[str, PerChunk[Any]]) -> PerChunk[Ids32]:
    """Return relations with the forms of the surfaces that are their ends."""
    relations, form = fields["relations"], fields["surface_form"]
    table = relations.values.reshape(-1, 4)
    first = np.repeat(form.indptr[:-1], np.diff(relations.indptr) // 4)
    for side in (0, 2):
        table[:, side] = form.values[first + table[:, side]]
    return relations


def divided(blobs: TextColumn, count: int, chosen: Sequence[int], before: int = 0) -> list[TextColumn]:
    """Return some of the `count` parts of blobs: each has their sizes as int32 after `before` bytes, then the parts.

    Raises ValueError for sizes that do not fit.
    """
    width = before + 4 * count
    head = blobs.data[blobs.offsets[:-1, None] + np.arange(before, width)].view("<i4")
    sizes = np.concatenate((np.full((len(head), 1), width), head), axis=1)
    if (head < 0).any() or (sizes.sum(axis=1) != np.diff(blobs.offsets)).any():
        raise ValueError("their sizes do not fit")
    parts = TextColumn(blobs.data, row_pointers(sizes.ravel()))
    return [parts.gather(np.arange(1 + at, len(parts), count + 1)) for at in chosen]


def parted(blobs: TextColumn) -> PerChunk[TextColumn]:
    """Return the strings of which each blob consists, each ended by a NUL."""
    column = TextColumn.terminated(blobs.data.tobytes())
    # The NUL of string j is at the end of its bytes, after the j NULs before it.
    ends = column.offsets[1:] + np.arange(len(column))
    return PerChunk(column, np.searchsorted(ends, blobs.offsets))


def texts_with_titles(titles: TextColumn, number: NDArray[np.int32], texts: TextColumn) -> TextColumn:
    """Return chunks after their titles; `number` is the position of each chunk's title in `titles`."""
    lines = TextColumn.paired(titles, TextColumn.of(("", "\n")).gather(np.diff(titles.offsets) > 0))
    return TextColumn.paired(lines.gather(number.astype(np.int64)), texts)
