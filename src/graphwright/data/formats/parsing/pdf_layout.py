"""Layout of pages: headings, paragraphs and tables, from lines with boxes."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from graphwright.data.formats.format import TextBuilder
from graphwright.data.formats.parsing.pdf_order import (
    LARGER,
    LEADERS,
    Line,
    body_height,
    in_reading_order,
    without_running_heads,
)
from graphwright.data.formats.parsing.pdf_tables import PageTable, continued_lines, table_lines

_MAX_LEVELS = 6
_MAX_HEADING = 200  # characters
_ENDS = re.compile(r"[.!?:;。！？]\W*$")
_HYPHEN = re.compile(r"(\w+)[-‐]$")
_SAME_LEVEL = 0.94  # of the height of the larger of two headings
_FIRST_WORD = re.compile(r"[^\W\d_]+")


def write_pages(pages: Sequence[Sequence[Line]], builder: TextBuilder) -> None:
    """Write the text of pages; each is a place, each line has a box.

    Headings are lines in larger type. Words that are hyphenated at a line's end are joined, unless the document writes
    them with a hyphen elsewhere. The rows of tables become sentences and records; a table may go on over pages.
    """
    ordered = [in_reading_order(page) for page in without_running_heads(pages)]
    _Writer(builder, [line for page in ordered for line in page]).write(ordered)


class _Writer:
    """Builder of the text of a document from its lines."""

    def __init__(self, builder: TextBuilder, lines: Sequence[Line]) -> None:
        self.builder = builder
        self.body = body_height(lines)
        self.levels: dict[float, int] = {}
        level, largest = 0, 0.0
        for height in sorted({line.height for line in lines if self._is_heading(line)}, reverse=True):
            if not level or height < _SAME_LEVEL * largest:
                level, largest = min(level + 1, _MAX_LEVELS), height
            self.levels[height] = level
        self.words = Counter(word for line in lines for word in re.findall(r"\w+(?:[-‐]\w+)*", line.text.lower()))
        self.gaps = self._usual_gaps(lines)
        self.before: Line | None = None  # the last line that was written
        self.open = ""  # its text, while its paragraph may go on
        self.table: PageTable | None = None  # the last one, not written yet: it may go on on the next page
        self.pages = 0  # whose places have begun

    def _is_heading(self, line: Line) -> bool:
        larger = line.height > self.body * LARGER and len(line.text) <= _MAX_HEADING
        return larger and any(map(str.isalpha, line.text)) and not LEADERS.search(line.text)

    @staticmethod
    def _usual_gaps(lines: Sequence[Line]) -> dict[float, float]:
        """Return the usual gap between two lines of each height."""
        gaps: defaultdict[float, list[int]] = defaultdict(list)
        for before, line in pairwise(lines):
            if line.height == before.height and line.box[1] >= before.box[1]:
                gaps[line.height].append(line.box[1] - before.box[3])
        return {height: median(values) for height, values in gaps.items()}

    def write(self, pages: Sequence[Sequence[Line]]) -> None:
        for number, page in enumerate(pages):
            at = 0
            if self.table is not None and (lines := continued_lines(page, self.table.columns)):
                self.table.add(number, lines)
                at = len(lines)
            while at < len(page):
                if lines := table_lines(page, at):
                    self._write_table()
                    self.table = PageTable(lines[0].cells)
                    self.table.add(number, lines)
                    at += len(lines)
                    continue
                self._write_table()
                self._begin(number)
                if self._is_heading(page[at]):
                    at = self._write_heading(page, at)
                else:
                    self._write_line(page[at], first=at == 0)
                    at += 1
        self._write_table()
        self._begin(len(pages) - 1)

    def _begin(self, page: int) -> None:
        """Begin the places of all pages up to one."""
        while self.pages <= page:
            self.builder.place()
            self.pages += 1

    def _write_heading(self, page: Sequence[Line], at: int) -> int:
        """Write a heading of one or more lines; return the position after it."""
        end = at + 1
        while end < len(page) and self._is_heading(page[end]) and page[end].height == page[at].height:
            lower = page[end].box[1] - page[end - 1].box[3]
            if lower > page[end].box[3] - page[end].box[1] or page[end].box[3] < page[end - 1].box[1]:
                break
            end += 1
        lines = page[at:end]
        start = self.builder.block(" ".join(line.text for line in lines))
        self.builder.mark(" ".join(line.text for line in lines), self.levels[page[at].height], start)
        self.builder.box(start, _around(lines))
        self.before, self.open = None, ""
        return end

    def _write_table(self) -> None:
        """Write the last table if it is not written yet; each row has the box of its lines."""
        if self.table is None:
            return
        rows, table, self.table = self.table.rows, self.table.table(), None
        self.builder.begin_table()
        for item in table.items():
            row = rows[item.number]
            self._begin(row.page)
            self.builder.box(self.builder.row(item), _around(row.lines))
        self.builder.blank()
        self.before, self.open = None, ""

    def _write_line(self, line: Line, *, first: bool) -> None:
        text = line.text
        if not self._continues(line, first):
            start = self.builder.block(text)
        elif (match := _HYPHEN.search(self.open)) and text[:1].islower():
            start = self._join(match, text)
        else:
            start = self.builder.line(text)
        self.builder.continue_line()
        self.builder.box(start, line.box)
        self.before, self.open = line, text

    def _join(self, match: re.Match[str], text: str) -> int:
        """Write a line that begins with the rest of a hyphenated word, after this word's beginning."""
        rest = _FIRST_WORD.match(text)
        end = rest.end() if rest else 0
        while end < len(text) and not text[end].isspace():
            end += 1
        both = match[1].lower(), rest[0].lower() if rest else ""
        hyphenated = self.words["-".join(both)] > self.words["".join(both)]
        start = self.builder.append(text[:end], cut=0 if hyphenated else 1)
        self.builder.line(text[end:].lstrip())
        return start

    def _continues(self, line: Line, first: bool) -> bool:
        """Return whether a line belongs to the paragraph of the line before it."""
        before = self.before
        if before is None:
            return False
        if _HYPHEN.search(self.open) and line.text[:1].islower():
            return True
        if abs(before.height - line.height) > 0.1 * before.height:
            return False
        if first or line.box[1] < before.box[1]:  # on the next page, or in the next column
            return not _ENDS.search(self.open) and line.text[:1].islower()
        tall = line.box[3] - line.box[1]
        return line.box[1] - before.box[3] <= self.gaps.get(line.height, 0) + 0.35 * tall


def _around(lines: Sequence[Line]) -> tuple[int, int, int, int]:
    lefts, tops, rights, bottoms = zip(*(line.box for line in lines), strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)
