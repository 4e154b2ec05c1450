"""Sentence boundaries of text in any script, by one scan and a few rules."""

from __future__ import annotations

import re
from collections.abc import Iterator

from graphwright.text.words import FIRST_WORDS

LONGEST = 1000  # maximum characters of a span: longer runs, as in text without full stops, are cut at lines or words

# Abbreviations that never end a sentence: a name or a number follows.
_TITLES = frozenset(
    (
        "dr mr mrs ms mx messrs sir shri prof gen col lt sgt capt cpt cmdr maj adm rev fr sen supt vs v"
        " cf viz ca eg ie fig figs eq eqs nr bzw usw vgl z.b d.h u.a e.g i.e"
        " abb abzgl bzgl dipl ebd einschl evtl geb ggf hrsg inkl sog zzgl"  # German
        " mme mmes mlle mgr p.ex sra sras srta dra núm pág págs ej p.ej sig sigg dott pagg"  # French, Spanish, Italian
        " np tzw tzn tj św zob inż blz bijv dhr mevr"  # Polish, Dutch
        " акад гл им напр проф рис см ср стр табл ул т.е т.к т.н"  # Russian
    ).split()
)
# Abbreviations that end a sentence only before one of FIRST_WORDS.
_OPEN_ENDED = frozenset(
    (
        "inc ltd co corp llc bros jr sr esq al etc dept univ assn ave blvd rd hwy st ste mt ft est gov"
        " rep pres hon ed eds trans approx jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed"
        " thu fri sat sun ph.d"
    ).split()
)
_BEFORE_NUMBER = frozenset(("no nos art par sec ch vol vols pt p pp pg op b c d r fl").split())
_OTHER_LETTER = re.compile(r"[^\W\d_]\.")  # after a single letter: "z. B.", "d. h.", "т. е."
_SPACED_LETTERS = re.compile(r"(?:^|[\s(])(?:[a-z]\. ?[a-z]{1,2}|т\. ?[екн])$")  # "u. a.", "p. ex.", "т. е."
_AFTER_ORDINAL = re.compile(  # German dates
    r"(?:Januar|Jänner|Februar|März|Mai|Juni|Juli|Oktober|Dezember|Jahrhundert"
    r"|(?:April|August|September|November) \d{4})\b"
)
_OPENER = re.compile(rf"[\"'“‘(\[]*(?:{'|'.join(FIRST_WORDS)})(?=[\s,])")

_STOP = ".!?…"
_WIDE = "。！？｡।॥؟۔።፧။།។៕։᠃"  # stops that need no space after them
_GREEK = "\u0370-\u037d\u037f-\u03ff\u1f00-\u1fff"
_CLOSING = "\"'”’»)\\]}」』）】》］〉"
_AFTER_STOP = f".!?…{_CLOSING}".replace("\\", "")
_BREAK = re.compile(
    rf"(?<![{_STOP}])[{_STOP}]++[{_CLOSING}]*+(?:\[\d{{1,3}}\])*+"  # stops, closing quotes, note numbers,
    rf"(?:\s++|\Z|(?=(?:{'|'.join(FIRST_WORDS)})\s))"  # then space, or a lost space before an opener
    rf"|[{_WIDE}]++[{_CLOSING}]*+\s*+"
    rf"|(?<!\d)．++(?!\d)[{_CLOSING}]*+\s*+"
    rf"|(?<=[{_GREEK}])[;\u037e][{_CLOSING}]*+(?:\s++(?=[{_GREEK}«\"“])|\s*\Z)"  # the Greek question mark
    r"|\n\s*+"
)
_SURE = f"{_WIDE}．;\u037e"
_QUOTED_CLAUSE = re.compile("[」』】》）](?:と|って)")  # 「はい。」と答えた: the sentence goes on
_CLOSES = re.compile(r"[\"'”’»)\]]++(?:[.,;:!?\s]|\Z)")  # a closing quote, separated from its stop by space
_LIST_MARK = re.compile(r"(?:[-*+•·‣▪–—]|\(?\d{1,3}[.)]|\(?[A-Za-z]\))\s")
_WIDEST = 120  # characters of a line that was wrapped
_WORD = re.compile(r"\S+")
_PAUSES = ("\n", "; ", ": ", ", ", " ")


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return the (start, end) of each sentence, in order.

    Spans never overlap, neither begin nor end with white space, and together cover every other character. An empty line
    always ends a sentence. A single line end does so where the line is too short or too long to have been wrapped,
    where a list begins, and after a full stop where the line had room for the next word. Time is linear in the text.

    >>> text = "Dr. J. R. Smith left the U.S. Army. He paid $3.50 (No. 5). “Why?” she asked. 是的。好。"
    >>> [text[start:end] for start, end in sentence_spans(text)]
    ['Dr. J. R. Smith left the U.S. Army.', 'He paid $3.50 (No. 5).', '“Why?” she asked.', '是的。', '好。']
    """
    spans: list[tuple[int, int]] = []
    head = text[:20_000]
    lower_case = sum(map(str.isupper, head)) * 200 < sum(map(str.islower, head))  # almost no capitals
    start = len(text) - len(text.lstrip())
    line = 0  # start of the current line
    paragraph = _Paragraph(text)
    for match in _BREAK.finditer(text):
        gap, after = match.start(), match.end()
        lines = text.count("\n", gap, after)
        ends = after == len(text) or (text[gap] in _SURE and not _QUOTED_CLAUSE.match(text, after - 1))
        if not ends and text[gap] in _STOP:
            broken = lines == 1 and paragraph.has_room(line, after)
            ends = _ends(text, start, match, lower_case, broken)
        if not ends and lines:
            ends = lines > 1 or _is_line(text, line, match)
        if lines:
            line = after
        if ends:
            spans.extend(_fitting(text, start, gap + len(match[0].rstrip())))
            start = after
    spans.extend(_fitting(text, start, len(text.rstrip())))
    return spans


class _Paragraph:
    """The width of the paragraph that a scan of a text is in; the widths of all take linear time."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.end = self.width = 0

    def has_room(self, line: int, after: int) -> bool:
        """Return whether a line had room for the first word of the next one, by the widest line of the paragraph."""
        if after >= self.end:
            begin = max(self.text.rfind("\n\n", self.end, line), self.end)
            end = self.text.find("\n\n", after)
            self.end = len(self.text) if end < 0 else end
            self.width = max(map(len, self.text[begin : self.end].split("\n")))
        if self.width > _WIDEST:
            return True
        length = len(self.text[line:after].rstrip())
        word = _WORD.match(self.text, after)
        return word is not None and length + 1 + len(word[0]) <= self.width


def _ends(text: str, start: int, match: re.Match[str], lower_case: bool, broken: bool) -> bool:
    """Return whether a full stop ends the sentence; `broken`: so that a small letter may begin one after it."""
    stop, after = match.start(), match.end()
    following = text[after]
    lower = following.islower() and not (lower_case or broken)
    continues = following in ",;:" or lower or _CLOSES.match(text, after)
    if text[stop] != "." or text[stop + 1] in _AFTER_STOP:
        return not continues
    before = text[max(start, stop - 24) : stop]
    if not before or before[-1].isspace():  # a stop between spaces, as in tokenised text
        return stop > start
    word = before.split()[-1].lstrip("([\"'“‘")
    name = word.lower()
    if continues or name in _TITLES or (following.isdigit() and name in _BEFORE_NUMBER):
        return False
    # An abbreviation with a space in it: "z. B.", "u. a.", "p. ex."
    spaced = _SPACED_LETTERS.search(before) or (len(word) == 1 and _OTHER_LETTER.match(text, after))
    if spaced and word.islower() and not lower_case:
        return False
    if word.isdigit() and len(word) < 3 and _AFTER_ORDINAL.match(text, after):
        return False
    if name in _OPEN_ENDED or "." in word or (len(word) == 1 and word.isupper()):
        return _OPENER.match(text, after) is not None
    return not (word.isdigit() and stop - start == len(word) < 4)  # otherwise it is the number of a list item


def _is_line(text: str, line: int, match: re.Match[str]) -> bool:
    """Return whether a line ends by itself, rather than being wrapped into the next one."""
    following = text[match.end()]
    if _LIST_MARK.match(text, match.end()):
        return True
    narrowest = 20 if following >= "\u2e80" else 45  # lines of wide characters hold half as many
    return not following.islower() and not narrowest <= match.start() - line <= _WIDEST


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
    span = text[start:end].rstrip()
    if span:
        end = start + len(span)
        yield end - len(span.lstrip()), end


_SENTENCE_END = frozenset(".!?…。！।？؟;:")
_MAX_HEADING = 7  # words of a line without a full stop

ASKS = ("?", "？", "؟")  # signs at the end of a sentence that asks something


def is_statement(text: str) -> bool:
    """Return whether a text is a sentence, and not a heading.

    >>> is_statement("Graz lies on the Mur."), is_statement("The River Mur")
    (True, False)
    """
    after = len(text)  # end of the last word
    while after and not (text[after - 1].isalnum() or text[after - 1] == "_"):
        after -= 1
    return not _SENTENCE_END.isdisjoint(text[after:]) or len(text.split()) > _MAX_HEADING
