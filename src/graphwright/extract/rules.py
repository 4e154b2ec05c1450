"""Extraction by rules: names by their capitals, dates, figures and quoted phrases."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

from graphwright.data.document import BELOW
from graphwright.extract.extraction import Excerpt, Extraction, Mention, Relation
from graphwright.extract.statements import sentence_relations
from graphwright.text.names import capitals_problem, is_boilerplate, is_file_title, name_spans, surface_words
from graphwright.text.sentences import sentence_spans
from graphwright.text.words import frequent_terms, repeated_phrases

_SAMPLE = 400  # characters that tell whether capitals mark names
_START = attrgetter("start")


@dataclass(frozen=True)
class LexicalExtractor:
    """Extractor of names without a model, which links the names of one sentence.

    Entities are the title, capitalised names, dates, figures, quoted phrases, and phrases of plain words that the chunk
    repeats. Each chunk is read alone: 2,000 passages a second on one core.

    The first mention of a chunk is its topic: its title, or without one the first name in it. Each name of a
    sentence is linked to the next, and the title to every name, so the number of links grows with the number of
    names, not of pairs (see `sentence_relations`). Where capitals do not mark names (see `unsuitable`), frequent terms
    replace them; in a script without capitals its Latin names, dates, figures and quoted phrases are entities too.

    >>> extraction, = LexicalExtractor().extract([Excerpt("d1", "Hello Love", "It is a 1974 single by Hank Snow.")])
    >>> [m.name for m in extraction.mentions], extraction.relations[0].tail
    (['Hello Love', '1974', 'Hank Snow'], '1974')
    """

    @property
    def id(self) -> str:
        """Name and version."""
        return "lexical:5"

    def unsuitable(self, text: str) -> str | None:
        """Return the reason why capitals do not mark names in a text, None if they do.

        >>> LexicalExtractor().unsuitable("the cat sat on the mat and looked at the queen of england")
        'all lower case'
        """
        return capitals_problem(text[:_SAMPLE])

    def extract(self, excerpts: Sequence[Excerpt]) -> list[Extraction]:
        """Return one extraction per excerpt, in order."""
        return [_extraction(topic_of(excerpt.title), excerpt.text) for excerpt in excerpts]


def topic_of(title: str) -> str:
    """Return the title as the topic of a document; if it is only the name of a file, the folder before it.

    >>> topic_of("changelog.Debian"), topic_of("zlib › README"), topic_of(" The Who ")
    ('', 'zlib', 'The Who')
    """
    folder, _, last = title.rpartition(BELOW)
    return (folder if is_file_title(last) else title).strip()


def _extraction(title: str, text: str) -> Extraction:
    first = {} if not title else {title: Mention(title)}
    relations: dict[tuple[str, str, str], Relation] = {}
    problem = capitals_problem(text[:_SAMPLE])
    named = problem is None or problem.startswith("a script")  # Latin names stand in text of any script
    words = surface_words(text) if named else frozenset()
    terms = [] if problem is None else [Mention(term, a, a + len(term)) for a, term in frequent_terms(text)]
    for start, end in sentence_spans(text):
        mentions = terms[bisect_left(terms, start, key=_START) : bisect_left(terms, end, key=_START)]
        if named:
            spans = [span for span in name_spans(text, start, end, words) if not is_boilerplate(text[slice(*span)])]
            mentions = _without_overlaps([Mention(text[a:b], a, b) for a, b in spans], mentions)
        for mention in mentions:
            first.setdefault(mention.name, mention)
        for relation in sentence_relations(title, mentions, text, start, end):
            relations.setdefault((relation.head, relation.tail, relation.text), relation)
    if problem is None:
        for phrase, start in repeated_phrases(text):
            first.setdefault(phrase, Mention(phrase, start, start + len(phrase)))
    return Extraction(tuple(first.values()), tuple(relations.values()))


def _without_overlaps(names: list[Mention], terms: Sequence[Mention]) -> list[Mention]:
    """Return the names, and the terms that are outside of them, in reading order."""
    if not terms:
        return names
    outside = [term for term in terms if all(term.end <= name.start or name.end <= term.start for name in names)]
    return sorted([*names, *outside], key=_START)
