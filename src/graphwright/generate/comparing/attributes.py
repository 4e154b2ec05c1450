"""What can be compared, read from a passage by rule: dates of life and of works, numbers, measures, countries."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from graphwright.generate.comparing.countries import countries, regions
from graphwright.text.names import name_words

__all__ = [
    "Asking",
    "Date",
    "Fact",
    "asking",
    "born",
    "counted",
    "country",
    "dates",
    "died",
    "measured",
    "region",
    "span_of_life",
    "started",
]

Date = tuple[int, ...]
"""Year, month and day, as far as they are told: one to three numbers."""

Named = Sequence[tuple[int, int, frozenset[str]]] | Sequence[tuple[int, int, str]]


class Fact(NamedTuple):
    """What a text tells, and the characters that tell it."""

    value: Date | float | str | frozenset[str]
    start: int
    end: int


_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_MONTH = rf"(?:{'|'.join(_MONTHS)})"
# Four digits, or three before 1000; a year that a lost space joins to the next date counts too.
_YEAR = rf"(?:(?:1\d|20)\d\d(?!\d(?!\d?\s*{_MONTH}))|[1-9]\d\d(?!\d))"
_DATE = re.compile(
    rf"(?P<d1>\d\d?)(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<m1>{_MONTH})[,.]?\s+(?P<y1>{_YEAR})"
    rf"|(?P<m2>{_MONTH})\s+(?P<d2>\d\d?)(?:st|nd|rd|th)?\s*,?\s+(?P<y2>{_YEAR})"
    rf"|(?P<m3>{_MONTH}),?\s+(?P<y3>{_YEAR})"
    rf"|(?<![\d,.])(?P<y4>{_YEAR})(?!s\b|[,.]\d)"
)
_VERB = re.compile(r"\b(?:is|was|are|were|became|served)\b")
_APART = re.compile(r"[–—-]|\b(?:died|d\.)|†")
_BORN = re.compile(r"\bborn\b")
_BORN_IN = re.compile(r"\s?-\s?born\b")
_STARTED = (
    r"\b(?:founded|established|formed|opened|started|began|begun|built|published|launched|created|released|premiered|"
    r"introduced|constructed|completed|made|produced|debuted|incorporated|first issue|issued|recorded|came out)\b"
)
_RELEASED = r"\b(?:released?|premiered|opened|came out|published)\b"
_YEAR_SAID = re.compile(rf"[^.]{{0,60}}?(?<!\d)(?P<year>{_YEAR})(?!s\b)(?=[^.,]*\w)")
_SINCE = re.compile(rf"\b(?:since|until)\b|{_STARTED}")


def dates(text: str) -> Iterator[Fact]:
    """Yield the dates of a text, in order.

    >>> [fact.value for fact in dates("(25 October 188910 November 1981), from May 1920 to 1931")]
    [(1889, 10, 25), (1981, 11, 10), (1920, 5), (1931,)]
    """
    for match in _DATE.finditer(_without(r"\[[^\]]*\]", text)):
        said = match.groupdict()
        form = next(form for form in "1234" if said[f"y{form}"])
        month, day = said.get(f"m{form}"), said.get(f"d{form}")
        parts = [int(said[f"y{form}"]), _MONTHS.index(month) + 1 if month else 0, int(day or 0)]
        yield Fact(tuple(part for part in parts if part), match.start(), match.end())


def born(text: str) -> Fact | None:
    """Return the date of birth: in the brackets after the name that begins a life, else after "born".

    >>> born("Ann Lee( 29 February 1736, Manchester – 8 September 1784) was a preacher.")
    Fact(value=(1736, 2, 29), start=9, end=25)
    """
    birth, _ = _life(text)
    return birth or _after(r"\bborn\b[^;.]{0,90}?", text)


def died(text: str) -> Fact | None:
    """Return the date of death: the second in the brackets after the name, else after "died".

    >>> died("Ann Lee( 29 February 1736, Manchester – 8 September 1784) was a preacher.").value
    (1784, 9, 8)
    """
    _, death = _life(text)
    return death or _after(r"\b(?:died|death|killed|executed)\b[^;.]{0,60}?", text)


def span_of_life(birth: Fact, death: Fact) -> Fact:
    """Return the length of a life, in years, where the death is told.

    >>> span_of_life(Fact((1900, 1), 0, 4), Fact((1950, 7), 9, 12))
    Fact(value=50.5, start=9, end=12)
    """
    return Fact(round(_years(death.value) - _years(birth.value), 3), death.start, death.end)  # type: ignore[arg-type]


def _years(date: Date) -> float:
    return sum(part / per for part, per in zip(date, (1, 12, 365), strict=False))


def _life(text: str) -> tuple[Fact | None, Fact | None]:
    """Return the dates of birth and death in brackets before the first verb, each None where it is not told there."""
    verb = _VERB.search(_without_brackets(text))
    head = text[: min(verb.start() if verb else 0, 500)]
    opened = head.find("(")
    told = [fact for fact in dates(head) if fact.start > opened >= 0]
    if not told:
        return None, None
    first = told[0]
    before = head[opened : first.start]
    if _APART.search(before) and not _BORN.search(before):
        return None, first
    return first, next((fact for fact in told[1:] if _is_apart(head[first.end : fact.start])), None)


def _is_apart(between: str) -> bool:
    """Whether what stands between two dates parts a birth from a death."""
    return bool(_APART.search(between)) or not between.strip(" ,")


def started(text: str) -> Fact | None:
    """Return when a work or a body began: the year that the first sentence gives it, else the date after the verb.

    >>> started("Class is a 1983 American film. It was released on July 22, 1983.").value
    (1983, 7, 22)
    """
    verb = _VERB.search(bare := _without_brackets(text))
    year = _YEAR_SAID.match(bare, verb.end()) if verb else None
    if year and not _SINCE.search(year[0]):
        told = Fact((int(year["year"]),), year.start("year"), year.end("year"))
        released = _after(rf"{_RELEASED}[^;.]{{0,60}}?", text)
        # The day is wanted only of the same release.
        return released if released and released.value[:1] == told.value else told  # type: ignore[index]
    return (
        _after(rf"{_STARTED}[^;.]{{0,80}}?", text)
        or _after(r"\bsince\b[^;.]{0,30}?", text)
        or next((fact for fact in dates(text) if fact.value[0] > 999), None)  # type: ignore[index, operator]
    )


def _after(lead: str, text: str) -> Fact | None:
    """Return the first date that follows what `lead` matches."""
    # A stop after an initial does not end the sentence.
    flat = re.sub(r"(?<=\b[A-Z])\.", " ", text)
    match = re.search(lead + rf"(?={_DATE.pattern})", flat)
    found = next(dates(text[match.end() :]), None) if match else None
    return Fact(found.value, found.start + match.end(), found.end + match.end()) if match and found else None


_NUMBERS = (
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
_NUMBER = rf"(?P<n>\d{{1,3}}(?:,\d{{3}})+|\d+(?:\.\d+)?|\b(?i:{'|'.join(_NUMBERS)})\b)"
_ENDING = "(?:s|es|y|ey|ies|eys)?"


def counted(text: str, noun: str) -> Fact | None:
    """Return how many of `noun` a text tells of: a number up to two words before it.

    >>> counted("It is a 76-story tower.", "stories").value, counted("an opera in four acts", "acts").value
    (76.0, 4.0)
    """
    *before, last = noun.split()
    stem = last if last == "species" else re.sub(r"(?:(?<=[^aeiou])(?:ies|y|ey)|eys|s)$", "", last)
    phrase = r"\s+".join(map(re.escape, (*before, stem)))
    match = re.search(rf"{_NUMBER}[-\s]+(?:[\w-]+\s+){{0,2}}(?i:{phrase}){_ENDING}\b", text)
    return Fact(_value(match["n"]), match.start(), match.end()) if match else None


_LENGTHS = {
    "km": 1000, "kilomet(?:er|re)s?": 1000, "mi": 1609.344, "miles?": 1609.344, "m": 1, "met(?:er|re)s?": 1,
    "ft": 0.3048, "foot": 0.3048, "feet": 0.3048,
}  # fmt: skip
_UNITS: dict[str, dict[str, float]] = {
    "length": _LENGTHS,
    "time": {"min": 1, "mins": 1, "minutes?": 1, "hours?": 60},
    "area": {
        "km2": 1, "km²": 1, "square kilomet(?:er|re)s": 1, "sq mi": 2.59, "square miles": 2.59, "acres?": 0.004047,
        "ha": 0.01, "hectares?": 0.01,
    },
    "people": {"people": 1, "inhabitants": 1, "residents": 1, "students": 1},
}  # fmt: skip
_POPULATION = re.compile(rf"\b(?:population|enrollment)\b[^.;]{{0,60}}?\b(?:of|was|is|at)\s+(?:\w+\s+)?{_NUMBER}")


def measured(text: str, dimension: str) -> Fact | None:
    """Return the first length (in metres), time (minutes), area (km²) or number of people of a text.

    >>> measured("It is a 58-story, 664 ft tower.", "length").value, measured("a population of 6,958", "people").value
    (202.3872, 6958.0)
    """
    found = _POPULATION.search(text) if dimension == "people" else None
    if found:
        return Fact(_value(found["n"]), found.start(), found.end())
    units = _UNITS[dimension]
    match = re.search(rf"{_NUMBER}[-\s]*(?P<unit>{'|'.join(units)})(?![\w²])", text)
    if match is None:
        return None
    factor = next(factor for unit, factor in units.items() if re.fullmatch(unit, match["unit"]))
    return Fact(_value(match["n"]) * factor, match.start(), match.end())


def _value(number: str) -> float:
    word = number.lower()
    return float(_NUMBERS.index(word) + 1 if word in _NUMBERS else number.replace(",", ""))


def country(text: str) -> Fact | None:
    """Return the countries that a text is about: named after the first verb, else anywhere, last in brackets.

    >>> country("Wolfgang Petersen (born in Emden, Lower Saxony) is a German film director in Hollywood.")
    Fact(value=frozenset({'Germany'}), start=53, end=59)
    """
    return _told(text, countries)


def region(text: str) -> Fact | None:
    """Return the state of the United States that a text is about.

    >>> region("The canal begins in Eastern Pennsylvania.").value
    'Pennsylvania'
    """
    return _told(text, regions)


def _told(text: str, find: Callable[[str], Named]) -> Fact | None:
    bare = _without_brackets(text)
    verb = _VERB.search(bare)
    # Where nothing else is told, a place of birth is taken for the country.
    birth = _BORN_IN.sub(lambda match: ";".ljust(len(match[0])), text)
    for part, begin in ((bare, verb.end() if verb else 0), (bare, 0), (text, 0), (birth, 0)):
        found = find(part[begin:])
        if found:
            start, end, value = found[0]
            return Fact(value, start + begin, end + begin)
    return None


class Asking(NamedTuple):
    """How a fact is had: by `rule` from a text, else by `question` (of a name) from the `answer` of a reader."""

    question: str
    rule: Callable[[str], Fact | None]
    answer: Callable[[str], Fact | None]


def asking(attribute: str, detail: str = "") -> Asking:
    """Return how an attribute of a thing is had; `detail` is what is counted, which dimension, or what is said.

    >>> asking("counted", "acts").question.format("Norma")
    'How many acts does Norma have?'
    """

    def first_date(text: str) -> Fact | None:
        return next(dates(text), None)

    def count(text: str) -> Fact | None:
        return counted(text, detail)

    def number(text: str) -> Fact | None:
        match = re.search(_NUMBER, text)
        return Fact(_value(match["n"]), match.start(), match.end()) if match else None

    def measure(text: str) -> Fact | None:
        return measured(text, detail)

    def said(text: str) -> Fact | None:
        name = " ".join(name_words(text))
        return Fact(name, 0, len(text)) if name else None

    asked = {"length": "height or length", "time": "duration", "people": "population"}.get(detail, detail)
    return {
        "born": Asking("When was {} born?", born, first_date),
        "died": Asking("When did {} die?", died, first_date),
        "started": Asking("When was {} released or founded?", started, first_date),
        "counted": Asking(f"How many {detail} does {{}} have?", count, number),
        "measured": Asking(f"What is the {asked} of {{}}?", measure, measure),
        "country": Asking("Which country is {} from?", country, country),
        "region": Asking("In which state is {}?", region, region),
        "said": Asking(f"What is the {detail} of {{}}?", lambda _: None, said),
    }[attribute]


def _without_brackets(text: str) -> str:
    """Return a text of the same length with what stands in brackets blanked, the inner ones first."""
    while (bare := _without(r"\([^()]*\)", text)) != text:
        text = bare
    return text


def _without(pattern: str, text: str) -> str:
    return re.sub(pattern, lambda match: " " * len(match[0]), text)
