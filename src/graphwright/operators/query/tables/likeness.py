"""Likeness of the words of a question to the columns of a table, by the vectors of a sentence encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.evidence import Ints
from graphwright.models.protocols import Encoder, Floats
from graphwright.operators.query.tables.candidates import Candidate
from graphwright.operators.query.tables.columns import Table
from graphwright.text.values import DATE, NUMBER

_KNOWN = 50_000  # texts whose vectors are kept


@dataclass(eq=False)
class TextVectors:
    """Vectors of words and other short texts, kept once encoded."""

    encoder: Encoder

    def __post_init__(self) -> None:
        self._known: dict[str, Floats] = {}

    def of(self, texts: Sequence[str]) -> Floats:
        """Return the vectors of some texts: float32[texts, d]."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if len(self._known) > _KNOWN:
            self._known, new = {}, list(dict.fromkeys(texts))
        self._known.update(zip(new, self.encoder.encode(new) if new else (), strict=True))
        return np.array([self._known[text] for text in texts]) if texts else self.encoder.encode([])


@dataclass(frozen=True, eq=False)
class ColumnVectors:
    """Vectors of the columns of a table and, last, of its type: `names` of their names, `described` with some cells."""

    names: Floats
    described: Floats

    @property
    def mean(self) -> Floats:
        """The means of both."""
        mean: Floats = (self.names + self.described) / np.float32(2)
        return mean

    @classmethod
    def of(cls, table: Table, vectors: TextVectors) -> ColumnVectors:
        """Return the vectors of the names and descriptions of the columns of a table."""
        names = [" ".join(column.words) or column.name for column in table.columns]
        described = [column.described for column in table.columns]
        found = vectors.of([*names, table.type, *described, table.type])
        return cls(found[: len(names) + 1], found[len(names) + 1 :])


@dataclass(frozen=True, eq=False)
class Pieces:
    """The words of a question and the pairs of neighbouring words, with their vectors."""

    words: Floats
    pairs: Floats

    @classmethod
    def of(cls, words: Sequence[str], vectors: TextVectors) -> Pieces:
        """Return the pieces of a question."""
        found = vectors.of([*words, *map(" ".join, pairwise(words))])
        return cls(found[: len(words)], found[len(words) :])

    def nearest(self, names: Floats, least: Floats) -> Floats:
        """Return the largest cosine of a piece with each name, `least` at least: float32[names]."""
        cosines: Floats = np.maximum(
            (self.words @ names.T).max(0, initial=-1), (self.pairs @ names.T).max(0, initial=-1)
        )
        return np.maximum(cosines, least)


@dataclass(eq=False)
class Likeness:
    """What the words of a question that name no cell are like, of one table.

    `weights: float32[words]`: their shares of the question, 0 of a word that names a cell; `free: bool[words]`: which
    words name no cell and are rare enough to name a column.
    """

    table: Table
    pieces: Pieces
    vectors: ColumnVectors
    question: Floats
    weights: Floats
    free: NDArray[np.bool_]

    def rest(self) -> Floats:
        """Return the weighted mean of the vectors of the words that name no cell: float32[d]."""
        rest: Floats = self.weights @ self.pieces.words / max(float(self.weights.sum()), 1e-6)
        return rest

    def _strongest(self, columns: Floats) -> Floats:
        """Return the largest likeness of a piece to each column, and 0 for none: float32[columns + 1]."""
        both = self.free[:-1] & self.free[1:]
        likest = np.concatenate(
            (self.pieces.words @ columns.T * self.free[:, None], self.pieces.pairs @ columns.T * both[:, None])
        ).max(0, initial=0.0)
        return np.append(likest, 0).astype(np.float32)

    def _only(self, kind: int) -> Floats:
        """Return 1 for the column that alone is of a kind: float32[columns + 1]."""
        of_kind = np.array([*(column.kind == kind for column in self.table.columns), False])
        only: Floats = (of_kind * float(of_kind.sum() == 1)).astype(np.float32)
        return only

    def features(self, candidates: Sequence[Candidate], explained: Sequence[int]) -> Floats:
        """Return features of candidates: float32[n, 14]; `explained`: the words that each explains, as bits."""
        names, described = self._strongest(self.vectors.names[:-1]), self._strongest(self.vectors.described[:-1])
        about = np.append(self.vectors.described[:-1] @ self.question, np.float32(0))
        places = np.array([[c.answer, c.order, c.given[0].column if c.given else -1] for c in candidates], np.int64)
        answer, order, given = places.reshape(-1, 3).T
        orderable = np.array([max(c.numbers, c.dates) >= 0.3 for c in self.table.columns] + [False])
        best, best_order = names.max(initial=0.0), names[orderable].max(initial=0.0)
        joined = np.array([*(column.is_joined for column in self.table.columns), False])
        flags = np.array([sum(part.kind == "flag" for part in c.given) for c in candidates])
        features: list[NDArray[Any]] = [
            names[order], np.where(order >= 0, best_order - names[order], 0), described[order], about[order],
            self._only(DATE)[order], self._only(NUMBER)[order],
            names[answer], np.where(answer >= 0, best - names[answer], 0), described[answer], about[answer],
            names[given], self._covered(places, explained), flags, joined[places].sum(1),
        ]  # fmt: skip
        return np.column_stack(features).astype(np.float32)

    def _covered(self, places: Ints, explained: Sequence[int]) -> Floats:
        """Return how much of the words that candidates do not explain is like their columns: float32[n]."""
        likeness = np.maximum(self.pieces.words @ self.vectors.names[:-1].T, 0)
        likeness = np.column_stack((likeness, np.zeros(len(likeness), np.float32)))
        left = np.array([[not bits >> at & 1 for at in range(len(self.weights))] for bits in explained], bool)
        strongest = likeness[:, places].max(-1).T * left.reshape(len(places), -1)
        covered: Floats = strongest @ (self.weights * self.free)
        return covered
