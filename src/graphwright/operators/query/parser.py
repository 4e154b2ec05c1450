"""Parsers of questions: from a question and facts to queries that it may ask, with scores."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from graphwright.operators.query.query import Query
from graphwright.search.facts import Facts


class ScoredQuery(NamedTuple):
    """A query that a question may ask.

    `score` orders the queries of one question; `probability`: the calibrated probability that it is the right one.
    """

    query: Query
    score: float
    probability: float


class QueryParser(Protocol):
    """Parse a question over facts."""

    def parse(self, question: str, facts: Facts) -> list[ScoredQuery]:
        """Return the queries that a question may ask, best first; none where it names nothing of the facts."""
        ...
