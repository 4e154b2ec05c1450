"""HTML pages: their main content without menus, and tables as records."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from graphwright.data.decoding import SAMPLE, decode
from graphwright.data.document import Heading
from graphwright.data.formats.format import Extracted, File, Format, TextBuilder
from graphwright.data.formats.parsing.html_tables import data_table, is_hidden, limited_nesting, words_in
from graphwright.data.formats.parsing.style_sheets import hide_by_style
from graphwright.data.records.grid import cell_text
from graphwright.data.records.table import Note
from graphwright.text.characters import clean, raised
from graphwright.text.numbers import list_number

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

# Classes and roles of the parts of a page that are not its content.
_OUTSIDE = words_in(
    "navigation nav navbar navheader navfooter menu menubar sidebar sphinxsidebar related breadcrumb breadcrumbs"
    " search searchbox pagination pager headerlink anchorjs-link skip-link skiplink banner contentinfo"
    " complementary cookie-banner site-header site-footer page-footer mw-editsection mw-jump-link"
)
_MAIN = 'main, [role="main"], article, #content, #mw-content-text, .rst-content'
_MIN_MAIN = 0.4  # share of a page's text above which one element is its main content
_INVISIBLE = words_in(
    "head script style noscript template nav svg math iframe object canvas audio video select button dialog"
)
_PARAGRAPH = words_in(
    "address article aside blockquote body caption details div dl fieldset figcaption figure footer form"
    " h1 h2 h3 h4 h5 h6 header hr main ol p pre section summary table ul"
)
_BACK, _WORD = tuple("↩↑⤴^"), re.compile(r"\w")
_LISTS, _MAX_DIGITS = words_in("ol ul menu dir"), 6
_HEADINGS = words_in("h1 h2 h3 h4 h5 h6")
_MAX_CANDIDATES = 3  # for the main content
_LINE, _CELL = words_in("dd dt li option tr"), words_in("td th")
_SPACE = re.compile(r"(?:[^\S ]| (?=\s))\s*+")  # white space other than a single blank
_PAGE = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?<(?:!doctype\s+)?html\b", re.IGNORECASE)
_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]{2,40})""", re.IGNORECASE)


def declared_encoding(page: bytes) -> str:
    """Return the encoding that the `meta` element of a page declares, or an empty string."""
    match = _CHARSET.search(page[:4096])
    return match[1].decode("ascii") if match else ""


def read(file: File) -> Iterator[Extracted]:
    """Yield the main content of a page."""
    yield html_text(file.text(declared_encoding(file.head(SAMPLE))))


FORMATS = (Format("HTML page", (".html", ".htm", ".xhtml"), read, by_content=lambda head, _: bool(_PAGE.match(head))),)


def page_text(content: bytes) -> Extracted:
    """Return the text of a page in the encoding that it declares."""
    return html_text(decode(content, declared_encoding(content[:SAMPLE])) or "")


def html_text(page: str) -> Extracted:
    r"""Return the main content of a page, with its title, links and headings.

    The page may be malformed. The content is the element `main` or the like if it has most of the text, else the body,
    without scripts, styles, menus, buttons and what is hidden, also by the page's own style sheet. Block elements
    become paragraphs; list items, with their marks, and table rows become lines, those of data with the names of their
    columns. The title is `<title>`, else the first `<h1>`, else empty. Link targets are as written.

    >>> page = html_text("<title>A &amp; B</title><nav>menu</nav><p>One<b>!</b><ul><li><a href=c#d>Two</a><li>Three")
    >>> page.title, page.text, page.links
    ('A & B', 'One!\n\n- Two\n- Three', ['c#d'])
    """
    from selectolax.lexbor import LexborHTMLParser

    parser = LexborHTMLParser(limited_nesting(page))
    hide_by_style(parser)
    titles = (" ".join(clean(node.text()).split()) for node in parser.css("head title, h1:not([hidden])"))
    title = next(filter(None, titles), "")
    root = parser.body or parser.root
    if root is None:
        return Extracted("", title)
    whole = _walk(root)
    candidates = [node for node in parser.css(_MAIN) if node.mem_id != root.mem_id]
    if 0 < len(candidates) <= _MAX_CANDIDATES:
        inside = max(map(_walk, candidates), key=lambda page: len(page.text))
        if len(inside.text) >= _MIN_MAIN * len(whole.text):
            whole = inside
    return replace(whole, title=title)


def _walk(root: LexborNode, *, has_marks: bool = True) -> Extracted:
    """Return the text below a node, its links and headings, without recursion, because pages nest without limit."""
    page = _Page(has_marks)
    node = root
    while True:
        child = node.first_child if page.enter(node) else None
        while child is None:
            page.leave(node)
            if node.mem_id == root.mem_id or node.parent is None:
                return page.extracted()
            child = node.next
            node = node.parent if child is None else node
        node = child


class _Page(TextBuilder):
    """Builder of a text word by word, with the line breaks due before the next word."""

    def __init__(self, has_marks: bool) -> None:
        super().__init__()
        self.due = 0  # line ends
        self.spaced = True  # the text ends in white space
        self.verbatim = 0  # open <pre> elements
        self.open_heading: tuple[int, int] | None = None  # where the open heading begins, and its first part
        self.in_heading = False
        self.lists: list[tuple[int, str]] = []  # the next number of each open list, and the form of its numbers
        self.item = ""  # the mark of an item that has no text yet
        self.has_marks = has_marks
        self.defined = False  # the last line is a definition
        self.open_caption: tuple[int, int] | None = None  # characters and parts before the open caption

    @property
    def text(self) -> str:
        """The text so far."""
        return super().text.rstrip()

    def line(self, text: str) -> int:
        """Add a line; return where it begins."""
        self._write(text)
        self.due = max(self.due, 1)
        return self.size - len(text)

    def enter(self, node: LexborNode) -> bool:
        """Write the beginning of a node; return whether to visit its children."""
        tag = node.tag or ""
        if tag == "-text":
            self._write(node.text_content or "")
            return False
        if tag in _INVISIBLE or (node.first_child is not None and _hidden(node)):
            return False
        self.verbatim += tag == "pre"
        if tag in _HEADINGS:
            self._break(tag)
            self.in_heading, self.open_heading = True, None
            return True
        if tag == "a" and (target := node.attributes.get("href")):
            sign = node.text().strip()
            if target.startswith("#") and (sign[:1] in _BACK if not self.in_heading else not _WORD.search(sign)):
                return False  # a link to the heading itself, or from a note back to its mark
            self.links.append(target)
        self._break(tag)
        self._open(node, tag)
        if tag == "sup" and not self.verbatim and self.size and not self.due:
            self._write(raised(self._parts[-1], node.text()))
            return False
        if tag == "table" and (table := data_table(node, self._text_of)) is not None:
            self.types.begin()
            for item in chain([Note(0, [table.title])], table.items()):
                self.row(item)
            return False
        return True

    def _text_of(self, node: LexborNode) -> str:
        """Return the text of a cell in one line; its links are those of the page."""
        cell = _walk(node, has_marks=False)
        self.links += cell.links
        return cell_text(cell.text)

    def leave(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if self.open_caption is not None and _is_caption(node):
            before, first = self.open_caption
            text = "".join(self._parts[first:])
            start, self.open_caption = before + len(text) - len(text.lstrip()), None
            self.types.declared[start] = self.size - len(text) + len(text.rstrip()), text.strip()
        if tag in _HEADINGS:
            if self.open_heading is not None:
                start, first = self.open_heading
                title = " ".join("".join(self._parts[first:]).split())
                self.headings.append(Heading(start, int(tag[1]), title))
            self.in_heading, self.open_heading = False, None
        if tag in _LISTS and self.lists:
            self.lists.pop()
        if tag == "dt" and self.size and _WORD.match(self._parts[-1][-1:]):
            self._append(":")
        if tag in _PARAGRAPH or tag in _LINE:
            self.verbatim = max(0, self.verbatim - (tag == "pre"))  # a hidden one was never entered
            self._break(tag)

    def _open(self, node: LexborNode, tag: str) -> None:
        if tag in _LISTS:
            self.lists.append(_first_number(node))
        elif tag == "li":
            self._begin_item(node)
        if _is_caption(node):
            self.open_caption = self.size, len(self._parts)

    def _begin_item(self, node: LexborNode) -> None:
        """Prepare the mark of an item of a list: a dash, or its number."""
        number, form = self.lists[-1] if self.lists else (0, "")
        if form:
            value = node.attributes.get("value") or ""
            number = int(value) if value.isdecimal() and len(value) < _MAX_DIGITS else number
            self.lists[-1] = number + 1, form
        label = f"{list_number(number, form)}. " if form else "- "
        self.item = "  " * (len(self.lists) - 1) + label

    def _break(self, tag: str) -> None:
        if self.lists and (tag == "p" or tag in _LISTS):
            self.due = max(self.due, 1)  # in an item of a list
        elif tag in _PARAGRAPH or (tag == "dt" and self.defined):
            self.due, self.defined = 2, False
        elif tag in _LINE:
            self.due, self.defined = max(self.due, 1), tag == "dd"
        elif tag == "br":
            self.due = min(self.due + 1, 2)
        elif tag in _CELL:
            self._write(" ")

    def _write(self, text: str) -> None:
        text = clean(text)
        if not self.verbatim:
            text = _SPACE.sub(" ", text)
            if self.due or self.spaced:
                text = text.lstrip(" ")
        if not text:
            return
        if self.due and self.size:
            self._append("\n" * self.due)
        self.due = 0
        if self.item and text.strip():
            text = text if self.in_heading or not self.has_marks else self.item + text
            self.item = ""
        text = text if self.size else text.lstrip()
        if self.in_heading and self.open_heading is None and text.strip():
            self.open_heading = self.size + len(text) - len(text.lstrip()), len(self._parts)
        self._append(text)
        self.spaced = text[-1:] in " \n"


def _first_number(node: LexborNode) -> tuple[int, str]:
    """Return the first number of a list, and the form of its numbers, "" for dashes."""
    start = node.attributes.get("start") or "1"
    form = (node.attributes.get("type") or "1") if node.tag == "ol" else ""
    return int(start) if start.isdecimal() and len(start) < _MAX_DIGITS else 1, form


def _is_caption(node: LexborNode) -> bool:
    tag = node.tag or ""
    return tag == "figcaption" or (
        tag in _PARAGRAPH and "caption" in (node.attributes.get("class") or "").lower().split()
    )


def _hidden(node: LexborNode) -> bool:
    """Return whether an element is hidden, or a part of the page outside its content."""
    attributes = node.attributes
    if is_hidden(attributes) or attributes.get("aria-hidden") == "true":
        return True
    names = " ".join(filter(None, (attributes.get(name) for name in ("class", "role"))))
    return bool(names) and not _OUTSIDE.isdisjoint(names.lower().split())
