"""Names of the tables of a text: their captions, above or below, else the headings above."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from graphwright.data.records.record import Record
from graphwright.data.records.table import Head

_WINDOW = 400  # characters beside a table in which its caption stands
_MIN_LABEL = 3  # Latin letters of a label without a sign after its number
_NUMBER = r"(?:[A-Z]?\.?\d{1,3}(?:[.–-]\d{1,3})*[a-z]?|[IVXLC]{1,7})(?!\.?\d)"
_BETWEEN = r"(?:[ \xa0]?[.:–—|：．。][ \xa0]*\n{0,2}|\n{1,2}|(?P<space>[ \xa0\u3000]+)(?=[^\Wa-z]))"
_NUMBERED = rf"(?P<label>[^\W\d_]{{1,15}})\.?[ \xa0]?{_NUMBER}{_BETWEEN}"
_CAPTION = re.compile(  # Table 4: Rivers; "Table 4" and "Rivers" in the next line; 表4 河川
    rf"{_NUMBERED}(?P<title>[^\W_](?:(?!\n\n)[^|]){{0,300}}?)[.:]?(?=\n\n|\Z)"
)
_LABEL = re.compile(f"^{_NUMBERED}", re.MULTILINE)
_LINE = re.compile(r"^\S", re.MULTILINE)


class Caption(NamedTuple):
    """A caption: the word before its number, "" for none, its title without both, all of it, and where it begins."""

    label: str
    title: str
    text: str
    start: int = 0


class _Row(NamedTuple):
    """A record of a table: its number among the records, its table, its head, and what names the table."""

    record: int
    table: int
    head: Head
    title: str
    heading: str


class TableTypes:
    """Types of the records of the tables of one text.

    It is the title of the table, else its caption, else the heading above; a number where another table of this title
    has other columns. `declared`: the ends and titles of texts that the file declares as captions, by their starts.
    """

    def __init__(self) -> None:
        """Begin a text without tables."""
        self.declared: dict[int, tuple[int, str]] = {}
        self._heads: dict[str, list[tuple[str, ...]]] = {}
        self._rows: list[_Row] = []
        self._tables = 0

    def of(self, head: Head, title: str) -> str:
        """Return the type of the records of a table with a title.

        >>> types = TableTypes()
        >>> [types.of(Head(names), "Rivers") for names in (("name", "km"), ("name", "source"), ("name", "km"))]
        ['Rivers', 'Rivers 2', 'Rivers']
        """
        heads = self._heads.setdefault(title, [])
        if head.names not in heads:
            heads.append(head.names)
        number = heads.index(head.names) + 1
        return f"{title} {number}" if number > 1 and title else title

    def begin(self) -> None:
        """Begin another table."""
        self._tables += 1

    def add(self, record: int, head: Head, title: str, heading: str) -> None:
        """Add a row of the current table, a record of the text, with the title of the table or a heading above."""
        self._rows.append(_Row(record, self._tables, head, title, heading))

    def rename(self, first: int, title: str) -> None:
        """Give the tables from a row on another title."""
        self._rows[first:] = [row._replace(title=title) for row in self._rows[first:]]

    def typed(self, text: str, records: Sequence[Record]) -> tuple[Record, ...]:
        """Return the records of a text with the types of those of tables."""
        tables = [list(rows) for _, rows in groupby(self._rows, key=lambda row: (row.table, row.title))]
        spans = [(records[rows[0].record].start, records[rows[-1].record].end) for rows in tables if not rows[0].title]
        beside = iter(_captions(text, spans, self.declared))
        named = [_of_title(rows[0].title) if rows[0].title else next(beside) for rows in tables]
        titles = Counter(title for title, _ in {(name.title, name.text) for name in named if name})
        typed = list(records)
        for rows, name in zip(tables, named, strict=True):
            # "Week 12: Shifts" and "Week 13: Shifts" are two names.
            title = "" if name is None else name.title if titles[name.title] == 1 else name.text
            for row in rows:
                kind = self.of(row.head, title or rows[0].heading)
                typed[row.record] = typed[row.record]._replace(type=kind)
        return tuple(typed)


def _captions(
    text: str, spans: Sequence[tuple[int, int]], declared: Mapping[int, tuple[int, str]]
) -> list[Caption | None]:
    """Return the caption of each table, None for none.

    One between two tables belongs to the second, unless more tables have one, or more have one with the same word, if
    captions stand below. Lines with the same word and a number, most of which stand elsewhere, are none.
    """
    above = [_above(text, start, declared) for start, _ in spans]
    below = [_below(text, end, declared) for _, end in spans]
    known = {caption for caption in (*above, *below) if caption}
    beside = Counter[str]()
    for side in (above, below):
        beside |= Counter(caption.label for caption in {*side} if caption)
    lines = Counter(match["label"] for match in _LABEL.finditer(text)) if known else Counter[str]()
    above, below = (
        [c if c and (not c.label or 2 * beside[c.label] >= lines[c.label]) else None for c in side]
        for side in (above, below)
    )
    shared = [lower is not None and lower == upper for lower, upper in zip(below, [*above[1:], None], strict=False)]
    if_above = [upper or (None if both else lower) for upper, lower, both in zip(above, below, shared, strict=True)]
    before = [False, *shared]
    if_below = [lower or (None if both else upper) for upper, lower, both in zip(above, below, before, strict=False)]
    return max(if_above, if_below, key=_named)


def _named(captions: Sequence[Caption | None]) -> tuple[int, int]:
    """Return how many tables have a caption, and how many one with the most frequent word before its number."""
    labels = Counter(caption.label for caption in captions if caption)
    return labels.total(), max(labels.values(), default=0)


def _above(text: str, start: int, declared: Mapping[int, tuple[int, str]]) -> Caption | None:
    first = max(start - _WINDOW, 0)
    before = text[first:start].rstrip()
    begins = [match.start() for match in _LINE.finditer(before) if match.start() or not first]
    captions = (_caption(before, at, first + at, declared) for at in reversed(begins))
    return next((caption for caption, end in filter(None, captions) if end == len(before)), None)


def _below(text: str, end: int, declared: Mapping[int, tuple[int, str]]) -> Caption | None:
    after = text[end : end + _WINDOW]
    at = len(after) - len(after.lstrip(" .\n"))
    found = _caption(after, at, end + at, declared)
    return found[0] if found else None


def _caption(part: str, at: int, start: int, declared: Mapping[int, tuple[int, str]]) -> tuple[Caption, int] | None:
    """Return the caption that begins at a character of a part, `start` of the text, and its end in the part."""
    if start in declared:
        end, title = declared[start]
        return _of_title(title)._replace(start=start), at + end - start
    match = _CAPTION.match(part, at)
    if match is None or (match["space"] and _is_sentence(match)):
        return None
    title, whole = (" ".join(text.split()) for text in (match["title"], match[0]))
    return Caption(match["label"], title, whole, start), match.end()


def _is_sentence(match: re.Match[str]) -> bool:
    """Return whether a text that begins with a word and a number is a sentence: "In 20 towns …"."""
    return match[0][-1] in ".:;!?" or (match["label"].isascii() and len(match["label"]) < _MIN_LABEL)


def _of_title(title: str) -> Caption:
    """Return the title of a table as a caption.

    >>> _of_title("Tabelle 4.1: Löhne der Bäcker.")[:2], _of_title("Budget 2026 Graz")[:2]
    (('Tabelle', 'Löhne der Bäcker'), ('', 'Budget 2026 Graz'))
    """
    match, text = _CAPTION.fullmatch(title), " ".join(title.split())
    if match is None or match["space"]:
        return Caption("", text, text)
    return Caption(match["label"], " ".join(match["title"].split()), text)
