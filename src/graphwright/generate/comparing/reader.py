"""Answers to questions that compare: a fact is read of each thing that is compared, then the facts are.

"Which film has the director who died first, A or B?" needs what no single span holds. Rules recognise such
questions, find each thing's passage by its title, and read the fact; a reader is asked only for what rules do
not find.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from graphwright.generate.comparing.attributes import Date, Fact, asking, span_of_life
from graphwright.generate.comparing.comparison import ROLES, Comparison, comparison, role_of
from graphwright.generate.comparing.described import alike, both, fitting
from graphwright.generate.comparing.things import Told, bare_name, parted, passages_of, spans_of
from graphwright.models.protocols import Reader, Span
from graphwright.operators.operator import source_of

__all__ = ["ComparingReader"]

_MEASURES = {
    "tall": ("length",),
    "high": ("length",),
    "long": ("length", "time"),
    "short": ("length", "time"),
    "larg": ("area", "people"),
    "bigg": ("area", "people"),
    "small": ("area", "people"),
    "populous": ("people",),
}
_LONGEST = 1000  # characters of a question that rules read; they compare every way to cut it
# Ends what follows "directed by" once a name has begun.
_NEXT = re.compile(
    r"[A-Z].*?\b(?:starring|stars|written|produced|composed|based|about|featuring|from|with|released|set)\b"
)


class _Thing(NamedTuple):
    """A thing that is compared: its name, whose fact is wanted instead, and its passages, one at least."""

    name: str
    role: str
    places: list[int]


@dataclass(frozen=True, repr=False)
class ComparingReader:
    """Answers questions that compare things, and hands all others on to `rest`, by default to `reader`.

    What is compared: dates of birth and death, lengths of lives, when works and bodies began, counts, measures and
    countries, of the things themselves or of their directors and the like; else which a description fits, whether it
    fits two, and what two are alike in, by the words of their passages. The first span has the answer as its `text`:
    the name as the question writes it, "yes", "no", or what two share. There is one span for each thing: the
    sentence that tells its fact. Scores are 1 where rules alone did it, else the least of the reader's that were
    relied on: `reader` is asked for single facts that rules do not find. Where a passage or a fact is missing, the
    question is handed on as it is.

    >>> from graphwright.generate.reader import SentenceReader
    >>> from graphwright.models.fake import HashEncoder
    >>> passages = ["Ann Lee\\nAnn Lee (1736 – 1784) was a preacher.", "Jo Fox\\nJo Fox (born May 3, 1990) is a poet."]
    >>> ComparingReader(SentenceReader(HashEncoder())).read("Who was born first, Jo Fox or Ann Lee?", passages)[0]
    Span(passage=0, start=8, end=45, score=1.0, text='Ann Lee')
    """

    reader: Reader
    rest: Reader | None = None

    def __repr__(self) -> str:
        return source_of(self)

    def read(self, question: str, passages: Sequence[str]) -> list[Span]:
        """Return spans, best first; of a comparison one for each thing, first the one that decides it."""
        if len(question) > _LONGEST:
            return (self.rest or self.reader).read(question, passages)
        asked = comparison(question)
        found = self._compare(asked, passages) if asked else both(question, passages) or alike(question, passages)
        return found or (self.rest or self.reader).read(question, passages)

    def _compare(self, asked: Comparison, passages: Sequence[str]) -> list[Span]:
        """Find the things, read the fact of each, and answer; nothing where any of it is missing."""
        things = _things(asked, passages)
        if not things:
            return []
        names = [thing.name for thing in things]
        if asked.attribute == "has":
            return fitting(names, asked.detail, [thing.places for thing in things], passages)
        subjects = []
        for thing in things:
            subject = self._person(thing, passages) if thing.role else (thing.name, thing.places, 1.0)
            if subject is None:
                return []
            subjects.append(subject)
        for attribute, detail in _ways(asked):
            told = []
            for name, places, score in subjects:
                one = self._told(attribute, detail, name, places, passages)
                told += [one._replace(score=min(score, one.score))] if one else []
            if len(told) == len(subjects):
                return _decided(asked, names, told, passages)
        return []

    def _told(self, attribute: str, detail: str, name: str, places: list[int], passages: Sequence[str]) -> Told | None:
        """Return a fact of a thing from its passages: by rule, else by asking the reader about the first of them."""
        if attribute == "lived":
            birth, death = (self._told(one, "", name, places, passages) for one in ("born", "died"))
            if birth is None or death is None:
                return None
            return Told(span_of_life(birth.fact, death.fact), death.passage, min(birth.score, death.score))
        ask = asking(attribute, detail)
        for i in places:
            title, text = parted(passages[i])
            fact = ask.rule(text)
            if fact is not None:
                return Told(Fact(fact.value, fact.start + len(title), fact.end + len(title)), i)
        for span, answer in self._asked(ask.question.format(name), passages[places[0]]):
            fact = ask.answer(answer)
            if fact is not None:
                return Told(Fact(fact.value, span.start, span.end), places[0], span.score)
        return None

    def _person(self, thing: _Thing, passages: Sequence[str]) -> tuple[str, list[int], float] | None:
        """Return who has the role in a work, that one's passages and how sure it is; None without a passage."""
        for i in thing.places:
            person = _credited(thing.role, i, passages)
            if person:
                return person, passages_of(person, passages), 1.0
        for span, person in self._asked(f"Who is the {thing.role} of {thing.name}?", passages[thing.places[0]]):
            places = passages_of(person, passages)
            if places:
                return person, places, span.score
        return None

    def _asked(self, question: str, passage: str) -> list[tuple[Span, str]]:
        """Return the best span that the reader finds in one passage, if any, and its text."""
        spans = self.reader.read(question, [passage])[:1]
        return [(span, span.text or passage[span.start : span.end]) for span in spans]


def _things(asked: Comparison, passages: Sequence[str]) -> list[_Thing]:
    """Return the things where passages are found for all: two, wherever the list can be cut in two, else more."""
    cuts = [
        (asked.listed[: m.start()], asked.listed[m.end() :]) for m in re.finditer(rf",? {asked.joined} ", asked.listed)
    ]
    for names in (*cuts, re.split(rf",? {asked.joined} |, ", asked.listed)):
        things = []
        for one in names:
            role, name = role_of(one.strip(" ,"))
            places = passages_of(name, passages)
            things += [_Thing(name, role or asked.role, places)] if places else []
        # Two names for one passage are no comparison.
        if len(things) == len(names) > 1 and len({thing.places[0] for thing in things}) == len(things):
            return things
    return []


def _credited(role: str, place: int, passages: Sequence[str]) -> str:
    """Return the title that a passage names soon after the words for a role; empty if no passage has one.

    The words are "directed by", else "director", else a "by" that follows no verb: "a film by".
    """
    text = parted(passages[place])[1]
    titles = {parted(passage)[0].strip(): bare_name(parted(passage)[0]) for passage in passages}
    titles.pop(parted(passages[place])[0].strip(), None)
    for form in (rf"\b{ROLES[role]}\b[^.]*?\bby\b", rf"\b{role}\b", r"(?<!ed )(?<!written )\bby\b"):
        for match in re.finditer(form, text, re.I):
            after = text[match.end() : match.end() + 80]
            after = end[0] if (end := _NEXT.search(after)) else after
            said = bare_name(after)
            at = {
                title: next((k for k in range(min(len(said), 9)) if said[k : k + len(key)] == key), len(said))
                for title, key in titles.items()
                if key
            }
            person = min(at, key=lambda title: (at[title], -len(titles[title])), default="")
            if person and at[person] < len(said):
                return person
    return ""


def _ways(asked: Comparison) -> list[tuple[str, str]]:
    """Return the attributes, with their details, by which things may be compared, the likeliest first."""
    if asked.attribute == "age":
        return [("born", ""), ("started", "")]
    if asked.attribute == "measured":
        return [("measured", dimension) for dimension in _MEASURES[asked.detail]]
    if asked.attribute == "said" and asked.detail == "state":
        return [("region", ""), ("said", "state")]
    return [(asked.attribute, asked.detail)]


def _decided(asked: Comparison, names: Sequence[str], told: Sequence[Told], passages: Sequence[str]) -> list[Span]:
    """Compare facts, and answer; nothing where none is ahead of the others in what all tell."""
    values = [one.fact.value for one in told]
    if asked.same:
        return spans_of("yes" if _alike(values) else "no", told, passages)
    lengths = [len(value) for value in values if isinstance(value, tuple)]
    # Of 1990 and May 3, 1990 none is earlier.
    keys = [value[: min(lengths)] if isinstance(value, tuple) else value for value in values]
    best = min(keys) if asked.least else max(keys)
    if keys.count(best) > 1:
        return []
    chosen = keys.index(best)
    return spans_of(names[chosen], [told[chosen], *told[:chosen], *told[chosen + 1 :]], passages)


def _alike(values: Sequence[Date | float | str | frozenset[str]]) -> bool:
    """Whether all are equal; countries, if one is common to all; dates, if they are of one year."""
    sets = [value for value in values if isinstance(value, frozenset)]
    if sets:
        return bool(frozenset.intersection(*sets))
    return len({value[0] if isinstance(value, tuple) else value for value in values}) == 1
