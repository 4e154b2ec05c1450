"""Parsers of questions: from a question and facts to queries that it may ask, with scores."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from graphwright.graph.evidence import Scores
from graphwright.operators.query.query import Query
from graphwright.search.facts import Facts


class ScoredQuery(NamedTuple):
    """A query that a question may ask: its `score` among the question's queries, and its calibrated `probability`."""

    query: Query
    score: float
    probability: float


class QueryParser(Protocol):
    """Parse a question over facts."""

    def parse(self, question: str, facts: Facts) -> list[ScoredQuery]:
        """Return the queries that a question may ask, best first; none where it names nothing of the facts."""
        ...


def apportioned(queries: Sequence[ScoredQuery]) -> list[ScoredQuery]:
    """Return rival queries, the most probable first, which keeps its probability; the others share what it leaves."""
    ordered = sorted(queries, key=lambda query: -query.probability)
    left, others = 1 - sum(query.probability for query in ordered[:1]), ordered[1:]
    share = min(1.0, left / max(sum(query.probability for query in others), 1e-9))
    return ordered[:1] + [query._replace(probability=query.probability * share) for query in others]


@dataclass(frozen=True, eq=False)
class Results:
    """The different results of candidates, the likeliest first.

    `best`: the candidate with the highest score of those that give each; `scores`: its score; `shares`: of each result,
    the sum of the softmax of all candidates that give it; `own`: that of the best alone. `candidates`: how many in all.
    """

    best: tuple[int, ...]
    scores: Scores
    shares: Scores
    own: Scores
    candidates: int

    @classmethod
    def of(cls, scores: Scores, keys: Sequence[Hashable]) -> Results:
        """Join candidates that give the same: equal `keys`."""
        soft = np.exp(scores - scores.max())
        soft /= soft.sum()
        best: dict[Hashable, int] = {}
        shares: dict[Hashable, float] = {}
        for row in np.argsort(-scores, kind="stable").tolist():
            best.setdefault(keys[row], row)
            shares[keys[row]] = shares.get(keys[row], 0.0) + float(soft[row])
        order = sorted(best, key=lambda key: (-shares[key], best[key]))
        rows = tuple(best[key] for key in order)
        chosen = list(rows)
        return cls(rows, scores[chosen], np.array([shares[key] for key in order]), soft[chosen], len(scores))
