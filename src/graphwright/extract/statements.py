"""Relations between the names of a sentence, and the sentence as a statement that names its subject."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from graphwright.extract.extraction import Mention, Relation
from graphwright.graph.graph import CO_OCCURS
from graphwright.text.words import words

_MAX_PREDICATE = 40  # characters
_PRONOUN = re.compile(r"(?:He|She|It|They|His|Her|Its|Their)(?=\s+[^\W\d_])")  # at the beginning of a sentence
_ARTICLE = re.compile(r"[\"'“‘«„(\[]*(?:The |A |An )?")
_BREAK = re.compile(r"[,;:()\[\]{}\"“”«»„|]|\s[-–—]+\s|``|''")  # signs between clauses
_LEADING = re.compile(r"^(?:(?:and|or|but|nor|also|who|which|that|where|when|the|an?|as well as)\s)+")
_TRAILING = re.compile(r"(?:(?:^|\s)(?:and|or|but|nor|the|an?|his|her|its|their))+\s$")


def sentence_relations(topic: str, mentions: Sequence[Mention], text: str, start: int, end: int) -> Iterator[Relation]:
    """Yield the relations that the sentence `text[start:end]` states: each name to the next, the topic to each name.

    The predicate is the text between two names where it reads as one; other pairs co-occur (`CO_OCCURS`). A pronoun at
    the start of the sentence stands for the topic, the title of the document. Each relation has the sentence as its
    text, as a `proposition`.

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
    """Return a sentence with its topic before it, unless it names the topic or begins with another name.

    A sentence that begins with a pronoun always gets the topic.

    >>> proposition("Hello Love", [], "It is a single.", 0, 15), proposition("Hello Love", [], "Love sold well.", 0, 15)
    ('Hello Love: It is a single.', 'Love sold well.')
    """
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
