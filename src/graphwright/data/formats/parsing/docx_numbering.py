"""Numbers that Word counts before paragraphs: 4.2, (b), iii."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from graphwright.text.numerals import list_number

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_MAX_LEVELS = 9


class _Level(NamedTuple):
    """A level of a list: the form of its numbers, its text ("%1.%2" for 4.2), and its first number."""

    form: str
    text: str
    first: int


class Numbering:
    """Counters of the lists of a document; `numbering` and `styles` are the roots of its parts, None for none."""

    def __init__(self, numbering: Any, styles: Any) -> None:
        abstract: dict[str, dict[int, _Level]] = {}
        self.lists: dict[str, str] = {}
        for node in () if numbering is None else numbering.iterchildren(f"{W}abstractNum"):
            abstract[node.get(f"{W}abstractNumId", "")] = dict(map(_level, node.iterchildren(f"{W}lvl")))
        for node in () if numbering is None else numbering.iterchildren(f"{W}num"):
            self.lists[node.get(f"{W}numId", "")] = value_of(node.find(f"{W}abstractNumId"))
        self.levels = abstract
        self.counts: dict[str, list[int]] = {}
        found = () if styles is None else styles.iter(f"{W}style")
        self.styles = {style.get(f"{W}styleId", ""): style for style in found}

    def label(self, paragraph: Any) -> str:
        """Count a paragraph; return its number as shown, "-" for a bullet, "" for a paragraph of no list."""
        number, level = self._place(paragraph)
        name = self.lists.get(number, "")
        levels = self.levels.get(name, {})
        if level not in levels:
            return ""
        counts = self.counts.setdefault(name, [0] * _MAX_LEVELS)
        counts[level] = counts[level] + 1 if counts[level] else levels[level].first
        counts[level + 1 :] = [0] * (_MAX_LEVELS - level - 1)
        if levels[level].form == "bullet":
            return "-"

        def shown(match: re.Match[str]) -> str:
            at = int(match[1]) - 1
            known = levels.get(at)
            return "" if known is None else list_number(counts[at] or known.first, known.form)

        return re.sub(r"%([1-9])", shown, levels[level].text).strip()

    def depth(self, paragraph: Any, label: str) -> int:
        """Return how deep an item with a label lies, from 0: by a style such as "List Bullet 2"; a bullet by its level.

        A number such as 4.2 says it itself.
        """
        style = self.styles.get(value_of(paragraph.find(f"{W}pPr/{W}pStyle")))
        name = "" if style is None else value_of(style.find(f"{W}name"))
        by_style = int(name[-1]) - 1 if name.startswith("List ") and name[-1] in "2345" else 0
        return max(self._place(paragraph)[1] if label == "-" else 0, by_style)

    def _place(self, paragraph: Any) -> tuple[str, int]:
        """Return the list and the level of a paragraph, by itself or by its style and those that it is based on."""
        number = level = ""
        node, seen = paragraph, set[str]()
        while node is not None:
            place = node.find(f"{W}pPr/{W}numPr")
            if place is not None:
                number = number or value_of(place.find(f"{W}numId"))
                level = level or value_of(place.find(f"{W}ilvl"))
            parent = value_of(node.find(f"{W}pPr/{W}pStyle" if node is paragraph else f"{W}basedOn"))
            node = None if number or parent in seen else self.styles.get(parent)
            seen.add(parent)
        return number, int(level) if level.isdigit() else 0


def _level(node: Any) -> tuple[int, _Level]:
    level, first = node.get(f"{W}ilvl", ""), value_of(node.find(f"{W}start"))
    form, text = value_of(node.find(f"{W}numFmt")), value_of(node.find(f"{W}lvlText"))
    at = int(level) if level.isdigit() and int(level) < _MAX_LEVELS else 0
    return at, _Level(form, text, int(first) if first.isdigit() else 1)


def value_of(node: Any) -> str:
    """Return the attribute `val` of an element, "" for none."""
    return "" if node is None else node.get(f"{W}val", "")
