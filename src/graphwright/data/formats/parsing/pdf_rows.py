"""Rows of tables on PDF pages whose cells have several lines, by the rules around cells and the order of drawing."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, islice
from math import inf
from operator import itemgetter
from typing import NamedTuple

UNIT = 10_000  # the width and the height of a page
LIST_MARK = re.compile(r"[•·▪◦‣⁃∙*–—-]|\(?\w{1,3}[.)]")
_NEAR = UNIT / 300  # distance of edges that are one; an underline is longer than its text by less

_MAX_LINES = 30  # of a row without rules
_MAX_HIGHER = 4  # heights of a line by which a cell begins above the one before it
_MIN_FULL = 3  # cells of a line that are enough for a row


class Cell(NamedTuple):
    """A part of a line: text, left and right in 1/10,000 of the width; `above`: of a merged cell that began above."""

    text: str
    left: int
    right: int
    above: bool = False


class Line(NamedTuple):
    """A line of a page: its text; left, top, right and bottom in 1/10,000 of the page; height in points; cells.

    A row of a table may be one line; `ruled`: rules above and below it say so; `parts`: these lines.
    """

    text: str
    box: tuple[int, int, int, int]
    height: float
    cells: tuple[Cell, ...] = ()
    bold: bool = False
    ruled: bool = False
    parts: tuple[Line, ...] = ()


class Rule(NamedTuple):
    """A straight edge on a page: where it is on the one axis, and where it begins and ends on the other."""

    at: float
    begin: float
    end: float


class Rules(NamedTuple):
    """The edges of a page that run across it, and down."""

    across: Sequence[Rule] = ()
    down: Sequence[Rule] = ()


def snapped(edges: Iterable[Rule]) -> list[Rule]:
    """Return edges in order, those that are about at the same place at the same.

    >>> snapped([Rule(210, 90, 300), Rule(200, 0, 90)])
    [Rule(at=200, begin=0, end=90), Rule(at=200, begin=90, end=300)]
    """
    rules: list[Rule] = []
    for edge in sorted(set(edges)):
        rules.append(edge._replace(at=rules[-1].at) if rules and edge.at - rules[-1].at <= _NEAR else edge)
    return rules


def around(lines: Sequence[Line]) -> tuple[int, int, int, int]:
    """Return the box of lines."""
    lefts, tops, rights, bottoms = zip(*(line.box for line in lines), strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def turned(box: tuple[int, int, int, int], quarters: int) -> tuple[int, int, int, int]:
    """Return where a rectangle of a page is after the page was turned clockwise, by quarters of a full turn.

    >>> turned((0, 0, 1000, 200), 1), turned((9800, 0, 10000, 1000), -1)
    ((9800, 0, 10000, 1000), (0, 0, 1000, 200))
    """
    left, top, right, bottom = box
    for _ in range(quarters % 4):
        left, top, right, bottom = UNIT - bottom, left, UNIT - top, right
    return left, top, right, bottom


def spans(cells: Sequence[Cell], columns: Sequence[Cell]) -> list[range]:
    """Return the columns of each cell: those that it overlaps, or that with its left or right side or its middle.

    Return none if a cell has no column, or one of the cell before it. As many cells as columns have one each.
    """
    if len(cells) == len(columns):
        pairs = [*zip(cells, columns[1:], strict=False), *zip(columns, cells[1:], strict=False)]
        if all(cell.right <= following.left + _NEAR for cell, following in pairs):
            return [range(column, column + 1) for column in range(len(columns))]
    found: list[range] = []
    for cell in cells:
        over = [
            at for at, other in enumerate(columns) if min(cell.right, other.right) - max(cell.left, other.left) > _NEAR
        ]
        over = over or [at for at, column in enumerate(columns) if _is_aligned(cell, column)]
        if not over or (found and over[0] < found[-1].stop):
            return []
        found.append(range(over[0], over[-1] + 1))
    return found


def _is_aligned(cell: Cell, column: Cell) -> bool:
    middle = abs(cell.left + cell.right - column.left - column.right) / 2
    return min(abs(cell.left - column.left), abs(cell.right - column.right), middle) <= UNIT / 100


def is_full(line: Line, columns: int) -> bool:
    """Return whether a line has a cell in each column, or in three of them."""
    return len(line.cells) >= min(columns, _MIN_FULL)


Band = tuple[float, float]  # the rules above and below a cell; infinite without one


def rows_of(lines: Iterable[Line], rules: Rules) -> list[Line]:
    """Return the lines of a page in their order, those of one row of a table as one line.

    A row lies between the same rules above and below, and so does one before or after it; or it is drawn cell after
    cell. A cell that lies between the rules of several rows belongs to each.
    """
    parts = [part for line in lines for part in _framed(line, rules)]
    bands: defaultdict[Band, list[Line]] = defaultdict(list)
    for band, line in parts:
        if inf not in map(abs, band):
            bands[band].append(line)
    least = [band for band in bands if not any(_holds(band, other) for other in bands)]
    tops, bottoms = ({band[side] for band in least} for side in (0, 1))
    rows: dict[Band, Line | None] = {}
    for band in least:
        wider = [other for other in bands if _holds(other, band) and other[0] in tops and other[1] in bottoms]
        row = _joined(bands[band], [(line, other[0] < band[0]) for other in wider for line in bands[other]])
        several = sum(is_full(_joined(group), len(row.cells)) for group in _groups(bands[band])) > 1
        if len(row.cells) > 1 and not several and (band[0] in bottoms or band[1] in tops):
            rows |= {band: row._replace(ruled=True)} | dict.fromkeys(other for other in wider if other[0] == band[0])
    free: list[Line] = []
    for band, line in parts:
        if band not in rows:
            free.append(line)
        elif (found := rows[band]) is not None:
            free.append(found)
            rows[band] = None
    return _drawn_rows(free)


def _framed(line: Line, rules: Rules) -> Iterator[tuple[Band, Line]]:
    """Yield the parts of a line between the same rules, whose cells reach to the rules beside them."""
    framed = []
    y = (line.box[1] + line.box[3]) / 2
    for cell in line.cells:
        x, least = (cell.left + cell.right) / 2, cell.right - cell.left + _NEAR
        across = [rule for rule in rules.across if rule.begin <= x <= rule.end and rule.end - rule.begin > least]
        above, below = [rule for rule in across if rule.at <= y], [rule for rule in across if rule.at > y]
        places = {rule.at for rule in (*above[-1:], *below[:1])}
        ends = [end for rule in rules.across if rule.at in places for end in rule[1:]]
        first, last = min(ends, default=0) - _NEAR, max(ends, default=0) + _NEAR
        beside = [rule.at for rule in rules.down if rule.begin <= y <= rule.end and first <= rule.at <= last]
        left = max((at for at in beside if at <= x), default=cell.left)
        right = min((at for at in beside if at > x), default=cell.right)
        if right - left > last - first - 4 * _NEAR:  # around the whole row
            left, right = cell.left, cell.right
        band = above[-1].at if above else -inf, below[0].at if below else inf
        framed.append((band, cell, cell._replace(left=round(left), right=round(right))))
    for band, group in groupby(framed, key=itemgetter(0)):
        _, texts, cells = zip(*group, strict=True)
        box = texts[0].left, line.box[1], texts[-1].right, line.box[3]
        text = " ".join(cell.text for cell in cells)
        yield band, line._replace(text=text, box=box if len(cells) < len(line.cells) else line.box, cells=cells)


def _holds(band: Band, other: Band) -> bool:
    return band != other and band[0] <= other[0] and other[1] <= band[1]


def _drawn_rows(lines: Sequence[Line]) -> list[Line]:
    """Return lines, those of one row as one line if a row near it, with other lines of its cells between, fits it."""
    groups = _groups(lines)
    rows = [group[0] if len(group) == 1 else _joined(group) for group in groups]
    kept: list[Line] = []
    for at, (row, group) in enumerate(zip(rows, groups, strict=True)):
        both = rows[at + 1 : at + _MAX_LINES], rows[max(at - _MAX_LINES, 0) : at][::-1]
        sides = ((other for other in side if not _is_part(other, row)) for side in both)
        near = [other.cells for side in sides for other in islice(side, 2) if len(other.cells) > 1]
        is_row = len(row.cells) > 1 and not LIST_MARK.fullmatch(row.cells[0].text)
        fits = is_row and any(spans(other, row.cells) or spans(row.cells, other) for other in near)
        kept += [row] if fits else group
    return kept


def _is_part(line: Line, row: Line) -> bool:
    found = spans(line.cells, row.cells)
    return len(line.cells) < len(row.cells) and bool(found) and all(len(span) == 1 for span in found)


def _groups(lines: Iterable[Line]) -> list[list[Line]]:
    """Return lines, together those that are drawn one after the other but stand beside each other: cells of a row."""
    groups: list[list[Line]] = []
    for line in lines:
        tall, at = line.box[3] - line.box[1], len(groups)
        top, bottom = line.box[1] + tall / 3, line.box[3] - tall / 3
        while at and len(groups) - at < _MAX_LINES and max(other.box[3] for other in groups[at - 1]) > top:
            at -= 1
        row = list(chain.from_iterable(groups[at:]))
        is_near = len(row) < _MAX_LINES and not any(other.ruled for other in (*row, line))
        highest = min((other.box[1] for other in row), default=inf)
        beside = [other for other in row if highest >= bottom or (other.box[3] > top and other.box[1] < bottom)]
        apart = all(other.box[2] <= line.box[0] or line.box[2] <= other.box[0] for other in beside)
        if is_near and apart and highest - bottom < _MAX_HIGHER * tall:
            groups[at:] = [[*row, line]]
        else:
            groups.append([line])
    return groups


def _joined(lines: Iterable[Line], wider: Iterable[tuple[Line, bool]] = ()) -> Line:
    """Return the lines of a row as one, cells above each other as one; `wider`: more lines, and whether they repeat."""
    wider = list(wider)
    parts = *lines, *(line for line, above in wider if not above)
    own = sorted(parts, key=lambda line: line.box[1])
    cells = [cell for line in own for cell in line.cells]
    cells += [cell._replace(above=True) for line, above in wider if above for cell in line.cells]
    stacks: list[list[Cell]] = []
    for cell in sorted(cells, key=lambda cell: cell.left):
        if stacks and cell.left < max(other.right for other in stacks[-1]) - _NEAR:
            stacks[-1].append(cell)
        else:
            stacks.append([cell])
    row = []
    for stack in stacks:
        own_texts = [cell.text for cell in cells if cell in stack and not cell.above]
        texts = own_texts or [cell.text for cell in cells if cell in stack]
        row.append(Cell(" ".join(texts), stack[0].left, max(cell.right for cell in stack), not own_texts))
    text = " ".join(cell.text for cell in row if not cell.above)
    height, bold = max(line.height for line in own), all(line.bold for line in own)
    return Line(text, around(own), height, tuple(row), bold, parts=parts)
