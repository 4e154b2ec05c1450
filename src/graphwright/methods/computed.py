"""Computed answers of methods: what a question asks is parsed, executed over the facts, and answered before passages.

Whether an answer is computed is decided by the probability of the parsed query alone.
"""

from __future__ import annotations

from typing import Annotated

from graphwright.data.records.record import CLAUSE, DOCUMENT
from graphwright.generate.query_answer import QueryAnswer
from graphwright.methods.answering import either
from graphwright.methods.options import Help
from graphwright.models.embedded.encoder import MiniLM
from graphwright.models.protocols import LLM
from graphwright.operators.control import If
from graphwright.operators.operator import Keep, Operator
from graphwright.operators.query.asked import CERTAIN, SURE
from graphwright.operators.query.graphs.parser import GraphQueryParser
from graphwright.operators.query.llm_parser import LLMQueryParser
from graphwright.operators.query.parse_query import ExecuteQuery, IsComputed, MostProbable, ParseQuery, QueryEvidence
from graphwright.operators.query.parser import QueryParser
from graphwright.operators.query.tables.parser import TableQueryParser
from graphwright.search.snapshot import Snapshot

OptionalParser = Annotated[
    QueryParser | None, Help("the parser of questions to queries over facts, by default those of the package")
]


def has_records(ix: Snapshot) -> bool:
    """Return whether documents of a snapshot have records other than of whole documents and their clauses.

    Nearly every folder has those two; questions that they answer are written as queries.
    """
    records = ix.graph.columns.records
    return records is not None and not {DOCUMENT, CLAUSE}.issuperset(records.types)


def executed(ix: Snapshot, llm: LLM | None, parser: QueryParser | None) -> Operator:
    """Return the steps that set the query of a question and its result, where it asks what can be computed."""
    offline = parser or MostProbable((TableQueryParser(MiniLM()),) if has_records(ix) else ())
    return either(llm, LLMQueryParser, ParseQuery(offline)) >> ExecuteQuery()


def parsed_over_graph(threshold: float = CERTAIN) -> Operator:
    """Return the steps that answer a question over a graph by the query that a fitted parser holds for the likeliest.

    They stand behind the walks along the relations that a question names, where these find nothing. The default is
    high, as the probability tells a question that the graph cannot answer only weakly (docs/training.md).
    """
    parsed = ParseQuery(GraphQueryParser(MiniLM()), threshold) >> ExecuteQuery()
    return parsed >> If(IsComputed(), QueryEvidence(), Keep())


def evidence_or(search: Operator, k: int) -> Operator:
    """Return the evidence of an executed query, then that of a search, at most k items; else the search alone."""
    return If(IsComputed(), (QueryEvidence() | search) % k, search)


def computed_first(ending: tuple[Operator, Operator], sure: float = SURE) -> tuple[Operator, Operator]:
    """Return the context and the answer of a method, with the result of a sure query as the answer."""
    context, answer = ending
    return context, QueryAnswer(answer, sure)
