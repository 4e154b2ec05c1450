"""Text, title and links of an HTML page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from graphwright.text.words import WORD

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

__all__ = ["declared_encoding", "html_text"]

_INVISIBLE = frozenset(
    WORD.findall(
        "head script style noscript template nav svg math iframe object canvas audio video select button dialog"
    )
)
_PARAGRAPH = frozenset(
    WORD.findall(
        "address article aside blockquote body caption details div dl fieldset figcaption figure footer form"
        " h1 h2 h3 h4 h5 h6 header hr main ol p pre section summary table ul"
    )
)
_LINE = frozenset(("dd", "dt", "li", "option", "tr"))
_CELL = frozenset(("td", "th"))
_SPACE = re.compile(r"(?:[^\S\xa0 ]| (?=[^\S\xa0]))[^\S\xa0]*+")  # white space other than a single blank
_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]{2,40})""", re.IGNORECASE)


def declared_encoding(page: bytes) -> str:
    """Return the encoding that the `meta` element of a page declares, or an empty string."""
    match = _CHARSET.search(page[:4096])
    return match[1].decode("ascii") if match else ""


def html_text(page: str) -> tuple[str, str, list[str]]:
    r"""Return the title of a page, its visible text and the targets of its links; the page may be malformed.

    Block elements become paragraphs, separated by an empty line; list items and table rows become lines. Scripts,
    styles, navigation, buttons and hidden elements are left out; entities are decoded. The title is `<title>`,
    else the first `<h1>`, else empty. Link targets are as written, from the visible text only.

    >>> html_text("<title>A &amp; B</title><nav>menu</nav><p>One<b>!</b><ul><li><a href=c#d>Two</a><li>Three</ul>")
    ('A & B', 'One!\n\nTwo\nThree', ['c#d'])
    """
    from selectolax.lexbor import LexborHTMLParser

    parser = LexborHTMLParser(page)
    titles = (" ".join(node.text().split()) for node in parser.css("head title, h1"))
    title = next(filter(None, titles), "")
    root = parser.body or parser.root
    text, links = _walk(root) if root else ("", [])
    return title, text, links


def _walk(root: LexborNode) -> tuple[str, list[str]]:
    """Return the text and links below a node, without recursion, because pages nest without limit."""
    page = _Page()
    node = root
    while True:
        child = node.first_child if page.enter(node) else None
        while child is None:
            page.leave(node)
            if node.mem_id == root.mem_id or node.parent is None:
                return "".join(page.parts).strip(), page.links
            child = node.next
            node = node.parent if child is None else node
        node = child


class _Page:
    """Text written so far, and the line breaks due before the next word."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.links: list[str] = []
        self.due = 2  # line ends
        self.spaced = True  # the text ends in white space
        self.verbatim = 0  # open <pre> elements

    def enter(self, node: LexborNode) -> bool:
        """Write the beginning of a node; return whether to visit its children."""
        tag = node.tag or ""
        if tag == "-text":
            self._write(node.text_content or "")
            return False
        if tag in _INVISIBLE or (node.first_child is not None and _hidden(node)):
            return False
        self.verbatim += tag == "pre"
        if tag == "a" and (target := node.attributes.get("href")):
            self.links.append(target)
        self._break(tag)
        return True

    def leave(self, node: LexborNode) -> None:
        """Write the end of a node."""
        tag = node.tag or ""
        if tag in _PARAGRAPH or tag in _LINE:
            self.verbatim = max(0, self.verbatim - (tag == "pre"))  # a hidden one was never entered
            self._break(tag)

    def _break(self, tag: str) -> None:
        if tag in _PARAGRAPH:
            self.due = 2
        elif tag in _LINE:
            self.due = max(self.due, 1)
        elif tag == "br":
            self.due = min(self.due + 1, 2)
        elif tag in _CELL:
            self._write(" ")

    def _write(self, text: str) -> None:
        if not self.verbatim:
            text = _SPACE.sub(" ", text)
            if self.due or self.spaced:
                text = text.lstrip(" ")
        if not text:
            return
        if self.due:
            self.parts.append("\n" * self.due)
            self.due = 0
        self.parts.append(text)
        self.spaced = text[-1] in " \n"


def _hidden(node: LexborNode) -> bool:
    attributes = node.attributes
    return "hidden" in attributes or attributes.get("aria-hidden") == "true"
