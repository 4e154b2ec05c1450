"""Terms that stand out by being repeated: phrases beside names, and a stand-in where names cannot be told."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass

__all__ = ["OPENERS", "Terms", "frequent_terms", "repeated_phrases"]

OPENERS = frozenset(
    re.findall(
        r"\w+",
        "a about above after again against all along also although am among an and another any are around "
        "as at back based be because been before being below besides between beyond both but by can could "
        "despite did do does during each early either elsewhere even eventually every few finally first "
        "following for former formerly from further had has have having he hence her here hers him his how "
        "however i if in including initially inside instead into is it its just last late later latter like "
        "located many may meanwhile more moreover most much my near nearly neither nevertheless no none nor "
        "not now of off often on once one only onto or originally other others our out outside over own "
        "people per perhaps previously rather recently second several she should similarly since so some "
        "sometimes soon still subsequently such than that the their them then there therefore these they "
        "third this those though three through throughout thus to today together too toward towards two "
        "under unlike until up upon us usually very was we well were what when where whereas whether which "
        "while who whom whose why will with within without would yet you your born released written "
        "directed produced founded named known used according part mr mrs ms dr sir",
    )
)
"""Words that a sentence may begin with and that name nothing."""

_WORD = re.compile(r"[^\W\d_]{3,}")
# Scripts that are written without spaces between words: kana, Chinese characters, Thai, Lao, Burmese, Khmer.
_UNSPACED = re.compile("[\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff]+")
# A word with its vowel signs, which `\w` does not hold: Indic scripts, Hebrew and Arabic points.
_MARKED = re.compile(r"[^\W\d_](?:[^\W\d_]|[\u0591-\u05c7\u0610-\u065f\u0900-\u0d7f\u200c\u200d])+")
_MOST_PHRASES = 8
_MOST_TERMS = 16
_SHORTEST, _LONGEST = 4, 6  # letters of a word; characters of a term in a script without spaces


def repeated_phrases(text: str) -> list[tuple[str, int]]:
    """Return pairs of plain words that stand side by side more than once, with their first place.

    >>> repeated_phrases("A wind farm is a farm. The wind farm was built.")
    [('wind farm', 2)]
    """
    seen: dict[str, int] = {}
    repeated: dict[str, int] = {}
    last, end = "", -9
    for found in _WORD.finditer(text):
        word = found.group()
        if word in OPENERS or not word.islower():
            last = ""
            continue
        if last and found.start() == end + 1 and text[end] == " ":
            phrase = f"{last} {word}"
            if phrase in seen:
                repeated.setdefault(phrase, seen[phrase])
            else:
                seen[phrase] = end - len(last)
        last, end = word, found.end()
    return sorted(repeated.items(), key=lambda item: item[1])[:_MOST_PHRASES]


@dataclass(frozen=True)
class Terms:
    """Terms of a text and where they stand, by place."""

    names: tuple[str, ...]
    places: tuple[int, ...]

    def within(self, start: int, end: int) -> list[tuple[str, int]]:
        """Return the terms that stand from `start` to `end`."""
        part = slice(bisect_left(self.places, start), bisect_left(self.places, end))
        return list(zip(self.names[part], self.places[part], strict=True))


def frequent_terms(text: str) -> Terms:
    """Return the terms that a text uses most, wherever they stand: words, and runs of characters.

    In scripts without spaces a term is a run of two to six characters that comes back, and no part of a
    longer one that comes back as often. Of equals, the longer and then the earlier term is taken.

    >>> frequent_terms("the whale swam. a whale is a mammal").names
    ('whale', 'swam', 'whale', 'mammal')
    >>> frequent_terms("東京都は日本の首都。東京都の人口").names
    ('東京都', '東京都')
    """
    places: dict[str, list[int]] = {}
    for found in _MARKED.finditer(_UNSPACED.sub(lambda m: " " * len(m[0]), text)):
        word = found.group()
        if len(word) >= _SHORTEST - (not word.isascii()) and word.lower() not in OPENERS:
            places.setdefault(word.lower(), []).append(found.start())
    for term, where in _runs(text).items():
        places.setdefault(term, []).extend(where)
    best = sorted(places, key=lambda t: (-len(places[t]), -len(t), places[t][0]))[:_MOST_TERMS]
    standing = sorted((at, text[at : at + len(term)]) for term in best for at in places[term])
    return Terms(tuple(term for _, term in standing), tuple(at for at, _ in standing))


def _runs(text: str) -> dict[str, list[int]]:
    """Return the repeated character runs of unspaced scripts that no longer one covers."""
    counts: Counter[str] = Counter()
    where: dict[str, list[int]] = {}
    for found in _UNSPACED.finditer(text):
        run = found.group()
        for at in range(len(run)):
            for size in range(2, min(_LONGEST, len(run) - at) + 1):
                term = run[at : at + size]
                counts[term] += 1
                where.setdefault(term, []).append(found.start() + at)
    repeated = {term for term, count in counts.items() if count > 1}
    covered = {part for term in repeated for part in (term[1:], term[:-1]) if counts[part] == counts[term]}
    return {term: where[term] for term in repeated - covered}
