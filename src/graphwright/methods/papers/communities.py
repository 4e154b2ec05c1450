"""Summaries and themes: GraphRAG, LightRAG and RAPTOR."""

from __future__ import annotations

from typing import Annotated

from graphwright.generate.contexts import CONTEXT_PASSAGES, CommunityReports, ReportContext, TreeReports
from graphwright.generate.path_contexts import PathContext
from graphwright.methods.answering import answering, either
from graphwright.methods.method import CommunityLevel, Help, Method, OptionalLLM, TopK
from graphwright.models.protocols import LLM
from graphwright.operators.anchors.keywords import Keywords, NamesAndPhrases
from graphwright.operators.anchors.link_entities import AnchorSearch
from graphwright.operators.communities import CommunitySearch, EntitySearch, LocalContext, RateCommunities
from graphwright.operators.control import ReciprocalRank
from graphwright.operators.operator import Operator
from graphwright.operators.search.search import OneHop, TripleSearch
from graphwright.operators.select import ToPassages
from graphwright.operators.summaries import Summaries, SummaryTree, TreeSearch, WrittenSummaries, WrittenSummaryTree
from graphwright.search.snapshot import Snapshot


def graphrag_local(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    entities: Annotated[int, Help("entities nearest to the question")] = 10,
    relations: Annotated[int, Help("relations of these entities that are shown")] = 10,
    communities: Annotated[int, Help("communities whose summaries are shown")] = 3,
    level: CommunityLevel = 2,
    *,
    llm: OptionalLLM = None,
) -> Method:
    """Rank passages by the entities nearest to the question, their relations and communities (GraphRAG, local).

    A language model writes the summaries when they are first needed, and answers from them, the relations and the best
    passages; without one a community gives its most central statements. Needs the extra `communities`.
    """
    summaries = summaries_of(ix, llm)
    search = EntitySearch(ix.passages, ix.names, ix.triples) % entities
    around = LocalContext(summaries, level, relations, communities)
    context = ReportContext(CommunityReports(summaries, level, max(communities, 1)))
    return Method(search >> around >> ToPassages(top_k, index=ix.passages), *answering(ix, llm, context))


def summaries_of(ix: Snapshot, llm: LLM | None) -> Summaries:
    """Return the summaries of communities, by a language model if there is one."""
    return Summaries(ix.passages, ix.triples) if llm is None else WrittenSummaries(ix.passages, ix.triples, model=llm)


def graphrag_global(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    communities: Annotated[int, Help("communities that the answer uses")] = 10,
    rated: Annotated[
        int, Help("the first communities by cosine, which a language model rates (the paper rates all of a level)")
    ] = 40,
    level: CommunityLevel = 2,
    *,
    llm: OptionalLLM = None,
) -> Method:
    """Rank passages by the communities whose summaries help most with the question (GraphRAG, global).

    A language model writes the summaries, once a snapshot, rates them (map), and answers from the best (reduce).
    Without one communities are ranked by cosine, and the answer comes from their passages. Needs the extra
    `communities`.
    """
    summaries, sources = summaries_of(ix, llm), ToPassages(top_k, index=ix.passages)
    search = CommunitySearch(summaries, level)
    if llm is None:
        return Method(search % communities >> sources, *answering(ix))
    best = search % rated >> RateCommunities(llm, summaries, level) % communities
    return Method(best >> sources, *answering(ix, llm, ReportContext(CommunityReports(summaries, level, communities))))


def lightrag_local(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    n: Annotated[int, Help("entities of all keywords together")] = 40,
    *,
    llm: OptionalLLM = None,
) -> Method:
    """Rank passages by the entities that low-level keywords name, and by their relations (LightRAG, local).

    A language model lists the keywords and is shown the entities, relations and best passages; without one the keywords
    are words of the question.
    """
    return _method(ix, llm, _low(ix, n), ToPassages(top_k, summed=True))


def lightrag_global(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    n: Annotated[int, Help("relations of all themes together")] = 40,
    *,
    llm: OptionalLLM = None,
) -> Method:
    """Rank passages by relations nearest to the question's themes, offline to the question (LightRAG, global)."""
    return _method(ix, llm, _high(ix, n, llm), ToPassages(top_k))


def lightrag_hybrid(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    n: Annotated[int, Help("entities of all keywords together, and relations of all themes together")] = 40,
    *,
    llm: OptionalLLM = None,
) -> Method:
    """Rank passages by entities of low-level and relations of high-level keywords, alternating (LightRAG, hybrid)."""
    alternating = ReciprocalRank(_low(ix, n), _high(ix, n, llm), constant=0)
    return _method(ix, llm, alternating, ToPassages(top_k, summed=True))


def _low(ix: Snapshot, n: int) -> Operator:
    return AnchorSearch(ix.names) % n >> OneHop()


def _high(ix: Snapshot, n: int, llm: LLM | None) -> Operator:
    return TripleSearch(ix.triples, n, by_question=llm is None)


def _method(ix: Snapshot, llm: LLM | None, search: Operator, sources: Operator) -> Method:
    keywords = either(llm, Keywords, NamesAndPhrases())
    return Method(keywords >> search >> sources, *answering(ix, llm, PathContext()))


def raptor(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    size: Annotated[int, Help("approximate number of passages, or of summaries, in a cluster")] = 10,
    per_summary: Annotated[int, Help("passages that a retrieved summary gives")] = 1,
    *,
    llm: OptionalLLM = None,
) -> Method:
    """Rank passages by a search over the passages and a tree of summaries of them (RAPTOR, collapsed tree).

    A language model writes the summaries at the first question, with one call for about `size` passages, and answers
    from the nearest summaries and the best passages; without one a summary is the most central sentences of its
    cluster. SummaryTree lists the differences from the paper.
    """
    tree = SummaryTree(ix.passages, size) if llm is None else WrittenSummaryTree(ix.passages, size, model=llm)
    search = TreeSearch(tree, per_summary) % top_k
    return Method(search >> ToPassages(), *answering(ix, llm, ReportContext(TreeReports(tree))))
