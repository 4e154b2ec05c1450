"""Stored form of chunks: columns of strings and numbers that are merged without parsing.

`ChunkRecord` holds everything that depends on one chunk alone, computed once when the chunk is added: normal forms,
equal names, the topic, the words that searches compare. `ChunkColumns` holds the records of many chunks end to end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphwright.data.document import passage_title
from graphwright.graph.columns import TextColumn, terminate
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import ABOUT, ALIAS, MENTIONS, SYNONYM
from graphwright.index.extraction import Extraction, Mention, Relation
from graphwright.kernels.strings import distinct
from graphwright.text.names import aliases_of, name_words, normal_form
from graphwright.text.words import words

__all__ = [
    "RECORD_VERSION",
    "ChunkColumns",
    "ChunkRecord",
    "PerChunk",
    "StoredDocument",
    "texts_with_titles",
    "topic_of",
]

RECORD_VERSION = 2  # changes whenever `ChunkRecord.of` would return something else for the same chunk
_MAX_NAME = 200  # characters; a longer string is not a name
Values = TypeVar("Values")
_OWN_RELATIONS = frozenset({ABOUT, MENTIONS, ALIAS, SYNONYM})


class ChunkRecord(NamedTuple):
    """One chunk in the form that is stored and merged. Strings end in a NUL byte each; numbers are little-endian int32.

    `forms`: the normal forms of the chunk's entities, in the order of mention; the topic comes first.
    `surfaces`: how they are written; `surface_form` numbers into `forms`, `counts` is how often each occurs.
    `mentions`: (surface, start, end) each; `types` and `descriptions` one each, or empty if no mention has any.
    `relations`: (head form, label, tail form, text) each; `relation_ends`: (head, tail) surfaces; `keywords` one
    each, separated by commas, or empty if no relation has any; they are appended to the text too.
    `has_topic`: whether the first form is the topic; `aliases`: its shorter forms; `topic_phrases`: those of the
    topic's form and its aliases that other chunks are searched for.
    `name_words`: the words of the text as names are compared; `tokens`: title, title and text as BM25 reads them, the
    title with the headings above the chunk.
    """

    forms: bytes
    surfaces: bytes
    surface_form: bytes
    counts: bytes
    mentions: bytes
    types: bytes
    descriptions: bytes
    relations: bytes
    relation_ends: bytes
    labels: bytes
    texts: bytes
    keywords: bytes
    has_topic: int
    aliases: bytes
    topic_phrases: bytes
    name_words: bytes
    tokens: bytes

    @classmethod
    def of(cls, title: str, text: str, extraction: Extraction, heading: str = "") -> ChunkRecord:
        """Make the record of a chunk; mentions without a name and relations of an entity with itself are dropped.

        >>> extraction = Extraction((Mention("Graz"), Mention("?")), (Relation("Graz", "in", "graz", "t"),))
        >>> record = ChunkRecord.of("", "Graz it is.", extraction); record.forms, record.relations, record.has_topic
        (b'graz\\x00', b'', 1)
        """
        names = _ChunkNames()
        topic = topic_of(title, [m.name for m in extraction.mentions])
        has_topic = bool(topic) and names.add(topic, topic not in {m.name for m in extraction.mentions})
        mentions = [m for m in extraction.mentions if names.add(m.name, True)]
        relations = [r for r in extraction.relations if names.add_ends(r.head, r.tail)]
        labels: dict[str, int] = {}
        texts: dict[str, int] = {}
        table = [
            (
                names.surfaces[_clean(r.head)],
                labels.setdefault(_label(r.relation), len(labels)),
                names.surfaces[_clean(r.tail)],
                texts.setdefault(_relation_text(r), len(texts)),
            )
            for r in relations
        ]
        position = {surface: at for at, surface in enumerate(names.surfaces)}
        forms, shorter = list(names.forms), aliases_of(_clean(topic)) if has_topic else []
        aliases = [form for form in shorter if _is_name(form)]
        phrases = [form for form in (*forms[: int(has_topic)], *aliases) if " " in form and words(form)]
        described = any(m.type or m.description for m in mentions)
        full = passage_title(title, heading)
        return cls(
            terminate(forms),
            terminate(names.surfaces),
            _numbers(names.surfaces.values()),
            _numbers(names.counts[surface] for surface in names.surfaces),
            _numbers(n for m in mentions for n in (position[_clean(m.name)], m.start, m.end)),
            terminate(_clean(m.type) for m in mentions) if described else b"",
            terminate(_clean(m.description) for m in mentions) if described else b"",
            _numbers(n for row in table for n in row),
            _numbers(position[_clean(name)] for r in relations for name in (r.head, r.tail)),
            terminate(labels),
            terminate(texts),
            terminate(_joined(r.keywords) for r in relations) if any(r.keywords for r in relations) else b"",
            int(has_topic),
            terminate(aliases),
            terminate(phrases),
            terminate([" ".join(name_words(text))]),
            terminate([" ".join(words(f"{full}\n{full}\n{text}" if full else text))]),
        )

    def extraction(self) -> Extraction:
        """Return the extraction that this record was made of, without the parts that were dropped."""
        surfaces, labels, texts = map(_strings, (self.surfaces, self.labels, self.texts))
        mentions, relations = _table(self.mentions, 3), _table(self.relations, 4)
        ends = _table(self.relation_ends, 2)
        types = _strings(self.types) or [""] * len(mentions)
        descriptions = _strings(self.descriptions) or [""] * len(mentions)
        keywords = _strings(self.keywords) or [""] * len(relations)
        return Extraction(
            tuple(
                Mention(surfaces[at], start, end, kind, description)
                for (at, start, end), kind, description in zip(mentions, types, descriptions, strict=True)
            ),
            tuple(
                Relation(
                    surfaces[head],
                    labels[label],
                    surfaces[tail],
                    texts[at].removesuffix(f" ({joined})") if joined else texts[at],
                    tuple(joined.split(", ")) if joined else (),
                )
                for (_, label, _, at), (head, tail), joined in zip(relations, ends, keywords, strict=True)
            ),
        )


@dataclass
class _ChunkNames:
    """The names of one chunk, collected for its record."""

    forms: dict[str, int] = field(default_factory=dict)
    surfaces: dict[str, int] = field(default_factory=dict)  # form by surface
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, surface: str, counts: bool) -> bool:
        """Add a surface form and return whether it is a name; `counts`: this mention counts for the entity's name."""
        surface = _clean(surface)
        form = _name_form(surface)
        if form and surface not in self.surfaces:
            self.surfaces[surface] = self.forms.setdefault(form, len(self.forms))
        self.counts[surface] += counts
        return bool(form)

    def add_ends(self, head: str, tail: str) -> bool:
        """Add the ends of a relation and return whether they are two entities."""
        forms = _name_form(_clean(head)), _name_form(_clean(tail))
        return all(forms) and forms[0] != forms[1] and self.add(head, False) and self.add(tail, False)


@lru_cache(maxsize=10_000)
def _name_form(surface: str) -> str:
    """Return the normal form of a name, "" for a string that is none."""
    form = normal_form(surface)
    return form if _is_name(form) else ""


def topic_of(title: str, mentions: Sequence[str]) -> str:
    """Return the topic of a chunk: its document's title, else the first name in it.

    Most texts name their topic first: an encyclopedia's passage, a letter, the minutes of a meeting.

    >>> topic_of("", ["1974", "Hank Snow"]), topic_of("Hello Love", ["1974"])
    ('Hank Snow', 'Hello Love')
    """
    if normal_form(title):
        return title
    return next((name for name in mentions if len(name) > 2 and not name[0].isdigit()), "")


def _is_name(form: str) -> bool:
    return 2 <= len(form) <= _MAX_NAME


def _relation_text(relation: Relation) -> str:
    """Return the text of a relation with its keywords in brackets."""
    text, keywords = _clean(relation.text), _joined(relation.keywords)
    return f"{text} ({keywords})" if keywords else text


def _joined(keywords: Iterable[str]) -> str:
    return ", ".join(filter(None, (_clean(keyword).replace(",", ";") for keyword in keywords)))


def _label(relation: str) -> str:
    """Return a relation's label; one that equals a relation of the index itself is marked as stated by the text."""
    relation = _clean(relation)
    return f"{relation} (stated)" if relation in _OWN_RELATIONS else relation


def _clean(text: str) -> str:
    """Return the text without NUL, which ends a string in the store."""
    return text.replace("\0", "\ufffd") if "\0" in text else text


def _numbers(values: Iterable[int]) -> bytes:
    return np.fromiter(values, "<i4").tobytes()


def _strings(column: bytes) -> list[str]:
    return [part.decode("utf-8", "surrogatepass") for part in column.split(b"\0")[:-1]]


def _table(column: bytes, width: int) -> list[list[int]]:
    rows: NDArray[np.int32] = np.frombuffer(column, "<i4").reshape(-1, width)
    return rows.tolist()  # type: ignore[no-any-return]


class StoredDocument(NamedTuple):
    """A document without its text; `number` is its row in the store."""

    number: int
    id: str
    title: str


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
    """The chunks of some documents, ordered by document id, then by position in the document.

    `document: int32[p]` numbers into `documents`; `ordinal`, `start`, `end: int64[p]`; `headings`: those above each
    chunk; `blobs` has for each field of ChunkRecord one value per chunk. `links`: the ids that documents refer to, each
    ended by a NUL, by position in `documents`; `places`: those of their files (see Places), alike; documents that have
    none are left out.
    """

    documents: Sequence[StoredDocument]
    document: NDArray[np.int32]
    ordinal: Ints
    start: Ints
    end: Ints
    text: TextColumn
    headings: Sequence[str]
    blobs: dict[str, tuple[bytes, ...]]
    links: Mapping[int, bytes] = field(default_factory=dict)
    places: Mapping[int, bytes] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.document)

    def strings(self, field: str) -> PerChunk[TextColumn]:
        """Return a field of strings of all chunks."""
        blobs = self.blobs[field]
        column = TextColumn.terminated(b"".join(blobs))
        # The terminator of string j is at the end of its bytes, after the j terminators before it.
        ends = column.offsets[1:] + np.arange(len(column))
        return PerChunk(column, np.searchsorted(ends, _offsets(blobs)))

    def numbers(self, field: str, width: int = 1) -> PerChunk[NDArray[np.int32]]:
        """Return a field of numbers of all chunks, `width` per row."""
        blobs = self.blobs[field]
        rows = np.frombuffer(b"".join(blobs), "<i4").reshape(-1, width)
        return PerChunk(rows, _offsets(blobs) // (4 * width))

    @cached_property
    def has_topic(self) -> NDArray[np.bool_]:
        """Whether the first form of each chunk is its topic: bool[p]."""
        return np.array(self.blobs["has_topic"], bool)

    @cached_property
    def references(self) -> tuple[Ints, Ints]:
        """Pairs of documents by position, the first referring to the second: distinct, ascending."""
        if not self.links:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        ids, targets = TextColumn.of(d.id for d in self.documents), TextColumn.terminated(b"".join(self.links.values()))
        counts = [blob.count(b"\0") for blob in self.links.values()]
        source = np.repeat(np.fromiter(self.links, np.int64, len(counts)), counts)
        both = TextColumn.joined((ids, targets))
        target = distinct(both.data, both.offsets)[0][len(ids) :]  # ids are distinct, so each has a number of its own
        valid = (target < len(ids)) & (target != source)
        pairs = np.unique(source[valid] * len(ids) + target[valid])
        return pairs // len(ids), pairs % len(ids)

    @cached_property
    def names(self) -> list[str]:
        """The name of each chunk's node."""
        ids = [document.id for document in self.documents]
        return [f"{ids[row]}#{at}" for row, at in zip(self.document.tolist(), self.ordinal.tolist(), strict=True)]

    @cached_property
    def texts_with_titles(self) -> TextColumn:
        """Each chunk as models read it (`Graph.reading`): after its title."""
        titles, number = self.titles
        return texts_with_titles(titles, number, self.text)

    @cached_property
    def titles(self) -> tuple[TextColumn, NDArray[np.int32]]:
        """Titles, those of the documents first, then those with headings; and int32[p], the title of each chunk."""
        own, number = [document.title for document in self.documents], self.document.copy()
        below: dict[str, int] = {}
        for chunk, heading in enumerate(self.headings):
            if heading:
                title = passage_title(own[self.document[chunk]], heading)
                number[chunk] = below.setdefault(title, len(own) + len(below))
        return TextColumn.of([*own, *below]), number

    @classmethod
    def of(cls, rows: Sequence[tuple[Any, ...]]) -> ChunkColumns:
        """Read rows: a document (number, id, title, links, places) and a chunk (ordinal, span, text, heading, record).

        Only the first row of a document has its links and places. A document without chunks has one row, with None for
        a chunk.
        """
        documents = {row[0]: StoredDocument(*row[:3]) for row in rows}
        position = {number: at for at, number in enumerate(documents)}
        chunks = [row for row in rows if row[5] is not None]
        columns = list(zip(*chunks, strict=True)) if chunks else [()] * (10 + len(ChunkRecord._fields))
        texts = columns[8]
        ordinal, start, end = (np.array(column, np.int64) for column in columns[5:8])
        return cls(
            list(documents.values()),
            np.array([position[number] for number in columns[0]], np.int32),
            ordinal,
            start,
            end,
            TextColumn(np.frombuffer(b"".join(texts), np.uint8), _offsets(texts)),
            columns[9],
            dict(zip(ChunkRecord._fields, columns[10:], strict=True)),
            {position[row[0]]: row[3] for row in rows if row[3]},
            {position[row[0]]: row[4] for row in rows if row[4]},
        )


def texts_with_titles(titles: TextColumn, number: NDArray[np.int32], texts: TextColumn) -> TextColumn:
    """Return chunks after their titles; `number` is the position of each one's in `titles`."""
    lines = TextColumn.paired(titles, TextColumn.of(("", "\n")).gather(np.diff(titles.offsets) > 0))
    return TextColumn.paired(lines.gather(number.astype(np.int64)), texts)


def _offsets(blobs: Sequence[bytes]) -> Ints:
    lengths = np.fromiter(map(len, blobs), np.int64, len(blobs))
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
