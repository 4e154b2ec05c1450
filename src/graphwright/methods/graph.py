"""The method over graphs: the query that a question asks, else walks along the relations that it names."""

from __future__ import annotations

from typing import Annotated

from graphwright.generate.contexts import PassageContext
from graphwright.generate.graph_answer import AnswerIfRecorded, GraphAnswer, KnownNames, LacksAnswer
from graphwright.generate.passage_budget import CONTEXT_PASSAGES
from graphwright.generate.path_contexts import PathContext
from graphwright.methods.answering import answering, written
from graphwright.methods.computed import OptionalParser, computed_first, evidence_or, executed, parsed_over_graph
from graphwright.methods.house import multihop, multihop_search
from graphwright.methods.method import Method
from graphwright.methods.options import Help, OptionalLLM, TopK
from graphwright.models.protocols import LLM
from graphwright.operators.anchors.link_entities import LinkEntities
from graphwright.operators.control import Afresh, HasEvidence, If, OnGraph, OnlyPassages
from graphwright.operators.operator import Keep, Operator
from graphwright.operators.paths.asked_extremes import Extremes
from graphwright.operators.paths.asked_paths import AskedPaths
from graphwright.operators.paths.asked_sets import AskedClass, Without
from graphwright.operators.query.asked import LIKELY
from graphwright.operators.query.parse_query import IsComputed, QueryEvidence
from graphwright.operators.select import ToPassages
from graphwright.operators.subgraph.views import ImportedGraph, StatementGraph
from graphwright.search.snapshot import Snapshot

_SHOWN = 100  # nodes of the graph that a language model is shown beside the paths: each is only a name


def graph(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    hops: Annotated[int, Help("the most relations of a path")] = 3,
    *,
    parser: OptionalParser = None,
    llm: OptionalLLM = None,
) -> Method:
    """Answer by the query that the question asks of the graph (the default over graphs).

    A parser, or a language model, turns the question into a query, which is executed over all statements: the answer is
    the names that it gives, their number, a value, yes or no. Without a sure query the relations that the question
    names are walked; where the graph records nothing there, the query of a fitted parser answers if it is certain.
    Where documents were added to the graph, questions that it does not answer are searched as by `multihop` and
    answered from passages; with a filter of documents, all questions are.
    """
    if ix.is_without_graph:
        return multihop(ix, top_k, parser=parser, llm=llm)
    asked, sources = executed(ix, llm, parser), ToPassages(top_k)
    if ix.imported is not None:
        return _with_documents(ix, asked, hops, sources, top_k, llm)
    if ix.graph.passages is not None:
        search = evidence_or(_linked(ix) >> OnGraph(StatementGraph(), _walks(ix, hops)), top_k)
        return Method(asked >> search >> sources, *computed_first(answering(ix, llm, PathContext())))
    walked = _linked(ix) >> _walks(ix, hops) >> If(LacksAnswer(ix.encoder), parsed_over_graph(), Keep())
    search = If(IsComputed(), QueryEvidence(), walked)
    ranked = sources if llm is None else ToPassages(_SHOWN)
    ending = computed_first(written(llm, PathContext(), GraphAnswer(ix.encoder)), LIKELY)
    return Method(asked >> search >> ranked, *ending, passages=_SHOWN)


def _linked(ix: Snapshot) -> Operator:
    return LinkEntities(ix.names, ordinary=True)


def _walks(ix: Snapshot, hops: int) -> Operator:
    """Return the walks along the relations that the question names, where no query is sure."""
    walks: Operator = AskedPaths(ix.encoder, hops)
    return walks >> AskedClass(ix.encoder) >> Without(ix.encoder) >> Extremes(ix.encoder)


def _with_documents(ix: Snapshot, asked: Operator, hops: int, sources: Operator, top_k: int, llm: LLM | None) -> Method:
    """Return the method over an imported graph with documents: the query, else walks, else the search of `multihop`."""
    assert ix.imported is not None
    imported = ImportedGraph(*ix.imported)
    walked = OnGraph(imported, _linked(ix) >> _walks(ix, hops) >> KnownNames(ix.encoder))
    passages = Afresh(multihop_search(ix, top_k))
    searched = If(IsComputed(), QueryEvidence() | passages, walked >> If(HasEvidence(), Keep(), passages))
    context = If(OnlyPassages(), PassageContext(), PathContext())
    recorded = AnswerIfRecorded(ix.encoder, imported)
    ending = computed_first(answering(ix, llm, context, first=recorded))
    return Method(asked >> searched >> sources, *ending)
