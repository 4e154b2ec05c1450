"""Reading order of the lines of pages, without running heads."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

UNIT = 10_000
"""The width and the height of a page."""
_MARGIN = 0.1 * UNIT  # at the top and the bottom, where running heads stand
_MIN_REPEATED = 3  # pages with the same line in the margin
LARGER = 1.15
"""Minimum height of a heading, in heights of the text."""
LEADERS = re.compile(r"(?:\s?[.…]){4,}")
"""Dots between an entry of a table of contents and its page."""
_MAX_DEPTH = 40  # of cuts
_NUMBER = re.compile(r"\d+|\b[ivxlc]+\b")
_PAGE_NUMBER = re.compile(r"\W*(?:page|seite|p\.|s\.)?\W*#(?:\W*(?:of|von|/)?\W*#)?\W*")
_OUTER_NUMBER = re.compile(r"^(\d{1,5})\b|\b(\d{1,5})$")


class Cell(NamedTuple):
    """A part of a line, set off by wide gaps: its text, left and right in 1/10,000 of the page's width."""

    text: str
    left: int
    right: int


class Line(NamedTuple):
    """A line of a page: its text; left, top, right and bottom in 1/10,000 of the page; height in points; cells."""

    text: str
    box: tuple[int, int, int, int]
    height: float
    cells: tuple[Cell, ...] = ()
    bold: bool = False


def column_of(cell: Cell, columns: Sequence[Cell]) -> int:
    """Return the column that a cell stands in, by its left or right side or its middle; -1 for none."""
    for number, column in enumerate(columns):
        middle = abs(cell.left + cell.right - column.left - column.right) / 2
        if min(abs(cell.left - column.left), abs(cell.right - column.right), middle) <= UNIT / 100:
            return number
    return -1


def _begins_table(page: Sequence[Line], at: int) -> bool:
    """Return whether the two lines after a line have cells below its own: it is the header of a table."""
    columns = page[at].cells
    following = page[at + 1 : at + 3]
    return (
        len(columns) > 1
        and len(following) == 2
        and all(len(line.cells) > 1 and all(column_of(cell, columns) >= 0 for cell in line.cells) for line in following)
    )


def without_running_heads(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """Return pages without page numbers, and without lines repeated in the margins of at least three pages.

    In a document of two pages, the same line in the same place of both is one, too. Lines are the same if they differ
    only in numbers, or if each begins or ends with the number of its page. The first and the last line of a page count
    as margin, unless a table begins there.
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
                and not _begins_table(page, at)
            ):
                text = " ".join(line.text.lower().split())
                outer = _OUTER_NUMBER.search(text)
                offset = f"page {int(outer[1] or outer[2]) - number}" if outer else ""
                margin[at] = (upper, _NUMBER.sub("#", text)), (upper, offset), (line.text, line.box)
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
    return remaining


def in_reading_order(lines: Sequence[Line]) -> list[Line]:
    """Return the lines of a page in the order of the file, unless it jumps back up; then by columns.

    Most files draw text in reading order. Geometry alone does not show the order of tables and side notes.
    """
    jumps = 0
    for before, line in pairwise(lines):
        higher = line.box[3] <= before.box[1]
        to_the_right = line.box[0] >= before.box[2]
        next_column = line.box[0] > (before.box[0] + before.box[2]) / 2  # right of the middle of the last
        jumps += higher and not to_the_right and not next_column
    return list(lines) if jumps < max(2, len(lines) // 20) else list(_cut(list(lines), 0))


def _cut(lines: list[Line], depth: int) -> Iterator[Line]:
    """Yield lines by columns where a gutter divides them, else by the widest horizontal gap."""
    if len(lines) < 2 or depth > _MAX_DEPTH:
        yield from sorted(lines, key=lambda line: (line.box[1], line.box[0]))
        return
    gutter, x = _widest_gap(lines, 0, 2)
    gap, y = _widest_gap(lines, 1, 3)
    left = [line for line in lines if line.box[2] <= x]
    if gutter >= UNIT / 60 and min(len(left), len(lines) - len(left)) >= 2:
        parts = left, [line for line in lines if line.box[2] > x]
    elif gap >= 0:
        parts = [line for line in lines if line.box[3] <= y], [line for line in lines if line.box[3] > y]
    else:
        parts = [], []
    if not all(parts):
        yield from sorted(lines, key=lambda line: (line.box[1], line.box[0]))
        return
    for part in parts:
        yield from _cut(part, depth + 1)


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
