"""Terms that a text repeats: phrases, and a substitute for names in texts without meaningful capitals."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass

from graphwright.text.words import NOT_NAMES, UNSPACED

__all__ = ["Terms", "frequent_terms", "repeated_phrases"]

_LETTERS = re.compile(r"[^\W\d_]{3,}")
# A word with its vowel signs, which `\w` does not match: Indic scripts, Hebrew and Arabic points.
_WITH_VOWEL_SIGNS = re.compile(r"[^\W\d_](?:[^\W\d_]|[\u0591-\u05c7\u0610-\u065f\u0900-\u0d7f\u200c\u200d])+")
_MAX_PHRASES = 8
_MAX_TERMS = 16
_MIN_LETTERS = 4  # of a term in a script with spaces
_MAX_CHARACTERS = 6  # of a term in a script without spaces


def repeated_phrases(text: str) -> list[tuple[str, int]]:
    """Return pairs of adjacent lower-case words that occur more than once, with the offset of the first occurrence.

    >>> repeated_phrases("A wind farm is a farm. The wind farm was built.")
    [('wind farm', 2)]
    """
    offsets: dict[str, int] = {}
    repeated: dict[str, int] = {}
    last, end = "", -9
    for match in _LETTERS.finditer(text):
        word = match.group()
        if word in NOT_NAMES or not word.islower():
            last = ""
            continue
        if last and match.start() == end + 1 and text[end] == " ":
            phrase = f"{last} {word}"
            if phrase in offsets:
                repeated.setdefault(phrase, offsets[phrase])
            else:
                offsets[phrase] = end - len(last)
        last, end = word, match.end()
    return sorted(repeated.items(), key=lambda item: item[1])[:_MAX_PHRASES]


@dataclass(frozen=True)
class Terms:
    """Occurrences of terms in a text: `names[i]` begins at `offsets[i]`; offsets ascend."""

    names: tuple[str, ...]
    offsets: tuple[int, ...]

    def within(self, start: int, end: int) -> list[tuple[str, int]]:
        """Return the terms that begin from `start` to `end`, with their offsets."""
        part = slice(bisect_left(self.offsets, start), bisect_left(self.offsets, end))
        return list(zip(self.names[part], self.offsets[part], strict=True))


def frequent_terms(text: str) -> Terms:
    """Return all occurrences of the most frequent terms of a text: words, and runs of characters.

    In scripts without spaces a term is a repeated run of two to six characters that is not part of a longer run
    repeated as often. Ties: the longer term first, then the earlier one.

    >>> frequent_terms("the whale swam. a whale is a mammal").names
    ('whale', 'swam', 'whale', 'mammal')
    >>> frequent_terms("東京都は日本の首都。東京都の人口").names
    ('東京都', '東京都')
    """
    offsets: dict[str, list[int]] = {}
    for match in _WITH_VOWEL_SIGNS.finditer(UNSPACED.sub(lambda run: " " * len(run[0]), text)):
        word = match.group()
        if len(word) >= _MIN_LETTERS - (not word.isascii()) and word.lower() not in NOT_NAMES:
            offsets.setdefault(word.lower(), []).append(match.start())
    for term, starts in _repeated_runs(text).items():
        offsets.setdefault(term, []).extend(starts)
    best = sorted(offsets, key=lambda term: (-len(offsets[term]), -len(term), offsets[term][0]))[:_MAX_TERMS]
    occurrences = sorted((start, text[start : start + len(term)]) for term in best for start in offsets[term])
    return Terms(tuple(term for _, term in occurrences), tuple(start for start, _ in occurrences))


def _repeated_runs(text: str) -> dict[str, list[int]]:
    """Return the repeated runs of unspaced scripts, with their offsets, unless a longer run is repeated as often."""
    counts: Counter[str] = Counter()
    offsets: dict[str, list[int]] = {}
    for match in UNSPACED.finditer(text):
        run = match.group()
        for start in range(len(run)):
            for size in range(2, min(_MAX_CHARACTERS, len(run) - start) + 1):
                term = run[start : start + size]
                counts[term] += 1
                offsets.setdefault(term, []).append(match.start() + start)
    repeated = {term for term, count in counts.items() if count > 1}
    covered = {part for term in repeated for part in (term[1:], term[:-1]) if counts[part] == counts[term]}
    return {term: offsets[term] for term in repeated - covered}
