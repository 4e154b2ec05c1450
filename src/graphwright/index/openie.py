"""Extraction that was done before: OpenIE entities and triples given per document."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from graphwright.data.openie import OpenieRecord
from graphwright.index.contribution import Contribution, Excerpt, Extractor, Mention, Relation
from graphwright.index.lexical import LexicalExtractor

__all__ = ["Precomputed"]


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

    def extract(self, excerpts: Sequence[Excerpt]) -> list[Contribution]:
        """Look each excerpt's document up."""
        unknown = [e for e in excerpts if e.document not in self.records]
        others = iter(self.otherwise.extract(unknown))
        return [
            _contribution(self.records[e.document], e) if e.document in self.records else next(others) for e in excerpts
        ]


def _contribution(record: OpenieRecord, excerpt: Excerpt) -> Contribution:
    lowered = excerpt.text.lower()
    names = dict.fromkeys([*([excerpt.title] if excerpt.title else []), *record.entities])
    mentions = []
    for name in names:
        at = lowered.find(name.lower())
        # Lower-casing can change the length of a text; a span that would not hold the name is not given.
        exact = at >= 0 and excerpt.text[at : at + len(name)].lower() == name.lower()
        mentions.append(Mention(name, at, at + len(name)) if exact else Mention(name))
    # In reading order, as the first name in a text without a title is taken for its topic.
    mentions.sort(key=lambda m: m.start if m.end else len(excerpt.text))
    if excerpt.title:
        mentions.sort(key=lambda m: m.name != excerpt.title)
    relations = [Relation(h, r, t, f"{h} {r} {t}") for h, r, t in record.triples]
    return Contribution(tuple(mentions), tuple(relations))
