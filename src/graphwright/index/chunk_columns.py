"""What the store keeps of a chunk's contribution: columns of strings and numbers that merge without being parsed.

All that one chunk alone can tell is worked out here, once, when the chunk comes in: normal forms, which names are one,
the topic, the words that searches compare. What is left for the merge is to put columns end to end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.columns import TextColumn, terminate
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import ABOUT, ALIAS, MENTIONS, SYNONYM
from graphwright.index.extraction import Extraction, Mention, Relation
from graphwright.kernels.strings import distinct
from graphwright.text.names import aliases_of, name_words, normal_form
from graphwright.text.words import words

__all__ = ["FORM", "ChunkColumns", "ChunkRecord", "Numbers", "StoredDocument", "Strings", "readings", "topic_of"]

FORM = 1  # changes whenever `ChunkRecord.of` would give something else for the same chunk
_LONGEST = 200  # characters; what is longer is no name
_OWN = frozenset({ABOUT, MENTIONS, ALIAS, SYNONYM})


class ChunkRecord(NamedTuple):
    """One chunk as the merge reads it. Strings end in a NUL byte each; numbers are little-endian int32.

    `forms`: the entities here, as normal forms, in the order in which they are named; the topic comes first.
    `surfaces`: how they are written; `surface_form` numbers into `forms`, `sightings` says how often each was seen.
    `mentions`: (surface, start, end) each, `types` and `descriptions` one each, or empty where there are none.
    `relations`: (head form, label, tail form, text) each; `relation_ends`: (head, tail) surfaces; `keywords` one
    each, parted by commas, or empty where there are none; they stand at the end of the text too.
    `about`: whether the first form is the topic; `aliases`: shorter forms of it; `sought`: those of the topic's form
    and its aliases that other chunks are searched for.
    `folded`: the words of the text as names are compared; `tokens`: title, title and text as BM25 reads them.
    """

    forms: bytes
    surfaces: bytes
    surface_form: bytes
    sightings: bytes
    mentions: bytes
    types: bytes
    descriptions: bytes
    relations: bytes
    relation_ends: bytes
    labels: bytes
    texts: bytes
    keywords: bytes
    about: int
    aliases: bytes
    sought: bytes
    folded: bytes
    tokens: bytes

    @classmethod
    def of(cls, title: str, text: str, made: Extraction) -> ChunkRecord:
        """Prepare what a chunk contributes; names of nothing, and relations of a thing with itself, are left out.

        >>> made = Extraction((Mention("Graz"), Mention("?")), (Relation("Graz", "in", "graz", "t"),))
        >>> entry = ChunkRecord.of("", "Graz it is.", made); entry.forms, entry.relations, entry.about
        (b'graz\\x00', b'', 1)
        """
        named = _Names()
        topic = topic_of(title, [m.name for m in made.mentions])
        about = bool(topic) and named.add(topic, topic not in {m.name for m in made.mentions})
        kept = [m for m in made.mentions if named.add(m.name, True)]
        links = [r for r in made.relations if named.link(r.head, r.tail)]
        labels: dict[str, int] = {}
        texts: dict[str, int] = {}
        table = [
            (
                named.form(r.head),
                labels.setdefault(_label(r.relation), len(labels)),
                named.form(r.tail),
                texts.setdefault(_stated(r), len(texts)),
            )
            for r in links
        ]
        forms, aliases = list(named.forms), _aliases(topic) if about else []
        sought = [form for form in (*forms[: int(about)], *aliases) if " " in form and words(form)]
        said = any(m.type or m.description for m in kept)
        return cls(
            terminate(forms),
            terminate(named.surfaces),
            _numbers(named.surfaces.values()),
            _numbers(named.sightings[surface] for surface in named.surfaces),
            _numbers(n for m in kept for n in (named.number[_clean(m.name)], m.start, m.end)),
            terminate(_clean(m.type) for m in kept) if said else b"",
            terminate(_clean(m.description) for m in kept) if said else b"",
            _numbers(n for row in table for n in row),
            _numbers(named.number[_clean(name)] for r in links for name in (r.head, r.tail)),
            terminate(labels),
            terminate(texts),
            terminate(_joined(r.keywords) for r in links) if any(r.keywords for r in links) else b"",
            int(about),
            terminate(aliases),
            terminate(sought),
            terminate([" ".join(name_words(text))]),
            terminate([" ".join(words(f"{title}\n{title}\n{text}" if title else text))]),
        )

    def contribution(self) -> Extraction:
        """Return the contribution that this was made of, without what was left out."""
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
                Relation(surfaces[head], labels[label], surfaces[tail], _unstated(texts[at], some), _keywords(some))
                for (_, label, _, at), (head, tail), some in zip(relations, ends, keywords, strict=True)
            ),
        )


@dataclass
class _Names:
    """The names of one chunk in the making."""

    forms: dict[str, int] = field(default_factory=dict)
    surfaces: dict[str, int] = field(default_factory=dict)  # form by surface
    number: dict[str, int] = field(default_factory=dict)  # position by surface
    sightings: Counter[str] = field(default_factory=Counter)
    _known: dict[str, str] = field(default_factory=dict)  # normal form by surface

    def add(self, surface: str, seen: bool) -> bool:
        """Take a name in, and return whether it is one; `seen`: it counts for the entity's name."""
        surface = _clean(surface)
        form = self._form(surface)
        if not form:
            return False
        if surface not in self.surfaces:
            self.number[surface] = len(self.surfaces)
            self.surfaces[surface] = self.forms.setdefault(form, len(self.forms))
        self.sightings[surface] += seen
        return True

    def link(self, head: str, tail: str) -> bool:
        """Take the ends of a relation in, and return whether they are two entities."""
        forms = self._form(_clean(head)), self._form(_clean(tail))
        return all(forms) and forms[0] != forms[1] and self.add(head, False) and self.add(tail, False)

    def form(self, surface: str) -> int:
        return self.surfaces[_clean(surface)]

    def _form(self, surface: str) -> str:
        form = self._known.get(surface)
        if form is None:
            form = normal_form(surface)
            form = self._known[surface] = form if 2 <= len(form) <= _LONGEST else ""
        return form


def topic_of(title: str, mentions: Sequence[str]) -> str:
    """Return what a chunk is about: its document's title, else the first name in it.

    An encyclopedia's passage, a letter, a minute: most texts name what they are about first.

    >>> topic_of("", ["1974", "Hank Snow"]), topic_of("Hello Love", ["1974"])
    ('Hank Snow', 'Hello Love')
    """
    if normal_form(title):
        return title
    return next((name for name in mentions if len(name) > 2 and not name[0].isdigit()), "")


def _stated(relation: Relation) -> str:
    """Return what an edge says: the relation's text, and its keywords in brackets."""
    text, words = _clean(relation.text), _joined(relation.keywords)
    return f"{text} ({words})" if words else text


def _unstated(text: str, words: str) -> str:
    return text.removesuffix(f" ({words})") if words else text


def _joined(keywords: Iterable[str]) -> str:
    return ", ".join(filter(None, (_clean(word).replace(",", ";") for word in keywords)))


def _keywords(written: str) -> tuple[str, ...]:
    return tuple(written.split(", ")) if written else ()


def _label(relation: str) -> str:
    """Return a relation so that what a text states does not pass for one of the index's own."""
    relation = _clean(relation)
    return f"{relation} (stated)" if relation in _OWN else relation


def _aliases(topic: str) -> list[str]:
    return [form for form in aliases_of(_clean(topic)) if 2 <= len(form) <= _LONGEST]


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
class ChunkColumns:
    """The chunks of some documents, in order: by document id, then by place in the document.

    `document: int32[p]` numbers into `documents`; `ordinal`, `start`, `end: int64[p]`; `blobs` has for each field of
    ChunkRecord one value a chunk. `links`: the ids that documents refer to, each ended by a NUL, by place in `documents`;
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
    def of(cls, rows: Sequence[tuple[Any, ...]]) -> ChunkColumns:
        """Take rows in order: number, id, title and links of a document; ordinal, start, end, text, ChunkRecord of a chunk.

        Links stand in the first row of a document. One without chunks has one row, with nothing after its links.
        """
        documents = {row[0]: StoredDocument(*row[:3]) for row in rows}
        place = {number: at for at, number in enumerate(documents)}
        held = [row for row in rows if row[4] is not None]
        columns = list(zip(*held, strict=True)) if held else [()] * (8 + len(ChunkRecord._fields))
        texts = columns[7]
        ordinal, start, end = (np.array(column, np.int64) for column in columns[4:7])
        return cls(
            list(documents.values()),
            np.array([place[number] for number in columns[0]], np.int32),
            ordinal,
            start,
            end,
            TextColumn(np.frombuffer(b"".join(texts), np.uint8), _borders(texts)),
            dict(zip(ChunkRecord._fields, columns[8:], strict=True)),
            {place[row[0]]: row[3] for row in rows if row[3]},
        )


def readings(titles: Iterable[str], document: NDArray[np.int32], texts: TextColumn) -> TextColumn:
    """Return chunks with their titles before them; `document` numbers into `titles`."""
    lines = TextColumn.of(f"{title}\n" if title else "" for title in titles)
    return TextColumn.paired(lines.gather(document.astype(np.int64)), texts)


def _borders(blobs: Sequence[bytes]) -> Ints:
    lengths = np.fromiter(map(len, blobs), np.int64, len(blobs))
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
