"""The citation check: find where a quote stands in a passage, exactly, apart from its typing, or with one slip."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from graphwright.text.words import words

__all__ = ["Place", "find", "locate", "renumbered"]

_MIN_LENGTH = 3  # characters of a quote
_MIN_CLOSE = 12  # characters of a quote that may hold a slip: a shorter one resembles too much
_MIN_SLIP = 5  # letters of a word that may be misspelt

_TYPED = {  # characters that are the same when a text is typed again; the last are invisible
    **dict.fromkeys(
        '\u2018\u2019\u201a\u201b\u2039\u203a\u00b4`\u2032"\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033', "'"
    ),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", ""),
}
# A change in a number or a negation changes the statement, so it is never a slip.
_DECISIVE = re.compile(r"\d|^(?:no|not|never|none|nor|neither|cannot|without)$|n't$")
# Scripts without spaces between words, or with endings attached: a letter may be a word there.
_RUN_ON = re.compile(
    "[\u0e00-\u0eff\u1000-\u11ff\u1780-\u17ff\u3040-\u9fff\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]"
)
_AROUND = ".,;:!?'()[]{}*_"  # punctuation before and after words
_MARKER = re.compile(r"(\s*)\[\s*(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\s*\]")

Span = tuple[int, int]


class Place(NamedTuple):
    """Characters `start` to `end` of the text of passage number `passage`."""

    passage: int
    start: int
    end: int


def find(quote: str, text: str) -> Span | None:
    """Return the span of a quote in a text, None if it is not there.

    Three comparisons are tried in turn: exact; apart from white space, kinds of quotation marks and dashes, case, and
    encoding of letters; and, for quotes of 12 characters or more, word by word apart from punctuation and one slip. A
    slip is one letter missing, added or wrong, or two swapped, but not the first, in a word of 5 letters or more that
    is no number, no negation, and no other word of the text. A quote begins and ends with whole words. A quote of
    fewer than 3 characters, or of stop words only, is never found.

    >>> text = "He said “Good — bye” to all of them in 1855, and left."
    >>> [find(quote, text) for quote in ("1855", 'said "good - bye" to', "He said good — bye to all of them in 1855")]
    [(39, 43), (3, 23), (0, 43)]
    >>> find("all of them", text), find("safe", "It was unsafe."), find("He was convicted", "He was acquitted.")
    (None, None, None)
    >>> find("where he maried her", "That is where he married her, in 1855.")
    (8, 28)
    """
    quote = quote.strip()
    ways = _WAYS if words(quote) else ()
    return next((span for way in ways if (span := way(quote, text)) is not None), None)


def locate(quote: str, passage: int, texts: Mapping[int, str]) -> Place | None:
    """Return the place of a quote: in passage number `passage`, else in the first other passage that matches best.

    `texts`: the passages by number. None if the quote is in none of them.

    >>> locate("Graz is here", 1, {1: "Lyon is there.", 2: "Graz is here."})
    Place(passage=2, start=0, end=12)
    """
    quote = quote.strip()
    others = [number for number in texts if number != passage]
    for numbers in ([passage] if passage in texts else [], others):
        for way in _WAYS if words(quote) else ():
            for number in numbers:
                if (span := way(quote, texts[number])) is not None:
                    return Place(number, *span)
    return None


def renumbered(answer: str, numbers: Sequence[int | None]) -> str:
    """Return the answer with its markers renumbered: [i] becomes [numbers[i - 1]], and is removed if that is None.

    Several numbers may share a marker; numbers beyond the list are removed too.

    >>> renumbered("It burned [1, 3]. It was rebuilt [2][9].", [1, None, 2])
    'It burned [1, 2]. It was rebuilt.'
    """

    def replacement(marker: re.Match[str]) -> str:
        old = (int(n) for n in re.findall(r"\d+", marker[2]))
        new_numbers = [new for n in old if 0 < n <= len(numbers) and (new := numbers[n - 1]) is not None]
        return f"{marker[1]}[{', '.join(map(str, dict.fromkeys(new_numbers)))}]" if new_numbers else ""

    return _MARKER.sub(replacement, answer).strip()


def _exact(quote: str, text: str) -> Span | None:
    if len(quote) < _MIN_LENGTH:
        return None
    start = _start(quote, text)
    return None if start < 0 else (start, start + len(quote))


def _retyped(quote: str, text: str) -> Span | None:
    folded_quote, (folded, origin) = _folded(quote)[0].strip(), _folded(text)
    # The second form lacks the quotation marks or dots around the quote.
    for form in (folded_quote, folded_quote.strip(" '.")):
        if len(form) >= _MIN_LENGTH and (start := _start(form, folded)) >= 0:
            return origin[start], origin[start + len(form) - 1] + 1
    return None


def _close(quote: str, text: str) -> Span | None:
    folded_quote, (folded, origin) = _folded(quote)[0].strip(), _folded(text)
    if len(folded_quote) < _MIN_CLOSE:
        return None
    quote_words, text_words = [word for word, _, _ in _split(folded_quote)], _split(folded)
    vocabulary = {word for word, _, _ in text_words}
    for first in range(len(text_words) - len(quote_words) + 1):
        window = text_words[first : first + len(quote_words)]
        slips = [(a, b) for a, (b, _, _) in zip(quote_words, window, strict=True) if a != b][:2]
        if not slips or (len(slips) == 1 and slips[0][0] not in vocabulary and _is_slip(*slips[0])):
            return origin[window[0][1]], origin[window[-1][2] - 1] + 1
    return None


_WAYS = (_exact, _retyped, _close)


@lru_cache(maxsize=64)
def _split(text: str) -> list[tuple[str, int, int]]:
    """Return the words of a text, without the punctuation around them, and their spans."""
    spans = []
    for match in re.finditer(r"\S+", text):
        start = match.end() - len(match[0].lstrip(_AROUND))
        if word := match[0].strip(_AROUND):
            spans.append((word, start, start + len(word)))
    return spans


def _is_slip(a: str, b: str) -> bool:
    """Return whether one word is the other misspelt: see `find`."""
    if any(len(w) < _MIN_SLIP or _DECISIVE.search(w) or _RUN_ON.search(w) or not words(w) for w in (a, b)):
        return False
    start = _shared(a, b)
    a, b = a[start:], b[start:]
    end = _shared(a[::-1], b[::-1])
    a, b = a[: len(a) - end], b[: len(b) - end]
    return start > 0 and (max(len(a), len(b)) == 1 or (len(a) == 2 and a == b[::-1]))


def _shared(a: str, b: str) -> int:
    """Return the length of the longest common prefix."""
    shortest = min(len(a), len(b))
    return next((at for at in range(shortest) if a[at] != b[at]), shortest)


def _start(part: str, text: str) -> int:
    """Return the start of the first occurrence that begins and ends at word boundaries, else -1."""
    at = text.find(part)
    while at >= 0 and (_inside_word(text, at) or _inside_word(text, at + len(part))):
        at = text.find(part, at + 1)
    return at


def _inside_word(text: str, at: int) -> bool:
    """Return whether the characters on both sides of a position belong to one word or number."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if unicodedata.combining(after):
        return not before.isspace()
    if before in ".,":
        return after.isdigit() and text[at - 2 : at - 1].isdigit()
    if after in ".,":
        return before.isdigit() and text[at + 1 : at + 2].isdigit()
    wordy = (before.isalnum() or unicodedata.combining(before)) and after.isalnum()
    return bool(wordy) and not (_RUN_ON.match(before) or _RUN_ON.match(after))


@lru_cache(maxsize=64)
def _folded(text: str) -> tuple[str, list[int]]:
    """Return the text with typing differences removed, and for each of its characters the position it comes from."""
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
