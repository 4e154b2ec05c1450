"""Likeness of the words of a question with the relations and types of facts: by spelling, by meaning, as learned."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from graphwright.models.protocols import Encoder, Floats
from graphwright.operators.query.graphs.matching import Mention, Words
from graphwright.operators.query.graphs.steps import MAX_NAMES
from graphwright.search.bm25_postings import WordIndex
from graphwright.search.facts import Facts
from graphwright.search.relation_facts import relation_phrase
from graphwright.search.unknown_words import LIKELY, Context, as_written
from graphwright.text.words import STOP_WORDS, terms

_BUCKETS = 2048  # of n-grams of characters
_SPELLED = 8.0  # weight of likeness in spelling beside what is learned


def spelling_vectors(words: Sequence[str]) -> Floats:
    """Return unit vectors of hashed n-grams of characters, 2 to 4 long, with the ends of the word: float32[n, 2048].

    >>> directed, director, genre = spelling_vectors(["directed", "director", "genre"])
    >>> bool(directed @ director > 0.6 > 0.3 > directed @ genre)
    True
    """
    vectors = np.zeros((len(words), _BUCKETS), np.float32)
    for row, word in enumerate(words):
        padded = f"<{word}>"
        for size in (2, 3, 4):
            for start in range(len(padded) - size + 1):
                vectors[row, crc32(padded[start : start + size].encode("utf-8", "replace")) % _BUCKETS] += 1
    unit: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return unit


@dataclass(frozen=True, eq=False)
class LearnedLikeness:
    """Likeness of a piece of a question with a name, fitted on questions and the relations that they ask for.

        z(u, r) = scale · (A u) · (B r) + w · u

    for the unit vectors u of a word or pair of words and r of a relation's phrase. `asked: float32[k, d]` is A,
    `named: float32[k, d]` is B, `weight: float32[d]` is w. The score of a question is the log of the sum of exp z.
    """

    asked: Floats
    named: Floats
    weight: Floats
    scale: float

    def __call__(self, pieces: Floats, names: Floats) -> Floats:
        """Return z of each piece with each name: float32[pieces, names]."""
        product = (pieces @ self.asked.T) @ (names @ self.named.T).T
        z: Floats = self.scale * product + (pieces @ self.weight)[:, None]
        return z


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The relations and types of facts as names in words, r relations first.

    `phrases`: each in words; `vectors: float32[v, d]`; `words`: their distinct words, `spelling` their vectors;
    `parts`: for each name the rows of its words; `index`: finds names by their words, as passages are found.
    """

    relations: tuple[str, ...]
    types: tuple[str, ...]
    phrases: tuple[str, ...]
    vectors: Floats
    words: tuple[str, ...]
    spelling: Floats
    parts: tuple[NDArray[np.int64], ...]
    index: WordIndex

    @classmethod
    def of(cls, facts: Facts, encoder: Encoder) -> Vocabulary:
        """Build the vocabulary of facts."""
        relations = facts.frequent_relations(MAX_NAMES)
        types = facts.types[: max(0, MAX_NAMES - len(relations))]
        phrases = tuple([relation_phrase(name) for name in relations] + [name.casefold() for name in types])
        split = [_content(phrase) for phrase in phrases]
        words = tuple(dict.fromkeys(word for own in split for word in own))
        rows = {word: row for row, word in enumerate(words)}
        parts = tuple(np.array([rows[word] for word in own], np.int64) for own in split)
        vectors = encoder.encode(phrases)
        index = WordIndex.of(phrases, np.arange(len(phrases)))
        return cls(relations, types, phrases, vectors, words, spelling_vectors(words), parts, index)

    def respelt(self, words: Words, kept: Sequence[Mention]) -> Words:
        """Return a question with the words of names for words that are probably misspelt; those of `kept` stay."""
        known = frozenset[int]().union(*(mention.words for mention in kept))
        context, text, at_end = Context(self.index, words.question), words.question, 0
        for at, (first, last) in enumerate(words.spans):
            if at not in known and (meaning := self._meaning(words.texts[at], context)):
                first, last = first + at_end, last + at_end
                text, at_end = text[:first] + meaning + text[last:], at_end + len(meaning) - (last - first)
        return words if text == words.question else Words.of(text)

    def _meaning(self, word: str, context: Context) -> str:
        """Return the word of a name that a word is probably misspelt for, "" for none."""
        forms = terms(word) if word.isalpha() else []
        if len(forms) != 1 or self.index.frequency(forms[0]):
            return ""
        meaning, chance = context.spelt(forms[0])
        if chance < LIKELY:
            return ""
        return as_written(meaning, self.phrases[int(self.index.postings(meaning)[0][0])], not word[0].islower())


def _content(phrase: str) -> list[str]:
    """Return the words of a phrase without stop words, all of them if there are no others."""
    words = phrase.replace("_", " ").split() or [phrase]
    return [word for word in words if word not in STOP_WORDS] or words


def vocabulary_of(facts: Facts, encoder: Encoder) -> Vocabulary:
    """Return the vocabulary of facts, built once for a snapshot and an encoder."""
    return facts.kept(("vocabulary", getattr(encoder, "id", repr(encoder))), lambda: Vocabulary.of(facts, encoder))


@dataclass(frozen=True, eq=False)
class Likeness:
    """Likeness of n words of a question with v names; a pair of words counts for both.

    `spelling`, `meaning`, `learned: float32[n, v]`: the best of the word and its pairs. `covered: float32[n, w]`: the
    likeness in spelling of each word with each word of names. `alone: float32[n, v]`: what each word alone asks for, as
    learned and by spelling. `vectors: float32[n, d]`: of the words.
    """

    spelling: Floats
    meaning: Floats
    learned: Floats
    covered: Floats
    alone: Floats
    vectors: Floats

    @classmethod
    def of(cls, words: Words, vocabulary: Vocabulary, encoder: Encoder, learned: LearnedLikeness) -> Likeness:
        """Compare the words of a question with a vocabulary."""
        singles = words.folded
        pairs = [f"{a} {b}" for a, b in itertools.pairwise(singles)]
        vectors = encoder.encode([*singles, *pairs])
        covered = spelling_vectors(singles) @ vocabulary.spelling.T
        spelling = np.zeros((len(singles), len(vocabulary.phrases)), np.float32)
        for row, parts in enumerate(vocabulary.parts):
            spelling[:, row] = covered[:, parts].max(axis=1)
        count = len(singles)
        meaning = _with_pairs(vectors @ vocabulary.vectors.T, count)
        asked = learned(vectors, vocabulary.vectors)
        alone = asked[:count] + _SPELLED * spelling
        return cls(spelling, meaning, _with_pairs(asked, count), covered, alone, vectors[:count])


def _with_pairs(values: Floats, count: int) -> Floats:
    """Return for each word the best of its own values and those of its pairs, which are the rows after `count`."""
    best = values[:count].copy()
    pairs = values[count:]
    best[:-1] = np.maximum(best[:-1], pairs)
    best[1:] = np.maximum(best[1:], pairs)
    return best
