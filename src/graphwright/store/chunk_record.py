"""Stored form of a chunk: everything that depends on it alone, computed once; and digests of documents and chunks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.data.document import Document
from graphwright.extract.extraction import Extraction, Mention, Relation
from graphwright.graph.columns import terminate
from graphwright.graph.graph import ABOUT, ALIAS, MENTIONS, SYNONYM
from graphwright.store.packing import packed, unpacked
from graphwright.text.copies import copy_keys
from graphwright.text.names import aliases_of, name_words, normal_form
from graphwright.text.words import words


def content_hash(document: Document) -> bytes:
    """Return sixteen bytes that change with any content of the document."""
    digest = hashlib.blake2b(digest_size=16)
    metadata, links = json.dumps(dict(document.metadata), sort_keys=True), json.dumps(sorted(set(document.links)))
    parts = [document.title, document.text, metadata, str(document.whole), links]
    parts += [json.dumps(part) for part in (document.headings, document.records) if part]
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    for data in encoded if document.places is None else (*encoded, document.places.encoded()):
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.digest()


def id_digest(document: str) -> str:
    """Return a digest of the id of a document, from which the id cannot be read."""
    return hashlib.blake2b(document.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def text_digest(chunks: Iterable[str]) -> bytes:
    """Return sixteen bytes that change with the texts of a document's chunks."""
    digest = hashlib.blake2b(digest_size=16)
    for chunk in chunks:
        text = chunk.encode("utf-8", "surrogatepass")
        digest.update(len(text).to_bytes(8, "little") + text)
    return digest.digest()


RECORD_VERSION = 4  # changes whenever `ChunkRecord.of` would return something else for the same chunk
NUMBERS = ("surface_form", "mentions", "relations")  # fields of numbers; mostly small ones, which are stored in 16 bits
_MAX_NAME = 200  # characters; a longer string is not a name
_MAX_NARROW = 2**16 - 1
_OWN_RELATIONS = frozenset({ABOUT, MENTIONS, ALIAS, SYNONYM})


class ChunkRecord(NamedTuple):
    """One chunk in the form that is stored and merged. Strings end in a NUL byte each; numbers are little-endian int32.

    `forms`: the normal forms of the chunk's entities, in the order of mention; the topic comes first.
    `surfaces`: how they are written; `surface_form` numbers into `forms`.
    `mentions`: (surface, start, end) each; `types` and `descriptions` one each, or empty if no mention has any.
    `relations`: (head surface, label, tail surface, text) each; `keywords` one each, separated by commas, or empty if
    no relation has any; they are appended to the text too.
    `has_topic`: whether the first surface is the topic; `aliases`: shorter forms of it; `topic_phrases`: those of the
    topic's form and its aliases that other chunks are searched for.
    `name_words`: the words of the text as names are compared, with spaces between them and without a NUL.
    `copy_keys`: see `graphwright.text.copies`.
    """

    forms: bytes
    surfaces: bytes
    surface_form: bytes
    mentions: bytes
    types: bytes
    descriptions: bytes
    relations: bytes
    labels: bytes
    texts: bytes
    keywords: bytes
    has_topic: int
    aliases: bytes
    topic_phrases: bytes
    name_words: bytes
    copy_keys: bytes

    @classmethod
    def of(cls, title: str, text: str, extraction: Extraction) -> ChunkRecord:
        """Make the record of a chunk; mentions without a name and relations of an entity with itself are dropped.

        >>> extraction = Extraction((Mention("Graz"), Mention("?")), (Relation("Graz", "in", "graz", "t"),))
        >>> record = ChunkRecord.of("", "Graz it is.", extraction); record.forms, record.relations, record.has_topic
        (b'graz\\x00', b'', 1)
        """
        names = _ChunkNames()
        topic = topic_of(title, [m.name for m in extraction.mentions])
        has_topic = bool(topic) and names.add(topic)
        mentions = [m for m in extraction.mentions if names.add(m.name)]
        relations = [r for r in extraction.relations if names.add_ends(r.head, r.tail)]
        labels: dict[str, int] = {}
        texts: dict[str, int] = {}
        position = {surface: at for at, surface in enumerate(names.surfaces)}
        table = [
            (
                position[_clean(r.head)],
                labels.setdefault(_label(r.relation), len(labels)),
                position[_clean(r.tail)],
                texts.setdefault(_relation_text(r), len(texts)),
            )
            for r in relations
        ]
        forms, shorter = list(names.forms), aliases_of(_clean(topic)) if has_topic else []
        aliases = [form for form in shorter if _is_name(form)]
        phrases = [form for form in (*forms[: int(has_topic)], *aliases) if " " in form and words(form)]
        described = any(m.type or m.description for m in mentions)
        return cls(
            terminate(forms),
            terminate(names.surfaces),
            _numbers(names.surfaces.values()),
            _numbers(n for m in mentions for n in (position[_clean(m.name)], m.start, m.end)),
            terminate(_clean(m.type) for m in mentions) if described else b"",
            terminate(_clean(m.description) for m in mentions) if described else b"",
            _numbers(n for row in table for n in row),
            terminate(labels),
            terminate(texts),
            terminate(_joined(r.keywords) for r in relations) if any(r.keywords for r in relations) else b"",
            int(has_topic),
            terminate(aliases),
            terminate(phrases),
            " ".join(name_words(text)).encode("utf-8", "surrogatepass"),
            _numbers(copy_keys(text)),
        )

    def content(self, text: str) -> bytes:
        """Return a chunk as it is stored, packed: the sizes of its parts as int32, then these: text, fields and `wide`.

        If no number of `NUMBERS` needs more than 16 bits, they have 16 bits each, and `wide` is empty; else a byte.
        """
        fields, numbers = self._asdict(), {name: np.frombuffer(getattr(self, name), "<i4") for name in NUMBERS}
        wide = any(((values < 0) | (values > _MAX_NARROW)).any() for values in numbers.values())
        fields |= {} if wide else {name: values.astype("<u2").tobytes() for name, values in numbers.items()}
        fields["has_topic"] = b"\1" * self.has_topic
        parts = [text.encode("utf-8", "surrogatepass"), *fields.values(), b"\1" * wide]
        return packed(b"".join((_numbers(map(len, parts)), *parts)))

    @classmethod
    def of_content(cls, content: bytes) -> tuple[str, ChunkRecord]:
        """Return the text and the record of a stored chunk."""
        (data,), width = unpacked([content]), len(PARTS)
        ends = np.cumsum([4 * width, *np.frombuffer(data, "<i4", width)]).tolist()
        text, *parts, wide = (data[start:end] for start, end in pairwise(ends))
        record = cls(*parts)  # type: ignore[arg-type]
        if not wide:
            numbers = {name: np.frombuffer(getattr(record, name), "<u2").astype("<i4") for name in NUMBERS}
            record = record._replace(**{name: values.tobytes() for name, values in numbers.items()})  # type: ignore[arg-type]
        return text.decode("utf-8", "surrogatepass"), record._replace(has_topic=len(record.has_topic))  # type: ignore[arg-type]

    def extraction(self) -> Extraction:
        """Return the extraction that this record was made of, without the parts that were dropped."""
        surfaces, labels, texts = map(_strings, (self.surfaces, self.labels, self.texts))
        mentions, relations = _table(self.mentions, 3), _table(self.relations, 4)
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
                for (head, label, tail, at), joined in zip(relations, keywords, strict=True)
            ),
        )


PARTS = ("text", *ChunkRecord._fields, "wide")  # of a stored chunk


@dataclass
class _ChunkNames:
    forms: dict[str, int] = field(default_factory=dict)
    surfaces: dict[str, int] = field(default_factory=dict)  # form by surface

    def add(self, surface: str) -> bool:
        """Add a surface form and return whether it is a name."""
        surface = _clean(surface)
        form = _name_form(surface)
        if form and surface not in self.surfaces:
            self.surfaces[surface] = self.forms.setdefault(form, len(self.forms))
        return bool(form)

    def add_ends(self, head: str, tail: str) -> bool:
        """Add the ends of a relation and return whether they are two entities."""
        forms = _name_form(_clean(head)), _name_form(_clean(tail))
        return all(forms) and forms[0] != forms[1] and self.add(head) and self.add(tail)


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
    text, keywords = _clean(relation.text), _joined(relation.keywords)
    return f"{text} ({keywords})" if keywords else text


def _joined(keywords: Iterable[str]) -> str:
    return ", ".join(filter(None, (_clean(keyword).replace(",", ";") for keyword in keywords)))


def _label(relation: str) -> str:
    """Return a relation's label; a label that equals a relation of the index itself is marked as stated by the text."""
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
