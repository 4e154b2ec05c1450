"""reStructuredText: headings by their lines, text without roles and directives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from graphwright.data.formats.format import Extracted, File, Format, TextBuilder
from graphwright.data.formats.parsing.rst_tables import directive_table, drawn_table
from graphwright.data.records.table import Table

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1*\s*$")
_DIRECTIVE = re.compile(r"\s*\.\. (?:\|[^|\n]{1,100}\| )?([A-Za-z][\w:+.-]{0,60})::[ \t]*(.*)$")
_EXPLICIT = re.compile(r"\s*\.\.(?:\s|$)")
_TARGET = re.compile(r"\s*\.\. _[^:\n]{1,200}: *(\S*)")
_FIELD = re.compile(r"\s*:([A-Za-z][\w -]{0,40}):(?:\s+(.*))?$")
_ROLE = re.compile(r":(?:[A-Za-z][\w+.-]{0,40}:){1,2}`([^`\n]{1,500})`")
_LINK = re.compile(r"`([^`<\n]{0,500}?)\s*<([^>`\n]{1,500})>`__?")
_REFERENCE = re.compile(r"`([^`\n]{1,500})`(?:__?)?")
_LITERAL = re.compile(r"``([^`\n]{1,500})``")
_STRONG = re.compile(r"(?<![\w*\\])(\*{1,2})(?=\S)([^*\n]{1,500})(?<=\S)\1(?![\w*])")
_SUBSTITUTION = re.compile(r"\|([^|\s][^|\n]{0,100})\|_{0,2}")
_NOTE = re.compile(r"(\[[#*]?[\w.-]{0,100}\])_(?!\w)")
_LINE_MARK = re.compile(r"^\s*\|(?: |$)")
_ESCAPED = re.compile(r"\\(?:\s|(.))")
_TARGET_IN_ROLE = re.compile(r"\s*<[^<>]{0,500}>$")
_CODE = ("code", "code-block", "sourcecode", "parsed-literal", "prompt")
_TABLES = ("table", "list-table", "csv-table")
_NO_TEXT = frozenset(
    re.findall(
        r"\S+",
        "image figure toctree contents include raw only index highlight meta role default-role sectnum target-notes"
        " currentmodule module py:module py:currentmodule tabularcolumns literalinclude autosummary automodule",
    )
)


def read(file: File) -> Iterator[Extracted]:
    """Yield the text of a reStructuredText file; the level of a heading is the order in which its style appears."""
    reader = _Reader(file.text().expandtabs(8).split("\n"))
    reader.read()
    builder = reader.builder
    title = builder.headings[0].title if builder.headings else ""
    yield builder.extracted(title, metadata=reader.metadata)


class _Reader:
    """Reader of the lines of a file, which collects its text and leading fields."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.builder = TextBuilder()
        self.metadata: dict[str, str] = {}
        self.links = self.builder.links
        self.styles: dict[str, int] = {}  # the level of each style of headings
        self.skipping = -1  # indentation of a directive whose block is left out, -1 for none
        self.code = -1  # indentation of what a block of code stands below, -1 for none

    def read(self) -> None:
        number = 0
        while number < len(self.lines):
            line = self.lines[number].rstrip()
            indent = len(line) - len(line.lstrip())
            number += 1
            if not line:
                self.builder.blank()
            elif 0 <= self.code < indent:
                before = self.lines[number - 2]
                if not (_FIELD.match(line) and (_FIELD.match(before) or _DIRECTIVE.match(before))):  # an option
                    self.builder.line(line)
            elif not 0 <= self.skipping < indent:
                self.skipping = self.code = -1
                if heading := _heading(self.lines, number - 1):
                    style, title, number = heading
                    level = self.styles.setdefault(style, len(self.styles) + 1)
                    self.builder.heading(_inline(title, self.links), level)
                elif table := drawn_table(self.lines, number - 1):
                    drawn, number = table
                    self._table(drawn)
                elif (match := _DIRECTIVE.match(line)) and match[1] in _TABLES:
                    number = self._table_directive(match, indent, number)
                elif _EXPLICIT.match(line):
                    self._explicit(line, indent)
                else:
                    self._line(line, indent)

    def _table(self, table: Table, title: str = "") -> None:
        rows = (row._replace(cells=[_inline(text, self.links).strip() for text in row.cells]) for row in table.rows)
        self.builder.table(replace(table, rows=rows, title=title))

    def _table_directive(self, match: re.Match[str], indent: int, number: int) -> int:
        """Read a directive of a table, whose title is the caption; return the number of the line after it."""
        title = _inline(match[2], self.links)
        self.builder.block(title)
        end = number
        while end < len(self.lines) and not self.lines[end][: indent + 1].strip():
            end += 1
        lines = self.lines[number:end]
        if match[1] == "table":
            begin = next((at for at, line in enumerate(lines) if line.strip() and not _FIELD.match(line)), end - number)
            drawn = drawn_table(lines, begin) if begin < len(lines) else None
            table, end = (drawn[0], number + drawn[1]) if drawn else (None, number)  # what follows is text
        else:
            table = directive_table(match[1], lines)
        if table is not None:
            self._table(table, title)
        return end

    def _explicit(self, line: str, indent: int) -> None:
        """Read a directive, a link target, a footnote or a comment."""
        if match := _DIRECTIVE.match(line):
            self.skipping = indent if match[1] in _NO_TEXT else -1
            if match[1] in _CODE:
                self.code = indent
            elif self.skipping < 0:
                self.builder.block(_inline(match[2], self.links))
        elif target := _TARGET.match(line):
            self.links += filter(None, [target[1]])
        elif line.lstrip().startswith(".. ["):
            self.builder.line(_inline(line.lstrip()[3:], self.links))
        else:
            self.skipping = indent

    def _line(self, line: str, indent: int) -> None:
        self.code = indent if line.endswith("::") else -1
        field = _FIELD.match(line)
        if field and (not self.builder.text or indent):
            if field[2] and not self.builder.text:
                self.metadata[field[1].lower()] = field[2]
        elif not (len(line) >= 4 and _ADORNMENT.match(line)):
            self.builder.line(_inline(_LINE_MARK.sub("", line, count=1), self.links))


def _heading(lines: list[str], at: int) -> tuple[str, str, int] | None:
    """Return the style and title of a heading that begins at a line, and the number of the line after it."""
    line, below = lines[at].rstrip(), lines[at + 1].rstrip() if at + 1 < len(lines) else ""
    mark = _ADORNMENT.match(line)
    if mark and below.strip() and not _ADORNMENT.match(below) and at + 2 < len(lines):
        if lines[at + 2].rstrip() == line and len(line) >= len(below.strip()):
            return f"{line[0]}{line[0]}", below.strip(), at + 3
        return None
    under = _ADORNMENT.match(below)
    if under and not mark and not line.startswith((" ", "..")) and len(below) >= min(len(line), 4) > 1:
        previous = lines[at - 1].strip() if at else ""
        return None if previous and not _ADORNMENT.match(previous) else (below[0], line, at + 2)
    return None


def _inline(text: str, links: list[str]) -> str:
    """Remove the marks in a line; append the targets of its links."""
    text = text.removesuffix("::") + ":" * text.endswith("::")
    if "`" in text:
        parts = _LITERAL.split(text)
        parts[::2] = [_unmarked(part, links) for part in parts[::2]]
        text = "".join(parts)
    elif "*" in text or "|" in text or "\\" in text:
        text = _unmarked(text, links)
    return _NOTE.sub(r"\1", text) if "]_" in text else text


def _unmarked(text: str, links: list[str]) -> str:
    links += [match[2] for match in _LINK.finditer(text)]
    text = _ROLE.sub(lambda match: _TARGET_IN_ROLE.sub("", match[1]).lstrip("~!"), text)
    text = _LINK.sub(lambda match: match[1] or match[2], text)
    text = _STRONG.sub(r"\2", _REFERENCE.sub(r"\1", text))
    return _ESCAPED.sub(r"\1", _SUBSTITUTION.sub(r"\1", text))


FORMATS = (Format("reStructuredText", (".rst", ".rest"), read),)
