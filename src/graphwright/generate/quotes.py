"""Whether a quote stands in a passage, and where: to the letter, but for its typing, or nearly."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

__all__ = ["Place", "find", "locate", "renumbered"]

SHORTEST = 3  # characters that a quote must have to say anything
SHORTEST_CLOSE = 12  # a shorter one is near to far too much
CLOSE = 95.0  # per cent of the characters that a close match shares

_TYPED = {  # what stands for the same when a text is typed again; the last are not seen at all
    **dict.fromkeys(
        '\u2018\u2019\u201a\u201b\u2039\u203a\u00b4`\u2032"\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033', "'"
    ),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", ""),
}
# A close match must not differ in what turns a statement round: its numbers, and its denials.
_DECISIVE = re.compile(r"\d+|\b(?:no|not|never|none|nor|neither|cannot|without)\b|n't\b")
_MARKER = re.compile(r"(\s*)\[\s*(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\s*\]")

Span = tuple[int, int]


class Place(NamedTuple):
    """Characters `start` to `end` of the text of passage number `passage`."""

    passage: int
    start: int
    end: int


def find(quote: str, text: str) -> Span | None:
    """Return the span of the text that a quote stands at, None where it does not.

    Tried in turn: the very characters; the same but for white space, the kinds of quotation marks and dashes, case,
    and how a letter is encoded; then, for 12 characters or more, a stretch that shares 95 % of them and differs in no
    number and no denial. The span is of whole words where the match was close. A quote of fewer than 3 characters
    says nothing and stands nowhere.

    >>> text = "He said “Good — bye” to all of them in 1855, and left."
    >>> [find(quote, text) for quote in ("1855", 'said "good - bye" to', "He said good — bye to all of them in 1855")]
    [(39, 43), (3, 23), (0, 43)]
    >>> find("He said “Good — bye” to all of them in 1856", text), find("He", text)
    (None, None)
    """
    return next((span for way in _WAYS if (span := way(quote.strip(), text)) is not None), None)


def locate(quote: str, passage: int, texts: Mapping[int, str]) -> Place | None:
    """Return where a quote stands: in the passage said to hold it, else in the first other that holds it best.

    `texts`: the passages by number. None where the quote stands in none of them.

    >>> locate("Graz is here", 1, {1: "Lyon is there.", 2: "Graz is here."})
    Place(passage=2, start=0, end=12)
    """
    quote = quote.strip()
    others = [number for number in texts if number != passage]
    for numbers in ([passage] if passage in texts else [], others):
        for way in _WAYS:
            for number in numbers:
                if (span := way(quote, texts[number])) is not None:
                    return Place(number, *span)
    return None


def renumbered(answer: str, numbers: Sequence[int | None]) -> str:
    """Return the answer with its markers renumbered: [i] becomes [numbers[i - 1]], and goes where that is None.

    Several numbers may share a marker; what points beyond the list goes too.

    >>> renumbered("It burned [1, 3]. It was rebuilt [2][9].", [1, None, 2])
    'It burned [1, 2]. It was rebuilt.'
    """

    def mended(marker: re.Match[str]) -> str:
        meant = (int(n) for n in re.findall(r"\d+", marker[2]))
        kept = [new for n in meant if 0 < n <= len(numbers) and (new := numbers[n - 1]) is not None]
        return f"{marker[1]}[{', '.join(map(str, dict.fromkeys(kept)))}]" if kept else ""

    return _MARKER.sub(mended, answer).strip()


def _exact(quote: str, text: str) -> Span | None:
    if len(quote) < SHORTEST:
        return None
    start = _best_start(quote, text)
    return None if start < 0 else (start, start + len(quote))


def _retyped(quote: str, text: str) -> Span | None:
    sought, (folded, origin) = _folded(quote)[0].strip(), _folded(text)
    # The second without the quotation marks or the dots that were put around it.
    for some in (sought, sought.strip(" '.")):
        if len(some) >= SHORTEST and (start := _best_start(some, folded)) >= 0:
            return origin[start], origin[start + len(some) - 1] + 1
    return None


def _close(quote: str, text: str) -> Span | None:
    sought, (folded, origin) = _folded(quote)[0].strip(), _folded(text)
    if not SHORTEST_CLOSE <= len(sought) <= len(folded):
        return None
    from rapidfuzz import fuzz

    found = fuzz.partial_ratio_alignment(sought, folded, score_cutoff=CLOSE)
    if found is None or found.dest_end <= found.dest_start:
        return None
    start, end = _whole_words(folded, found.dest_start, found.dest_end)
    if _DECISIVE.findall(sought) != _DECISIVE.findall(folded[start:end]):
        return None
    return origin[start], origin[end - 1] + 1


_WAYS = (_exact, _retyped, _close)


def _best_start(sought: str, text: str) -> int:
    """Return where the first occurrence that begins and ends with a word begins, else the first of all, else -1."""
    first = at = text.find(sought)
    while at >= 0:
        if not _inside_word(text, at) and not _inside_word(text, at + len(sought)):
            return at
        at = text.find(sought, at + 1)
    return first


def _inside_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum()


def _whole_words(text: str, start: int, end: int) -> Span:
    """Return the span without white space at its ends, and widened where it begins or ends within a word."""
    while text[start].isspace():
        start += 1
    while text[end - 1].isspace():
        end -= 1
    while _inside_word(text, start):
        start -= 1
    while _inside_word(text, end):
        end += 1
    return start, end


@lru_cache(maxsize=64)
def _folded(text: str) -> tuple[str, list[int]]:
    """Return the text as typing leaves it, and for each of its characters the one of the text that it comes from."""
    folded: list[str] = []
    origin: list[int] = []
    for at, character in enumerate(text):
        if character.isspace():
            plain = "" if folded and folded[-1] == " " else " "
        else:
            typed = _TYPED.get(character, character)
            plain = unicodedata.normalize("NFKD", typed).casefold()
        folded += plain
        origin += [at] * len(plain)
    return "".join(folded), origin
