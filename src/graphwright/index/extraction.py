"""Extraction of entities and relations from chunks: the protocol, and extractors that need no model.

The graph is a pure function of the extractions that are stored, so removing a chunk is exact: it leaves the graph that
would have been built without it.
"""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple, Protocol, runtime_checkable

from graphwright.data.records import OpenieRecord
from graphwright.text.names import capitals_problem, name_spans, surface_words
from graphwright.text.sentences import sentence_spans
from graphwright.text.words import frequent_terms, repeated_phrases

__all__ = [
    "DeferredExtractor",
    "Excerpt",
    "Extraction",
    "ExtractionFailure",
    "Extractor",
    "LexicalExtractor",
    "Mention",
    "Precomputed",
    "Relation",
    "located",
]

_MAX_RELATION = 40  # characters between two names that are taken as their relation
_SAMPLE = 400  # characters that tell whether capitals mark names


class Excerpt(NamedTuple):
    """A chunk as an extractor reads it: the id and title of its document, and its text."""

    document: str
    title: str
    text: str


class Mention(NamedTuple):
    """An entity as the chunk names it: its surface form, and its character span in the chunk (start, end).

    A name that does not occur in the chunk (its title, or one that a model wrote) has the span (0, 0). `type` and
    `description` come from a language model, if one was used.
    """

    name: str
    start: int = 0
    end: int = 0
    type: str = ""
    description: str = ""


class Relation(NamedTuple):
    """A directed, labelled relation between two surface forms.

    `text` is the sentence that states it, or a language model's description; `keywords`: themes that a model assigns.
    """

    head: str
    relation: str
    tail: str
    text: str
    keywords: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Extraction:
    """Entities and relations of one chunk, in reading order."""

    mentions: tuple[Mention, ...] = ()
    relations: tuple[Relation, ...] = ()


@dataclass(frozen=True, slots=True)
class ExtractionFailure:
    """Extraction failure of one chunk, with its reason; retried on the next run.

    `final`: no other chunk can be read either, because the model is unreachable or the budget is exhausted.
    """

    reason: str
    final: bool = False


@runtime_checkable
class Extractor(Protocol):
    """An extractor of entities and relations from chunks.

    `id` changes whenever the extractor would return something else for the same chunk. One that uses a model may have
    a method `extract_metered(excerpts, usage)` too, which adds its work to `usage`.
    """

    @property
    def id(self) -> str:
        """Name and version."""
        ...

    def extract(self, excerpts: Sequence[Excerpt]) -> Sequence[Extraction | ExtractionFailure]:
        """Return one extraction or failure per excerpt, in order."""
        ...


@runtime_checkable
class DeferredExtractor(Extractor, Protocol):
    """An extractor that is slow or costs money.

    New chunks are read by the `provisional` extractor first, so that they can be searched at once. Then this one reads
    them, batch by batch, and each batch is stored as soon as it is read. Chunks that fail stay pending.
    """

    @property
    def provisional(self) -> Extractor:
        """The extractor whose results are used until this one has read a chunk."""
        ...


@dataclass(frozen=True)
class LexicalExtractor:
    """Extract names from text without a model, and link the names of one sentence.

    Entities are the title, capitalised names, dates, figures, quoted phrases, and phrases of plain words that the chunk
    repeats. Each chunk is read alone, in one pass per sentence: 2,000 passages a second on one core.

    The first mention of a chunk is its topic: its title, or without one the first name in it. Each name of a
    sentence is linked to the next, and the title to every name, so the number of links grows with the number of
    names, not of pairs. The relation is the text between two names if it is short, else "with". Where capitals do
    not mark names (see `unsuitable`), frequent terms replace them.

    >>> extraction, = LexicalExtractor().extract([Excerpt("d1", "Hello Love", "It is a 1974 single by Hank Snow.")])
    >>> [m.name for m in extraction.mentions], extraction.relations[0].tail
    (['Hello Love', '1974', 'Hank Snow'], 'Hank Snow')
    """

    @property
    def id(self) -> str:
        """Name and version."""
        return "lexical:1"

    def unsuitable(self, text: str) -> str | None:
        """Return the reason why capitals do not mark names in a text, None if they do.

        >>> LexicalExtractor().unsuitable("the cat sat on the mat and looked at the queen of england")
        'all lower case'
        """
        return capitals_problem(text[:_SAMPLE])

    def extract(self, excerpts: Sequence[Excerpt]) -> list[Extraction]:
        """Return one extraction per excerpt, in order."""
        return [_extraction(excerpt.title.strip(), excerpt.text) for excerpt in excerpts]


def _extraction(title: str, text: str) -> Extraction:
    first = {} if not title else {title: Mention(title)}
    relations: dict[tuple[str, str, str], Relation] = {}
    has_capitals = capitals_problem(text[:_SAMPLE]) is None
    words = surface_words(text) if has_capitals else frozenset()
    terms = None if has_capitals else frequent_terms(text)
    for start, end in sentence_spans(text):
        if terms is None:
            mentions = [Mention(text[a:b], a, b) for a, b in name_spans(text, start, end, words)]
        else:
            inside = terms[bisect_left(terms, start, key=itemgetter(0)) : bisect_left(terms, end, key=itemgetter(0))]
            mentions = [Mention(term, a, a + len(term)) for a, term in inside]
        for mention in mentions:
            first.setdefault(mention.name, mention)
        for relation in _relations(title, mentions, text, text[start:end]):
            relations.setdefault((relation.head, relation.tail, relation.text), relation)
    if has_capitals:
        for phrase, start in repeated_phrases(text):
            first.setdefault(phrase, Mention(phrase, start, start + len(phrase)))
    return Extraction(tuple(first.values()), tuple(relations.values()))


def _relations(title: str, mentions: list[Mention], text: str, sentence: str) -> Iterator[Relation]:
    """Yield the links of one sentence: each name to the next, the title to each."""
    for left, right in pairwise(mentions):
        if left.name != right.name:
            yield Relation(left.name, _between(text, left, right), right.name, sentence)
    for name in dict.fromkeys(mention.name for mention in mentions) if title else ():
        if name != title:
            yield Relation(title, "with", name, sentence)


def _between(text: str, left: Mention, right: Mention) -> str:
    """Return the text between two names as their relation, "with" if it is long or has no letters."""
    relation = " ".join(text[left.end : right.start].split()).strip(" ,;:()\"“”'`")
    return relation if 0 < len(relation) <= _MAX_RELATION and any(map(str.isalpha, relation)) else "with"


@dataclass(frozen=True)
class Precomputed:
    """Look up a document's entities and triples; extract those of other documents with `otherwise`.

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
        unknown = iter(self.otherwise.extract([e for e in excerpts if e.document not in self.records]))
        return [self._look_up(e) if e.document in self.records else next(unknown) for e in excerpts]

    def _look_up(self, excerpt: Excerpt) -> Extraction:
        record = self.records[excerpt.document]
        names = dict.fromkeys([*([excerpt.title] if excerpt.title else []), *record.entities])
        relations = tuple(Relation(h, r, t, f"{h} {r} {t}") for h, r, t in record.triples)
        return Extraction(located(map(Mention, names), excerpt, excerpt.title), relations)


def located(mentions: Iterable[Mention], excerpt: Excerpt, title: str) -> tuple[Mention, ...]:
    """Return mentions in reading order, each with the span of its name's first occurrence in the text.

    An exact match is preferred to one in another case, and a whole word to a part of a word. The mention of the
    `title` comes first, because the first name of a text is taken for its topic; names that do not occur come last.

    >>> excerpt = Excerpt("d", "", "Article on art, Graz.")
    >>> mentions = located([Mention("Austria"), Mention("GRAZ"), Mention("Art")], excerpt, "")
    >>> [(m.name, m.start, m.end) for m in mentions]
    [('Art', 11, 14), ('GRAZ', 16, 20), ('Austria', 0, 0)]
    """
    lowered = _lowered(excerpt.text)
    spans = []
    for mention in mentions:
        start = _first_occurrence(mention.name, excerpt.text, lowered)
        spans.append(mention._replace(start=start, end=start + len(mention.name)) if start >= 0 else mention)
    spans.sort(key=lambda m: (bool(title) and m.name != title, m.start if m.end else len(excerpt.text)))
    return tuple(spans)


def _lowered(text: str) -> str:
    """Return the text in lower case with the same length: a character with a longer lower case is unchanged."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(low if len(low := char.lower()) == 1 else char for char in text)


def _first_occurrence(name: str, text: str, lowered: str) -> int:
    """Return the position of a name's first occurrence in a text, -1 if there is none."""
    lower = _lowered(name)
    for pattern, haystack in ((name, text), (lower, lowered)):
        # A letter or digit at an end of the name must not continue a word.
        before = r"(?<![^\W_])" if pattern[:1].isalnum() else ""
        after = r"(?![^\W_])" if pattern[-1:].isalnum() else ""
        if match := re.search(before + re.escape(pattern) + after, haystack):
            return match.start()
    return lowered.find(lower)
