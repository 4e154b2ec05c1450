"""What kind of answer a question asks for, by its words, and whether a span can be one."""

from __future__ import annotations

import re

__all__ = ["fragment", "misfit"]

_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_NUMBERS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|hundred|thousand|million|dozen|several|half"
_KINDS = "city|country|place|state|town|county|location|nationality|university|company|team|river|band|film|school"
_DATE = re.compile(r"\bwhen\b|\b(what|which) (year|date|month|day|century|decade)\b|\bdate of (birth|death)\b", re.I)
_NUMBER = re.compile(
    r"\bhow (many|much|old|long|far|tall|large|big|high|deep|often)\b|\b(percentage|population)\b", re.I
)
_PERSON = re.compile(r"\b(who|whom|whose)\b", re.I)
_NAME = re.compile(rf"\bwhere\b|\b(what|which) ({_KINDS})\b|\bplace of\b", re.I)
_PLACES = "city|country|place|state|town|county|location|region|continent|village|area|part|language|position|role"
_PLACES += "|river|lake|sea|ocean|island|mountain|road|street|university|school|college|hospital|house|museum|stadium"
_THING = re.compile(rf"\b(what|which) (?!({_PLACES}|is|was|are|were|did|do|does|has|have|had)\b)\w", re.I)
_HAS_DATE = re.compile(rf"\d{{3,4}}|{_MONTHS}|centur")
_HAS_NUMBER = re.compile(rf"\d|\b({_NUMBERS}|once|twice)\b", re.I)
_CAPITAL = re.compile(r'["“(]?(the |a )?[A-ZÀ-Þ0-9]')
_LYING = re.compile(r"\b(in|at|near|on) (the )?$", re.I)  # what comes after is where or when, not who or what
_WORD = re.compile(r"\w+")
_LONG = 8  # words
# What a name goes on with, and what it began with: no honour, and no word that only has its capital from a sentence.
_LINKS = "of|de|von|van|di"
_NO_NAME = (
    "President|King|Queen|Prince|Princess|Emperor|Empress|Pope|Saint|St|Sir|Dame|Lord|Lady|Dr|Mr|Mrs|Ms|Professor"
)
_NO_NAME += (
    "|Captain|Colonel|General|Judge|Senator|Governor|Mayor|Duke|Duchess|Count|Countess|Earl|Baron|Bishop|Cardinal"
)
_NO_NAME += "|Archbishop|Archduke|Chancellor|Minister|Director|CEO|The|A|An|In|On|At|By|From|To|For|With|And|But|When"
_GOES_ON = re.compile(rf"(?: (?:{_LINKS}) | |-)(?P<capital>\w)")
_BEGUN = re.compile(
    rf"(?<![.!?:\n][ \n])(?<![.!?][\"”’)] )(?<!\n)(?<!- )(?<!^)\b(?!(?:{_NO_NAME})\b)(?P<capital>\w)[\w'’-]*[ -]$"
)
_BEGUN_OF = re.compile(rf"\b(?P<capital>\w)[\w'’-]* (?:{_LINKS}) (?:the )?$")
_ONE_OF = re.compile(r"\ban? $", re.I)  # before a description, never before a name
_SMALL = re.compile(rf"\b(?!(?:{_LINKS}|da|la|le|der|den|bin|al|the|and|y|e)\b)[a-zß-ÿ]+\b")
_HALF = 3  # small words that are no part of a name, from which on it is half a sentence
_AROUND = 40  # characters beside a span that are looked at
_UNPARTED = "\u0e00"  # from here on are scripts that put no space between words, Thai the first


def misfit(question: str, passage: str, begin: int, end: int) -> float:
    """Return what to take off the logit of a span, 0 or more, because it is not the kind of thing that is asked for.

    4 where a date, a number, a person or another name is asked for and the span cannot be one; 2 where it says nothing
    that the question does not; 0.15 for each word beyond eight.

    >>> passage = "She founded the abbey of Erstein in Alsace in 849."
    >>> [misfit(question, passage, 36, 42) for question in ("Who founded it?", "Where is the abbey?", "When was it?")]
    [4.0, 0.0, 4.0]
    """
    span = passage[begin:end]
    words = _WORD.findall(span.lower())
    taken = 0.15 * max(len(words) - _LONG, 0)
    if not _possible(question, passage[:begin], span):
        taken += 4.0
    if set(words) <= set(_WORD.findall(question.lower())):
        taken += 2.0
    return taken


def _possible(question: str, before: str, span: str) -> bool:
    if _DATE.search(question):
        return _HAS_DATE.search(span) is not None
    if _NUMBER.search(question):
        return _HAS_NUMBER.search(span) is not None
    if _PERSON.search(question):
        return _CAPITAL.match(span) is not None and _LYING.search(before[-12:]) is None
    if _THING.search(question) and _LYING.search(before[-12:]):
        return False
    return _NAME.search(question) is None or _CAPITAL.match(span) is not None


def fragment(question: str, passage: str, begin: int, end: int) -> bool:
    """Whether a span is a piece of what would be an answer: of a word, of a longer name, or a name and half a sentence.

    >>> passage = "It is published by the American Psychological Association."
    >>> [fragment("Who publishes it?", passage, 23, end) for end in (31, 45, 57)]
    [True, True, False]
    """
    span, before, after = passage[begin:end], passage[max(begin - _AROUND, 0) : begin], passage[end : end + _AROUND]
    if _parted(before[-2:], span[:1]) or _parted(after[1::-1], span[-1:]) or span.count("(") < span.count(")"):
        return True
    if _DATE.search(question) or _NUMBER.search(question):
        return False
    if (span[:1].isupper() or _CAPITAL.match(span)) and (
        _capital(_GOES_ON.match(after)) or (" " not in span and _capital(_BEGUN.search(before)))
    ):
        return True
    described = _ONE_OF.search(before) or _capital(_BEGUN_OF.search(before)) or len(_SMALL.findall(span)) >= _HALF
    return bool(_PERSON.search(question) and described)


def _parted(beside: str, end: str) -> bool:
    """Whether a word or a number is cut between a span's end and the two characters beside it, the nearest last."""
    if beside[-1:] in (",", "."):
        return beside[:1].isdigit() and end.isdigit() and len(beside) == 2
    return beside[-1:].isalnum() and end.isalnum() and beside[-1:] < _UNPARTED


def _capital(match: re.Match[str] | None) -> bool:
    return match is not None and match["capital"].isupper()
