"""Input of the mention detector: the words of a text with their characters, tokens and spelling features."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.models.protocols import Floats
from graphwright.text.names import capitals_problem
from graphwright.text.sentences import sentence_spans

Span = tuple[int, int]
SURFACE = 17
"""Number of spelling features of a word."""
CASE = 8
"""Number of leading spelling features on capitals; these are 0 in a text whose capitals do not mark names."""
_OPENING = frozenset("\"“«„'‘`(")
_QUOTES = frozenset('"“”«»„')
_SAMPLE = 400  # characters examined to decide whether capitals mark names


class Words(NamedTuple):
    """Words of a text: `spans`, the characters of each, and `tokens: int64[n]`, the first token of each."""

    spans: list[Span]
    tokens: NDArray[np.int64]


def words_of(text: str, tokens: Sequence[Span]) -> Words:
    """Join the tokens of a text to words: runs of letters and digits, and single other characters.

    >>> words_of("MiniLM's", [(0, 4), (4, 6), (6, 7), (7, 8)])
    Words(spans=[(0, 6), (6, 7), (7, 8)], tokens=array([0, 2, 3]))
    """
    spans: list[Span] = []
    first: list[int] = []
    last = -1
    for number, (start, end) in enumerate(tokens):
        if start == last and text[start].isalnum() and text[start - 1].isalnum():
            spans[-1] = spans[-1][0], end
        elif end > start:
            spans.append((start, end))
            first.append(number)
        last = end
    return Words(spans, np.array(first, np.int64))


def word_states(states: Floats, words: Words) -> Floats:
    """Return the mean of the states of each word's tokens; `states` has no rows for special tokens."""
    counts = np.diff(words.tokens, append=len(states))
    means = np.asarray(states[words.tokens], np.float32)
    for further in range(1, int(counts.max(initial=1))):  # few words have two tokens, and fewer have three
        rows = np.flatnonzero(counts > further)
        means[rows] += states[words.tokens[rows] + further]
    rows = np.flatnonzero(counts > 1)
    means[rows] /= counts[rows, None]
    return means


def surface_features(text: str, spans: Sequence[Span], title: int) -> Floats:
    """Return the spelling features of words: float32[n, SURFACE]. `title`: characters before the first sentence.

    >>> features = surface_features("Ada met Bob.", [(0, 3), (4, 7), (8, 11), (11, 12)], 0)
    >>> features[:, 0].tolist(), features[:, 8].tolist()  # capital, start of a sentence
    ([1.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0])
    """
    forms = [text[start:end] for start, end in spans]
    starts = _sentence_starts(text, spans, title)
    shapes = list(map(_shape, forms))
    features = np.zeros((len(spans), SURFACE), np.float32)
    if spans and capitals_problem(text[title : title + _SAMPLE]) is None:
        features[:, :CASE] = _case_features(forms, shapes, starts)
    in_title = {shape.lower for shape, (start, _) in zip(shapes, spans, strict=True) if start < title}
    quoted = _quoted(forms) if any(sign in text for sign in _QUOTES) else set()
    last, rows = -1, []
    for row, (shape, (start, end)) in enumerate(zip(shapes, spans, strict=True)):
        rows.append(
            (
                row in starts, start == last, shape.digit, shape.year, not shape.word, row in quoted, start < title,
                shape.word and start >= title and shape.lower in in_title, shape.single,
            )
        )  # fmt: skip
        last = end
    features[:, CASE:] = rows or 0
    return features


class _Shape(NamedTuple):
    """Spelling of a word: capitals, digits, and length."""

    lower: str
    capital: bool  # of the first letter
    all_capitals: bool
    mixed: bool
    small: bool
    digit: bool
    year: bool
    word: bool
    single: bool


@lru_cache(maxsize=1 << 16)
def _shape(form: str) -> _Shape:
    upper = form.isupper()
    return _Shape(
        form.lower(), form[0].isupper(), len(form) > 1 and upper, not upper and any(map(str.isupper, form[1:])),
        form.islower(), any(map(str.isdigit, form)), len(form) == 4 and form.isdigit(), form[0].isalnum(),
        len(form) == 1,
    )  # fmt: skip


def _case_features(forms: Sequence[str], shapes: Sequence[_Shape], starts: set[int]) -> list[tuple[bool, ...]]:
    """Return the features of each word's capitals, and of the spelling of the same word elsewhere in the text."""
    small = {form for form, shape in zip(forms, shapes, strict=True) if shape.small}
    capital = Counter(shape.lower for row, shape in enumerate(shapes) if shape.capital and row not in starts)
    rows: list[tuple[bool, ...]] = []
    for row, shape in enumerate(shapes):
        first, starting = shape.capital, row in starts
        others = capital[shape.lower] - (first and not starting)
        rows.append(
            (
                first, shape.all_capitals, shape.mixed, shape.small, first and shape.lower in small, others > 0,
                first and starting, True,
            )
        )  # fmt: skip
    return rows


def _sentence_starts(text: str, spans: Sequence[Span], title: int) -> set[int]:
    """Return the words that begin a sentence, after opening quotes and brackets."""
    starts, row = set(), 0
    for start, _ in [(0, 0), *((title + a, title + b) for a, b in sentence_spans(text[title:]))]:
        while row < len(spans) and (spans[row][0] < start or text[spans[row][0]] in _OPENING):
            row += 1
        starts.add(row)
    return starts


def _quoted(forms: Sequence[str]) -> set[int]:
    """Return the words between two quotation marks that are at most a dozen words apart."""
    quoted: set[int] = set()
    opened = -1
    for row, form in enumerate(forms):
        if form in _QUOTES:
            if opened >= 0 and row - opened <= 13:
                quoted.update(range(opened + 1, row))
                opened = -1
            else:
                opened = row
    return quoted
