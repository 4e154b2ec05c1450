"""GraphRAG: answers from communities of entities and their summaries, local and global."""

from __future__ import annotations

from typing import Annotated

from graphwright.generate.contexts import CommunityReports, ReportContext
from graphwright.generate.passage_budget import CONTEXT_PASSAGES
from graphwright.methods.answering import answering
from graphwright.methods.method import Method
from graphwright.methods.options import CommunityLevel, Help, OptionalLLM, TopK
from graphwright.models.protocols import LLM
from graphwright.operators.communities.communities import CommunitySearch, EntitySearch, LocalContext, RateCommunities
from graphwright.operators.communities.summaries import Summaries, WrittenSummaries
from graphwright.operators.select import ToPassages
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
