"""Tokens of the notation of queries."""

from __future__ import annotations

import re
from typing import NamedTuple, NoReturn

from graphwright.errors import OptionError, cut
from graphwright.operators.query.notation import DAY, NUMBER, WORD

MAX_TOKENS = 300
"""Words and signs of a query; each may be a level of nesting."""
_HINTS = {
    '"': "; the quote is not closed",
    "[": "; the bracket is not closed",
    **dict.fromkeys("'‘’“”„«»", '; names and values stand in double quotes, as in "Graz"'),
}
"""What to do about a sign with which no word begins."""
_TOKEN = re.compile(
    rf'(?P<text>"(?:[^"]|"")*")|(?P<name>\[(?:[^\]]|\]\])*\])|'
    rf"(?P<number>(?<=@){DAY.pattern}|{NUMBER.pattern})|(?P<word>{WORD.pattern})"
    r"|(?P<sign>!=|>=|<=|[=<>().,~+@{}])"
)


class Token(NamedTuple):
    """A token: the kind of its text, and the character at which it stands."""

    kind: str
    text: str
    start: int


def tokens_of(text: str) -> list[Token]:
    """Return the tokens of a query and the end. Raises OptionError for a sign that none begins with."""
    tokens: list[Token] = []
    position = len(text) - len(text.lstrip())
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            fail(position, text[position:], f"this cannot be read{_HINTS.get(text[position], '')}")
        tokens.append(Token(str(match.lastgroup), match[0], position))
        position = match.end() + len(text[match.end() :]) - len(text[match.end() :].lstrip())
        if len(tokens) > MAX_TOKENS:
            raise OptionError(f"The query has more than {MAX_TOKENS} words and signs. Ask for less at a time.")
    return [*tokens, Token("end", "", len(text))]


def fail(start: int, found: str, problem: str) -> NoReturn:
    """Raise OptionError for what is found at a character, from 0."""
    place = f"at character {start + 1}, {cut(found, 20)!r}" if found else "at its end"
    raise OptionError(f"The query cannot be read {place}: {problem}.")
