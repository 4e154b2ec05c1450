"""The steps that parse and execute the query of a question, and what follows from its probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from graphwright.constraints import Between, Has
from graphwright.operators.operator import Operator
from graphwright.operators.query.asked import LIKELY, AskedQuery
from graphwright.operators.query.parser import QueryParser, ScoredQuery
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.search.facts import Facts


@dataclass(frozen=True)
class MostProbable:
    """Several parsers as one: the queries of all, the most probable first; none by default.

    >>> MostProbable()
    MostProbable(parsers=())
    """

    parsers: tuple[QueryParser, ...] = ()

    def parse(self, question: str, facts: Facts) -> list[ScoredQuery]:
        """Return the queries of all parsers."""
        queries = [query for parser in self.parsers for query in parser.parse(question, facts)]
        return sorted(queries, key=lambda query: -query.probability)


@dataclass(frozen=True, repr=False)
class ParseQuery(Operator):
    """Set the query that a parser holds for the most probable; none if its probability is below `threshold`."""

    parser: Annotated[QueryParser, Has("a parser of questions, with parse", "parse")]
    threshold: Annotated[float, Between(0, 1)] = LIKELY

    def apply(self, state: State, run: Run) -> State:
        """Set the query, or leave the state unchanged."""
        queries = self.parser.parse(state.question.text, Facts.of(state.graph))
        if not queries:
            run.note("the question asks nothing that can be computed")
            return state
        best = queries[0]
        run.note(f"the most probable query has a probability of {best.probability:.2f}")
        if best.probability < self.threshold:
            return state
        return state.with_(query=AskedQuery(best.query, best.probability))
