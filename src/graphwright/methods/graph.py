"""The method over graphs: the relations that a question asks for, without training and without a language model."""

from __future__ import annotations

from typing import Annotated

from graphwright.generate.contexts import PassageContext
from graphwright.generate.graph_answer import AnswerIfRecorded, GraphAnswer, KnownNames
from graphwright.generate.passage_budget import CONTEXT_PASSAGES
from graphwright.generate.path_contexts import PathContext
from graphwright.methods.answering import answering, written
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
from graphwright.operators.select import ToPassages
from graphwright.operators.subgraph.views import ImportedGraph, StatementGraph
from graphwright.search.snapshot import Snapshot

_SHOWN = 100  # nodes of the graph that a language model is shown beside the paths: each is only a name


def graph(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    hops: Annotated[int, Help("the most relations of a path")] = 3,
    *,
    llm: OptionalLLM = None,
) -> Method:
    """Answer by the relations that the question names, by its words or by meaning (the default over graphs).

    Without a language model the answer is the names that the walks lead to, their number, yes or no, or that the graph
    does not record it. Where documents were added to the graph, questions that it does not answer are searched as by
    `multihop` and answered from passages; with a filter of documents, all questions are.
    """
    if ix.is_without_graph:
        return multihop(ix, top_k, llm=llm)
    linked = LinkEntities(ix.names, ordinary=True)
    asked: Operator = (
        AskedPaths(ix.encoder, hops) >> AskedClass(ix.encoder) >> Without(ix.encoder) >> Extremes(ix.encoder)
    )
    sources = ToPassages(top_k)
    if ix.imported is not None:
        return _with_documents(ix, linked >> asked, sources, top_k, llm)
    if ix.graph.passages is not None:
        return Method(linked >> OnGraph(StatementGraph(), asked) >> sources, *answering(ix, llm, PathContext()))
    ranked = sources if llm is None else ToPassages(_SHOWN)
    ending = written(llm, PathContext(), GraphAnswer(ix.encoder))
    return Method(linked >> asked >> ranked, *ending, passages=_SHOWN)


def _with_documents(ix: Snapshot, walks: Operator, sources: Operator, top_k: int, llm: LLM | None) -> Method:
    """Return the method over an imported graph with documents: walks of the graph, else the search of `multihop`."""
    assert ix.imported is not None
    imported = ImportedGraph(*ix.imported)
    on_graph = OnGraph(imported, walks >> KnownNames(ix.encoder))
    search = If(HasEvidence(), Keep(), Afresh(multihop_search(ix, top_k)))
    context = If(OnlyPassages(), PassageContext(), PathContext())
    recorded = AnswerIfRecorded(ix.encoder, imported)
    return Method(on_graph >> search >> sources, *answering(ix, llm, context, first=recorded))
