"""Source code: the text as it is, with a section for each definition and its lines as places."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import PurePath

from graphwright.data.document import Heading
from graphwright.data.formats.format import Extracted, File
from graphwright.data.formats.plain import source_text
from graphwright.text.places import Places

__all__ = ["SUFFIXES", "read"]

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
_NOT_NAMES = frozenset(("if", "for", "while", "switch", "return", "else", "catch", "do", "new", "throw", "case"))


def _patterns(suffix: str) -> list[re.Pattern[str]]:
    """Return the patterns of a line in which a definition begins."""
    words = next((words for suffixes, words in _KEYWORDS.items() if suffix in suffixes.split()), "")
    patterns = [re.compile(rf"{_BEFORE}(?:{words})\s+{_NAME}")] if words else []
    return patterns + [re.compile(pattern) for suffixes, pattern in _EXTRA.items() if suffix in suffixes.split()]


def read(file: File) -> Iterator[Extracted]:
    """Yield a source file as it is; a definition is a section, and lies in those with less indentation before it."""
    text = source_text(file)
    if not text.strip():
        yield Extracted("")
        return
    lines = text.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)][:-1]
    headings = tuple(_definitions(lines, starts, _patterns(PurePath(file.name).suffix.lower())))
    yield Extracted(text, headings=headings, places=Places("line", tuple(starts)))


def _definitions(lines: Sequence[str], starts: Sequence[int], patterns: Sequence[re.Pattern[str]]) -> Iterator[Heading]:
    indents: list[int] = []  # of the definitions around the line
    for line, start in zip(lines, starts, strict=True):
        match = next(filter(None, (pattern.match(line) for pattern in patterns)), None)
        if match is None or match[2] in _NOT_NAMES or line.split(None, 1)[0] in _NOT_NAMES:
            continue
        indent = len(match["indent"].expandtabs(4))
        while indents and indents[-1] >= indent:
            indents.pop()
        indents.append(indent)
        yield Heading(start + len(match["indent"]), len(indents), match[2])
