"""Words of a question that an index lacks: what they may stand for, with the features of its probability.

A misspelt word stands for a near word of the index, an acronym for a phrase with these initials.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from graphwright.graph.evidence import Scores
from graphwright.models.embedded.encoder import tokenise, vocabulary
from graphwright.models.protocols import Floats
from graphwright.search.bm25_postings import WordIndex
from graphwright.text.words import IDENTIFIER, PIECE, STOP_WORDS, fold_accents, identifiers, terms, words

SPELLING = (
    "constant", "distance", "similarity", "letters", "lead", "known", "first letter", "context", "rarity",
    "pieces", "consonants", "strangest", "block",
)  # fmt: skip
"""Features of a near word: edits; share of letters kept; logarithm of the letters; similarity over that of the next
word; whether the encoder's vocabulary has the misspelt word; whether both begin alike; the greatest share of the other
words of the question in a passage with the near word, by idf; the near word's idf over the largest possible; pieces
of the encoder's vocabulary in the misspelt word, by letter; similarity of both without vowels and double letters; the
least logarithm of the number of words in that vocabulary with three letters of the misspelt word; whether both differ
in neighbouring letters, at least two and a consonant among them (see `_is_block`): two words, and not a slip."""

INITIALS = ("constant", "letters", "count", "share", "context", "capitals", "chance")
"""Features of a phrase: number of initials; logarithm of its occurrences; their share among those of all phrases with
these initials; context as for a near word; whether every word has a capital; logarithm of the number of words searched
over 20 to the power of the letters."""

SPELLING_WEIGHTS = (
    -0.896, -1.214, -8.653, -0.023, 16.968, -3.548, 2.433, 1.374, -2.381, 4.342, 8.05, -0.387, -3.514
)  # fmt: skip
INITIALS_WEIGHTS = (-3.016, 0.123, 0.196, 2.991, 2.688, 0.893, -0.298)  # fitted by scripts/fit_reword.py
LIKELY = 0.7  # least probability of a meaning that replaces a word: a wrong one costs more than none

_MAX_WORDS = 50_000  # of an index; of a larger one only those with the same first letter are compared
_NEAR = 4  # words that are compared by their features
_MIN_SIMILARITY = 0.6
_MIN_LETTERS = 4  # of a misspelt word
ACRONYM = range(2, 7)  # numbers of letters of an acronym
_LETTERS = 20  # that begin words about equally often
_BETWEEN = r"[ \t\n-]+(?:[^\W\d_]{1,3}[ '’\t\n]+){0,2}"  # words with the initials


class Meaning(NamedTuple):
    """What a word may stand for, and its features (SPELLING or INITIALS)."""

    text: str
    features: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Context:
    """A question over an index, which the meanings of its words are compared with."""

    index: WordIndex
    question: str

    @cached_property
    def share(self) -> Scores:
        """The share of the question's terms that each row of the index has, by idf: float64[rows]."""
        share, total = np.zeros(len(self.index.nodes)), 0.0
        for term in dict.fromkeys(terms(self.question)):
            rows, _ = self.index.postings(term)
            share[rows] += self.index.rarity(len(rows))
            total += self.index.rarity(len(rows))
        return share / (total or 1.0)

    def near_words(self, word: str) -> list[Meaning]:
        """Return the terms of the index that a word or identifier, as a term, may be misspelt for (see `_is_slip`).

        Not those that the question has besides: in "List the lost parcels", "list" is no slip of "lost".
        """
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        if len(word) < _MIN_LETTERS:
            return []
        known = self.index.spelt(word.isalpha(), word[0] if len(self.index.vocabulary) > _MAX_WORDS else "")
        near = process.extract(word, known, scorer=OSA.normalized_similarity, score_cutoff=_MIN_SIMILARITY, limit=None)
        asked = set(terms(self.question))
        near = [own for own in near if own[0] not in asked and (word.isalpha() or _is_slip(word, own[0]))]
        if not near:
            return []
        pieces = len(tokenise([word])[0].ids)
        strangest = min(math.log1p(_tokens_with(word[at : at + 3])) for at in range(len(word) - 2))
        found = []
        for at, (other, similarity, _) in enumerate(near[:_NEAR]):
            rows, _ = self.index.postings(other)
            lead = similarity - (near[1 if at == 0 else 0][1] if len(near) > 1 else _MIN_SIMILARITY)
            edits = OSA.distance(word, other)
            rarity = self.index.rarity(len(rows)) / self.index.rarity(1)
            bare = OSA.normalized_similarity(_consonants(word), _consonants(other))
            alike = word[0] == other[0], self.of(rows), rarity, pieces / len(word), bare, strangest
            block = _is_block(word, other)
            found.append(
                Meaning(other, (1.0, edits, similarity, math.log(len(word)), lead, pieces == 1, *alike, block))
            )
        return found

    def spelt(self, word: str) -> tuple[str, float]:
        """Return the term that a word is most probably misspelt for, and the probability; "" and 0 if none is near."""
        near = self.near_words(word)
        chances = probability(near, SPELLING_WEIGHTS)
        return (near[int(chances.argmax())].text, float(chances.max())) if near else ("", 0.0)

    def phrases(self, letters: str, texts: Sequence[str], rows: Sequence[int]) -> list[Meaning]:
        """Return the phrases of texts with these initials, each as its first occurrence is written.

        `rows`: the row of each text in the index. Up to two words of at most three letters may stand between initials.
        A phrase does not begin or end with a stop word.
        """
        found: dict[str, list[tuple[str, int]]] = {}
        for number, phrase in phrases_with(letters, texts):
            parts = phrase.lower().split()
            if STOP_WORDS.isdisjoint((parts[0], parts[-1])):  # as in the phrases that the weights were fitted with
                found.setdefault(" ".join(parts), []).append((phrase, rows[number]))
        total = sum(map(len, found.values()))
        chance = math.log(1 + sum(map(len, texts)) / 6) - len(letters) * math.log(_LETTERS)
        meanings = []
        for places in found.values():
            phrase, share = places[0][0], len(places) / total
            capitals = all(part[0].isupper() for part in phrase.split() if len(part) > 3)
            context = self.of(np.array([row for _, row in places]))
            features = (1.0, float(len(letters)), math.log(len(places)), share, context, float(capitals), chance)
            meanings.append(Meaning(phrase, features))
        return meanings

    def of(self, rows: Iterable[int]) -> float:
        """Return the largest share among rows."""
        return float(self.share[np.asarray(rows)].max(initial=0.0))


def is_plain_word(word: str, question: str) -> bool:
    """Return whether a word is no acronym: the encoder knows it, and only it is written small where others are not."""
    return word.islower() and not question.islower() and len(tokenise([word])[0].ids) == 1


def _is_block(word: str, other: str) -> bool:
    """Return whether two words differ in neighbouring letters, at least two and a consonant among them."""
    from rapidfuzz.distance import OSA, Postfix, Prefix

    begin = Prefix.similarity(word, other)
    end = Postfix.similarity(word[begin:], other[begin:])
    parts = word[begin : len(word) - end], other[begin : len(other) - end]
    edits = OSA.distance(word, other)
    return 2 <= max(map(len, parts)) == edits and _consonants(parts[0]) != _consonants(parts[1])


def _is_slip(word: str, other: str) -> bool:
    """Return whether two identifiers have the same numbers, and words that begin alike and differ as fingers slip.

    A known word is misspelt only among other parts, and keeps its consonants: REST may be RESET, but HTTPS not HTTP.
    """
    from rapidfuzz.distance import OSA

    parts, others = (re.findall(r"\d+|[^\W\d_]+", own) for own in (word, other))
    return len(parts) == len(others) and all(
        one == two
        or (
            (one[0] == two[0] and one.isalpha())
            and OSA.distance(one, two) <= max(sorted(one) == sorted(two), min(2, max(len(one), len(two)) // 4))
            and (len(tokenise([one])[0].ids) > 1 or (len(parts) > 1 and _consonants(one) == _consonants(two)))
        )
        for one, two in zip(parts, others, strict=True)
    )


@lru_cache(maxsize=4096)
def _tokens_with(letters: str) -> int:
    """Return how many words of the encoder's vocabulary have these letters; to count all ahead would take longer."""
    lines, count, at = _tokens(), 0, -1
    while (at := lines.find(letters, at + 1)) >= 0:
        count, at = count + 1, lines.index("\n", at)
    return count


@cache
def _tokens() -> str:
    return "\n".join(["", *vocabulary(), ""]).replace("\n##", "\n")


def _consonants(word: str) -> str:
    return re.sub(r"([^aeiouy])\1+|[aeiouy]+", r"\1", word)


def phrases_with(letters: str, texts: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the phrases whose words have these initials, of RTO "recovery time objective", each with its text's number.

    >>> list(phrases_with("RTO", ["None.", "The Recovery Time Objective is met."]))
    [(1, 'Recovery Time Objective')]
    """
    folded = [text if text.isascii() else _folded(text) for text in texts]
    ends = list(accumulate(len(text) + 1 for text in folded))
    first, *others = (re.escape(_lower(letter)) for letter in letters)
    # A pattern that begins with a letter as it is written is searched for ten times as fast.
    pattern = _BETWEEN.join([rf"{first}(?<!\w{first})[^\W\d_]+", *(rf"{letter}[^\W\d_]+" for letter in others)])
    for match in re.finditer(pattern, _lower("\0".join(folded))):
        number = bisect_right(ends, match.start())
        text = texts[number] if len(texts[number]) == len(folded[number]) else folded[number]
        start = match.start() - (ends[number] - len(folded[number]) - 1)
        yield number, " ".join(text[start : start + len(match.group())].split())


_folded = lru_cache(1 << 12)(fold_accents)  # most questions search the same texts


def _lower(text: str) -> str:
    return text.lower().replace("ı", "i")  # as regular expressions compare letters of either case


def probability(meanings: Sequence[Meaning], weights: Sequence[float]) -> Floats:
    """Return the probability of each meaning: float64[n]."""
    rows = np.array([meaning.features for meaning in meanings]).reshape(-1, len(weights))
    return 1 / (1 + np.exp(-rows @ np.array(weights)))  # type: ignore[no-any-return]


def as_written(word: str, text: str, capital: bool) -> str:
    """Return a word as a text writes it most often, with a capital first if `capital`; itself if the text lacks it."""
    names = [part for name in IDENTIFIER.findall(text) for part in {name, *PIECE.findall(name)}]
    parts = [part for part in re.findall(r"[^\W\d_]+", text) if words(part) == [word]]
    written = Counter(parts + [name for name in names if identifiers(name)[:1] == [word]])
    return max(written, key=lambda part: (part[0].isupper() == capital, written[part]), default=word)
