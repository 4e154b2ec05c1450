"""Default context and answer of methods: computed, written by a language model, or by a reader and quotations.

Whether an answer is computed is decided by the probability of the parsed query alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from graphwright.data.records.record import CLAUSE, DOCUMENT
from graphwright.generate.answer import Generate
from graphwright.generate.comparisons import Compare
from graphwright.generate.contexts import PassageContext
from graphwright.generate.overview import NameVersions, NewestVersions, Overview
from graphwright.generate.path_answers import TargetAnswer
from graphwright.generate.query_answer import QueryAnswer
from graphwright.generate.quote import Quote
from graphwright.generate.readers import QuoteClauses, ReadSpans
from graphwright.generate.version_changes import QuoteChanges
from graphwright.methods.method import Help, Method
from graphwright.models.embedded.amounts import MiniLMAmounts
from graphwright.models.embedded.cross_encoder import MiniLMCrossEncoder
from graphwright.models.embedded.encoder import QUERIES, MiniLM
from graphwright.models.embedded.reader import MiniLMReader
from graphwright.models.protocols import LLM
from graphwright.operators.control import Fallback, If
from graphwright.operators.operator import Keep, Operator
from graphwright.operators.query.graphs.parser import GraphQueryParser
from graphwright.operators.query.llm_parser import LLMQueryParser
from graphwright.operators.query.parse_query import ExecuteQuery, IsComputed, MostProbable, ParseQuery, QueryEvidence
from graphwright.operators.query.parser import QueryParser
from graphwright.operators.query.result import LIKELY, SURE
from graphwright.operators.query.tables.parser import TableQueryParser
from graphwright.operators.query.tables.reading import RowsRead
from graphwright.operators.select import ToPassages
from graphwright.search.snapshot import Snapshot
from graphwright.search.versions import versions_of


def offline_answer(ix: Snapshot) -> Operator:
    """Return the steps that answer from passages without a language model.

    A broad question is answered by topics, a comparison of two things by their values, any other by a span of the
    embedded reader if its score is high enough, else by quotations: the nearest text where the reader gives a low
    probability.
    """
    reader = MiniLMReader()
    read, records = Compare(ix.words) >> ReadSpans(reader) >> Quote(reader), ix.graph.columns.records
    is_numbered = records is not None and CLAUSE in records.types
    return (QuoteClauses() >> Overview(ix.passages, reader) if is_numbered else Overview(ix.passages, reader)) >> read


def written(llm: LLM | None, context: Operator, offline: Operator) -> tuple[Operator, Operator]:
    """Return the context and the answer of a method: by a language model, or by `offline` without a usable reply."""
    return (Keep(), offline) if llm is None else (context, Fallback(Generate(llm), offline))


def answering(
    ix: Snapshot, llm: LLM | None = None, context: Operator | None = None, first: Operator | None = None
) -> tuple[Operator, Operator]:
    """Return the context and the answer of a method that ranks passages.

    `context`: by default the passages; `first`: steps that may answer before `offline_answer`. Of a document of several
    versions the newest answers, and the others are named.
    """
    offline, shown = offline_answer(ix), context or PassageContext()
    versions = versions_of(ix.graph.columns)
    if not (versions.of or versions.sections):
        return written(llm, shown, offline if first is None else first >> offline)
    newest = NewestVersions() >> QuoteChanges(MiniLMReader()) >> offline
    shown, answer = written(llm, NewestVersions() >> shown, newest if first is None else first >> newest)
    return shown, NameVersions(answer)


def either(llm: LLM | None, with_model: Callable[[LLM], Operator], offline: Operator) -> Operator:
    """Return the step of a language model with its offline twin as fallback; without a model the twin alone."""
    return offline if llm is None else Fallback(with_model(llm), offline)


def method_with_search(search: Operator, ix: Snapshot, llm: LLM | None = None) -> Method:
    """Return the method with an operator as its search; one that sets an answer or a context is all of it."""
    gives = search.after(frozenset())
    if gives & {"answer", "context"} or not gives & {"evidence", "passages"}:
        return Method(search)
    if ix.graph.passages is None and "evidence" in gives:
        return Method(search, answer=TargetAnswer())
    return Method(search if "passages" in gives else search >> ToPassages(), *answering(ix, llm))


OptionalParser = Annotated[
    QueryParser | None, Help("the parser of questions to queries over facts, by default those of the package")
]


def table_parser() -> QueryParser:
    """Return the parser of questions over tables, whose cells are read in their rows too."""
    return RowsRead(TableQueryParser(MiniLM(), MiniLMAmounts()), MiniLMReader())


def has_records(ix: Snapshot) -> bool:
    """Return whether a snapshot has records other than of whole documents and their clauses (nearly all have these)."""
    records = ix.graph.columns.records
    return records is not None and not {DOCUMENT, CLAUSE}.issuperset(records.types)


def graph_parser(ix: Snapshot, hops: int = 3) -> QueryParser:
    """Return the parsers of questions over a graph, with paths of at most `hops` relations, and over its records."""
    over_graph = GraphQueryParser(MiniLM(), MiniLMCrossEncoder(QUERIES), MiniLMAmounts(), length=hops)
    return MostProbable((over_graph, table_parser()) if has_records(ix) else (over_graph,))


def executed(llm: LLM | None, parser: QueryParser, threshold: float = LIKELY) -> Operator:
    """Return the steps that set the query of a question and its result, where it asks what can be computed."""
    return either(llm, LLMQueryParser, ParseQuery(parser, threshold)) >> ExecuteQuery()


def evidence_or(search: Operator, k: int) -> Operator:
    """Return the evidence of an executed query, then that of a search, at most k items; else the search alone."""
    return If(IsComputed(), (QueryEvidence() | search) % k, search)


def computed_first(
    ending: tuple[Operator, Operator], threshold: float = SURE, parser: QueryParser | None = None
) -> tuple[Operator, Operator]:
    """Return the context and the answer of a method, with the result of a sure query as the answer.

    `parser`: of the query that is named as possible where nothing is found.
    """
    context, answer = ending
    return context, QueryAnswer(answer, threshold, parser, None if parser is None else MiniLMReader())
