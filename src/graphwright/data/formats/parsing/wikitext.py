"""Exports of MediaWiki: the newest revision of each page as a document, its wikitext by mwparserfromhell and HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import groupby
from typing import Any

from graphwright.data.formats.format import Extracted, UnreadableError
from graphwright.data.formats.html import html_text
from graphwright.data.formats.parsing.xml import Element, local
from graphwright.text.characters import clean

WIKI = "mediawiki"  # the name of the outermost element of an export

_FILE, _MEDIAWIKI, _TEMPLATE, _CATEGORY, _MODULE = "6", "8", "10", "14", "828"  # numbers of namespaces in every wiki
_UNSEEN = frozenset(["file", "image", "category"])  # namespaces of which links show no text, as every wiki knows them
_VERBATIM = frozenset(["pre", "nowiki", "syntaxhighlight", "source", "code", "math"])
_LEFT_OUT = frozenset(["ref", "references", "gallery", "timeline", "imagemap"])
_BLOCK = re.compile(r"<(?:table|h\d|pre)\b")
_OPENS, _MAX_OPEN = re.compile(r"\{\||<[A-Za-z]"), 1000  # above which the parser takes more than a second for a page
_ITEM = re.compile(r"[*#:;]{1,20}")  # deeper marks are text


def exported_pages(root: Element) -> Iterator[Extracted]:
    """Yield the pages of an export of MediaWiki, without redirects, templates, and pages of the wiki's own interface.

    A table of a page gives records. A template that stands as a block of its own lines gives its named parameters, one
    within a line its other parameters: what it expands to is not known. Raises UnreadableError if there is no page.
    """
    named = ((node.text or "").casefold() for node in root.iter() if node.get("key") in (_FILE, _CATEGORY))
    unseen, number = _UNSEEN | set(named), 0
    for page in (node for node in root if local(node) == "page"):
        fields = {local(node): node.text or "" for node in page}
        revisions = [_fields(node) for node in page if local(node) == "revision"]
        if not revisions or "redirect" in fields or fields.get("ns") in (_MEDIAWIKI, _TEMPLATE, _MODULE):
            continue
        newest = max(revisions, key=lambda revision: revision.get("timestamp", ""))
        if newest.get("model", "wikitext") != "wikitext" or not newest.get("text", "").strip():
            continue
        number += 1
        part, title = wiki_text(newest["text"], unseen), fields.get("title", "")
        metadata = {"date": newest.get("timestamp", "")[:10], "author": newest.get("username", "")}
        yield replace(
            part,
            title=title,
            name=f"#{number}",
            metadata={name: value for name, value in metadata.items() if value},
            records=tuple(record if record.type else record._replace(type=title) for record in part.records),
        )
    if not number:
        raise UnreadableError("an export of MediaWiki without a page of wikitext; export the pages with their texts")


def _fields(node: Element) -> dict[str, str]:
    return {local(part): "".join(part.itertext()) for part in node.iter() if not len(part) or local(part) == "text"}


def wiki_text(source: str, unseen: frozenset[str] = _UNSEEN) -> Extracted:
    r"""Return the text of a page, with its headings and the records of its tables.

    >>> wiki_text("== Start ==\n# Open the ''gas''.\n# Wait, see [[GC|the sheet]].").text
    'Start\n\n1. Open the gas.\n2. Wait, see the sheet.'
    """
    import mwparserfromhell

    opened = len(_OPENS.findall(source)) - source.count("|}") - source.count("</") - source.count("/>")
    if opened > _MAX_OPEN:
        return Extracted(clean(source))
    return html_text(f"<body>{_blocks(_Markup(unseen).html(mwparserfromhell.parse(source)))}</body>")


@dataclass(frozen=True)
class _Markup:
    """Wikitext as HTML; `unseen`: names of the namespaces of files and categories, of which links show no text."""

    unseen: frozenset[str]

    def html(self, code: Any) -> str:
        """Return wikitext as HTML, in which lists are still marked at the beginnings of their lines."""
        return "".join(self._node(node) for node in code.nodes) if code is not None else ""

    def _node(self, node: Any) -> str:
        kind = type(node).__name__
        if kind == "Text":
            return escape(str(node), quote=False)
        if kind == "HTMLEntity":
            return str(node)
        if kind == "Heading":
            return f"<h{node.level}>{self.html(node.title).strip()}</h{node.level}>"
        if kind == "Wikilink":
            prefix = str(node.title).partition(":")[0].strip().casefold()
            return "" if prefix in self.unseen else self.html(node.text or node.title)
        if kind == "ExternalLink":
            return self.html(node.title or node.url)
        if kind == "Template":
            return self._template(node)
        return self._tag(node, str(node.tag).strip().lower()) if kind == "Tag" else ""

    def _template(self, node: Any) -> str:
        if "\n" not in str(node.name) + "".join(map(str, node.params)):
            return " ".join(self.html(param.value).strip() for param in node.params if not param.showkey)
        rows = [
            (escape(str(param.name).strip()), self.html(param.value).strip()) for param in node.params if param.showkey
        ]
        return "".join(f"<p>{name}: {value}</p>" for name, value in rows if value)

    def _tag(self, node: Any, name: str) -> str:
        if name in _LEFT_OUT:
            return ""
        if node.wiki_markup is not None and name in ("li", "dt", "dd"):
            return str(node.wiki_markup)
        if name in _VERBATIM:
            text = escape(str(node.contents or ""), quote=False).replace("\n", "&#10;")
            return f"<pre>{text}</pre>" if "&#10;" in text else text
        spans = "".join(
            f' {own.name}="{escape(str(own.value))}"'
            for own in node.attributes
            if str(own.name).strip().endswith("span")
        )
        if (node.self_closing and node.contents is None) or name in ("br", "hr"):
            return f"<{name}>"
        inner = self.html(node.contents)
        if (
            name == "td" and node.wiki_markup == "|" and inner.startswith("+")
        ):  # to mwparserfromhell a caption is a cell
            return f"<caption>{inner[1:].strip()}</caption>"
        return f"<{name}{spans}>{_blocks(inner) if name in ('td', 'th') else inner}</{name}>"


def _blocks(html: str) -> str:
    """Return HTML with the lines of lists and paragraphs as elements."""
    lines = [(mark[0] if (mark := _ITEM.match(line)) else "", line) for line in _lines(html)]
    parts = []
    for is_list, group in groupby(lines, key=lambda line: bool(line[0])):
        own = list(group)
        parts.append(_list([(mark, line[len(mark) :]) for mark, line in own]) if is_list else _paragraphs(own))
    return "".join(parts)


def _lines(html: str) -> Iterator[str]:
    """Yield the lines of HTML; a table, heading or block of text as it is stays one."""
    open_tables, held = 0, ""
    for line in html.split("\n"):
        open_tables += line.count("<table") - line.count("</table")
        held += line
        if open_tables <= 0:
            yield held
            held, open_tables = "", 0
    if held:
        yield held


def _paragraphs(lines: Sequence[tuple[str, str]]) -> str:
    parts = [""]
    for _, line in lines:
        if _BLOCK.match(line.lstrip()) or not line.strip():
            parts += [line, ""]
        else:
            parts[-1] += f"{line}\n"
    return "".join(part if _BLOCK.match(part.lstrip()) else f"<p>{part.strip()}</p>" for part in parts if part.strip())


def _list(items: Sequence[tuple[str, str]], depth: int = 0) -> str:
    """Return lines with their marks as lists; a longer mark begins a list in the item above it."""
    parts = []
    for mark, group in groupby(items, key=lambda item: item[0][depth]):
        tag, entries, deeper = "ol" if mark == "#" else "ul" if mark == "*" else "div", list[str](), []
        for own, text in [*group, ("", "")]:
            if len(own) > depth + 1:
                deeper.append((own, text))
                continue
            if deeper:
                entries.append(entries.pop() + _list(deeper, depth + 1) if entries else _list(deeper, depth + 1))
                deeper = []
            entries += [text.strip()] if own else []
        item = "div" if tag == "div" else "li"
        parts.append(f"<{tag}>{''.join(f'<{item}>{entry}</{item}>' for entry in entries)}</{tag}>")
    return "".join(parts)
