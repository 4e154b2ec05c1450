"""Agreement of queries with the amounts and names of a question: more, at most, exactly, or anything else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from graphwright.models.protocols import RELATIONS, AmountReader, Floats
from graphwright.operators.query.logistic import logistic_of
from graphwright.operators.query.query import OPPOSITES, Compare, Counted, Except, Exists, Named, Query, Where
from graphwright.operators.query.tables.links import amounts_of, question_words
from graphwright.search.statement_times import OPEN
from graphwright.text.values import Value, value_of
from graphwright.text.words import STOP_WORDS

_POLARITIES = [RELATIONS.index("="), RELATIONS.index("!=")]
_LEAST = np.log(0.02)  # log-probability of a relation, at least

ASKS_NOW = Path(__file__).parents[2] / "models" / "weights" / "query-parser" / "asks_now.npy"
NOW_LIKELY = 0.7  # least probability of a question about now
_SURE, _LIKELY = np.log((0.8, 0.5))  # log-probability of a comparison with a date, or an event, from which on it is one


def asks_now(vector: Floats) -> bool:
    """Return whether a question asks for what holds now, by its vector (`scripts/fit_asks_now.py`)."""
    return logistic_of(ASKS_NOW, vector) >= NOW_LIKELY


def time_of(question: str, date: str, reader: AmountReader, least: float = _SURE) -> tuple[str, str]:
    """Return the time that a question states by a date, and the question without it and up to two stop words before."""
    start, size = question.rfind(date), len(date)
    wanted = reader.relations(question, [(start, start + size)])[0]
    word = OPEN.get(RELATIONS[int(wanted.argmax())], "") if wanted.max() > least else ""
    kept = question[:start]
    for _ in range(2):
        before, _, last = kept.rstrip().rpartition(" ")
        kept = before if last.casefold() in STOP_WORDS else kept
    return f"{word} {date}".strip(), kept + question[start + size :]


class Event(NamedTuple):
    """What a question names that has a time: how it does, a date, and the days before and after where they are known.

    `beside`: days by "before" and "after" if it is one of the statements that the question is about, else empty.
    """

    text: str
    date: str
    beside: Mapping[str, str] = {}


def times_by_events(question: str, events: Iterable[Event], reader: AmountReader) -> Iterator[tuple[str, str]]:
    """Yield the times before, until, since or after events of a question, each with the question without it."""
    for text, date, beside in events:
        at, rest = time_of(question.replace(text, date), date, reader, _LIKELY)
        word = at.removesuffix(date).strip()
        if word and (not beside or word in beside):
            yield beside.get(word, at), rest


class Mention(NamedTuple):
    """An amount or a name in a question: its characters, and its value or its name with case folded."""

    start: int
    end: int
    meant: Value | str


def asked_amounts(question: str) -> list[Mention]:
    """Return the numbers and dates of a question."""
    tokens, words = [token.span() for token in re.finditer(r"\S+", question)], question_words(question)
    found = []
    for amount in amounts_of(question, words):
        if (value := value_of(amount.text)) is not None:
            first, last = words[amount.start].token, words[amount.end - 1].token
            found.append(Mention(tokens[first][0], tokens[last][1], value))
    return found


def asked_names(question: str, queries: Sequence[Query], amounts: Sequence[Mention]) -> list[Mention]:
    """Return the names that some queries compare with or begin at, and that stand in the question outside amounts."""
    folded, seen, found = question.casefold(), set[int](), set[str]()
    for query in queries:
        _collect(query, seen, found)
    names = []
    for name in sorted(found):
        place = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", folded) if len(folded) == len(question) else None
        if place and all(place.end() <= amount.start or amount.end <= place.start() for amount in amounts):
            names.append(Mention(*place.span(), name))
    return names


def _collect(part: object, seen: set[int], found: set[str]) -> None:
    """Add the names in a part of a query; parts that were seen are left out."""
    if id(part) in seen:
        return
    seen.add(id(part))
    if isinstance(part, Compare | Named):
        text = part.value if isinstance(part, Compare) else part.name
        if isinstance(text, str) and any(map(str.isalpha, text)):
            found.add(text.casefold())
    for inner in _inner(part):
        _collect(inner, seen, found)


def _inner(part: object) -> Iterable[object]:
    """Return what a part of a query is made of."""
    return part if isinstance(part, tuple) else vars(part).values() if hasattr(part, "__dict__") else ()


def agreement(question: str, queries: Sequence[Query], reader: AmountReader) -> Floats:
    """Return how far each query compares with the amounts and names of a question as it wants: float32[n].

    It is a sum of log-probabilities. Of a name they tell whether the query asks for what has it or for what has not; a
    query without the name loses nothing.
    """
    total = np.zeros(len(queries), np.float32)
    amounts = asked_amounts(question)
    if mentions := amounts + asked_names(question, queries, amounts):
        spans = [(mention.start, mention.end) for mention in mentions]
        wanted = np.full((len(spans), len(RELATIONS)), _LEAST, np.float32)
        wanted[: len(amounts)] = reader.relations(question, spans[: len(amounts)])
        polarity = reader.polarity(question, spans[len(amounts) :])
        wanted[len(amounts) :, [*_POLARITIES, RELATIONS.index("")]] = np.column_stack((polarity, polarity.max(1)))
        wanted = np.maximum(wanted, _LEAST)
        walk = _Relations([mention.meant for mention in mentions])
        for row, query in enumerate(queries):
            total[row] = sum(
                own[RELATIONS.index(relation)] for own, relation in zip(wanted, walk.of(query), strict=True)
            )
    return total


class _Relations:
    """The relations of queries to amounts and names; parts that queries share are looked at once."""

    def __init__(self, values: Sequence[Value | str]) -> None:
        self.values = values
        self.known: dict[int, tuple[str, ...]] = {}

    def of(self, part: object) -> tuple[str, ...]:
        """Return the relation of a query, or of a part of one, to each amount and name."""
        if id(part) not in self.known:
            self.known[id(part)] = self._of(part)
        return self.known[id(part)]

    def _of(self, part: object) -> tuple[str, ...]:
        if isinstance(part, Except):
            return self._joined([self.of(part.first), self._fails(part.second)])
        if isinstance(part, Exists) and part.negated and isinstance(part.things, Where | Except):
            base, failing = vars(part.things).values()
            holds = self.of(failing) if isinstance(part.things, Except) else self._fails(failing)
            return self._joined([self.of(base), holds])
        if isinstance(part, Counted):
            return self._joined([self._to(part.comparison, str(part.number)), self.of(part.path)])
        if isinstance(part, Compare) and isinstance(part.value, str):
            return self._joined([self._to(part.comparison, part.value), self.of(part.path)])
        if isinstance(part, Named):
            return self._to("=", part.name)
        return self._joined([self.of(own) for own in _inner(part)])

    def _fails(self, part: object) -> tuple[str, ...]:
        """Return the relations of what a part rules out."""
        return tuple(OPPOSITES.get(relation, "") for relation in self.of(part))

    def _to(self, comparison: str, text: str) -> tuple[str, ...]:
        """Return the comparison for the amounts and names that a text is equal to."""
        value, name = value_of(text), text.casefold()
        relation = "=" if comparison == "contains" else comparison
        return tuple(
            relation if (own == name if isinstance(own, str) else value is not None and value[:2] == own[:2]) else ""
            for own in self.values
        )

    def _joined(self, found: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
        """Return the first relation to each amount and name."""
        told = [own for own in found if any(own)]
        if len(told) < 2:
            return told[0] if told else ("",) * len(self.values)
        return tuple(next(filter(None, own), "") for own in zip(*told, strict=True))
