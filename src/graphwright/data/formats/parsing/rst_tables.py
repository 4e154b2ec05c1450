"""Tables of reStructuredText and Markdown that are drawn, and directives with a table."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from graphwright.data.records.delimited import Dialect, table_rows
from graphwright.data.records.grid import Cell, CellRow, spread
from graphwright.data.records.table import Table

GRID_RULE = re.compile(r"\s*\+(?:[-=:]+\+)+$")
_SIMPLE_RULE = re.compile(r"\s*=+(?: +=+)+$")
_SPAN_RULE = re.compile(r"\s*-+(?: +-+)*$")
_RUN = re.compile(r"[=-]+")
_OPTION = re.compile(r"\s*:([\w-]+):\s*(.*)$")
_ITEM = re.compile(r"\s*[*+-](?:\s+|$)")
_FILLER = "\0"  # after a wide character, which takes two columns


def drawn_table(lines: Sequence[str], at: int) -> tuple[Table, int] | None:
    """Return the grid table or simple table that begins at a line, and the number of the line after it."""
    if GRID_RULE.match(lines[at]):
        end = at + 1
        while end < len(lines) and lines[end].lstrip().startswith(("+", "|")):
            end += 1
        return (_grid([_widened(line) for line in lines[at:end]]), end) if end - at > 2 else None
    if not _SIMPLE_RULE.match(lines[at]):
        return None
    rules = [at]
    for number in range(at + 1, len(lines)):
        if _SIMPLE_RULE.match(lines[number]):
            rules.append(number)
            if len(rules) == 3 or number + 1 == len(lines) or not lines[number + 1].strip():
                return _simple([_widened(line) for line in lines[at:number]], len(rules) == 3), number + 1
    return None


def _widened(line: str) -> str:
    return "".join(
        sign + _FILLER * (unicodedata.east_asian_width(sign) in "WF") if not sign.isascii() else sign for sign in line
    )


def _text(lines: Sequence[str]) -> str:
    return " ".join(" ".join(lines).replace(_FILLER, "").split())


def _grid(lines: list[str]) -> Table:
    """Return a grid table, whose cells may span columns and rows."""
    indent = len(lines[0]) - len(lines[0].lstrip())
    width = max(map(len, lines))
    lines = [line.rstrip().ljust(width)[indent:] for line in lines]
    columns = sorted({at for line in lines for at, sign in enumerate(line) if sign == "+" and _is_corner(line, at)})
    rules = [number for number, line in enumerate(lines) if line[:1] == "+" or re.search(r"\+[-=]{2,}\+", line)]
    columns = [at for at in columns if any(lines[number][at] == "+" for number in rules)]
    header = next((number for number, rule in enumerate(rules[1:], start=1) if re.match(r"\+[=:]+\+", lines[rule])), 0)
    taken = set[tuple[int, int]]()
    rows: list[list[Cell]] = []
    for number, (top, _) in enumerate(pairwise(rules)):
        cells: list[Cell] = []
        for column in range(len(columns) - 1):
            if (number, column) in taken:
                continue
            last = column + 1
            while last < len(columns) - 1 and lines[top + 1][columns[last]] not in "|+":
                last += 1
            inside = slice(columns[column] + 1, columns[last])
            low = number + 1
            while low < len(rules) - 1 and lines[rules[low]][inside].strip("-=:+"):
                low += 1
            taken |= {(row, at) for row in range(number, low) for at in range(column, last)}
            texts = [line[inside] for line in lines[top + 1 : rules[low]]]
            cells.append(Cell(_text(texts), last - column, low - number))
        rows.append(cells)
    return Table(spread(rows), header=header if 0 < header < len(rows) else None)


def _is_corner(line: str, at: int) -> bool:
    return line[at + 1 : at + 2] in tuple("-=:") or line[at - 1 : at] in tuple("-=:")


def _simple(lines: list[str], has_header: bool) -> Table:
    """Return a simple table, whose columns are those of its first rule; the text of the last may be longer."""
    starts = [run.start() for run in _RUN.finditer(lines[0])]
    rows: list[list[Cell]] = []
    header = 0
    for above, line in pairwise(lines):
        if _SIMPLE_RULE.match(line):
            header = len(rows)
        elif _SPAN_RULE.match(line) and rows:
            spans = [run.start() for run in _RUN.finditer(line)]
            counts = [
                sum(a <= start < b for start in starts) for a, b in pairwise([*spans, len(above) + starts[-1] + 1])
            ]
            rows[-1] = [Cell(text, count) for text, count in zip(_cut(above, spans), counts, strict=True)]
        elif line.strip():
            texts = _cut(line, starts)
            if rows and not texts[0] and len(rows) != header and len(rows[-1]) == len(texts):
                joined = zip(rows[-1], texts, strict=True)
                rows[-1] = [cell._replace(text=f"{cell.text} {text}".strip()) for cell, text in joined]
            else:
                rows.append(list(map(Cell, texts)))
    return Table(spread(rows), header=header if has_header else None)


def _cut(line: str, starts: Sequence[int]) -> list[str]:
    """Return the texts of the columns of a line that begin at these characters."""
    return [_text([line[a:b]]) for a, b in zip(starts, [*starts[1:], None], strict=True)]


def directive_table(name: str, lines: Sequence[str]) -> Table | None:
    """Return the table of a directive `list-table` or `csv-table` by the lines below it; None for one in a file."""
    options = {match[1]: match[2].strip() for line in lines if (match := _OPTION.match(line))}
    content = [line for line in lines if not _OPTION.match(line)]
    if "file" in options or "url" in options:
        return None
    rows = list(_list_rows(content) if name == "list-table" else _csv_rows(content, options))
    header = int(options.get("header-rows") or 0) + ("header" in options)
    grid = [CellRow(number, [_text([cell]) for cell in cells]) for number, cells in enumerate(rows)]
    return Table(grid, header=header or None)


def _list_rows(lines: Sequence[str]) -> Iterator[list[str]]:
    first = next((len(line) - len(line.lstrip()) for line in lines if line.strip()), 0)
    row: list[list[str]] = []
    for line in lines:
        if mark := _ITEM.match(line) if line[:first].isspace() or not first else None:
            begins_row = len(mark[0]) - len(mark[0].lstrip()) == first
            inner = _ITEM.match(line, mark.end()) if begins_row else mark
            if begins_row and row:
                yield [" ".join(cell) for cell in row]
                row = []
            row.append([line[inner.end() if inner else mark.end() :]])
        elif line.strip() and row:
            row[-1].append(line)
    if row:
        yield [" ".join(cell) for cell in row]


def _csv_rows(lines: Sequence[str], options: Mapping[str, str]) -> Iterator[list[str]]:
    delimiter = {"tab": "\t", "space": " "}.get(options.get("delim", ","), options.get("delim", ","))
    dialect = Dialect(delimiter[:1] or ",", options.get("quote", '"')[:1] or '"', options.get("escape", "")[:1])
    if "header" in options:
        yield from (cells for _, cells in table_rows([options["header"]], Dialect(",")))
    yield from (cells for _, cells in table_rows([line.strip() for line in lines if line.strip()], dialect))
