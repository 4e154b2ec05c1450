"""Computed answers of methods: what a question asks is parsed, executed over the facts, and answered before passages.

Whether an answer is computed is decided by the probability of the parsed query alone.
"""

from __future__ import annotations

from typing import Annotated

from graphwright.data.records.record import CLAUSE, DOCUMENT
from graphwright.generate.query_answer import QueryAnswer
from graphwright.methods.answering import either
from graphwright.methods.options import Help
from graphwright.models.embedded.cross_encoder import MiniLMCrossEncoder
from graphwright.models.embedded.encoder import MiniLM
from graphwright.models.embedded.runtime import QUERIES
from graphwright.models.protocols import LLM
from graphwright.operators.control import If
from graphwright.operators.operator import Operator
from graphwright.operators.query.asked import LIKELY, SURE
from graphwright.operators.query.graphs.parser import GraphQueryParser
from graphwright.operators.query.llm_parser import LLMQueryParser
from graphwright.operators.query.parse_query import ExecuteQuery, IsComputed, MostProbable, ParseQuery, QueryEvidence
from graphwright.operators.query.parser import QueryParser
from graphwright.operators.query.tables.parser import TableQueryParser
from graphwright.search.snapshot import Snapshot

OptionalParser = Annotated[
    QueryParser | None, Help("the parser of questions to queries over facts, by default those of the package")
]


def offline_parser(ix: Snapshot) -> QueryParser:
    """Return the parser of questions over records of documents, without a language model."""
    return MostProbable((TableQueryParser(MiniLM()),) if has_records(ix) else ())


def has_records(ix: Snapshot) -> bool:
    """Return whether documents of a snapshot have records other than of whole documents and their clauses.

    Nearly every folder has those two; questions that they answer are written as queries.
    """
    records = ix.graph.columns.records
    return records is not None and not {DOCUMENT, CLAUSE}.issuperset(records.types)


def graph_parser(ix: Snapshot, hops: int = 3) -> QueryParser:
    """Return the parsers of questions over a graph, with paths of at most `hops` relations, and over its records."""
    over_graph = GraphQueryParser(MiniLM(), MiniLMCrossEncoder(QUERIES), length=hops)
    return MostProbable((over_graph, TableQueryParser(MiniLM())) if has_records(ix) else (over_graph,))


def executed(llm: LLM | None, parser: QueryParser, threshold: float = LIKELY) -> Operator:
    """Return the steps that set the query of a question and its result, where it asks what can be computed."""
    return either(llm, LLMQueryParser, ParseQuery(parser, threshold)) >> ExecuteQuery()


def evidence_or(search: Operator, k: int) -> Operator:
    """Return the evidence of an executed query, then that of a search, at most k items; else the search alone."""
    return If(IsComputed(), (QueryEvidence() | search) % k, search)


def computed_first(ending: tuple[Operator, Operator], threshold: float = SURE) -> tuple[Operator, Operator]:
    """Return the context and the answer of a method, with the result of a sure query as the answer."""
    context, answer = ending
    return context, QueryAnswer(answer, threshold)
