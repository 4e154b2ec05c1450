"""Words, numbers and dates of a question."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple

from graphwright.text.names import name_words
from graphwright.text.values import Value, value_of

_MARKS = ".,?!;:\"'()[]"
_HOUR = re.compile(r"(\d{1,2}) ?([ap]m)", re.IGNORECASE)
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)", re.IGNORECASE)


class Word(NamedTuple):
    """A word of a question in normal form, and the number of the token between spaces that it stands in."""

    text: str
    token: int


class Amount(NamedTuple):
    """A number or date that a question names: its words [start, end) and its text."""

    start: int
    end: int
    text: str
    is_date: bool
    amount: float


def span_bits(start: int, end: int) -> int:
    """Return the words [start, end) as bits."""
    return (1 << end) - (1 << start)


def question_words(question: str) -> tuple[Word, ...]:
    """Return the words of a question with the tokens that they stand in."""
    return tuple(Word(word, at) for at, token in enumerate(question.split()) for word in name_words(token))


def amounts_of(question: str, words: Sequence[Word]) -> list[Amount]:
    """Return the numbers and dates of a question, the longest at each place.

    >>> [amount.text for amount in amounts_of("after May 3, 1999 or 4?", question_words("after May 3, 1999 or 4?"))]
    ['May 3, 1999', '4']
    """
    tokens = question.split()
    found: list[Amount] = []
    at = 0
    while at < len(tokens):
        for end in range(min(at + 4, len(tokens)), at, -1):
            value, text = _amount(tokens[at:end])
            span = [i for i, word in enumerate(words) if at <= word.token < end]
            shorter = [_amount(tokens[at + 1 : end])[0], _amount(tokens[at : end - 1])[0]]
            if value is not None and span and value not in shorter and (end == at + 1 or value.kind == "date"):
                found.append(Amount(span[0], span[-1] + 1, text, value.kind == "date", value.amount))
                at = end - 1
                break
        at += 1
    return found


def _amount(tokens: Sequence[str]) -> tuple[Value | None, str]:
    """Return the value of some tokens, and their text without punctuation around it."""
    text = _plain_number(" ".join(tokens).strip(_MARKS))
    return value_of(text), text


def _plain_number(text: str) -> str:
    """Return a number in digits if a text is an ordinal in digits, an hour, or a number that Unicode names.

    >>> _plain_number("3rd"), _plain_number("Seven"), _plain_number("twelve"), _plain_number("May 3rd")
    ('3', '7', '12', 'May 3rd')
    >>> _plain_number("10am"), _plain_number("3 pm")
    ('10:00 am', '3:00 pm')
    """
    if match := _HOUR.fullmatch(text):
        return f"{match[1]}:00 {match[2]}"
    if match := _ORDINAL.fullmatch(text):
        return match[1]
    if text.isalpha() and text.isascii():
        for kind in ("DIGIT", "PARENTHESIZED NUMBER"):
            with suppress(KeyError):
                return f"{unicodedata.numeric(unicodedata.lookup(f'{kind} {text.upper()}')):.0f}"
    return text


@lru_cache(4096)
def month_of(word: str) -> int | None:
    """Return the number of the month that a word names, None for any other word.

    >>> month_of("march"), month_of("marching"), month_of("7")
    (3, None, None)
    """
    value = value_of(f"{word} 2000") if word.isalpha() else None
    if value is None or value.kind != "date" or value.precision > 0.1:
        return None
    return round((value.amount - 2000) * 12) + 1


def trigrams(word: str) -> frozenset[str]:
    """Return the runs of three letters of a word, its ends marked."""
    padded = f"^{word}$"
    return frozenset(padded[i : i + 3] for i in range(len(padded) - 2))


def likeness(first: frozenset[str], second: frozenset[str]) -> float:
    """Return the Dice coefficient of two sets."""
    return 2 * len(first & second) / max(1, len(first) + len(second))
