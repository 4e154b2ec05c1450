"""Comments of configuration files (YAML, TOML, INI) with the settings that they are about.

Parsers leave comments out, and often only these say why a setting is as it is, who may change it, or since when.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, takewhile

from graphwright.data.document import BELOW

Finder = Callable[[str], Iterator[int]]  # yields the characters of a text at which comments begin

_TOML = re.compile(r'"""[\s\S]*?"""|\'\'\'[\s\S]*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|(#)')
_INI = re.compile(r"^[ \t]*([#;])|[ \t](;)", re.MULTILINE)
_YAML = re.compile(r"(?<!\S)#")
_SECTION = re.compile(r"\s*\[+([^\[\]\n]+)\]+")
_KEY = re.compile(r"\s*(?:- +(\S.*)|([^\s:-][^:]*):)")  # an item of a list, or a key


def toml_comments(text: str) -> Iterator[int]:
    """Yield where comments of TOML begin: a number sign outside of strings."""
    return (match.start(1) for match in _TOML.finditer(text) if match[1])


def ini_comments(text: str) -> Iterator[int]:
    """Yield where comments of INI begin: a semicolon or a number sign before a line, a semicolon after a value."""
    ends = 0
    for match in _INI.finditer(text):
        if match.start() >= ends:
            ends = (text.find("\n", match.start()) + 1 or len(text) + 1) - 1
            yield match.start(match.lastindex or 0)


def yaml_comments(text: str) -> Iterator[int]:
    """Yield where comments of YAML begin: a number sign between tokens. The text has to be YAML."""
    import yaml

    end = 0
    for token in yaml.scan(text, yaml.SafeLoader):
        gap = text[end : token.start_mark.index]
        yield from (end + match.start() for match in _YAML.finditer(gap))
        end = max(end, token.end_mark.index)


def commented_settings(text: str, find: Finder) -> str:
    r"""Return each comment as a paragraph: its lines without their marks, and the line that it is about.

    This is the line that the comment ends, the one directly below, or else the one directly above. The sections, keys
    and items of lists around it stand before it.

    >>> commented_settings("[limits]\n# more made\n# the host swap\nseries = 40  # was 60", toml_comments)
    'more made\nthe host swap\nlimits › series = 40  # was 60'
    """
    lines = text.split("\n")
    starts = [*accumulate((len(line) + 1 for line in lines), initial=0)]
    columns: dict[int, int] = {}  # the first comment of each line
    for begins in find(text):
        number = bisect_right(starts, begins) - 1
        columns.setdefault(number, begins - starts[number])
    return "\n\n".join(_paragraphs(lines, columns)) if columns else ""


def _paragraphs(lines: Sequence[str], columns: dict[int, int]) -> Iterator[str]:
    """Yield the paragraphs of the comments that begin in columns of lines."""
    alone = {number for number, column in columns.items() if not lines[number][:column].strip()}
    placed, number = list(_placed(lines, columns)), 0
    while number < len(lines):
        block = [*takewhile(alone.__contains__, range(number, len(lines)))]
        below = number + len(block)
        said = [text for at in block if any(map(str.isalnum, text := lines[at].strip().lstrip("#;").strip()))]
        if said or below in columns:
            setting = placed[below] if below < len(lines) else ""
            above = placed[number - 1] if number and not setting and number - 1 not in columns else ""
            yield "\n".join(filter(None, (above, *said, setting)))
        number = below + 1


def _placed(lines: Sequence[str], columns: dict[int, int]) -> Iterator[str]:
    """Yield each line after the sections, keys and items of lists around it, by its indent; "" for one without any."""
    around: list[tuple[float, str]] = []
    for number, line in enumerate(lines):
        setting = line[: columns.get(number)].rstrip()
        section, key = _SECTION.match(setting), _KEY.match(setting)
        is_item = key is not None and key[1] is not None
        depth = -1 if section else len(setting) - len(setting.lstrip()) + is_item / 2  # an item may stand below its key
        while setting and around and around[-1][0] >= depth:
            around.pop()
        yield BELOW.join([*(name for _, name in around), line.strip()]) if setting else ""
        if section:
            around.append((depth, section[1].strip()))
        elif key:
            around.append((depth, (key[1] or key[2]).strip(": ")))
