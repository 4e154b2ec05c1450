"""Tables of HTML pages that hold data, and a limit of the nesting of HTML before it is parsed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from graphwright.data.records.grid import Cell, CellRow, spread
from graphwright.data.records.table import Table

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

MAX_DEPTH = 512  # maximum number of open elements, as in browsers

_MAX_FORMATTING = 16  # open elements such as <b>; the parser repeats them in each later paragraph
_MAX_SAME = 3  # of them with one name
_TAG = re.compile(
    r"<!--.*?(?:-->|\Z)"  # a part without tags: a comment, a script, …
    r"|<(?P<raw>script|style|textarea|title|xmp|iframe|noembed|noframes)(?=[\s/>]).*?(?:</(?P=raw)(?=[\s/>])|\Z)"
    r"|<(?P<end>/?)(?P<name>[a-z][^\s/>]*+)"
    r"(?:[^>=]++|(?<=[^\s/])=\s*+(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z))|=)*+>?",
    re.DOTALL | re.IGNORECASE,
)


def words_in(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


_VOID = words_in("area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr")
# Elements closed by the next of their kind, or by the end of their parent.
_IMPLIED = words_in(
    "html head body p a li dd dt option optgroup tr td th tbody thead tfoot caption colgroup rt rp rb rtc plaintext"
)
_FORMATTING = words_in("b big code em font i nobr s small strike strong tt u")
_BARRIERS = words_in("applet marquee object table template svg math select")  # an end tag closes nothing beyond
_BLOCKS = words_in(
    "address article aside blockquote button center details dialog dir div dl fieldset figcaption figure footer form"
    " frameset h1 h2 h3 h4 h5 h6 header hgroup listing main menu nav noscript ol pre search section summary ul"
)


def limited_nesting(page: str) -> str:
    """Return a page in which at most `MAX_DEPTH` elements are open at a time.

    Deeper start tags are removed with their end tags, those of blocks leaving a line break. Time is linear.

    >>> deep = limited_nesting("<div>" * 1_000 + "text" + "</div>" * 1_000)
    >>> deep.count("<div>"), deep.count("</div>"), deep.count("<br>")
    (512, 512, 488)
    """
    return _TAG.sub(_Nesting().tag, page) if page.count("<") > _MAX_FORMATTING else page


class _Nesting:
    """The elements that a parser has open, and the number of removed start tags whose end tags are still to come."""

    def __init__(self) -> None:
        self.open: list[str] = []
        self.formatting: Counter[str] = Counter()
        self.removed: Counter[str] = Counter()

    def tag(self, match: re.Match[str]) -> str:
        name = (match["name"] or "").lower()
        if not name or name in _VOID or name in _IMPLIED:
            return match[0]
        return self._end(name, match[0]) if match["end"] else self._start(name, match[0])

    def _start(self, name: str, tag: str) -> str:
        if name in _FORMATTING:
            if self.formatting.total() < _MAX_FORMATTING and self.formatting[name] < _MAX_SAME:
                self.formatting[name] += 1
                return tag
        elif len(self.open) < MAX_DEPTH:
            self.open.append(name)
            return tag
        self.removed[name] += 1
        return "<br>" if name in _BLOCKS else ""

    def _end(self, name: str, tag: str) -> str:
        if self.removed[name]:
            self.removed[name] -= 1
            return ""
        if name in _FORMATTING:
            self.formatting[name] = max(0, self.formatting[name] - 1)
            return tag
        for at in range(len(self.open) - 1, -1, -1):
            other = self.open[at]
            if other == name:
                del self.open[at:]
                break
            if other in _BARRIERS or (name not in _BLOCKS and name not in _BARRIERS and other in _BLOCKS):
                break
        return tag


_MAX_CELL = 200  # characters of a cell, on average
_CELLS, _HEADINGS, _BOLD = words_in("td th"), "h1, h2, h3, h4, h5, h6", words_in("b strong")
_IS_HIDDEN = re.compile(r"\b(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))\b", re.IGNORECASE)

Text = Callable[["LexborNode"], str]  # a function that returns the text of an element


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
    """Return whether the attributes of an element hide it."""
    return "hidden" in attributes or _IS_HIDDEN.search(attributes.get("style") or "") is not None


def _cells(row: LexborNode) -> Iterator[LexborNode]:
    return (cell for cell in row.iter() if cell.tag in _CELLS and not is_hidden(cell.attributes))


def _cell(node: LexborNode, text_of: Text) -> Cell:
    children = node.iter(include_text=True)
    filled = (child.tag for child in children if child.tag != "-text" or (child.text_content or "").strip())
    bold = next(filled, "") in _BOLD
    return Cell(text_of(node), _span(node, "colspan"), _span(node, "rowspan"), bold=bold)


def _span(node: LexborNode, name: str) -> int:
    value = node.attributes.get(name) or ""
    return int(value) if value.isdecimal() and int(value[:9]) > 0 else 1
