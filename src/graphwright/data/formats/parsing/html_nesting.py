"""Limit the nesting of HTML before it is parsed.

The parser follows the standard, whose rules look at all open elements for many a tag: its time is quadratic in the
depth of a page (20 minutes for 5 MB of `<div>`). Browsers keep at most 512 elements open, and so do we.
"""

from __future__ import annotations

import re
from collections import Counter

MAX_DEPTH = 512
"""Maximum number of open elements, as in browsers."""

_MAX_FORMATTING = 16  # open elements such as <b>; the parser repeats them in each later paragraph
_MAX_SAME = 3  # of them with one name
_TAG = re.compile(
    r"<!--.*?(?:-->|\Z)"  # a part without tags: a comment, a script, …
    r"|<(?P<raw>script|style|textarea|title|xmp|iframe|noembed|noframes)(?=[\s/>]).*?(?:</(?P=raw)(?=[\s/>])|\Z)"
    r"|<(?P<end>/?)(?P<name>[a-z][^\s/>]*+)"
    r"(?:[^>=]++|(?<=[^\s/])=\s*+(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z))|=)*+>?",
    re.DOTALL | re.IGNORECASE,
)


def words_in(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


_VOID = words_in("area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr")
# Elements closed by the next of their kind, or by the end of their parent.
_IMPLIED = words_in(
    "html head body p a li dd dt option optgroup tr td th tbody thead tfoot caption colgroup rt rp rb rtc plaintext"
)
_FORMATTING = words_in("b big code em font i nobr s small strike strong tt u")
_BARRIERS = words_in("applet marquee object table template svg math select")  # an end tag closes nothing beyond
_BLOCKS = words_in(
    "address article aside blockquote button center details dialog dir div dl fieldset figcaption figure footer form"
    " frameset h1 h2 h3 h4 h5 h6 header hgroup listing main menu nav noscript ol pre search section summary ul"
)


def limited_nesting(page: str) -> str:
    """Return a page in which at most `MAX_DEPTH` elements are open at a time.

    Deeper start tags are removed with their end tags, those of blocks leaving a line break. Time is linear.

    >>> deep = limited_nesting("<div>" * 1_000 + "text" + "</div>" * 1_000)
    >>> deep.count("<div>"), deep.count("</div>"), deep.count("<br>")
    (512, 512, 488)
    """
    return _TAG.sub(_Nesting().tag, page) if page.count("<") > _MAX_FORMATTING else page


class _Nesting:
    """The elements that a parser has open, and the number of removed start tags whose end tags are still to come."""

    def __init__(self) -> None:
        self.open: list[str] = []
        self.formatting: Counter[str] = Counter()
        self.removed: Counter[str] = Counter()

    def tag(self, match: re.Match[str]) -> str:
        """Return a tag or its replacement."""
        name = (match["name"] or "").lower()
        if not name or name in _VOID or name in _IMPLIED:
            return match[0]
        if match["end"]:
            return self._end(name, match[0])
        return self._start(name, match[0])

    def _start(self, name: str, tag: str) -> str:
        if name in _FORMATTING:
            if self.formatting.total() < _MAX_FORMATTING and self.formatting[name] < _MAX_SAME:
                self.formatting[name] += 1
                return tag
        elif len(self.open) < MAX_DEPTH:
            self.open.append(name)
            return tag
        self.removed[name] += 1
        return "<br>" if name in _BLOCKS else ""

    def _end(self, name: str, tag: str) -> str:
        if self.removed[name]:
            self.removed[name] -= 1
            return ""
        if name in _FORMATTING:
            self.formatting[name] = max(0, self.formatting[name] - 1)
            return tag
        for at in range(len(self.open) - 1, -1, -1):
            other = self.open[at]
            if other == name:
                del self.open[at:]
                break
            if other in _BARRIERS or (name not in _BLOCKS and name not in _BARRIERS and other in _BLOCKS):
                break
        return tag
