"""AsciiDoc: headings, text without its marks, tables as rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from itertools import groupby, pairwise, takewhile
from operator import ne

from graphwright.data.formats.format import Extracted, File, Format, TextBuilder
from graphwright.data.records.grid import Cell, spread
from graphwright.data.records.table import Table

_HEADING = re.compile(r"(={1,6}|#{1,6})\s+(\S.*)$")
_ATTRIBUTE = re.compile(r":(!?[\w-]{1,60}!?):(?:\s+(.*))?$")
_DELIMITER = re.compile(r"(-{4,}|={4,}|\.{4,}|\*{4,}|_{4,}|\+{4,}|--)\s*$")
_UNDERLINES = "=-~^+"  # of titles, by their level
_ANCHOR = re.compile(r"\s*\[\[[^\[\]\n]{1,300}\]\]$")
_TABLE = ("|===", ",===", ":===")
_VERBATIM = re.compile(r"(?:-{4,}|\.{4,}|\+{4,})$")
_COMMENT = re.compile(r"/{4,}\s*$")
_BLOCK_OPTIONS = re.compile(r"\[[^\]\n]{0,500}\]\s*$")
_MACRO = re.compile(
    r"(?:include|image|video|audio|toc|ifdef|ifndef|ifeval|endif|icon)::?\S{0,500}\[[^\]\n]{0,500}\]\s*$"
)
_LINK = re.compile(
    r"(?:(?:link|xref|mailto):([^\s\[\]]{1,500})|((?:https?|ftp)://[^\s\[\]]{1,500}))\[([^\]\n]{0,500})\]"
)
_REFERENCE = re.compile(r"<<([^<>,\n]{1,300})(?:,([^<>\n]{1,300}))?>>")
_INLINE = re.compile(r"(?:image|icon|kbd|btn|footnote|anchor|indexterm2?):[^\s\[\]]{0,300}\[([^\]\n]{0,500})\]")
_MARKS = re.compile(r"(?<![\w*_`#])([*_`#]{1,2})(?=\S)([^*_`#\n]{1,500})(?<=\S)\1(?![\w*_`#])")
_ITEM = re.compile(r"([*.-]{1,5})\s+(?=\S)")
_CELL = re.compile(r"(?:\d{1,5}\+|[\d.]{0,11}[<^>aehlmsv.]{0,3})?\|")


def read(file: File) -> Iterator[Extracted]:
    """Yield the text of an AsciiDoc file; the attributes of its header are metadata."""
    builder = TextBuilder()
    metadata: dict[str, str] = {}
    lines = pairwise(map(str.rstrip, [*file.text().split("\n"), ""]))
    for line, following in lines:
        if line.startswith(_TABLE):
            _add_table((inside for inside, _ in lines), builder)
        elif _COMMENT.match(line) or _VERBATIM.match(line):
            for inside in takewhile(partial(ne, line), (inside for inside, _ in lines)):
                if not line.startswith("/"):
                    builder.line(inside)
            builder.blank()
        elif level := _underlined(line, following):
            builder.heading(_inline(_ANCHOR.sub("", line), builder.links), level)
            next(lines)
        else:
            _add(line, builder, metadata)
    title = builder.headings[0].title if builder.headings else ""
    yield builder.extracted(title, metadata=metadata)


def _add_table(lines: Iterator[str], builder: TextBuilder) -> None:
    """Add the rows of a table up to the line that ends it."""
    cells = [
        [cell.strip() for cell in _CELL.split(line)[1:]] if "|" in line else []
        for line in takewhile(lambda line: not line.startswith(_TABLE), lines)
    ]
    builder.table(Table(spread([Cell(_inline(cell, builder.links)) for cell in row] for row in _rows(cells))))


def _underlined(line: str, rule: str) -> int:
    """Return the level of a title with an underline of its length, give or take one mark; 0 for other lines."""
    marked = line[:1].isalnum() and len({*rule}) == 1 and rule[0] in _UNDERLINES
    return _UNDERLINES.index(rule[0]) + 1 if marked and len(rule) > 1 and abs(len(line) - len(rule)) < 2 else 0


def _add(line: str, builder: TextBuilder, metadata: dict[str, str]) -> None:
    attribute = _ATTRIBUTE.match(line)
    if not line or _DELIMITER.match(line) or line == "+":
        builder.blank()
    elif attribute:
        if attribute[2] and attribute[1] in ("author", "email", "revdate", "revnumber", "keywords", "description"):
            metadata[attribute[1]] = attribute[2]
    elif heading := _HEADING.match(line):
        title = heading[2].removesuffix(heading[1])  # a heading may end in the marks that it begins with
        title = title if title[-1:].isspace() else heading[2]
        builder.heading(_inline(title, builder.links), len(heading[1]))
    elif item := _ITEM.match(line):
        builder.line(f"{'  ' * (len(item[1]) - 1)}- {_inline(line[item.end() :], builder.links)}")
    elif line.startswith(".") and len(line) > 1 and line[1] not in ". ":
        builder.caption(_inline(line[1:], builder.links))
    elif not (line.startswith("//") or _MACRO.match(line) or _BLOCK_OPTIONS.match(line)):
        builder.line(_inline(line.removesuffix(" +"), builder.links))


def _rows(cells: list[list[str]]) -> Iterator[list[str]]:
    """Yield the rows of a table, whose cells may stand on one line or on a line each."""
    width = next((len(row) for row in cells if row), 0)
    if width > 1:
        flat = [cell for row in cells for cell in row]
        yield from (flat[at : at + width] for at in range(0, len(flat), width))
        return
    for has_cells, group in groupby(cells, key=bool):
        if has_cells:
            yield [cell for row in group for cell in row]


def _inline(text: str, links: list[str]) -> str:
    """Remove the marks in a line; append the targets of its links."""
    if "[" in text or "<<" in text:
        links += [match[1] or match[2] for match in _LINK.finditer(text)]
        text = _LINK.sub(lambda match: match[3].removesuffix("^") or match[1] or match[2], text)
        text = _REFERENCE.sub(lambda match: (match[2] or match[1]).strip(), text)
        text = _INLINE.sub(r"\1", text)
    if any(mark in text for mark in "*_`#"):
        text = _MARKS.sub(r"\2", _MARKS.sub(r"\2", text))
    return text


FORMATS = (Format("AsciiDoc", (".adoc", ".asciidoc", ".asc"), read),)
