"""Features of candidate queries over a table: what of the question they explain, and what they are made of."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.models.protocols import Floats
from graphwright.operators.query.execution import Result
from graphwright.operators.query.tables.candidates import Candidate
from graphwright.operators.query.tables.columns import Table
from graphwright.operators.query.tables.likeness import ColumnVectors, Likeness, Pieces
from graphwright.operators.query.tables.links import Links, all_bits, ngrams
from graphwright.operators.query.tables.rows import Given
from graphwright.search.facts import Facts
from graphwright.text.names import name_words
from graphwright.text.values import value_of
from graphwright.text.words import hashed

NGRAMS = 1 << 15
_PLAIN_PARTS, _FIELD_PARTS = 1 << 12, 1 << 8
PARTS = _PLAIN_PARTS + _FIELD_PARTS
"""How many numbers there are for parts; the last are for those of candidates that compare two columns."""
MOST_PARTS = 24  # hashed parts of a candidate, padded with 0
EXPLAINED, COVERED = 8, -6
"""How many dense features, the first, tell what of the question a candidate explains, and the one that tells how much
of the rest is like its columns."""
_RARE = 0.05  # share of training questions up to which a word may be like the name of a column
_KINDS = ("cell", "part", "like", "number", ">", ">=", "<", "<=")
_BOOLEANS = {"y": "yes", "true": "yes", "on": "yes", "n": "no", "false": "no", "off": "no"}  # of YAML 1.1 and JSON

_ORDERED = frozenset(["max", "min", "sum", "mean", "alike", "extremes", "above", "below", "equal", "missing"])


class Features(NamedTuple):
    """Features of n candidates of one question.

    `dense: float32[n, f]`; `parts: int16[n, MOST_PARTS]`, 0 for none; `ngrams: int32[g]`: hashed n-grams of the
    question; `headers: int16[n, 3]`: the columns that are given, ordered by and compared, -1 for none; `rest:
    float32[d]`: the mean vector of the words that name no cell.
    """

    dense: NDArray[np.float32]
    parts: NDArray[np.int16]
    ngrams: NDArray[np.int32]
    headers: NDArray[np.int16]
    rest: Floats


@dataclass(eq=False)
class QuestionFeatures:
    """Features of the candidates of one question over one table.

    `question`: the vector of the question, `pieces`: those of its words; `vectors`: of the columns; `frequency`: the
    share of training questions that have a word.
    """

    facts: Facts
    table: Table
    links: Links
    question: Floats
    pieces: Pieces
    vectors: ColumnVectors
    frequency: Mapping[str, float]
    _shares: dict[int, float] = field(default_factory=dict)
    _linked: dict[tuple[Given, ...], tuple[list[float], list[float]]] = field(default_factory=dict)
    _things: dict[int, tuple[float, float, float]] = field(default_factory=dict)
    _known_parts: dict[tuple[object, ...], list[int]] = field(default_factory=dict)

    @cached_property
    def _weights(self) -> list[float]:
        """The weight of each word of the question: rare ones count more."""
        return [-math.log(self.frequency.get(word.text, 1e-5)) for word in self.links.words]

    @cached_property
    def _total(self) -> float:
        return max(1e-9, sum(self._weights))

    def _weight(self, bits: int) -> float:
        """Return the share of the question's weight that some words have."""
        if bits not in self._shares:
            own = sum(weight for at, weight in enumerate(self._weights) if bits >> at & 1)
            self._shares[bits] = own / self._total
        return self._shares[bits]

    @cached_property
    def _cosines(self) -> list[float]:
        cosines: list[float] = (self.vectors.names @ self.question).tolist()
        return cosines

    @cached_property
    def _best(self) -> tuple[float, float]:
        """The largest share of a name that is said, and the largest cosine, of all columns."""
        return max((h[0] for h in self.links.headers), default=0.0), max(self._cosines[:-1], default=0.0)

    @cached_property
    def _cell_bits(self) -> int:
        return all_bits(link.bits for link in self.links.cells if link.kind == "cell")

    @cached_property
    def _header_bits(self) -> int:
        return all_bits(named for score, named in self.links.headers if score >= 0.9)

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(word.text for word in self.links.words)

    @cached_property
    def _table(self) -> list[float]:
        """Features of the table: its size, how its type is named, and how much of the question it explains."""
        said, words = self.links.type
        explained = self._weight(all_bits((self._cell_bits, words, *(named for _, named in self.links.headers))))
        return [math.log1p(self.table.rows), len(self.table.columns) / 10, said, self._cosines[-1], explained]

    def features(self, candidates: Sequence[Candidate]) -> Features:
        """Return the features of candidates."""
        keys = list(map(result_key, candidates))
        forms = {key: self._result(c.result) for key, c in dict(zip(keys, candidates, strict=True)).items()}
        agreeing = {key: math.log(count) for key, count in Counter(keys).items()}
        dense = np.array(
            [[*self._dense(c, forms[key]), agreeing[key]] for c, key in zip(candidates, keys, strict=True)], np.float32
        ).reshape(len(candidates), -1)
        likeness = self._likeness()
        explained = [candidate.bits | self._named(candidate) for candidate in candidates]
        compared = np.array(list(map(self._compared, candidates)), np.float32).reshape(-1, 3)
        dense = np.column_stack((dense, likeness.features(candidates, explained), compared))
        parts = np.zeros((len(candidates), MOST_PARTS), np.int16)
        for row, candidate in enumerate(candidates):
            names = self._parts(candidate)[:MOST_PARTS]
            parts[row, : len(names)] = names
        headers = np.array(
            [[c.answer, c.order, c.given[0].column if c.given else -1] for c in candidates], np.int16
        ).reshape(-1, 3)
        grams = np.array([hashed(gram, NGRAMS) for gram in ngrams(self.links)], np.int32)
        return Features(dense, parts, grams, headers, likeness.rest())

    def _likeness(self) -> Likeness:
        parts = (link.bits for link in self.links.cells if link.kind == "part")
        named = all_bits((self._cell_bits, *parts, *(amount.bits for amount in self.links.amounts)))
        free = np.array([not named >> at & 1 for at in range(len(self.links.words))], bool)
        rare = np.array([self.frequency.get(word.text, 0.0) <= _RARE for word in self.links.words], bool)
        weights = np.array(self._weights, np.float32) / np.float32(self._total)
        return Likeness(self.table, self.pieces, self.vectors, self.question, weights * free, free & rare)

    def _named(self, candidate: Candidate) -> int:
        """Return the words that name the type or a column of a candidate, as bits."""
        return all_bits((self.links.type[1], *(self.links.headers[column][1] for column in candidate.columns)))

    def _dense(self, candidate: Candidate, form: Sequence[float]) -> list[float]:
        return [
            *self._explained(candidate),
            *self._column_features[candidate.answer],
            *self._column_features[candidate.order],
            float(candidate.answer == candidate.order >= 0),
            *self._given(candidate),
            *form,
            *self._table,
        ]

    def _explained(self, candidate: Candidate) -> list[float]:
        """Return sizes and shares of the question's words that a candidate explains, and of linked ones it does not."""
        named = self._named(candidate)
        unexplained = self._cell_bits & ~candidate.bits & ~named
        amounts = sum(not amount.bits & (candidate.bits | named) for amount in self.links.amounts)
        return [
            len(candidate.operators), len(candidate.given), self._weight(candidate.bits), self._weight(named),
            self._weight(candidate.bits | named), self._weight(unexplained), amounts,
            self._weight(self._header_bits & ~(candidate.bits | named)),
        ]  # fmt: skip

    @cached_property
    def _column_features(self) -> list[list[float]]:
        """How each column is named and what it holds; zeros at the end, for none."""
        rows = [self._features_of(number) for number in range(len(self.table.columns))]
        return [*rows, [0.0] * 10]

    def _features_of(self, number: int) -> list[float]:
        column, (said, bits) = self.table.columns[number], self.links.headers[number]
        best_said, best_cosine = self._best
        return [
            1.0, said, self._weight(bits), self._cosines[number], best_said - said,
            best_cosine - self._cosines[number], number / max(1, len(self.table.columns) - 1), column.numbers,
            column.dates, column.distinct,
        ]  # fmt: skip

    def _given(self, candidate: Candidate) -> list[float]:
        """Return how well the conditions of a candidate are linked, and whether it asks for a column of one."""
        if candidate.given not in self._linked:
            self._linked[candidate.given] = self._linked_by(candidate.given)
        before, after = self._linked[candidate.given]
        return [*before, float(any(p.column == candidate.answer for p in candidate.given)), *after]

    def _linked_by(self, given: tuple[Given, ...]) -> tuple[list[float], list[float]]:
        if not given:
            return [0.0] * 5, [0.0] * (2 + len(_KINDS))
        counts = Counter(part.kind for part in given)
        said = [self.links.headers[part.column][0] for part in given]
        ambiguous = [sum(link.bits == part.bits for link in self.links.cells) for part in given]
        lengths = [part.bits.bit_count() for part in given]
        shares = [part.share for part in given]
        nearest, weight = min(self._cosines[p.column] for p in given), min(self._weight(p.bits) for p in given)
        before = [min(shares), max(shares), max(said), max(ambiguous), min(lengths)]
        return before, [nearest, weight, *(counts[kind] for kind in _KINDS)]

    def _compared(self, candidate: Candidate) -> list[float]:
        """Return whether a candidate compares two columns, the share of them that is named, and how alike they are."""
        pair = [part for part in candidate.given if part.kind == "field"]
        if not pair:
            return [0.0, 0.0, 0.0]
        one, other = (self.vectors.names[part.column] for part in pair)
        return [1.0, sum(part.bits > 0 for part in pair) / 2, float(one @ other)]

    def _result(self, result: Result) -> list[float]:
        """Return the form of what a candidate gives, and how far the question names it already."""
        if not isinstance(result, np.ndarray):
            amount = float(result or 0.0)
            return [0.0, 0.0, 0.0, 0.0, 1.0, math.log1p(abs(amount)), float(amount == 0), float(amount == 1)]
        first = self._thing(int(result[0]))
        said = sum(self._thing(int(thing))[0] for thing in result[:4]) / min(4, len(result))
        return [math.log1p(len(result)), float(len(result) == 1), said, *first[1:3], 0.0, 0.0, 0.0]

    def _thing(self, thing: int) -> tuple[float, float, float]:
        if thing not in self._things:
            text = self.facts.text(thing)
            words = name_words(text)
            said = float(bool(words) and all(word in self._words for word in words))
            self._things[thing] = (said, float(value_of(text) is not None), len(words) / 10)
        return self._things[thing]

    def _parts(self, candidate: Candidate) -> list[int]:
        """Return the hashed parts of a candidate that weights are learned for."""
        operators, answer, order, result = candidate.operators, candidate.answer, candidate.order, candidate.result
        kind = "thing" if isinstance(result, np.ndarray) else type(result).__name__
        shape = operators, kind, isinstance(result, np.ndarray) and len(result) > 1, answer, order
        known = self._known_parts
        if shape not in known:
            known[shape] = [_number(part) for part in self._parts_of_shape(*shape)]
        if candidate.given not in known:
            known[candidate.given] = [_number(part) for part in self._parts_of_given(candidate.given)]
        return known[shape] + known[candidate.given]

    def _parts_of_shape(
        self, operators: tuple[str, ...], kind: str, many: bool, answer: int, order: int
    ) -> Iterator[str]:
        yield f"s {' '.join(operators)}"
        yield from dict.fromkeys(f"o {operator}" for operator in operators)
        yield f"r {kind} {many}"
        columns = self.table.columns
        if answer >= 0:
            yield f"k {operators[0]} {columns[answer].kind}"
            yield f"first {answer == 0}"
            yield from (f"a {word}" for word in columns[answer].words[:4])
        if any(columns[column].is_joined for column in (answer, order) if column >= 0):
            yield "joined"
        if order >= 0:
            which = next((operator for operator in operators if operator in _ORDERED), "")
            yield f"n {which} {columns[order].kind}"
            yield from (f"b {which} {word}" for word in columns[order].words[:4])

    def _parts_of_given(self, given: tuple[Given, ...]) -> Iterator[str]:
        for part in given[:2]:
            column = self.table.columns[part.column]
            yield f"g {part.kind} {column.kind}"
            if part.kind == "flag":
                yield f"v {_BOOLEANS.get(part.text.casefold(), part.text.casefold())}"
            yield from (f"c {word}" for word in column.words[:2])


def _number(part: str) -> int:
    if part.startswith(("s ", "o ", "g ")) and " field" in part:
        return _PLAIN_PARTS + hashed(part, _FIELD_PARTS)
    return hashed(part, _PLAIN_PARTS)


def result_key(candidate: Candidate) -> bytes | float | str | None:
    """Return what is equal for candidates that give the same."""
    result = candidate.result
    return result.tobytes() if isinstance(result, np.ndarray) else str(result) if isinstance(result, bool) else result
