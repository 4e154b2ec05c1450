"""Sentences of passages, and quotations of several in a row."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from graphwright.graph.evidence import Scores
from graphwright.models.protocols import PassageText
from graphwright.text.sentences import sentence_spans


class Sentence(NamedTuple):
    """A sentence, or several in a row, of passage number `passage`, by characters of its text.

    `part`: the number of the row, cell, slide or definition of the passage in which it lies.
    """

    passage: int
    start: int
    end: int
    part: int = 0


def sentences_of(passage: PassageText, number: int = 0) -> list[Sentence]:
    """Return the sentences of passage `number`, none of which goes over a cut.

    >>> sentences_of(PassageText("", "river: Mur\\nkm: 464", (11,)))
    [Sentence(passage=0, start=0, end=10, part=0), Sentence(passage=0, start=11, end=18, part=1)]
    """
    return [
        Sentence(number, first + start, first + end, part)
        for part, (first, last) in enumerate(pairwise((0, *passage.cuts, len(passage.text))))
        for start, end in sentence_spans(passage.text[first:last])
    ]


def around(passage: PassageText, start: int, end: int, words: int) -> tuple[int, int]:
    """Return the characters of the sentences that a span lies in, and of those after and before it up to some words."""
    sentences = sentences_of(passage)
    within = [at for at, s in enumerate(sentences) if s.start < end and s.end > start]
    if not within:
        return start, end
    lengths = [len(passage.text[s.start : s.end].split()) for s in sentences]
    near = -np.abs(np.arange(len(sentences)) - within[0]).astype(float)
    first, last = widened(within[0], sentences, near, lengths, set(), words)
    return min(sentences[first].start, start), max(sentences[max(last, within[-1])].end, end)


def widened(
    best: int, sentences: Sequence[Sentence], scores: Scores, lengths: Sequence[int], used: set[int], words: int
) -> tuple[int, int]:
    """Return the first and last sentence around the best one, of its part, that have no more than `words` words."""
    first = last = best
    length, part = lengths[best], (sentences[best].passage, sentences[best].part)
    while True:
        sides = [
            side
            for side in (last + 1, first - 1)
            if 0 <= side < len(sentences)
            and (sentences[side].passage, sentences[side].part) == part
            and side not in used
            and length + lengths[side] <= words
        ]
        if not sides:
            return first, last
        side = max(sides, key=lambda number: scores[number])
        first, last, length = min(first, side), max(last, side), length + lengths[side]
