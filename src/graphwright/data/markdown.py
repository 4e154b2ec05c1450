"""Text, title, front matter and links of a Markdown file.

A parser of our own rather than markdown-it-py: it keeps list marks, table cells and line ends as they are
written, is 13 times as fast, and takes linear time on hostile input.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

__all__ = ["markdown_links", "markdown_text"]

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]+|$)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-{2,})[ \t]*$")
_RULE = re.compile(r" {0,3}(?:[-*_][ \t]*){3,}$")
_TABLE_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-*:?[ \t]*)+$")
_DEFINITION = re.compile(r" {0,3}\[[^\[\]\n]{1,200}\]:[ \t]+<?\S+")
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


def markdown_text(source: str) -> tuple[str, str, dict[str, str]]:
    r"""Return the title, the text and the front matter of a Markdown file.

    Link targets, emphasis marks, tags, comments, rules and fences are removed; the words of links and code, list
    marks, table cells and code blocks stay; a heading becomes a paragraph of its own. The title is that of the
    front matter, else the first heading, else empty.

    >>> markdown_text("# On *Rivers*\nThe [Ob](https://example.org/ob) is **long**.\n")
    ('On Rivers', 'On Rivers\n\nThe Ob is long.', {})
    """
    settings, body = _front_matter(source)
    if "<!--" in body and "-->" in body:
        body = _COMMENT.sub("", body)
    headings: list[str] = []
    text = "\n".join(_blocks(body.split("\n"), headings))
    title = settings.pop("title", "") or next(filter(None, headings), "")
    return title, text.strip("\n"), settings


def markdown_links(source: str) -> list[str]:
    r"""Return the targets of the links of a Markdown file, as written; images and code are left out.

    >>> markdown_links("[a](b.md#c \"title\") ![d](e.png) `[f](g)` [h][1]\n\n[1]: <i j.md>\n")
    ['b.md#c', 'i j.md']
    """
    _, body = _front_matter(source)
    if "<!--" in body and "-->" in body:
        body = _COMMENT.sub("", body)
    targets: list[str] = []
    fence = ""
    for line in body.split("\n") if "](" in body or "]:" in body else ():
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif not fence and "]" in line:
            text = _CODE.sub("", _IMAGE.sub("", line) if "!" in line else line)
            targets.extend(next(filter(None, match.groups())) for match in _TARGET.finditer(text))
    return [html.unescape(_ESCAPE.sub(r"\1", target)) for target in targets]


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


def _blocks(lines: list[str], headings: list[str]) -> Iterator[str]:
    fence = ""
    before = ""  # the last line of the text
    for number, line in enumerate(lines):
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
            continue
        if fence:
            yield (before := line)
            continue
        if not line.strip():
            if before:
                yield (before := "")
            continue
        line = _QUOTE.sub("", line, count=1) if line.lstrip().startswith(">") else line
        after = lines[number + 1] if number + 1 < len(lines) else ""
        heading = _HEADING.match(line)
        if heading or (_UNDERLINE.match(after) and not before):
            headings.append(_inline(line[heading.end() if heading else 0 :].rstrip(" \t#")).strip())
            yield from ("", headings[-1], "") if before else (headings[-1], "")
            before = ""
        elif not (_UNDERLINE.match(line) or _is_markup(line)):
            yield (before := _inline(line))


def _is_markup(line: str) -> bool:
    return bool(_RULE.match(line) or _DEFINITION.match(line) or ("|" in line and _TABLE_RULE.match(line)))


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
