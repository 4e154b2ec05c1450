"""Entities and their links read from text without a model.

What a writer marks as a name is an entity: the title, capitalised spans, dates and figures, quoted phrases,
and phrases of plain words that the chunk repeats. Entities of one sentence are linked, and the sentence is
the text of the link. Each chunk is read alone, in one pass per sentence: 2,000 passages a second of one core.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from string import ascii_lowercase, ascii_uppercase

from graphwright.index.extraction import Excerpt, Extraction, Mention, Relation
from graphwright.text.sentences import sentence_spans
from graphwright.text.stopwords import NOT_NAMES
from graphwright.text.terms import frequent_terms, repeated_phrases

__all__ = ["LexicalExtractor"]

_JOINING = "of|the|de|la|le|les|des|du|da|do|dos|del|della|di|van|von|der|den|ten|ter|al|el|y|zu|for|&"
_MONTH = (
    "(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?"
    "|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_WITHIN = re.compile(r" (?:of|for|de|the|in) (?:the )?")
_COUNT = re.compile(r"(\d[\d,]*)\w* (?=.)")
_LOWER = re.compile(r"[^\W\d_]+")
_EMPTY = frozenset(f"{_JOINING}|-|–".split("|"))
_LABEL = 40  # characters between two names that are taken for their relation
_SAMPLE = 400  # characters that tell how a chunk is written
_UPPER, _LOWER_CASE = ascii_uppercase.encode(), ascii_lowercase.encode()


@dataclass(frozen=True)
class LexicalExtractor:
    """Read names by their capitals, and link the names of one sentence.

    The first mention of a chunk is what it is about: its title, or without one the first name in it. In a
    sentence each name is linked to the next, and the title to every name; so links grow with the number of
    names, not of pairs. The relation is what stands between two names where that is short, else "with".
    Where capitals tell nothing (see `fits`), frequent terms take the place of names.

    >>> made, = LexicalExtractor().extract([Excerpt("d1", "Hello Love", "It is a 1974 single by Hank Snow.")])
    >>> [m.name for m in made.mentions], made.relations[0].tail
    (['Hello Love', '1974', 'Hank Snow'], 'Hank Snow')
    """

    @property
    def id(self) -> str:
        """Name and version."""
        return "lexical:1"

    def fits(self, texts: Iterable[str]) -> str | None:
        """Say why names cannot be read from these texts by their capitals; None if they can.

        >>> LexicalExtractor().fits(["the cat sat on the mat and looked at the queen of england"])
        'all lower case'
        """
        return _unfit(" ".join(text[:_SAMPLE] for _, text in zip(range(100), texts, strict=False)))

    def extract(self, excerpts: Sequence[Excerpt]) -> list[Extraction]:
        """Return one contribution per excerpt, in order."""
        return [_contribution(e.title.strip(), e.text) for e in excerpts]


def _contribution(title: str, text: str) -> Extraction:
    first = {} if not title else {title: Mention(title)}
    relations: dict[tuple[str, str, str], Relation] = {}
    by_name = _unfit(text[:_SAMPLE]) is None
    lower = frozenset(_LOWER.findall(text)) if by_name else frozenset()
    terms = None if by_name else frequent_terms(text)
    for start, end in sentence_spans(text):
        if terms is None:
            found = list(_names(text, start, end, lower))
        else:
            found = [Mention(term, at, at + len(term)) for term, at in terms.within(start, end)]
        for mention in found:
            first.setdefault(mention.name, mention)
        for relation in _relations(title, found, text, text[start:end]):
            relations.setdefault((relation.head, relation.tail, relation.text), relation)
    if by_name:
        for phrase, at in repeated_phrases(text):
            first.setdefault(phrase, Mention(phrase, at, at + len(phrase)))
    return Extraction(tuple(first.values()), tuple(relations.values()))


def _unfit(text: str) -> str | None:
    """Say why the capitals of a text tell nothing; a text with fewer than three letters is let pass."""
    upper, lower, letters = _letters(text)
    if letters < 3:
        return None
    if 2 * (upper + lower) < letters:
        return "a script without capital letters"
    if upper * 200 < lower or not upper:
        return "all lower case"
    return "all upper case" if upper > 2 * lower else None


def _letters(text: str) -> tuple[int, int, int]:
    """Return how many letters are upper case, lower case, and letters at all."""
    if text.isascii():
        data = text.encode()
        upper = len(data) - len(data.translate(None, _UPPER))
        lower = len(data) - len(data.translate(None, _LOWER_CASE))
        return upper, lower, upper + lower
    return sum(map(str.isupper, text)), sum(map(str.islower, text)), sum(map(str.isalpha, text))


@cache
def _span() -> re.Pattern[str]:
    """Compile, at first use, the pattern of a name: capitalised words, joined by small words and numbers.

    `re` has no class of capital letters, so it is spelled out from the Unicode tables.
    """
    capital = "".join(chr(c) for c in range(0x2C00) if chr(c).isupper() or chr(c).istitle())
    word = rf"[{capital}](?:\.(?=[ ]?[{capital}])|\w*(?:['’&/-]\w+|\.[a-z\d]\w*)*)"
    number = r"(?<![\d.,])\d+(?:,\d{3})*(?:st|nd|rd|th)?\b"
    joint = rf"(?:[ ]|[ ][-–][ ]|(?<=\.)|[ ](?:(?:{_JOINING})[ ]){{1,2}})"
    return re.compile(rf"(?:{number}[ ])?{word}(?:{joint}(?:{word}|{number}))*")


@cache
def _pattern() -> re.Pattern[str]:
    """Compile, at first use, the pattern of all that is an entity in a sentence."""
    day = rf"(?:\d{{1,2}}[ ]{_MONTH}\b|{_MONTH}[ ]\d{{1,2}}\b(?!,\d))"
    date = rf"\b{day}(?:,?[ ]\d{{4}}\b)?|\b{_MONTH},?[ ]\d{{4}}\b"
    quoted = r'"[ ]?(?P<a>[^"\n]{2,60}?)[ ]?"|“(?P<b>[^”\n]{2,60})”|``[ ]?(?P<c>[^\'\n]{2,60}?)[ ]?\'\''
    quoted += r"|«[ ]?(?P<d>[^»\n]{2,60}?)[ ]?»|„(?P<e>[^“”\n]{2,60})[“”]"
    return re.compile(rf"(?P<date>{date})|{quoted}|(?P<name>{_span().pattern})|(?P<figure>\d[\d,.]*\d\d)")


def _names(text: str, start: int, end: int, lower: frozenset[str]) -> Iterator[Mention]:
    """Yield what a sentence names, in reading order; `lower`: the words of the chunk as written."""
    for found in _pattern().finditer(text, start, end):
        kind = found.lastgroup or ""
        at, to = found.span(kind)
        if kind == "name":
            yield from _parts(text, at, to, start, lower)
            continue
        yield Mention(text[at:to], at, to)
        if len(kind) == 1:  # quoted: names in it are named too
            for inner in _span().finditer(text, at, to):
                if inner.span() != (at, to):
                    yield from _parts(text, *inner.span(), at, lower)


def _parts(text: str, at: int, to: int, start: int, lower: frozenset[str]) -> Iterator[Mention]:
    """Yield a name without the small words it begins with, and the names that it is composed of."""
    at = _trimmed(text, at, to)
    if text[to - 2 : to] in ("'s", "’s"):
        to -= 2
    name = text[at:to]
    # One capitalised word that begins a sentence is no name if the chunk also writes it small.
    if len(name) < 2 or (at <= start + 3 and " " not in name and name.lower() in lower):
        return
    yield Mention(name, at, to)
    if counted := _COUNT.match(name):  # one name, as "1920 Summer Olympics", or two
        if len(counted[1]) > 2:
            yield Mention(counted[1], at, at + len(counted[1]))
        at += counted.end()
        yield Mention(text[at:to], at, to)
    last = at
    cuts = list(_WITHIN.finditer(text, at, to))
    for cut_start, cut_end in [c.span() for c in cuts] + ([(to, to)] if cuts else []):
        part = text[last:cut_start]
        if len(part) > 1 and part[0].isupper() and part.lower() not in NOT_NAMES:
            yield Mention(part, last, cut_start)
        last = cut_end


def _trimmed(text: str, at: int, to: int) -> int:
    """Return where a name begins once sentence openers, and small words after them, are left out."""
    opened = False
    while at < to:
        space = text.find(" ", at, to)
        word = text[at : space if space >= 0 else to]
        if word.lower() not in NOT_NAMES and not (opened and word in _EMPTY):
            return at
        at, opened = (space + 1 if space >= 0 else to), True
    return to


def _relations(title: str, found: list[Mention], text: str, sentence: str) -> Iterator[Relation]:
    """Yield the links of one sentence: each name to the next, the title to each."""
    for left, right in pairwise(found):
        if left.name != right.name:
            yield Relation(left.name, _between(text, left, right), right.name, sentence)
    for name in dict.fromkeys(m.name for m in found) if title else ():
        if name != title:
            yield Relation(title, "with", name, sentence)


def _between(text: str, left: Mention, right: Mention) -> str:
    words = " ".join(text[left.end : right.start].split()).strip(" ,;:()\"“”'`")
    return words if 0 < len(words) <= _LABEL and any(map(str.isalpha, words)) else "with"
