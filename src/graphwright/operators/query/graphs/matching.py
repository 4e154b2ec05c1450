"""Mentions of a question: its words, the things that they may name, and its literals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from types import MappingProxyType

import numpy as np

from graphwright.graph.evidence import Ints
from graphwright.search.facts import Facts
from graphwright.search.name_index import name_index_of
from graphwright.text.names import name_words, normal_form
from graphwright.text.numbers import amount_of
from graphwright.text.values import Value, value_of
from graphwright.text.words import STOP_WORDS, word_spans

_NONE: Mapping[int, str] = MappingProxyType({})
_NAME_WORDS = 10  # maximum words of a name
_MENTIONS = 6  # maximum mentions of a question
_SIMILARITY = 0.84  # minimum likeness of a name that is spelled differently
_NEAR, _SHARED = 40, 3  # names that are like the question; maximum names that the same words are a part of


@dataclass(frozen=True, eq=False)
class Mention:
    """Words of a question that may name things.

    `first`, `last`: its words; `name`: the name as the facts have it; `things`: those of the name, ascending;
    `certainty`: 1 for an equal name, else the likeness of the spelling.
    """

    first: int
    last: int
    name: str
    things: Ints
    certainty: float

    @cached_property
    def words(self) -> frozenset[int]:
        """Positions of its words."""
        return frozenset(range(self.first, self.last + 1))


@dataclass(frozen=True, eq=False)
class Literal:
    """A number or a date in a question: its words, its text and its value."""

    first: int
    last: int
    text: str
    value: Value


@dataclass(frozen=True, eq=False)
class Words:
    """A question in words: `texts` as typed, `spans` their characters; `folded`: in lower case."""

    question: str
    spans: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, question: str) -> Words:
        """Split a question."""
        return cls(question, tuple(word_spans(question)))

    def __len__(self) -> int:
        return len(self.spans)

    @cached_property
    def texts(self) -> list[str]:
        """The words as typed."""
        return [self.question[start:end] for start, end in self.spans]

    @cached_property
    def folded(self) -> list[str]:
        """The words in lower case."""
        return [text.casefold() for text in self.texts]

    def text(self, first: int, last: int) -> str:
        """Return the text from one word to another."""
        return self.question[self.spans[first][0] : self.spans[last][1]]

    def without(self, mentions: Sequence[Mention], names: Mapping[int, str] = _NONE) -> str:
        """Return the question with "it" in place of each mention, or the name of its first word."""
        start, parts = 0, []
        for mention in sorted(mentions, key=lambda m: m.first):
            parts += [self.question[start : self.spans[mention.first][0]], names.get(mention.first, "it")]
            start = self.spans[mention.last][1]
        return "".join([*parts, self.question[start:]])


def mentions_of(words: Words, facts: Facts) -> list[Mention]:
    """Return the mentions of things, the most informative first; none lies within another.

    Names are found by their normal forms, then by further names, then runs of words by spelling, then words that only
    a few names have. Which of them are meant is decided later.
    """
    found: list[Mention] = []
    for first in range(len(words)):
        mention = next(_longest(words, facts, first), None)
        if mention is not None and not any(mention.words <= other.words for other in found):
            found.append(mention)
    taken = {at for mention in found for at in mention.words}
    found += _misspelt(words, facts, taken)
    found += _in_part(words, facts, taken)
    found.sort(key=lambda m: _informative(words, m))
    return found[:_MENTIONS]


def _informative(words: Words, mention: Mention) -> tuple[float, ...]:
    """Return what orders mentions: capitals and digits before lower case, long before short."""
    texts = words.texts[mention.first : mention.last + 1]
    written = sum(not text.islower() for text in texts[0 if mention.first else 1 :])
    return (-(written > 0 or len(texts) > 1), -mention.certainty, -len(mention.name))


def _longest(words: Words, facts: Facts, first: int) -> Iterator[Mention]:
    """Yield what a run of words from `first` names, the longest run first."""
    for last in range(min(first + _NAME_WORDS, len(words)) - 1, first - 1, -1):
        text = words.text(first, last)
        if first == last and (words.folded[first] in STOP_WORDS or (len(text) < 2 and not text.isupper())):
            continue
        things = _named(text, facts)
        if len(things):
            yield Mention(first, last, facts.text(int(things[0])), things, 1.0)


def _named(text: str, facts: Facts) -> Ints:
    """Return the things with a name, else the nodes with a further name, else those with a number written otherwise."""
    form = normal_form(text)
    if not form:
        return np.empty(0, np.int64)
    things = facts.find(form)
    if len(things) or not len(facts.columns.names):
        return things
    further, amount = name_index_of(facts.columns).find(form), amount_of(text)
    if len(further) or amount is None or amount.unit or not amount.number.is_integer():
        return further
    return np.concatenate([facts.find(f"{amount.number:{separator}.0f}") for separator in (",", "")])


def _misspelt(words: Words, facts: Facts, taken: set[int]) -> Iterator[Mention]:
    """Yield the names that runs of words without another mention are spelled like, the longest run first."""
    if not len(facts.columns.names):
        return
    index = name_index_of(facts.columns)
    for size in (4, 3, 2, 1):
        for first in range(len(words) - size + 1):
            run = range(first, first + size)
            ends = words.folded[first], words.folded[first + size - 1]
            if taken.intersection(run) or STOP_WORDS.intersection(ends):
                continue
            form = index.form(words.text(first, first + size - 1))
            nodes, certainty = index.near(form, _SIMILARITY) if len(form) > 4 else (np.empty(0, np.int64), 0.0)
            if len(nodes):
                taken.update(run)
                yield Mention(first, first + size - 1, facts.text(int(nodes[0])), nodes, certainty)


def _in_part(words: Words, facts: Facts, taken: set[int]) -> list[Mention]:
    """Return the things whose names have a run of words without another mention, the longest runs first.

    A word may be spelled differently, as in the plural. The certainty: the share of the name's letters in the run.
    """
    pieces = [name_words(text) for text in words.texts]
    places = [at for at, own in enumerate(pieces) for _ in own]
    found: list[Mention] = []
    for like in facts.near(words.question, _NEAR):
        if like.thing < 0 or any(at >= len(places) for at in like.words):
            continue
        parts = name_words(like.name)
        alike = {at: _likeness(pieces[at], parts) for at in (places[at] for at in like.words) if at not in taken}
        for first, last in _runs(sorted(at for at, own in alike.items() if own >= _SIMILARITY)):
            if not STOP_WORDS.issuperset(words.folded[first : last + 1]):
                letters = sum(len(words.folded[at]) * alike[at] for at in range(first, last + 1))
                share = letters / max(len(like.name.replace(" ", "")), 1)
                found.append(Mention(first, last, like.name, np.array([like.thing]), min(0.99, share)))
    kept: list[Mention] = []
    for mention in sorted(found, key=lambda m: (m.first - m.last, -m.certainty)):
        covering = [other for other in kept if other.words & mention.words]
        if len(covering) < _SHARED and all(other.words == mention.words for other in covering):
            kept.append(mention)
    common = Counter(mention.words for mention in found)
    return [mention for mention in kept if common[mention.words] <= _SHARED]


def _likeness(pieces: Sequence[str], parts: Sequence[str]) -> float:
    """Return how like the words of a name are to each of some words: the least of the likeness to the nearest."""
    from rapidfuzz import fuzz, process

    near = (process.extractOne(piece, parts, scorer=fuzz.ratio) for piece in pieces)
    return min((best[1] / 100 for best in near if best), default=0.0)


def _runs(places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and last of each run of adjacent numbers."""
    for _, run in groupby(enumerate(places), key=lambda pair: pair[1] - pair[0]):
        own = [place for _, place in run]
        yield own[0], own[-1]


def _is_value(text: str) -> bool:
    """Return whether a text may be a value: a word after a number is part of it if it is a unit that is known."""
    amount = amount_of(text)
    return amount is None or amount.is_known


def literals_of(words: Words) -> list[Literal]:
    """Return the numbers and dates of a question, the longest from left to right."""
    found: list[Literal] = []
    first = 0
    while first < len(words):
        for last in range(min(first + 4, len(words)) - 1, first - 1, -1):
            text = words.text(first, last)
            value = value_of(text) if (text[0].isdigit() or last > first) and _is_value(text) else None
            if last > first and value in (value_of(words.text(first + 1, last)), value_of(words.text(first, last - 1))):
                continue  # its first or last word adds nothing
            if value is not None and any(map(str.isdigit, text)):
                found.append(Literal(first, last, text, value))
                first = last
                break
        first += 1
    return found
