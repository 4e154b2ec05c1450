"""Source code: the text as it is, with a section for each definition, and lines and definitions as places."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import PurePath

from graphwright.data.document import Heading
from graphwright.data.formats.format import Extracted, File, Format
from graphwright.text.places import Places

_NAME = r"([A-Za-z_$][\w$]{0,100}(?:(?:::?|\.)[\w$]{1,100}){0,9}[?!]?)"
_BEFORE = r"(?P<indent>[ \t]{0,200})(?:(?:pub(?:\([a-z]{1,20}\))?|export|default|public|private|protected|internal|static|final|abstract|async|sealed|open|override|virtual|inline|const|unsafe|extern|partial|data|local)\s+){0,6}"  # noqa: E501
_KEYWORDS = {
    ".py .pyi": r"class|def",
    ".rb": r"class|module|def",
    ".js .jsx .mjs .ts .tsx": r"class|function\*?|interface|enum|namespace|type",
    ".go": r"func(?:\s*\([^()\n]{0,200}\))?|type",
    ".rs": r"fn|struct|enum|trait|impl(?:<[^<>\n]{0,200}>)?|mod|union|macro_rules!",
    ".java .kt .kts .cs .scala .swift": r"class|interface|enum|record|struct|trait|object|fun|func|protocol|extension|def|namespace",  # noqa: E501
    ".php": r"class|interface|trait|enum|function",
    ".pl .pm": r"sub|package",
    ".lua": r"function",
    ".jl": r"function|struct|module|macro",
    ".sh .bash .zsh": r"function",
    ".c .h .cc .cpp .cxx .hh .hpp": r"class|struct|enum|union|namespace",
    ".r": r"function",
    ".sql": r"",
    ".hs .ex .exs .erl .clj .f90 .pas .vb .m": r"",
}
SUFFIXES = tuple(suffix for suffixes in _KEYWORDS for suffix in suffixes.split())
_EXTRA = {  # definitions without a keyword: the name is the first group after the indentation
    ".c .h .cc .cpp .cxx .hh .hpp .java .cs": r"(?P<indent>[ \t]{0,8})(?:[A-Za-z_][\w:<>,*&\[\]]{0,100}[ \t*&]+){1,6}([A-Za-z_~][\w:~]{0,100})\s*\([^;{}\n]{0,500}(?:\)[^;=\n]{0,100})?\{?\s*$",  # noqa: E501
    ".sh .bash .zsh": r"(?P<indent>[ \t]{0,20})([A-Za-z_][\w-]{0,100})\s*\(\)",
    ".r": r"(?P<indent>[ \t]{0,20})([A-Za-z_.][\w.]{0,100})\s*(?:<-|=)\s*function\b",
    ".js .jsx .mjs .ts .tsx": r"(?P<indent>[ \t]{0,20})(?:export\s+)?(?:const|let|var)\s+([A-Za-z_$][\w$]{0,100})\s*=\s*(?:async\s*)?(?:function\b|\([^()\n]{0,200}\)\s*=>)",  # noqa: E501
    ".sql": r"(?P<indent>[ \t]{0,20})(?i:create\s+(?:or\s+replace\s+)?(?:table|view|function|procedure|trigger|index)\s+(?:if\s+not\s+exists\s+)?)([\w.\"`]{1,100})",  # noqa: E501
}
_ABOVE = re.compile(r"[@*]|#(?!!)|//|/\*|--")  # begins a comment, an attribute or a decorator
_CLOSES = re.compile(r"[)\]}{]|(?:end|public|private|protected)\b")  # begins a line that continues a definition
_NOT_NAMES = frozenset(("if", "for", "while", "switch", "return", "else", "catch", "do", "new", "throw", "case"))


def _patterns(suffix: str) -> list[re.Pattern[str]]:
    """Return the patterns of a line in which a definition begins."""
    words = next((words for suffixes, words in _KEYWORDS.items() if suffix in suffixes.split()), "")
    patterns = [re.compile(rf"{_BEFORE}(?:{words})\s+{_NAME}")] if words else []
    return patterns + [re.compile(pattern) for suffixes, pattern in _EXTRA.items() if suffix in suffixes.split()]


def read(file: File) -> Iterator[Extracted]:
    """Yield a source file as it is; each definition is a section, with the comments and decorators above it."""
    text = file.text()
    if not text.strip():
        yield Extracted("")
        return
    lines = text.split("\n")
    starts = tuple(accumulate((len(line) + 1 for line in lines), initial=0))[:-1]
    outline = _Outline(_patterns(PurePath(file.name).suffix.lower()))
    for line, start in zip(lines, starts, strict=True):
        outline.read(line, start)
    places = Places("line", starts, sections=tuple(outline.sections))
    yield Extracted(text, headings=tuple(outline.headings), places=places)


class _Outline:
    """The definitions of a source file: headings, and the names of the definitions around each character."""

    def __init__(self, patterns: Sequence[re.Pattern[str]]) -> None:
        self.patterns = patterns
        self.headings: list[Heading] = []
        self.sections: list[tuple[int, str]] = []
        self._open: list[tuple[int, str]] = []  # indentations and names of the definitions around the line
        self._above: tuple[int, int] | None = None  # where comments and decorators directly above begin, and how deep

    def read(self, line: str, start: int) -> None:
        """Read a line that begins at a character of the text."""
        code = line.lstrip()
        if not code:
            self._above = None
            return
        indent, begin = len(line[: -len(code)].expandtabs(4)), start + len(line) - len(code)
        if name := self._defined(line):
            self._leave(indent)
            self._open.append((indent, name))
            begin = begin if self._above is None else self._above[0]
            self.headings.append(Heading(begin, len(self._open), name))
            self._note(begin)
        elif self._above is not None and (indent > self._above[1] or _CLOSES.match(code)):  # of several lines
            return
        elif _ABOVE.match(code):
            self._above = self._above or (begin, indent)
            return
        elif self._open and indent <= self._open[-1][0] and not _CLOSES.match(code):
            self._leave(indent)
            self._note(begin)
        self._above = None

    def _defined(self, line: str) -> str:
        """Return the name of the definition that begins in a line, "" if none does."""
        match = next(filter(None, (pattern.match(line) for pattern in self.patterns)), None)
        if match is None or match[2] in _NOT_NAMES or line.split(None, 1)[0] in _NOT_NAMES:
            return ""
        return match[2]

    def _leave(self, indent: int) -> None:
        while self._open and self._open[-1][0] >= indent:
            self._open.pop()

    def _note(self, start: int) -> None:
        self.sections.append((start, ".".join(name for _, name in self._open)))


FORMATS = (Format("source code", SUFFIXES, read),)
