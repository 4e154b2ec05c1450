"""Whether a quote stands in a passage, and where: to the letter, but for its typing, or nearly."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from graphwright.text.words import words

__all__ = ["Place", "find", "locate", "renumbered"]

SHORTEST = 3  # characters that a quote must have to say anything
SHORTEST_CLOSE = 12  # a shorter one is near to far too much
SHORTEST_SLIP = 5  # letters of a word that may be misspelt; a shorter one is soon another

_TYPED = {  # what stands for the same when a text is typed again; the last are not seen at all
    **dict.fromkeys(
        '\u2018\u2019\u201a\u201b\u2039\u203a\u00b4`\u2032"\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033', "'"
    ),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", ""),
}
# What turns a statement round is never a slip: its numbers, and its denials.
_DECISIVE = re.compile(r"\d|^(?:no|not|never|none|nor|neither|cannot|without)$|n't$")
# Scripts whose words are not set apart by spaces, or that take endings without one: a letter may be a word there.
_RUN_ON = re.compile(
    "[\u0e00-\u0eff\u1000-\u11ff\u1780-\u17ff\u3040-\u9fff\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]"
)
_AROUND = ".,;:!?'()[]{}*_"  # set before or after words
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
    and how a letter is encoded; then, for 12 characters or more, the same words but for their punctuation and one slip
    in one of them: a letter too few, too many or wrong, or two exchanged, not the first, in a word of 5 letters or more
    that is no number, no denial, and no word that the text has elsewhere. A quote begins and ends with whole words. One
    of fewer than 3 characters, or only of words such as "the" and "of", says nothing and stands nowhere.

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
    """Return where a quote stands: in the passage said to hold it, else in the first other that holds it best.

    `texts`: the passages by number. None where the quote stands in none of them.

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
    start = _start(quote, text)
    return None if start < 0 else (start, start + len(quote))


def _retyped(quote: str, text: str) -> Span | None:
    sought, (folded, origin) = _folded(quote)[0].strip(), _folded(text)
    # The second without the quotation marks or the dots that were put around it.
    for some in (sought, sought.strip(" '.")):
        if len(some) >= SHORTEST and (start := _start(some, folded)) >= 0:
            return origin[start], origin[start + len(some) - 1] + 1
    return None


def _close(quote: str, text: str) -> Span | None:
    typed, (folded, origin) = _folded(quote)[0].strip(), _folded(text)
    if len(typed) < SHORTEST_CLOSE:
        return None
    sought, there = [word for word, _, _ in _split(typed)], _split(folded)
    known = {word for word, _, _ in there}
    for first in range(len(there) - len(sought) + 1):
        stretch = there[first : first + len(sought)]
        slips = [(one, found) for one, (found, _, _) in zip(sought, stretch, strict=True) if one != found][:2]
        if not slips or (len(slips) == 1 and slips[0][0] not in known and _slip(*slips[0])):
            return origin[stretch[0][1]], origin[stretch[-1][2] - 1] + 1
    return None


_WAYS = (_exact, _retyped, _close)


@lru_cache(maxsize=64)
def _split(text: str) -> list[tuple[str, int, int]]:
    """Return the words of a text, without what stands around them, and their spans."""
    found = []
    for match in re.finditer(r"\S+", text):
        start = match.end() - len(match[0].lstrip(_AROUND))
        if word := match[0].strip(_AROUND):
            found.append((word, start, start + len(word)))
    return found


def _slip(one: str, other: str) -> bool:
    """Whether a word is another misspelt: see `find`."""
    if any(len(w) < SHORTEST_SLIP or _DECISIVE.search(w) or _RUN_ON.search(w) or not words(w) for w in (one, other)):
        return False
    start = _shared(one, other)
    one, other = one[start:], other[start:]
    end = _shared(one[::-1], other[::-1])
    one, other = one[: len(one) - end], other[: len(other) - end]
    return start > 0 and (max(len(one), len(other)) == 1 or (len(one) == 2 and one == other[::-1]))


def _shared(one: str, other: str) -> int:
    """Return how many characters two words begin with alike."""
    shortest = min(len(one), len(other))
    return next((at for at in range(shortest) if one[at] != other[at]), shortest)


def _start(sought: str, text: str) -> int:
    """Return where the first occurrence that begins and ends with a word begins, else -1."""
    at = text.find(sought)
    while at >= 0 and (_inside_word(text, at) or _inside_word(text, at + len(sought))):
        at = text.find(sought, at + 1)
    return at


def _inside_word(text: str, at: int) -> bool:
    """Whether the characters on both sides of a place belong to one word or number."""
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
