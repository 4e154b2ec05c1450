"""The query that a question was understood to ask, with its result."""

from __future__ import annotations

from dataclasses import dataclass

from graphwright.operators.query.execution import Result
from graphwright.operators.query.query import Query

LIKELY = 0.5
"""Probability from which on the value of a query is shown, before quotations of passages."""
SURE = 0.75
"""Probability from which on the value of a query is the answer."""
CERTAIN = 0.9
"""Probability from which on a query without a result is the answer that there is none."""


@dataclass(frozen=True, eq=False)
class AskedQuery:
    """A query with the probability that it is what the question asks; `result`: None before it is executed."""

    query: Query
    probability: float
    result: Result = None
