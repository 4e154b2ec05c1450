"""Layout of PDF pages: reading order without running heads, headings, paragraphs and tables, from lines with boxes."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from statistics import median
from types import MappingProxyType
from typing import NamedTuple

from graphwright.data.formats.format import TextBuilder
from graphwright.data.formats.parsing.pdf_rows import LIST_MARK, UNIT, Cell, Line, around, is_full, spans, turned
from graphwright.data.records.grid import CellRow, cell_text, has_digit, is_number
from graphwright.data.records.table import Table

_MARGIN = 0.1 * UNIT  # at the top and the bottom, where running heads stand
_MIN_REPEATED = 3  # pages with the same line in the margin
_CLOSE = 0.6  # between two lines of a paragraph at most, in heights of a line
LARGER = 1.15  # minimum height of a heading, in heights of the text
LEADERS = re.compile(r"(?:\s?[.…]){4,}")  # dots between an entry of a table of contents and its page
_MAX_DEPTH = 40  # of cuts
_NUMBER = re.compile(r"\d+|\b[ivxlc]+\b")
_PAGE_NUMBER = re.compile(r"\W*(?:page|seite|p\.|s\.)?\W*#(?:\W*(?:of|von|/)?\W*#)?\W*")
_OUTER_NUMBER = re.compile(r"^(\d{1,5})\b|\b(\d{1,5})$")


def without_running_heads(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """Return pages without page numbers, and without lines repeated in the margins of at least three pages.

    In a document of two pages, the same line in the same place of both is one, too. Lines that stand apart from the
    text are the same if they differ only in numbers, or if each begins or ends with the number of its page. The first
    and the last line of a page count as margin, unless a table begins there. If nothing else is there, they are text.
    """
    body = body_height([line for page in pages for line in page])
    counts: Counter[tuple[object, ...]] = Counter()
    margins = []
    for number, page in enumerate(pages):
        tops, bottoms = (sorted(line.box[side] for line in page) for side in (1, 3))
        margin = {}
        for at, line in enumerate(page):
            upper = line.box[3] < max(_MARGIN, tops[0] + 1)
            lower = line.box[1] > min(UNIT - _MARGIN, bottoms[-1] - 1)
            if (
                (upper or lower or line.box[3] <= _MARGIN)
                and line.height <= body * LARGER
                and not table_lines(page, at)
            ):
                text = " ".join(line.text.lower().split())
                outer = _OUTER_NUMBER.search(text)
                offset = f"page {int(outer[1] or outer[2]) - number}" if outer else ""
                unnumbered = _NUMBER.sub("#", text)
                if not _PAGE_NUMBER.fullmatch(unnumbered) and _goes_on(line, page, -1 if lower else 1):
                    offset, unnumbered = "", text
                margin[at] = (upper, unnumbered), (upper, offset), (line.text, line.box)
        margins.append(margin)
        counts.update({key for keys in margin.values() for key in keys if key[1]})
    remaining = []
    for page, margin in zip(pages, margins, strict=True):
        repeated = {
            at
            for at, (key, offset, same) in margin.items()
            if counts[key] >= (2 if _PAGE_NUMBER.fullmatch(key[1]) else _MIN_REPEATED)
            or counts[offset] >= _MIN_REPEATED
            or counts[same] == len(pages) == 2
        }
        remaining.append([line for at, line in enumerate(page) if at not in repeated])
    return remaining if any(remaining) else [list(page) for page in pages]


def _goes_on(line: Line, page: Sequence[Line], way: int) -> bool:
    """Return whether a line in the margin has the next line of a paragraph below it; `way` -1: above it."""
    tall = line.box[3] - line.box[1]
    near = (
        other.box[1] - line.box[3] if way > 0 else line.box[1] - other.box[3]
        for other in page
        if other.height == line.height and other.box[0] < line.box[2] and line.box[0] < other.box[2]
    )
    return any(-tall / 2 <= gap <= _CLOSE * tall for gap in near)


def in_reading_order(lines: Sequence[Line]) -> list[Line]:
    """Return a page's lines as the file has them, unless it jumps back up: then by columns. Most are in order."""
    jumps = 0
    for before, line in pairwise(lines):
        higher = line.box[3] <= before.box[1]
        to_the_right = line.box[0] >= before.box[2]
        next_column = line.box[0] > (before.box[0] + before.box[2]) / 2  # right of the middle of the last
        jumps += higher and not to_the_right and not next_column
    return list(lines) if jumps < max(2, len(lines) // 20) else list(by_columns(lines))


def by_columns(lines: Sequence[Line], depth: int = 0) -> Iterator[Line]:
    """Yield lines by columns where a gutter divides them, else by the widest horizontal gap; `depth`: cuts so far."""
    (gutter, x), (gap, y) = _widest_gap(lines, 0, 2), _widest_gap(lines, 1, 3)
    left = sum(line.box[2] <= x for line in lines)
    is_divided = gutter >= UNIT / 60 and min(left, len(lines) - left) >= 2
    side, cut = (2, x) if is_divided else (3, y)
    parts = [line for line in lines if line.box[side] <= cut], [line for line in lines if line.box[side] > cut]
    if not all(parts) or not (is_divided or gap >= 0) or depth > _MAX_DEPTH:
        yield from sorted(lines, key=lambda line: (line.box[1], line.box[0]))
        return
    for part in parts:
        yield from by_columns(part, depth + 1)


def _widest_gap(lines: Sequence[Line], low: int, high: int) -> tuple[float, int]:
    """Return the width of the widest gap between the lines along one axis, -1 without any, and where it begins."""
    best, place, reached = -1, 0, None
    for begin, end in sorted((line.box[low], line.box[high]) for line in lines):
        if reached is not None and begin >= reached and begin - reached > best:
            best, place = begin - reached, reached
        reached = end if reached is None else max(reached, end)
    return best, place


def body_height(lines: Sequence[Line]) -> float:
    """Return the height of most characters."""
    heights: Counter[float] = Counter()
    for line in lines:
        heights[line.height] += len(line.text)
    return max(heights, key=lambda height: (heights[height], -height), default=0.0)


_MAX_CELL = 80  # characters of a cell, on average
_MIN_PAIRS = 3  # rows of a table of two columns whose header is found by its values


class PageRow(NamedTuple):
    """A row of a table: its page, its lines, the text of each column, and which of them repeat a merged cell."""

    page: int
    lines: list[Line]
    cells: list[str]
    left: frozenset[int]
    above: frozenset[int]


@dataclass
class PageTable:
    """A table that may go on: its columns, and its rows so far."""

    columns: Sequence[Cell]
    rows: list[PageRow] = field(default_factory=list)

    def add(self, page: int, lines: Sequence[Line]) -> None:
        """Add lines of a page; the rest of a row whose text is wrapped is joined to it."""
        begins = bool(self.rows)  # the page, maybe with the rest of a row
        for line in lines:
            cells = [""] * len(self.columns)
            found = list(zip(line.cells, spans(line.cells, self.columns), strict=True))
            for cell, span in found:
                cells[span.start : span.stop] = [cell.text] * len(span)
            if self._is_rest(line, cells, begins):
                last = self.rows[-1]
                last.cells[:] = [f"{above} {below}".strip() for above, below in zip(last.cells, cells, strict=True)]
                last.lines.extend([line] if last.page == page else ())
                begins = False
                continue
            begins = begins and cells in [row.cells for row in self.rows]  # the header again
            left = frozenset(column for _, span in found for column in span[1:])
            above = frozenset(column for cell, span in found if cell.above for column in span)
            self.rows.append(PageRow(page, [line], cells, left, above))

    def _is_rest(self, line: Line, cells: Sequence[str], begins: bool) -> bool:
        """Return whether cells go on with the row above: it has a text in each of their columns."""
        pairs = [pair for pair in zip(self.rows[-1].cells, cells, strict=True) if pair[1]] if self.rows else []
        goes_on = all(above and not (is_number(above) and is_number(text)) for above, text in pairs)
        divides = self.rows and any(cells[column] for column in self.rows[-1].left)
        if not pairs or all(cells) or not goes_on or divides or any(cell.above for cell in line.cells):
            return False
        if begins:
            return all(row.cells[column] for row in self.rows for column, text in enumerate(cells) if not text)
        return not line.ruled and not cells[0] and not (len(cells) > 2 and all(cells[1:]))

    def _spread_names(self) -> None:
        """Spread each name of the first row over the columns that the second row divides it into."""
        first, second = self.rows[:2]
        if second.cells[0] or not all(map(any, zip(first.cells, second.cells, strict=True))) or any(second.above):
            return
        for _, part in groupby(range(len(self.columns)), key=lambda column: bool(second.cells[column])):
            run = list(part)
            names = [first.cells[column] for column in run if first.cells[column]]
            if second.cells[run[0]] and len(names) == 1 and not first.left.intersection(run):
                first.cells[run[0] : run[-1] + 1] = names * len(run)
                self.rows[0] = first = first._replace(left=first.left | {*run[1:]})

    def table(self) -> Table:
        """Return the table; without bold type or values its first row is no header."""
        if len(self.rows) > 2:
            self._spread_names()
        rows = [
            CellRow(number, list(map(cell_text, row.cells)), row.left, row.above, all(line.bold for line in row.lines))
            for number, row in enumerate(self.rows)
        ]
        pairs = len(self.columns) == 2 and not rows[0].bold
        values = len(rows) > _MIN_PAIRS and all(has_digit(row.cells[1]) for row in rows[1:])
        return Table(rows, header=0 if pairs and not values else None, assume=lambda row: False)


def columns_at(page: Sequence[Line], at: int) -> Sequence[Cell]:
    """Return the columns of a table that would begin at a line: the most cells of one of its first lines."""
    columns = max((line.cells for line in page[at : at + 3]), key=len)
    return columns if spans(page[at].cells, columns) else page[at].cells


def table_lines(page: Sequence[Line], at: int) -> Sequence[Line]:
    """Return the lines of a table that begins at a line: at least two with aligned cells; none without a table."""
    columns = columns_at(page, at)
    if len(page[at].cells) < 2 or LIST_MARK.fullmatch(columns[0].text) or LEADERS.search(page[at].text):
        return ()
    lines = [page[at], *_aligned(page[at:], columns)]
    lengths = [len(cell.text) for line in lines for cell in line.cells]
    is_short = all(line.ruled for line in lines) or sum(lengths) <= _MAX_CELL * len(lines) * len(columns)
    return lines if is_short and sum(is_full(line, len(columns)) for line in lines) > 1 else ()


def continued_lines(page: Sequence[Line], columns: Sequence[Cell]) -> Sequence[Line]:
    """Return the lines at the top of a page that stand in the columns of a table on the page before."""
    found = spans(page[0].cells, columns) if page else []
    lines = [page[0], *_aligned(page, columns)] if len(found) > 1 or (found and found[0].start) else []
    return lines if any(is_full(line, len(columns)) for line in lines) else ()


def _aligned(lines: Sequence[Line], columns: Sequence[Cell]) -> Iterator[Line]:
    """Yield the lines after the first that stand in columns, up to the first that does not."""
    for before, line in pairwise(lines):
        tall, found = line.box[3] - line.box[1], spans(line.cells, columns)
        is_next = -tall / 2 <= line.box[1] - before.box[3] <= 2 * tall or (before.ruled and line.ruled)
        if not is_next or not found or (len(found) < 2 and not found[0].start):
            return
        yield line


_MAX_LEVELS = 6
_MAX_HEADING = 200  # characters
_ENDS = re.compile(r"[.!?:;。！？]\W*$")
_HYPHEN = re.compile(r"(\w+)[-‐]$")
_SAME_LEVEL = 0.94  # of the height of the larger of two headings
_FIRST_WORD = re.compile(r"[^\W\d_]+")


def write_pages(
    pages: Sequence[Sequence[Line]], builder: TextBuilder, turns: Mapping[int, int] = MappingProxyType({})
) -> None:
    """Write the text of pages; each is a place, each line has a box, as the page is shown.

    `turns`: the quarters by which the boxes of a page's lines were turned, clockwise, by its position.

    Headings are lines in larger type. Words that are hyphenated at a line's end are joined, unless the document writes
    them with a hyphen elsewhere. The rows of tables become sentences and records; a table may go on over pages.
    """
    ordered = [in_reading_order(page) for page in without_running_heads(pages)]
    _Writer(builder, [part for page in ordered for line in page for part in line.parts or (line,)], turns).write(
        ordered
    )


class _Writer:
    """Builder of the text of a document from its lines."""

    def __init__(self, builder: TextBuilder, lines: Sequence[Line], turns: Mapping[int, int]) -> None:
        self.builder, self.turns = builder, turns
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

    def write(self, pages: Sequence[list[Line]]) -> None:
        for number, page in enumerate(pages):
            at = 0
            if self.table is not None and (lines := continued_lines(page, self.table.columns)):
                self.table.add(number, lines)
                at = len(lines)
            while at < len(page):
                if lines := table_lines(page, at):
                    self._write_table()
                    self.table = PageTable(columns_at(page, at))
                    self.table.add(number, lines)
                    at += len(lines)
                    continue
                if page[at].parts:  # cells beside each other, but no table
                    page[at : at + 1] = page[at].parts
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

    def _box(self, start: int, box: tuple[int, int, int, int]) -> None:
        """Give the text since `start` its box, on the page of the last place."""
        self.builder.box(start, turned(box, -self.turns.get(self.pages - 1, 0)))

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
        self._box(start, around(lines))
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
            self._box(self.builder.row(item), around(row.lines))
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
        self._box(start, line.box)
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
