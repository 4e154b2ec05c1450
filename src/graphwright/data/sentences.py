"""Where the sentences of a text begin and end, by one scan and a few rules, in any script."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["LONGEST", "sentence_spans"]

LONGEST = 1000
"""Characters that a span has at most: longer runs, as in text without stops, are cut at lines or words."""

_WORD = re.compile(r"\S+")
# Before a name or a number: never the end of a sentence.
_TITLES = frozenset(
    _WORD.findall(
        "dr mr mrs ms mx messrs sir shri prof gen col lt sgt capt cpt cmdr maj adm rev fr sen supt vs v"
        " cf viz ca eg ie fig figs eq eqs nr bzw usw vgl z.b d.h u.a e.g i.e"
    )
)
# The end of a sentence only where a word follows that begins sentences.
_OPEN_ENDED = frozenset(
    _WORD.findall(
        "inc ltd co corp llc bros jr sr esq al etc dept univ assn ave blvd rd hwy st ste mt ft est gov"
        " rep pres hon ed eds trans approx jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed"
        " thu fri sat sun ph.d"
    )
)
_BEFORE_NUMBER = frozenset(_WORD.findall("no nos art par sec ch vol vols pt p pp pg op b c d r fl"))
_OPENERS = (
    "A An And Although After As At Before Both But By During Each For From He Her Here His How However I"
    " If In It Its Later Many Most My No On One Other Our She Since So Some Such That The Their Then There"
    " These They This Those Though Thus To Until We What When Where Which While Who Why With You Your"
)
_OPENER = re.compile(rf"[\"'“‘(\[]*(?:{_OPENERS.replace(' ', '|')})(?=[\s,])")

_STOP = ".!?…"
_WIDE = "。！？｡।॥؟۔።။།។։"  # stops that need no space after them
_CLOSING = "\"'”’»)\\]}」』）】》］〉"
_AFTER_STOP = f".!?…{_CLOSING}".replace("\\", "")
_BREAK = re.compile(
    rf"(?<![{_STOP}])[{_STOP}]++[{_CLOSING}]*+(?:\[\d{{1,3}}\])*+"  # stops, closing quotes, note numbers,
    rf"(?:\s++|\Z|(?=(?:{_OPENERS.replace(' ', '|')})\s))"  # then space, or a lost space before an opener
    rf"|[{_WIDE}]++[{_CLOSING}]*+\s*+"
    r"|\n\s*+"
)
_CLOSES = re.compile(r"[\"'”’»)\]]++(?:[.,;:!?\s]|\Z)")  # a closing quote that space parts from its stop
_LIST_MARK = re.compile(r"(?:[-*+•·‣▪–—]|\(?\d{1,3}[.)]|\(?[A-Za-z]\))\s")
_PAUSES = ("\n", "; ", ": ", ", ", " ")


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return the (start, end) of each sentence, in order.

    Spans never overlap, neither begin nor end with white space, and together hold every character that
    is none. Empty lines always part sentences. A single line end does where the line is too short or
    too long to have been wrapped, or a list begins; so headings, verse and lists fall into lines, and
    wrapped prose does not. Time is linear in the text.

    >>> text = "Dr. J. R. Smith left the U.S. Army. He paid $3.50 (No. 5). “Why?” she asked. 是的。好。"
    >>> [text[start:end] for start, end in sentence_spans(text)]
    ['Dr. J. R. Smith left the U.S. Army.', 'He paid $3.50 (No. 5).', '“Why?” she asked.', '是的。', '好。']
    """
    spans: list[tuple[int, int]] = []
    lower_case = _is_lower_case(text)
    start = len(text) - len(text.lstrip())
    line = 0  # where the line begins that is being read
    for found in _BREAK.finditer(text):
        gap, after = found.start(), found.end()
        lines = text.count("\n", gap, after)
        parts = text[gap] in _WIDE or after == len(text)
        if not parts and text[gap] in _STOP:
            parts = _ends(text, start, found, lower_case)
        if not parts and lines:
            parts = lines > 1 or _is_line(text, line, found)
        if lines:
            line = after
        if parts:
            spans.extend(_fitting(text, start, gap + len(found[0].rstrip())))
            start = after
    spans.extend(_fitting(text, start, len(text.rstrip())))
    return spans


def _is_lower_case(text: str) -> bool:
    """Say whether capitals tell nothing, as in text that was lower-cased as a whole."""
    head = text[:20_000]
    return sum(map(str.isupper, head)) * 200 < sum(map(str.islower, head))


def _ends(text: str, start: int, found: re.Match[str], lower_case: bool) -> bool:
    """Say whether a stop that is followed by space, or by an opening word, ends the sentence."""
    stop, after = found.start(), found.end()
    following = text[after]
    continues = following in ",;:" or (following.islower() and not lower_case) or _CLOSES.match(text, after)
    if text[stop] != "." or text[stop + 1] in _AFTER_STOP:
        return not continues
    before = text[max(start, stop - 24) : stop]
    if not before or before[-1].isspace():  # a stop between spaces, as tokenised text has it
        return stop > start
    word = before.split()[-1].lstrip("([\"'“‘")
    name = word.lower()
    if continues or name in _TITLES or (following.isdigit() and name in _BEFORE_NUMBER):
        return False
    if name in _OPEN_ENDED or "." in word or (len(word) == 1 and word.isupper()):
        return _OPENER.match(text, after) is not None
    return not (word.isdigit() and stop - start == len(word) < 4)  # else the number of a list item


def _is_line(text: str, line: int, found: re.Match[str]) -> bool:
    """Say whether a line stands by itself, not wrapped from a paragraph into the next line."""
    following = text[found.end()]
    if _LIST_MARK.match(text, found.end()):
        return True
    narrowest = 20 if following >= "\u2e80" else 45  # lines of wide characters hold half as many
    return not following.islower() and not narrowest <= found.start() - line <= 120


def _fitting(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut a span that is too long: at a line end, else at a pause, else at a space, else anywhere."""
    while end - start > LONGEST:
        half, limit = start + LONGEST // 2, start + LONGEST
        cuts = (text.rfind(pause, half, limit) + len(pause) for pause in _PAUSES)
        cut = next((cut for cut in cuts if cut > half), limit)
        yield from _stripped(text, start, cut)
        start = cut
    yield from _stripped(text, start, end)


def _stripped(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    piece = text[start:end].rstrip()
    if piece:
        end = start + len(piece)
        yield end - len(piece.lstrip()), end
