"""Extraction from records: entities and triples that were extracted before, by document."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from graphwright.data.records.openie import OpenieRecord
from graphwright.extract.extraction import Excerpt, Extraction, ExtractionFailure, Extractor, Mention, Relation, located
from graphwright.extract.rules import LexicalExtractor


@dataclass(frozen=True)
class Precomputed:
    """Extractor that looks up the entities and triples of documents; other documents are read by `otherwise`.

    A triple's text is "head relation tail". The title is a mention too, as in lexical extraction.
    """

    records: Mapping[str, OpenieRecord]
    otherwise: Extractor = field(default_factory=LexicalExtractor)

    @classmethod
    def of(cls, records: Iterable[OpenieRecord]) -> Precomputed:
        """Take the records that `read_openie` returns."""
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
        """Look up the document of each excerpt."""
        records = [self._record(excerpt.document) for excerpt in excerpts]
        pairs = list(zip(excerpts, records, strict=True))
        unknown = iter(self.otherwise.extract([excerpt for excerpt, record in pairs if record is None]))
        return [next(unknown) if record is None else self._extraction(excerpt, record) for excerpt, record in pairs]

    def _record(self, document: str) -> OpenieRecord | None:
        """Return the record of a document; one of a row `file#3` may be named by the row alone."""
        return self.records.get(document) or self.records.get(document.rpartition("#")[2])

    def _extraction(self, excerpt: Excerpt, record: OpenieRecord) -> Extraction:
        names = dict.fromkeys([*([excerpt.title] if excerpt.title else []), *record.entities])
        relations = tuple(Relation(h, r, t, f"{h} {r} {t}") for h, r, t in record.triples)
        return Extraction(located(map(Mention, names), excerpt, excerpt.title), relations)
