"""The method over graphs: the result of the query that a question asks, else that the graph does not say."""

from __future__ import annotations

from typing import Annotated

from graphwright.generate.passage_budget import CONTEXT_PASSAGES
from graphwright.generate.path_contexts import PathContext
from graphwright.generate.query_answer import NotRecorded
from graphwright.methods.answering import written
from graphwright.methods.computed import OptionalParser, computed_first, executed, graph_parser
from graphwright.methods.house import multihop
from graphwright.methods.method import Method
from graphwright.methods.options import Help, OptionalLLM, TopK
from graphwright.models.embedded.encoder import MiniLM
from graphwright.operators.anchors.link_entities import LinkEntities
from graphwright.operators.control import If
from graphwright.operators.operator import Operator
from graphwright.operators.paths.relation_paths import Instances, RelationPaths
from graphwright.operators.query.asked import RECORDED
from graphwright.operators.query.parse_query import IsComputed, LikelyQueries, QueryEvidence
from graphwright.operators.rerank.mask import MaskEntities
from graphwright.operators.rerank.rerank import Rerank
from graphwright.operators.select import ToPassages
from graphwright.search.snapshot import Snapshot

_SHOWN = 100  # nodes of the graph that a language model is shown beside the paths: each is only a name
_RELATIONS = 10  # relations of the named things along which the nearest facts are


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
    the names that it gives, their number, a value, yes or no. Without a probable query the graph does not say; a
    language model then reads the statements of the likeliest queries and those about the things that are named.
    Where documents were added to the graph, such questions are searched as by `multihop` and answered from passages;
    with a filter of documents, all questions are.
    """
    if ix.is_without_graph:
        return multihop(ix, top_k, parser=parser, llm=llm)
    parser = parser or graph_parser(ix, hops)
    if ix.graph.passages is not None:
        return multihop(ix, top_k, parser=parser, llm=llm)
    asked = executed(llm, parser, RECORDED)
    search = If(IsComputed(), QueryEvidence(_SHOWN), LikelyQueries(parser) | _near(ix))
    ranked = ToPassages(top_k if llm is None else _SHOWN)
    ending = computed_first(written(llm, PathContext(), NotRecorded(MiniLM())), RECORDED)
    return Method(asked >> search >> ranked, *ending, passages=_SHOWN)


def _near(ix: Snapshot) -> Operator:
    """Return the search for statements about the named things, by the likeness of their relations to the question."""
    relations = RelationPaths(1) >> MaskEntities(Rerank(ix.encoder)) % _RELATIONS
    return LinkEntities(ix.names) >> relations >> Instances() % _SHOWN
