"""The query that a question was understood to ask, with its result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphwright.operators.query.notation import notation
from graphwright.operators.query.query import Query
from graphwright.operators.query.result import QueryResult
from graphwright.operators.query.words import words

LIKELY = 0.5
"""Probability from which on the value of a query is shown, before quotations of passages."""
SURE = 0.65
"""Probability from which on the value of a query is the answer."""
CERTAIN = 0.9
"""Probability from which on a query that finds nothing is the answer that there is none."""
RECORDED = 0.5
"""Probability from which on the value of a query is the answer over a graph, which else does not say."""


@dataclass(frozen=True, eq=False)
class AskedQuery:
    """A query with the probability that it is what the question asks; `result`: None before it is executed."""

    query: Query
    probability: float
    result: QueryResult | None = None

    @property
    def words(self) -> str:
        """The query in English words."""
        return words(self.query)

    @property
    def notation(self) -> str:
        """The query as text, as `graphwright query` takes it."""
        return notation(self.query)

    def to_dict(self) -> dict[str, Any]:
        """Return the query as JSON values."""
        return {"query": self.notation, "words": self.words, "probability": round(self.probability, 4)}
