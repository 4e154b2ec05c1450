"""Extraction by rules (names by their capitals, dates, figures, quoted phrases), and from given records."""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING

from graphwright.data.document import BELOW, Labels
from graphwright.extract.extraction import Excerpt, Extraction, ExtractionFailure, Extractor, Mention, Relation, located
from graphwright.graph.graph import CO_OCCURS
from graphwright.text.names import (
    capitals_problem,
    is_boilerplate,
    is_file_title,
    name_spans,
    normal_form,
    surface_words,
)
from graphwright.text.words import frequent_terms, repeated_phrases, words

if TYPE_CHECKING:
    from graphwright.data.records.openie import OpenieRecord

_MAX_PREDICATE = 40  # characters
_PRONOUN = re.compile(r"(?:He|She|It|They|His|Her|Its|Their)(?=\s+[^\W\d_])")  # at the beginning of a sentence
_ARTICLE = re.compile(r"[\"'“‘«„(\[]*(?:The |A |An )?")
_BREAK = re.compile(r"[,;:()\[\]{}\"“”«»„|]|\s[-–—]+\s|``|''")  # signs between clauses
_LEADING = re.compile(r"^(?:(?:and|or|but|nor|also|who|which|that|where|when|the|an?|as well as)\s)+")
_TRAILING = re.compile(r"(?:(?:^|\s)(?:and|or|but|nor|the|an?|his|her|its|their))+\s$")


def sentence_relations(topic: str, mentions: Sequence[Mention], text: str, start: int, end: int) -> Iterator[Relation]:
    """Yield the relations that the sentence `text[start:end]` states: each name to the next, the topic to each name.

    The predicate is the text between two names where it reads as one; other pairs co-occur (`CO_OCCURS`). A pronoun at
    the start of the sentence stands for the topic. The text of each relation is the sentence, as a `proposition`.

    >>> text = "He married Teutberga, daughter of Boso."
    >>> names = [Mention("Teutberga", 11, 20), Mention("Boso", 34, 38)]
    >>> [r[:3] for r in sentence_relations("Lothair II", names, text, 0, len(text))]  # doctest: +NORMALIZE_WHITESPACE
    [('Lothair II', 'married', 'Teutberga'), ('Teutberga', 'co-occurs with', 'Boso'),
     ('Lothair II', 'co-occurs with', 'Boso')]
    """
    if not mentions:
        return
    statement = proposition(topic, mentions, text, start, end)
    pronoun = _PRONOUN.match(text, start, end) if topic else None
    subject = [] if pronoun is None else [Mention(topic, *pronoun.span())]
    related = {topic}
    for left, right in pairwise([*subject, *mentions]):
        predicate = _predicate(text, left, right)
        if left.name == right.name or (topic in (left.name, right.name) and predicate == CO_OCCURS):
            continue
        related |= {left.name, right.name} if topic in (left.name, right.name) else set()
        yield Relation(left.name, predicate, right.name, statement)
    for name in dict.fromkeys(mention.name for mention in mentions) if topic else ():
        if name not in related:
            yield Relation(topic, CO_OCCURS, name, statement)


def proposition(topic: str, mentions: Sequence[Mention], text: str, start: int, end: int) -> str:
    """Return a sentence with its topic before it, unless it names the topic or begins with another name, no pronoun."""
    sentence = text[start:end]
    opening = _ARTICLE.match(text, start, end)
    first = start if opening is None else opening.end()
    begins_with_name = any(start <= m.start <= first and not m.name[0].isdigit() for m in mentions)
    has_subject = begins_with_name or not set(words(topic)).isdisjoint(words(sentence))
    has_pronoun = _PRONOUN.match(text, start, end) is not None
    return f"{topic}: {sentence}" if topic and (has_pronoun or not has_subject) else sentence


def _predicate(text: str, left: Mention, right: Mention) -> str:
    """Return the text between two names where it is short, within one clause, and more than a conjunction."""
    between = text[left.end : right.start].strip()
    if not 0 < len(between) <= _MAX_PREDICATE or _BREAK.search(between):
        return CO_OCCURS
    predicate = _TRAILING.sub("", _LEADING.sub("", f"{' '.join(between.split())} ")).strip()
    return predicate if predicate[:1].isalpha() and predicate == predicate.lower() else CO_OCCURS


_SAMPLE = 400  # characters that tell whether capitals mark names
_START = attrgetter("start")


@dataclass(frozen=True)
class LexicalExtractor:
    """Extractor of names without a model, which links the names of one sentence.

    Entities are the title, capitalised names, dates, figures, quoted phrases, and phrases of plain words that the chunk
    repeats. The first mention is its topic: its title, or the first name. Each name of a sentence is linked to the
    next, and the title to every name (`sentence_relations`). Where capitals do not mark names (`unsuitable`), frequent
    terms replace them; in a script without capitals its Latin names, dates, figures and quoted phrases count too.

    >>> extraction, = LexicalExtractor().extract([Excerpt("d1", "Hello Love", "It is a 1974 single by Hank Snow.")])
    >>> [m.name for m in extraction.mentions], extraction.relations[0].tail
    (['Hello Love', '1974', 'Hank Snow'], '1974')
    """

    @property
    def id(self) -> str:
        """Name and version."""
        return "lexical:6"

    def unsuitable(self, text: str) -> str | None:
        """Return the reason why capitals do not mark names in a text, None if they do."""
        return capitals_problem(text[:_SAMPLE])

    def extract(self, excerpts: Sequence[Excerpt]) -> list[Extraction]:
        """Return one extraction per excerpt, in order."""
        return [_extraction(excerpt) for excerpt in excerpts]


def topic_of(title: str) -> str:
    """Return the title as the topic of a document; if it is only the name of a file, the folder before it."""
    folder, _, last = title.rpartition(BELOW)
    return (folder if is_file_title(last) else title).strip()


def _extraction(excerpt: Excerpt) -> Extraction:
    title, text = topic_of(excerpt.title), excerpt.text
    problem = capitals_problem(text[:_SAMPLE])
    named = problem is None or problem.startswith("a script")  # Latin names stand in text of any script
    words = surface_words(text) if named else frozenset()
    terms = [] if problem is None else [Mention(term, a, a + len(term)) for a, term in frequent_terms(text)]
    by_sentence = []
    for start, end in excerpt.sentences():
        mentions = terms[bisect_left(terms, start, key=_START) : bisect_left(terms, end, key=_START)]
        if named:
            spans = [span for span in name_spans(text, start, end, words) if not is_boilerplate(text[slice(*span)])]
            mentions = _without_overlaps([Mention(text[a:b], a, b) for a, b in spans], mentions)
        by_sentence.append(((start, end), mentions))
    names = unlabelled([mention for _, mentions in by_sentence for mention in mentions], excerpt.labels)
    kept = {mention.start for mention in names}
    by_sentence = [(span, [mention for mention in mentions if mention.start in kept]) for span, mentions in by_sentence]
    extraction = assembled(title, text, by_sentence, names)
    return with_phrases(extraction, excerpt) if problem is None else extraction


def unlabelled(mentions: Sequence[Mention], labels: Labels) -> list[Mention]:
    """Return mentions without the names that the text has in its headings and names of columns alone.

    >>> found = [Mention("Budget EUR", 0, 10), Mention("Graz", 20, 24), Mention("Graz", 30, 34)]
    >>> [mention[:2] for mention in unlabelled(found, ((0, 10), (20, 24)))]
    [('Graz', 20), ('Graz', 30)]
    """
    inside = set[Mention]()
    for mention in mentions:
        at = bisect_right(labels, mention.start, key=itemgetter(0)) - 1
        if at >= 0 and mention.end <= labels[at][1]:
            inside.add(mention)
    outside = {normal_form(mention.name) for mention in mentions if mention not in inside}
    return [mention for mention in mentions if mention not in inside or normal_form(mention.name) in outside]


def assembled(
    title: str, text: str, by_sentence: Iterable[tuple[tuple[int, int], Sequence[Mention]]], entities: Iterable[Mention]
) -> Extraction:
    """Return the title and the entities, each name once, and the relations of the names of each sentence."""
    first = {title: Mention(title)} if title else {}
    for mention in entities:
        first.setdefault(mention.name, mention)
    relations: dict[tuple[str, str, str], Relation] = {}
    for (start, end), mentions in by_sentence:
        for relation in sentence_relations(title, mentions, text, start, end):
            relations.setdefault((relation.head, relation.tail, relation.text), relation)
    return Extraction(tuple(first.values()), tuple(relations.values()))


def with_phrases(extraction: Extraction, excerpt: Excerpt) -> Extraction:
    """Return an extraction with the phrases that its text repeats, not only in the names of columns."""
    names, text = {mention.name for mention in extraction.mentions}, excerpt.text
    for start, end in excerpt.labels:
        text = f"{text[:start]}{' ' * (end - start)}{text[end:]}"
    phrases = [Mention(phrase, at, at + len(phrase)) for phrase, at in repeated_phrases(text) if phrase not in names]
    return replace(extraction, mentions=(*extraction.mentions, *phrases))


def _without_overlaps(names: list[Mention], terms: Sequence[Mention]) -> list[Mention]:
    if not terms:
        return names
    outside = [term for term in terms if all(term.end <= name.start or name.end <= term.start for name in names)]
    return sorted([*names, *outside], key=_START)


@dataclass(frozen=True)
class Precomputed:
    """Extractor that looks up entities and triples of documents, titles included; others are read by `otherwise`."""

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
