"""Agreement of queries with the amounts of a question: which is to be more, at most, exactly, or anything else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from graphwright.models.protocols import RELATIONS, AmountReader, Floats
from graphwright.operators.query.query import Compare, Counted, Except, Named, Query
from graphwright.operators.query.tables.links import amounts_of, question_words
from graphwright.text.values import Value, value_of

_OPPOSITE = {">": "<=", ">=": "<", "<": ">=", "<=": ">", "=": "!=", "!=": "=", "contains": "!="}
_LEAST = np.log(0.02)  # log-probability of a relation, at least


class AskedAmount(NamedTuple):
    """A number or a date in a question: its characters and its value."""

    start: int
    end: int
    value: Value


def asked_amounts(question: str) -> list[AskedAmount]:
    """Return the numbers and dates of a question."""
    tokens, words = [token.span() for token in re.finditer(r"\S+", question)], question_words(question)
    found = []
    for amount in amounts_of(question, words):
        if (value := value_of(amount.text)) is not None:
            first, last = words[amount.start].token, words[amount.end - 1].token
            found.append(AskedAmount(tokens[first][0], tokens[last][1], value))
    return found


def agreement(question: str, queries: Sequence[Query], reader: AmountReader) -> Floats:
    """Return how far each query compares with the amounts of a question as it wants: log-probabilities, float32[n]."""
    total = np.zeros(len(queries), np.float32)
    if amounts := asked_amounts(question):
        spans = [(amount.start, amount.end) for amount in amounts]
        wanted = np.maximum(reader.relations(question, spans), _LEAST)
        walk = _Relations([amount.value for amount in amounts])
        for row, query in enumerate(queries):
            total[row] = sum(
                own[RELATIONS.index(relation)] for own, relation in zip(wanted, walk.of(query), strict=True)
            )
    return total


class _Relations:
    """The relations of queries to amounts; parts that queries share are looked at once."""

    def __init__(self, values: Sequence[Value]) -> None:
        self.values = values
        self.known: dict[int, tuple[str, ...]] = {}

    def of(self, part: object) -> tuple[str, ...]:
        """Return the relation of a query, or of a part of one, to each amount."""
        if id(part) not in self.known:
            self.known[id(part)] = self._of(part)
        return self.known[id(part)]

    def _of(self, part: object) -> tuple[str, ...]:
        if isinstance(part, Except):
            without = (_OPPOSITE.get(relation, "") for relation in self.of(part.second))
            return self._joined([self.of(part.first), tuple(without)])
        if isinstance(part, Counted):
            return self._joined([self._to(part.comparison, str(part.number)), self.of(part.path)])
        if isinstance(part, Compare) and isinstance(part.value, str):
            return self._joined([self._to(part.comparison, part.value), self.of(part.path)])
        if isinstance(part, Named):
            return self._to("=", part.name)
        inner = part if isinstance(part, tuple) else vars(part).values() if hasattr(part, "__dict__") else ()
        return self._joined([self.of(own) for own in inner])

    def _to(self, comparison: str, text: str) -> tuple[str, ...]:
        """Return the comparison for the amounts that a text is equal to."""
        value = value_of(text)
        relation = "=" if comparison == "contains" else comparison
        return tuple(
            relation if value is not None and (value.kind, value.amount) == (own.kind, own.amount) else ""
            for own in self.values
        )

    def _joined(self, found: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
        """Return the first relation to each amount."""
        return tuple(next(filter(None, own), "") for own in zip(*found, strict=True)) or ("",) * len(self.values)
