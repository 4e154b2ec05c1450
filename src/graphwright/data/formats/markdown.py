"""Markdown: text without its marks, and tables as records.

The parser is our own: markdown-it-py 4.3 finds the same words (99.3 % of ours on 200 files, 99.5 % of its own), takes 6
times as long, and drops list marks, in which citations count.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import replace

from graphwright.data.formats.format import Extracted, File, Format, TextBuilder
from graphwright.data.formats.html import html_text
from graphwright.data.formats.parsing.rst_tables import drawn_table
from graphwright.data.formats.structured import toml_value, yaml_value
from graphwright.data.records.grid import Cell, spread
from graphwright.data.records.objects import Cell as ObjectCell
from graphwright.data.records.objects import object_parts
from graphwright.data.records.record import DOCUMENT, Field, Record
from graphwright.data.records.table import Table

_FENCE = re.compile(r"[ \t]{0,20}(`{3,}|~{3,})")  # in a nested list, too
_ITEM = re.compile(r" *(?:[-*+]|\d{1,9}[.)])(?: +|$)")
_WHOLE = re.compile(r"<(table|dl)\b", re.IGNORECASE)  # read to its end, also beyond blank lines
# HTML blocks that end with a text: types 1 and 3 to 5 of CommonMark 0.31, section 4.6.
_RAW = tuple(
    (re.compile(start, re.IGNORECASE), re.compile(end, re.IGNORECASE))
    for start, end in (
        (r"<(?:script|pre|style|textarea)(?:[\s>]|$)", r"</(?:script|pre|style|textarea)>"),
        (r"<\?", r"\?>"),
        (r"<!\[CDATA\[", r"\]\]>"),
        (r"<![A-Za-z]", ">"),
    )
)
_ELEMENT = re.compile(  # type 6: an element of these begins or ends, and the block ends at a blank line
    r"</?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl"
    r"|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main"
    r"|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title"
    r"|tr|track|ul)(?:\s|/?>|$)",
    re.IGNORECASE,
)
_OPEN_TAG = re.compile(r"<[A-Za-z][\w-]{0,20}(?:\s[^<>]*)?$")  # that goes on in the next line
_ATTRIBUTE = r"""\s+[\w:@.-]+(?:=(?:"[^"]*"|'[^']*'|[^\s"'<>]+))?"""
_LONG_TAG = re.compile(rf"<[A-Za-z][\w-]*(?:{_ATTRIBUTE})+\s*/?>")
_MAX_TAG, _MAX_TABLE = 20, 5_000  # lines
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]+|$)")
_ATTRIBUTES = re.compile(r"\{:?[ \t]{0,9}(?:-|(?:[#.]|[\w-]{1,50}=)[^{}]{1,500})\}$")  # of a heading: {#piers .wide}
_UNDERLINE = re.compile(r" {0,3}(?:=+|-{2,})[ \t]*$")
_TABLE_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-*:?[ \t]*)+$")
_BAR = re.compile(r"(?<!\\)\|")
_CAPTION = re.compile(  # of Pandoc, and of MultiMarkdown
    r"(?:[Tt]able)?:[ \t]+(\S.*?)(?:[ \t]*\{[^{}]*\})?$|\[([^\[\]^]{2,300})\](?:\[[^\[\]]*\])?$"
)
_BOLD = re.compile(r"(\*\*|__)\S.*\1")
_NO_TEXT = re.compile(  # an underline, a rule, or the definition of a reference
    r" {0,3}(?:(?:=+|-{2,})[ \t]*$|(?:[-*_][ \t]*){3,}$|\[(?!\^)[^\[\]\n]{1,200}\]:[ \t]+<?\S+)"
)
_QUOTE = re.compile(r"^(?: {0,3}> ?)+")
_SETTING = re.compile(r"^([A-Za-z_][\w-]*):[ \t]+(\S.*)", re.MULTILINE)  # in front matter that is no YAML
_MAX_SETTINGS = 200  # lines

# Repetitions are bounded, so that time is linear for any line.
_CODE = re.compile(r"(?<!`)(`{1,3})(?!`)([^`\n]{1,1000})\1(?!`)")
_LINK = re.compile(
    r"!?\[([^\[\]\n]{0,1000})\]"
    r"(?:\([^()\n]{0,1000}(?:\([^()\n]{0,200}\)[^()\n]{0,200})?\)|\[[^\[\]\n]{0,200}\])"
)
_TITLED_IMAGE = re.compile(  # the title is a caption
    r"!\[([^\[\]\n]{0,1000})\]\([ \t]{0,9}(?:<[^<>\n]{0,1000}>|[^\s()]{0,1000})[ \t]{1,9}"
    r"""(?:"([^"\n]{1,1000})"|'([^'\n]{1,1000})'|\(([^()\n]{1,1000})\))[ \t]{0,9}\)"""
)
_IMAGE = re.compile(r"!\[[^\[\]\n]{0,1000}\](?:\([^()\n]{0,1000}\)|\[[^\[\]\n]{0,200}\])")
_TARGET = re.compile(  # the target of a link, or of a reference definition
    r"\[[^\[\]\n]{0,1000}\]\([ \t]*(?:<([^<>\n]{1,1000})>|((?:[^()<>\s]|\([^()\s]{0,200}\)){1,1000}))"
    r"|^ {0,3}\[(?!\^)[^\[\]\n]{1,200}\]:[ \t]+(?:<([^<>\n]{1,1000})>|([^<>\s]{1,1000}))"
)
_AUTOLINK = re.compile(r"<((?:https?|ftp|mailto):[^<>\s]{1,1000})>")
_TAG = re.compile(r"</?[A-Za-z][A-Za-z0-9-]{0,20}(?:\s[^<>\n]{0,1000})?/?>")
_NOTE, _NOTE_TEXT = re.compile(r"\[\^([^\[\]\s]{1,100})\]"), re.compile(r"^ {0,3}\[\^([^\[\]\s]{1,100})\]:[ \t]+")
_STARS = re.compile(r"(?<!\\)(\*{1,3}|~~)(?=\S)([^*~\n]{1,1000})(?<=[^\s\\])\1")
_UNDERSCORES = re.compile(r"(?<![\w\\])(_{1,3})(?=\S)([^_\n]{1,1000})(?<=[^\s\\])\1(?!\w)")
_ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+\-.!|<>~])")


def read(file: File) -> Iterator[Extracted]:
    """Yield the text of a Markdown file without its marks."""
    yield markdown_text(file.text())


FORMATS = (Format("Markdown", (".md", ".markdown"), read),)


def markdown_text(source: str) -> Extracted:
    r"""Return the text of a Markdown file, with its title, links, headings, and its front matter as metadata.

    Link targets, emphasis marks, tags, comments, rules and fences are removed from the text; the words of links, list
    marks and code stay; a row of a table is a sentence with the names of its columns. The title is that of the front
    matter, else the first heading, else empty. Targets are as written, without those of images and in code.

    >>> river = markdown_text("# On *Rivers*\nThe [Ob](https://example.org/ob) is **long**.\n")
    >>> river.title, river.text, river.links
    ('On Rivers', 'On Rivers\n\nThe Ob is long.', ['https://example.org/ob'])
    """
    fields, body = _front_matter(source)
    settings: dict[str, str] = {}
    for setting in fields:
        settings[setting.name] = ", ".join(filter(None, (settings.get(setting.name), setting.text)))
    reader = _Reader()
    reader.read(body.split("\n"))
    headings = reader.builder.headings
    title = settings.pop("title", "") or (headings[0].title if headings else "")
    page = reader.builder.extracted(title, metadata=settings)
    return replace(page, records=(Record(DOCUMENT, tuple(fields), 0, 0), *page.records)) if fields else page


def _front_matter(source: str) -> tuple[list[Field], str]:
    """Return the settings of YAML between two `---`, or of TOML between two `+++`, at the start, and the other text."""
    lines = source.split("\n", _MAX_SETTINGS)
    mark = lines[0].rstrip()
    if mark not in ("---", "+++"):
        return [], source
    for number, line in enumerate(lines[1:-1], start=1):
        if line.rstrip() in (mark, "..." if mark == "---" else mark):
            written = "\n".join(lines[1:number])
            value = toml_value(written) if mark == "+++" else yaml_value(written)
            cells = object_parts(value if isinstance(value, dict) else dict(_SETTING.findall(written)))
            fields = [Field(*cell) for cell in cells if isinstance(cell, ObjectCell)]
            return fields, "\n".join(lines[number + 1 :])
    return [], source


class _Reader:
    """Builder of the text of a file from its lines."""

    def __init__(self) -> None:
        self.builder = TextBuilder()
        self.indent = 0  # columns before the text of the current item of a list

    def read(self, lines: list[str]) -> None:
        fence, in_quote, block_end = "", False, 0
        last = max((number for number, line in enumerate(lines) if "-->" in line), default=0)
        code: list[str] = []
        for number, line in enumerate(lines):
            if number < block_end:
                continue
            if in_quote or not fence:
                in_quote = line.lstrip().startswith(">")
                if fence and not in_quote:  # a fence ends with the quotation that it is in
                    self.builder.line("\n".join(code))
                    fence, code = "", []
                line = _QUOTE.sub("", line, count=1) if in_quote else line
            mark = _FENCE.match(line)
            if mark and (not fence or mark[1].startswith(fence)):
                self.builder.line("\n".join(code))
                fence, code = "" if fence else mark[1], []
            elif fence:
                code.append(line)
            elif (block_end := _unfinished(lines, number, line, last)) == number:
                line = _without_comments(line) if "<!--" in line else line
                block_end = self._add_block(lines, number, line)
                if not block_end:
                    self.builder.links += _targets(line)
                    self._add(line, lines[number + 1] if number + 1 < len(lines) else "")
        self.builder.line("\n".join(code))

    def _add_block(self, lines: list[str], number: int, line: str) -> int:
        """Add the table or HTML element that begins at a line; return the line after it, 0 if there is none."""
        if rows := _table(lines, number) if "|" in line else []:
            return self._add_table(Table(spread(rows), header=1), lines[number : number + len(rows) + 1], number)
        if drawn := drawn_table(lines, number) if line[:1] == "+" else None:
            return self._add_table(drawn[0], lines[number : drawn[1]], number)
        item = _ITEM.match(line)
        self.indent = len(item[0]) if item else self.indent * (line[:1] in ("", " "))
        text = line.lstrip(" ")
        end = _html_end(lines, number, text) if text[:1] == "<" and len(line) - len(text) <= self.indent + 3 else 0
        if end:
            inner = (_QUOTE.sub("", row, count=1) for row in lines[number + 1 : end])
            self.builder.include(html_text("\n".join([text, *inner])))
        return end

    def _add(self, line: str, after: str) -> None:
        """Add a line outside of code and tables."""
        line = _NOTE_TEXT.sub(r"[\1] ", line, count=1) if "[^" in line else line
        heading = _HEADING.match(line)
        if not line.strip():
            self.builder.blank()
        elif heading or (_UNDERLINE.match(after) and self.builder.is_below_blank):
            title = _ATTRIBUTES.sub("", line[heading.end() if heading else 0 :].rstrip())
            level = heading[0].count("#") if heading else 1 if "=" in after else 2
            self.builder.heading(_inline(title.rstrip(" \t#")), level)
        elif not (_NO_TEXT.match(line) or ("|" in line and _TABLE_RULE.match(line))):
            text = _inline(line.removesuffix("\\"))
            start = self.builder.line(text)
            if caption := _CAPTION.match(line):
                self.builder.types.declared[start] = self.builder.size, _inline(caption[1] or caption[2])
            elif not text.strip():
                self.builder.blank()

    def _add_table(self, table: Table, lines: list[str], number: int) -> int:
        """Add a table that is written in lines, the first of which has a number; return the line after it."""
        self.builder.types.begin()
        for item in table.items():
            self.builder.row(item)
        for line in lines:
            self.builder.links += _targets(line)
        return number + len(lines)


def _without_comments(line: str) -> str:
    """Return a line without comments, unless one stands in code."""
    parts, at = [], 0
    while (start := line.find("<!--", at)) >= 0 and (end := line.find("-->", start)) >= 0:
        parts.append(line[at:start])
        at = end + 3
    return "".join((*parts, line[at:])) if "<!--" in _CODE.sub("", line) else line


def _unfinished(lines: list[str], number: int, line: str, last: int) -> int:
    """Move an unfinished comment or tag to the line with its end, and return it; `last`: the last end of a comment."""
    if "<!--" in line and "<!--" in _CODE.sub("", _without_comments(line)):
        end = next((at for at in range(number + 1, last + 1) if "-->" in lines[at]), number)
        if end > number:
            lines[end] = line[: line.rindex("<!--")] + lines[end].partition("-->")[2]
        return end
    text = line.strip()
    if text[:1] == "<" and _OPEN_TAG.match(text) and not _ELEMENT.match(text):
        for end in range(number + 1, min(number + _MAX_TAG, len(lines))):
            text = f"{text} {lines[end].strip()}"
            if _LONG_TAG.match(text):
                lines[end] = text
                return end
    return number


def _html_end(lines: list[str], number: int, text: str) -> int:
    """Return the line after the HTML block that begins with a text in a line, 0 if none begins there."""
    for start, end in _RAW:
        if start.match(text):
            rest = (at for at in range(number, len(lines)) if end.search(text if at == number else lines[at]))
            return next(rest, len(lines) - 1) + 1
    if not _ELEMENT.match(text):
        return 0
    if whole := _WHOLE.match(text):
        depth, marks = 0, re.compile(rf"<(/?){whole[1]}\b", re.IGNORECASE)
        for at in range(number, min(number + _MAX_TABLE, len(lines))):
            depth += sum(-1 if mark[1] else 1 for mark in marks.finditer(lines[at]))
            if depth <= 0:
                return at + 1
    in_quote = lines[number].lstrip().startswith(">")
    for at in range(number + 1, len(lines)):
        row = lines[at]
        if not _QUOTE.sub("", row, count=1).strip() or (in_quote and not row.lstrip().startswith(">")):
            return at
    return len(lines)


def _targets(line: str) -> Iterator[str]:
    """Yield the targets of the links in a line, without those of images and in code."""
    if "](" not in line and "]:" not in line:
        return
    unquoted = _CODE.sub("", _IMAGE.sub("", line) if "!" in line else line)
    for match in _TARGET.finditer(unquoted):
        yield html.unescape(_ESCAPE.sub(r"\1", next(filter(None, match.groups()))))


def _table(lines: list[str], number: int) -> list[list[Cell]]:
    """Return the rows of the table that begins at a line, its header first; empty if there is none."""
    header = _cells(lines[number])
    rule = _QUOTE.sub("", lines[number + 1]) if number + 1 < len(lines) else ""
    if ("|" not in rule and "-" not in rule) or not _TABLE_RULE.match(rule) or len(_cells(rule)) != len(header):
        return []
    rows = [header]
    for line in lines[number + 2 :]:
        if not line.strip() or "|" not in line:
            break
        rows.append(_cells(line))
    return rows


def _cells(line: str) -> list[Cell]:
    texts = _BAR.split(_QUOTE.sub("", line, count=1).strip().removeprefix("|"))
    if len(texts) > 1 and not texts[-1].strip():
        texts.pop()
    parts = (text.strip().replace("\\|", "|") for text in texts)
    return [Cell(_inline(text).strip(), bold=_BOLD.fullmatch(text) is not None) for text in parts]


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
        text = _TITLED_IMAGE.sub(lambda image: ": ".join(dict.fromkeys(filter(None, image.groups()))), text)
        text = _LINK.sub(r"\1", _LINK.sub(r"\1", text))  # twice: an image may stand in a link
        text = _NOTE.sub(r"[\1]", text)
    if "<" in text:
        text = _TAG.sub("", _AUTOLINK.sub(r"\1", text))
    for marks, pattern in (("*~", _STARS), ("_", _UNDERSCORES)):
        if any(mark in text for mark in marks):
            text = pattern.sub(r"\2", pattern.sub(r"\2", text))  # twice: bold may hold italic
    if "\\" in text:
        text = _ESCAPE.sub(r"\1", text)
    return html.unescape(text) if "&" in text else text
