"""Tables of HTML pages that hold data, as against those that arrange a page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from graphwright.data.formats.parsing.html_nesting import words_in
from graphwright.data.records.grid import Cell, CellRow, spread
from graphwright.data.records.table import Table

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_MAX_CELL = 200  # characters of a cell, on average
_CELLS, _HEADINGS, _BOLD = words_in("td th"), "h1, h2, h3, h4, h5, h6", words_in("b strong")
_IS_HIDDEN = re.compile(r"\b(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))\b", re.IGNORECASE)

Text = Callable[["LexborNode"], str]
"""A function that returns the text of an element."""


def data_table(node: LexborNode, text_of: Text) -> Table | None:
    """Return a table element as a table; None if it arranges a page.

    A table of data has at least two rows and two columns, no table and no heading in a cell, and short texts. Rows of
    a name and a value (`th`, `td`) are one row of a table, whose columns have these names.
    """
    inner = any(table.mem_id != node.mem_id for table in node.css("table"))
    if inner or node.attributes.get("role") in ("presentation", "none") or node.css_first(f"td :is({_HEADINGS})"):
        return None
    elements = [row for row in node.css("tr") if not is_hidden(row.attributes) and next(_cells(row), None) is not None]
    marked = [[cell.tag == "th" for cell in _cells(row)] for row in elements]
    rows = [[_cell(cell, text_of) for cell in _cells(row)] for row in elements]
    texts = [cell.text for row in rows for cell in row if cell.text]
    if max(map(len, rows), default=0) < 2 or sum(map(len, texts)) > _MAX_CELL * len(texts):
        return None
    caption = node.css_first("caption")
    title = "" if caption is None else text_of(caption)
    pairs = [row for row, marks in zip(rows, marked, strict=True) if marks == [True, False]]
    if len(pairs) > 1 and all(len(row) == 1 or marks == [True, False] for row, marks in zip(rows, marked, strict=True)):
        lines = [row for row in rows if len(row) == 1] + [[row[0] for row in pairs], [row[1] for row in pairs]]
        cells = [CellRow(0, [cell.text for cell in row]) for row in lines]
        return Table(
            cells[-2:], header=1, title=title or next((row.cells[0] for row in cells[:-2] if row.cells[0]), "")
        )
    if len(rows) < 2:
        return None
    heads = [row.parent is not None and row.parent.tag == "thead" for row in elements]
    header = 0
    while header < len(rows) - 1 and (heads[header] or all(marked[header])):
        header += 1
    return Table(_summed(rows, elements), header or None, title=title)


def _summed(rows: list[list[Cell]], elements: list[LexborNode]) -> Iterator[CellRow]:
    """Yield the rows of a grid; those of a footer are emphasised."""
    for row, element in zip(spread(rows), elements, strict=True):
        footer = element.parent is not None and element.parent.tag == "tfoot"
        yield row._replace(bold=row.bold or footer)


def is_hidden(attributes: Mapping[str, str | None]) -> bool:
    """Return whether the attributes of an element hide it.

    >>> is_hidden({"style": "color: red; display:none"}), is_hidden({"hidden": None}), is_hidden({"style": "top: 0"})
    (True, True, False)
    """
    return "hidden" in attributes or _IS_HIDDEN.search(attributes.get("style") or "") is not None


def _cells(row: LexborNode) -> Iterator[LexborNode]:
    cell = row.first_child
    while cell is not None:
        if cell.tag in _CELLS and not is_hidden(cell.attributes):
            yield cell
        cell = cell.next


def _cell(node: LexborNode, text_of: Text) -> Cell:
    child = node.first_child
    while child is not None and child.tag == "-text" and not (child.text_content or "").strip():
        child = child.next
    bold = child is not None and child.tag in _BOLD
    return Cell(text_of(node), _span(node, "colspan"), _span(node, "rowspan"), bold=bold)


def _span(node: LexborNode, name: str) -> int:
    value = node.attributes.get(name) or ""
    return int(value) if value.isdecimal() and int(value[:9]) > 0 else 1
