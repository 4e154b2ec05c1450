"""Elements that the style sheets in an HTML page hide on a screen: a subset of CSS, for `display` and `visibility`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_MAX_RULES = 1_000  # of a page, as each is compared with all its elements
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|<!--|-->", re.DOTALL)
_TEXT = re.compile(r"\"[^\"\n{};]*[{};][^\"\n]*\"|'[^'\n{};]*[{};][^'\n]*'")  # with a sign that would end a part
_PART = re.compile(r"([^{};]*)([{};]|\Z)")
_DECLARATION = re.compile(r"\s*(display|visibility)\s*:\s*([a-z-]+)\s*(!\s*important)?\s*", re.IGNORECASE)
_HIDING = ("none", "hidden", "collapse")
_BETWEEN = re.compile(r",(?![^()]*\))")  # selectors of a list
_COMPOUND = re.compile(r"[^\s>+~]+\s*$")  # the part of a selector that says which element is meant
_NAME = re.compile(r"[.#]((?:[\w-]|[^\x00-\x7f])+)")
_WORD = re.compile(r"(?:[\w-]|[^\x00-\x7f])+")
_STATE = re.compile(r":(?:hover|focus|active|target|checked|visited|open)")
_SIMPLE = re.compile(r"(?P<id>#[\w-]+)|(?P<name>\.[\w-]+|\[[^\]]*\]|:(?!:)[\w-]+)|(?P<tag>(?<![\w.#:[-])[a-z][\w-]*)")
_WHOLE = ("html", "body")  # a page that is shown once it is loaded


class _Rule(NamedTuple):
    """What a sheet says of the elements of a selector; `is_sure`: it applies to every screen."""

    selector: str
    prop: str
    hides: bool
    is_sure: bool
    rank: tuple[bool, int, int, int]

    def subjects(self) -> set[str]:
        """Return the classes and ids of the element that is meant, without any the name of its tag."""
        compound = _COMPOUND.search(self.selector)
        subject = compound[0].strip() if compound else ""
        return {*_NAME.findall(subject)} or {subject.partition(":")[0].lower()}


def hide_by_style(parser: LexborHTMLParser) -> None:
    """Set the attribute `hidden` of the elements that the `<style>` elements of a page hide on a screen.

    Rules for other media (`print`) or for some screens only (`max-width`) hide nothing, and nothing is hidden that a
    reader can bring into view: by a state (`:hover`, `:target`, `:checked`), on another screen, or by a script that
    names its class or id, as of a menu or a tab.
    """
    sheets = [node for node in parser.css("style") if node.parent is None or node.parent.tag != "noscript"]
    rules = [rule for node in sheets for rule in _rules(node.text(), _is_screen(node.attributes.get("media") or ""))]
    if len(rules) > _MAX_RULES or not any(rule.hides and rule.is_sure for rule in rules):
        return
    shown = _may_be_shown(rules, parser.css("script"))
    hidden: dict[tuple[int, str], LexborNode] = {}
    for rule in sorted((rule for rule in rules if rule.is_sure), key=lambda rule: rule.rank):
        for node in _matching(parser, rule.selector) if not (rule.hides and rule.subjects() & shown) else ():
            if rule.hides and node.tag not in _WHOLE:
                hidden[node.mem_id, rule.prop] = node
            else:
                hidden.pop((node.mem_id, rule.prop), None)
    for (_, prop), node in hidden.items():
        if prop not in (node.attributes.get("style") or ""):
            node.attrs["hidden"] = ""


def _may_be_shown(rules: Sequence[_Rule], scripts: Sequence[LexborNode]) -> set[str]:
    """Return the names of elements that a state, another screen or a script brings into view."""
    source = {*_WORD.findall(" ".join(node.text() for node in scripts))}
    shown = [r for r in rules if not r.hides and (scripts or not r.is_sure or _STATE.search(r.selector))]
    return source.union(*(rule.subjects() for rule in shown))


def _matching(parser: LexborHTMLParser, selector: str) -> list[LexborNode]:
    from selectolax.lexbor import SelectolaxError

    try:
        return parser.css(selector)
    except SelectolaxError:  # a pseudo-element, or a selector newer than the parser
        return []


def _is_screen(media: str) -> bool | None:
    """Return whether a list of media queries holds for every screen; None if for some or for none but in part."""
    queries = [query.split() for query in media.lower().split(",")]
    if any(query in ([], ["all"], ["screen"], ["only", "screen"]) for query in queries):
        return True
    return None if any(query[0] not in ("print", "speech", "not") for query in queries) else False


def _rules(sheet: str, media: bool | None) -> Iterator[_Rule]:
    """Yield what a sheet says of `display` and `visibility` on screens; `media`: see `_is_screen`."""
    around: list[str | bool | None] = [media]  # selectors, and whether the at-rules hold
    for number, part in enumerate(_PART.finditer(_TEXT.sub("''", _COMMENT.sub(" ", sheet)))):
        text, end = part[1].strip(), part[2]
        if end == "{":
            around.append(_at_rule(text) if text.startswith("@") else text)
            continue
        conditions = [item for item in around if not isinstance(item, str)]
        match = _DECLARATION.fullmatch(text)
        # In a rule inside another rule, the outer selector would be a part of it.
        if match and isinstance(around[-1], str) and len(around) == len(conditions) + 1 and False not in conditions:
            hides = match[2].lower() in _HIDING
            for selector in _BETWEEN.split(around[-1]):
                rank = bool(match[3]), *_specificity(selector), number
                yield _Rule(selector.strip(), match[1].lower(), hides, None not in conditions, rank)
        if end == "}" and len(around) > 1:
            around.pop()


def _at_rule(text: str) -> bool | None:
    name, _, condition = text.partition(" ")
    return _is_screen(condition) if name.lower() == "@media" else True if name.lower() == "@layer" else None


def _specificity(selector: str) -> tuple[int, int]:
    """Return the number of ids, and that of classes, attributes, states and, counted less, tags."""
    kinds = [match.lastgroup for match in _SIMPLE.finditer(selector)]
    return kinds.count("id"), kinds.count("name") * 100 + kinds.count("tag")
