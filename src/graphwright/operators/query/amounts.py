"""What a question wants of an amount that it names: more than it, at most, exactly, anything else, or nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from graphwright.models.embedded.cross_encoder import Tokens, tokens_of
from graphwright.models.protocols import Floats
from graphwright.operators.query.query import Compare, Counted, Except, Named, Query
from graphwright.operators.query.tables.features import hashed
from graphwright.operators.query.tables.links import amounts_of, question_words
from graphwright.text.values import Value, value_of

RELATIONS = (">", ">=", "<", "<=", "=", "!=", "")
"""How a value is compared with the amount of a question; "": the amount is no condition."""
_OPPOSITE = {">": "<=", ">=": "<", "<": ">=", "<=": ">", "=": "!=", "!=": "=", "contains": "!="}
WIDEST = 10
"""Tokens before and after an amount whose distance counts."""
NEAR, BUCKETS = 4, 2048
"""Words before and after an amount that count as they are, and how many numbers stand for them."""
_LEAST = np.log(0.02)  # log-probability of a relation, at least
WEIGHTS = Path(__file__).parents[2] / "models" / "weights" / "query-parser" / "amounts.npz"


class AskedAmount(NamedTuple):
    """A number or a date in a question: its characters and its value."""

    start: int
    end: int
    value: Value


@dataclass(frozen=True, eq=False)
class AmountHead:
    """A softmax over the states of a question's tokens (`scripts/fit_amounts.py`).

    `attention: float32[384]` and `distance: float32[2 * WIDEST + 1]`: the attention to each token, by its state and its
    place before or after the amount; `pooled`, `own: float32[7, 384]`, `bias: float32[7]`: the weights of the mean by
    it, and of that over the amount, for each of RELATIONS; `words: float32[BUCKETS, 7]`: those of the words around it.
    """

    attention: Floats
    distance: Floats
    pooled: Floats
    own: Floats
    bias: Floats
    words: Floats

    def __call__(self, question: str, read: Tokens, start: int, end: int) -> Floats:
        """Return the log-probability of each relation to the amount at these characters: float32[7]."""
        states, places, inside = states_around(read, start, end)
        weights = states @ self.attention + self.distance[places]
        weights = np.exp(weights - weights.max())
        scores = weights / weights.sum() @ states @ self.pooled.T + states[inside].mean(0) @ self.own.T + self.bias
        scores = scores + self.words[words_around(question, start, end)].sum(0)
        result: Floats = scores - np.logaddexp.reduce(scores)
        return result


def states_around(read: Tokens, start: int, end: int) -> tuple[Floats, Floats, Floats]:
    """Return the states of a question's tokens, their places seen from an amount, and which are the amount's."""
    states = read.states[1:-1].astype(np.float32)
    spans = np.array(read.spans[: len(states)])
    inside = (spans[:, 0] < end) & (spans[:, 1] > start)
    if not inside.any():
        inside[-1] = True
    own, at = np.flatnonzero(inside), np.arange(len(states))
    places = np.where(at < own[0], at - own[0], np.maximum(at - own[-1], 0))
    return states, np.clip(places, -WIDEST, WIDEST) + WIDEST, inside


def words_around(question: str, start: int, end: int) -> list[int]:
    """Return what stands before and after an amount, as numbers below BUCKETS: words, their ends, pairs and runs."""
    found = []
    for side, text in (("b", question[:start]), ("a", question[end:])):
        marks = re.findall(r"\w+|[^\w\s]", text.lower())
        words = marks[-NEAR:][::-1] if side == "b" else marks[:NEAR]
        for at, word in enumerate(words):
            found += [f"{side}:{word}", f"{side}{min(at, 2)}:{word}", f"{side}^{word[:5]}", f"{side}${word[-3:]}"]
        found += [f"{side}:{' '.join(words[at : at + size])}" for size in (2, 3) for at in range(len(words) - size + 1)]
        found += [f"{side}~{one}~{two}" for one, two in combinations(words, 2)]
    return [hashed(text, BUCKETS) for text in dict.fromkeys(found)]


def asked_amounts(question: str) -> list[AskedAmount]:
    """Return the numbers and dates of a question."""
    tokens, words = [token.span() for token in re.finditer(r"\S+", question)], question_words(question)
    found = []
    for amount in amounts_of(question, words):
        if (value := value_of(amount.text)) is not None:
            first, last = words[amount.start].token, words[amount.end - 1].token
            found.append(AskedAmount(tokens[first][0], tokens[last][1], value))
    return found


def agreement(question: str, queries: Sequence[Query]) -> Floats:
    """Return how far each query compares with the amounts of a question as it wants: log-probabilities, float32[n]."""
    total = np.zeros(len(queries), np.float32)
    if amounts := asked_amounts(question):
        (read,) = tokens_of([question])
        wanted = [np.maximum(head()(question, read, amount.start, amount.end), _LEAST) for amount in amounts]
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


@cache
def head() -> AmountHead:
    """Return the head of the package, which scripts/fit_amounts.py wrote."""
    with np.load(WEIGHTS) as stored:
        return AmountHead(**{name: stored[name].astype(np.float32) for name in stored.files})
