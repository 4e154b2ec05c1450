"""Text of Markdown and HTML documents.

Markdown has a parser of its own: markdown-it-py took 13 times as long, drops list marks and line ends that citations
count in, and is not linear on hostile input (2 to 3 s for 50,000 open brackets).
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from graphwright.data.decoding import clean
from graphwright.data.document import Heading
from graphwright.data.formats.parsing.html_nesting import limited_nesting
from graphwright.text.words import WORD

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode


class MarkedText(NamedTuple):
    """The text of a document without its markup.

    `links`: the targets of hyperlinks, as written. `settings`: the front matter of Markdown.
    """

    title: str
    text: str
    links: Sequence[str] = ()
    headings: Sequence[Heading] = ()
    settings: Mapping[str, str] = {}


_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]+|$)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-{2,})[ \t]*$")
_TABLE_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-*:?[ \t]*)+$")
_NO_TEXT = re.compile(  # an underline, a rule, or the definition of a reference
    r" {0,3}(?:(?:=+|-{2,})[ \t]*$|(?:[-*_][ \t]*){3,}$|\[[^\[\]\n]{1,200}\]:[ \t]+<?\S+)"
)
_QUOTE = re.compile(r"(?: {0,3}> ?)+")
_SETTING = re.compile(r"([A-Za-z_][\w-]*):[ \t]+(\S.*)")

# Repetitions are bounded, so that time is linear for any line.
_CODE = re.compile(r"(?<!`)(`{1,3})(?!`)([^`\n]{1,1000})\1(?!`)")
_LINK = re.compile(
    r"!?\[([^\[\]\n]{0,1000})\]"
    r"(?:\([^()\n]{0,1000}(?:\([^()\n]{0,200}\)[^()\n]{0,200})?\)|\[[^\[\]\n]{0,200}\])"
)
_IMAGE = re.compile(r"!\[[^\[\]\n]{0,1000}\](?:\([^()\n]{0,1000}\)|\[[^\[\]\n]{0,200}\])")
_TARGET = re.compile(  # the target of a link, or of a reference definition
    r"\[[^\[\]\n]{0,1000}\]\([ \t]*(?:<([^<>\n]{1,1000})>|((?:[^()<>\s]|\([^()\s]{0,200}\)){1,1000}))"
    r"|^ {0,3}\[(?!\^)[^\[\]\n]{1,200}\]:[ \t]+(?:<([^<>\n]{1,1000})>|([^<>\s]{1,1000}))"
)
_AUTOLINK = re.compile(r"<((?:https?|ftp|mailto):[^<>\s]{1,1000})>")
_TAG = re.compile(r"</?[A-Za-z][A-Za-z0-9-]{0,20}(?:\s[^<>\n]{0,1000})?/?>")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_NOTE = re.compile(r"\[\^[^\[\]\s]{1,100}\](?!:)")
_STARS = re.compile(r"(?<!\\)(\*{1,3}|~~)(?=\S)([^*~\n]{1,1000})(?<=[^\s\\])\1")
_UNDERSCORES = re.compile(r"(?<![\w\\])(_{1,3})(?=\S)([^_\n]{1,1000})(?<=[^\s\\])\1(?!\w)")
_ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+\-.!|<>~])")


def markdown_text(source: str) -> MarkedText:
    r"""Return the title, the text, the links, the headings and the front matter of a Markdown file.

    Link targets, emphasis marks, tags, comments, rules and fences are removed from the text; the words of links and
    code, list marks, table cells and code blocks stay; a heading becomes a paragraph of its own. The title is that of
    the front matter, else the first heading, else empty. Targets are as written; those of images and in code are left
    out.

    >>> markdown_text("# On *Rivers*\nThe [Ob](https://example.org/ob) is **long**.\n")[:3]
    ('On Rivers', 'On Rivers\n\nThe Ob is long.', ['https://example.org/ob'])
    """
    settings, body = _front_matter(source)
    if "<!--" in body and "-->" in body:
        body = _COMMENT.sub("", body)
    headings: list[Heading] = []
    targets: list[str] = []
    lines = list(_blocks(body.split("\n"), headings, targets))
    text = "\n".join(lines)
    title = settings.pop("title", "") or next((heading.title for heading in headings if heading.title), "")
    # A heading holds the number of its line until here.
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    before = len(text) - len(text.lstrip("\n"))
    placed = [Heading(starts[line] - before, level, heading) for line, level, heading in headings if heading]
    return MarkedText(title, text.strip("\n"), targets, placed, settings)


def _front_matter(source: str) -> tuple[dict[str, str], str]:
    """Return the `key: value` lines between two `---` at the start, nested ones left out, and the rest of the file."""
    lines = source.split("\n", 200)
    if lines[0].rstrip() != "---":
        return {}, source
    for number, line in enumerate(lines[1:-1], start=1):
        if line.rstrip() in ("---", "..."):
            matches = (_SETTING.match(setting) for setting in lines[1:number])
            return {m[1]: m[2].strip().strip("\"'") for m in matches if m}, "\n".join(lines[number + 1 :])
    return {}, source


def _blocks(lines: list[str], headings: list[Heading], targets: list[str]) -> Iterator[str]:
    """Yield the lines of the text; append the headings, by line, and the targets of links to the lists."""
    fence = ""
    before = ""  # the last line of the text
    count = 0  # lines of the text
    for number, line in enumerate(lines):
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
            continue
        if fence:
            count += 1
            yield (before := line)
            continue
        if "](" in line or "]:" in line:
            unquoted = _CODE.sub("", _IMAGE.sub("", line) if "!" in line else line)
            matches = (next(filter(None, match.groups())) for match in _TARGET.finditer(unquoted))
            targets.extend(html.unescape(_ESCAPE.sub(r"\1", target)) for target in matches)
        if not line.strip():
            if before:
                count += 1
                yield (before := "")
            continue
        line = _QUOTE.sub("", line, count=1) if line.lstrip().startswith(">") else line
        after = lines[number + 1] if number + 1 < len(lines) else ""
        heading = _HEADING.match(line)
        if heading or (_UNDERLINE.match(after) and not before):
            title = _inline(line[heading.end() if heading else 0 :].rstrip(" \t#")).strip()
            level = heading[0].count("#") if heading else 1 if "=" in after else 2
            headings.append(Heading(count + bool(before), level, title))
            count += 2 + bool(before)
            yield from ("", title, "") if before else (title, "")
            before = ""
        elif not (_NO_TEXT.match(line) or ("|" in line and _TABLE_RULE.match(line))):
            count += 1
            yield (before := _inline(line))


def _inline(line: str) -> str:
    """Remove the marks inside a line; text in code marks loses only those."""
    parts: list[str] = []
    end = 0
    for code in _CODE.finditer(line) if "`" in line else ():
        parts += (_unmarked(line[end : code.start()]), code[2])
        end = code.end()
    return "".join((*parts, _unmarked(line[end:])))


def _unmarked(text: str) -> str:
    if "[" in text:
        text = _LINK.sub(r"\1", _LINK.sub(r"\1", text))  # twice: an image may stand in a link
        text = _NOTE.sub("", text)
    if "<" in text:
        text = _TAG.sub("", _AUTOLINK.sub(r"\1", text))
    for marks, pattern in (("*~", _STARS), ("_", _UNDERSCORES)):
        if any(mark in text for mark in marks):
            text = pattern.sub(r"\2", pattern.sub(r"\2", text))  # twice: bold may hold italic
    if "\\" in text:
        text = _ESCAPE.sub(r"\1", text)
    return html.unescape(text) if "&" in text else text


# Classes and roles of the parts of a page that are not its content.
_OUTSIDE = frozenset(
    re.findall(
        r"\S+",
        "navigation nav navbar navheader navfooter menu menubar sidebar sphinxsidebar related breadcrumb breadcrumbs"
        " search searchbox pagination pager headerlink anchorjs-link skip-link skiplink banner contentinfo"
        " complementary cookie-banner site-header site-footer page-footer mw-editsection mw-jump-link",
    )
)
_MAIN = 'main, [role="main"], article, #content, #mw-content-text, .rst-content'
_MIN_MAIN = 0.4  # share of a page's text above which one element is its main content
_STEPS = re.compile(
    r"(?:\b(?:next|previous|prev|up|home|top|back|index|contents|modules|to|the)\b|[^\w\n])+", re.IGNORECASE
)
_MAX_STEPS = 80  # characters of a line of such links
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
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_MAX_CANDIDATES = 3  # for the main content
_LINE = frozenset(("dd", "dt", "li", "option", "tr"))
_CELL = frozenset(("td", "th"))
_SPACE = re.compile(r"(?:[^\S\xa0 ]| (?=[^\S\xa0]))[^\S\xa0]*+")  # white space other than a single blank
_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]{2,40})""", re.IGNORECASE)


def declared_encoding(page: bytes) -> str:
    """Return the encoding that the `meta` element of a page declares, or an empty string."""
    match = _CHARSET.search(page[:4096])
    return match[1].decode("ascii") if match else ""


def html_text(page: str) -> MarkedText:
    r"""Return the title of a page, its main content, the targets of its links and its headings.

    The page may be malformed. The content is the element `main` or the like if it has most of the text, else the body.
    Block elements become paragraphs, separated by an empty line; list items and table rows become lines. Scripts,
    styles, menus, lines of links such as "next | previous", buttons and hidden elements are left out; entities are
    decoded. The title is `<title>`, else the first `<h1>`, else empty. Link targets are as written, from the content.

    >>> html_text("<title>A &amp; B</title><nav>menu</nav><p>One<b>!</b><ul><li><a href=c#d>Two</a><li>Three</ul>")[:3]
    ('A & B', 'One!\n\nTwo\nThree', ['c#d'])
    """
    from selectolax.lexbor import LexborHTMLParser

    parser = LexborHTMLParser(limited_nesting(page))
    titles = (" ".join(node.text().split()) for node in parser.css("head title, h1"))
    title = next(filter(None, titles), "")
    root = parser.body or parser.root
    if root is None:
        return MarkedText(title, "")
    whole = _walk(root)
    candidates = [node for node in parser.css(_MAIN) if node.mem_id != root.mem_id]
    if 0 < len(candidates) <= _MAX_CANDIDATES:
        inside = max(map(_walk, candidates), key=lambda page: len(page.text))
        if len(inside.text) >= _MIN_MAIN * len(whole.text):
            whole = inside
    return whole._replace(title=title)


def _walk(root: LexborNode) -> MarkedText:
    """Return the text below a node, its links and headings, without recursion, because pages nest without limit."""
    page = _Page()
    node = root
    while True:
        child = node.first_child if page.enter(node) else None
        while child is None:
            page.leave(node)
            if node.mem_id == root.mem_id or node.parent is None:
                return page.finished()
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
        self.headings: list[Heading] = []
        self.size = 0  # characters of the parts
        self.before = 0  # links before the line breaks that are due
        self.line = (0, 0)  # parts and links before the current line
        self.heading: tuple[int, int] | None = None  # where the open heading begins, and its first part
        self.in_heading = False

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
            self.in_heading, self.heading = True, None
            return True
        if tag == "a" and (target := node.attributes.get("href")):
            if self.in_heading and target.startswith("#") and not any(map(str.isalnum, node.text())):
                return False  # the sign of a link to the heading itself
            self.links.append(target)
        self._break(tag)
        return True

    def leave(self, node: LexborNode) -> None:
        """Write the end of a node."""
        tag = node.tag or ""
        if tag in _HEADINGS:
            if self.heading is not None:
                start, first = self.heading
                title = " ".join("".join(self.parts[first:]).split())
                self.headings.append(Heading(start, int(tag[1]), title))
            self.in_heading, self.heading = False, None
        if tag in _PARAGRAPH or tag in _LINE:
            self.verbatim = max(0, self.verbatim - (tag == "pre"))  # a hidden one was never entered
            self._break(tag)

    def _break(self, tag: str) -> None:
        if not self.due:
            self.before = len(self.links)
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
            text = _SPACE.sub(" ", clean(text))
            if self.due or self.spaced:
                text = text.lstrip(" ")
        if not text:
            return
        if self.due:
            self._end_line()
            self.line = len(self.parts), self.before
            self._append("\n" * self.due)
            self.due = 0
        if self.in_heading and self.heading is None and text.strip():
            self.heading = self.size + len(text) - len(text.lstrip()), len(self.parts)
        self._append(text)
        self.spaced = text[-1] in " \n"

    def _append(self, text: str) -> None:
        self.parts.append(text)
        self.size += len(text)

    def _end_line(self) -> None:
        """Remove the last line if it consists of links to the next pages."""
        first, links = self.line
        if links < len(self.links):
            line = "".join(self.parts[first:])
            if len(line) <= _MAX_STEPS and _STEPS.fullmatch(line.strip()):
                del self.parts[first:], self.links[links:]
                self.size -= len(line)
                while self.headings and self.headings[-1].start >= self.size:
                    self.headings.pop()
                if self.heading is not None and self.heading[1] >= first:
                    self.heading = None

    def finished(self) -> MarkedText:
        """Return the text, its links and headings."""
        self._end_line()
        text = "".join(self.parts)
        before = len(text) - len(text.lstrip())
        text = text.strip()
        headings = [h._replace(start=h.start - before) for h in self.headings if h.start >= before]
        return MarkedText("", text, self.links, [heading for heading in headings if _stands(heading, text)])


def _stands(heading: Heading, text: str) -> bool:
    """Return whether a heading is in the text as a whole, and not cut with a line of links."""
    title = "".join(heading.title.split())
    return bool(title) and "".join(text[heading.start : heading.start + 3 * len(heading.title)].split()).startswith(
        title
    )


def _hidden(node: LexborNode) -> bool:
    """Return whether an element is hidden, or a part of the page outside its content."""
    attributes = node.attributes
    if "hidden" in attributes or attributes.get("aria-hidden") == "true":
        return True
    names = " ".join(filter(None, (attributes.get(name) for name in ("class", "role"))))
    return bool(names) and not _OUTSIDE.isdisjoint(names.lower().split())
