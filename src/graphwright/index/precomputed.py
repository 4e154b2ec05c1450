"""Extraction that was done before: OpenIE entities and triples given per document."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from graphwright.data.openie import OpenieRecord
from graphwright.index.extraction import Excerpt, Extraction, ExtractionFailure, Extractor, Mention, Relation
from graphwright.index.lexical import LexicalExtractor

__all__ = ["Precomputed", "placed"]


@dataclass(frozen=True)
class Precomputed:
    """Use the entities and triples that are given for a document; extract those of other documents with `otherwise`.

    A triple's text is "head relation tail". The title is a mention too, as in lexical extraction.
    """

    records: Mapping[str, OpenieRecord]
    otherwise: Extractor = field(default_factory=LexicalExtractor)

    @classmethod
    def of(cls, records: Iterable[OpenieRecord]) -> Precomputed:
        """Take the records that `read_openie` gives."""
        return cls({record.id: record for record in records})

    @cached_property
    def id(self) -> str:
        """Name, checksum of all records, and the other extractor's id."""
        digest = hashlib.blake2b(digest_size=6)
        for key in sorted(self.records):
            record = self.records[key]
            digest.update(json.dumps([key, record.entities, record.triples]).encode())
        return f"precomputed:{digest.hexdigest()}+{self.otherwise.id}"

    def extract(self, excerpts: Sequence[Excerpt]) -> list[Extraction | ExtractionFailure]:
        """Look each excerpt's document up."""
        unknown = [e for e in excerpts if e.document not in self.records]
        others = iter(self.otherwise.extract(unknown))
        return [
            _contribution(self.records[e.document], e) if e.document in self.records else next(others) for e in excerpts
        ]


def placed(mentions: Iterable[Mention], excerpt: Excerpt, title: str) -> tuple[Mention, ...]:
    """Return mentions in reading order, each with the span where its name first stands in the text.

    A name is sought as it is written, then in any case, and as a word of its own before as a part of one. The mention
    of the `title` comes first, as the first name in a text without one is taken for its topic; names that do not stand
    in the text come last.

    >>> excerpt = Excerpt("d", "", "Article on art, Graz.")
    >>> made = placed([Mention("Austria"), Mention("GRAZ"), Mention("Art")], excerpt, "")
    >>> [(m.name, m.start, m.end) for m in made]
    [('Art', 11, 14), ('GRAZ', 16, 20), ('Austria', 0, 0)]
    """
    lowered = _lowered(excerpt.text)
    found = []
    for mention in mentions:
        at = _first(mention.name, excerpt.text, lowered)
        found.append(mention._replace(start=at, end=at + len(mention.name)) if at >= 0 else mention)
    found.sort(key=lambda m: (bool(title) and m.name != title, m.start if m.end else len(excerpt.text)))
    return tuple(found)


def _lowered(text: str) -> str:
    """Return the text in lower case, every character where it was: some have two in lower case, and stay."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(low if len(low := char.lower()) == 1 else char for char in text)


def _first(name: str, text: str, lowered: str) -> int:
    """Return where a name first stands in a text, -1 if nowhere."""
    lower = _lowered(name)
    for sought, within in ((name, text), (lower, lowered)):
        at = within.find(sought)
        while at >= 0 and not _alone(within, at, at + len(sought)):
            at = within.find(sought, at + 1)
        if at >= 0:
            return at
    return lowered.find(lower)


def _alone(text: str, start: int, end: int) -> bool:
    """Return whether no word goes on across either end of a span."""
    joined = (
        (start > 0 and text[start - 1 : start + 1].isalnum()),
        (end < len(text) and text[end - 1 : end + 1].isalnum()),
    )
    return not any(joined)


def _contribution(record: OpenieRecord, excerpt: Excerpt) -> Extraction:
    names = dict.fromkeys([*([excerpt.title] if excerpt.title else []), *record.entities])
    relations = [Relation(h, r, t, f"{h} {r} {t}") for h, r, t in record.triples]
    return Extraction(placed(map(Mention, names), excerpt, excerpt.title), tuple(relations))
