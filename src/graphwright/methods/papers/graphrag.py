"""GraphRAG: answers from communities of entities and their summaries, local and global."""

from __future__ import annotations

from graphwright.generate.contexts import CommunityReports, ReportContext
from graphwright.generate.passage_budget import CONTEXT_PASSAGES
from graphwright.methods.answering import answering
from graphwright.methods.method import Method
from graphwright.models.protocols import LLM
from graphwright.operators.communities.communities import CommunitySearch, EntitySearch, LocalContext, RateCommunities
from graphwright.operators.communities.summaries import Summaries, WrittenSummaries
from graphwright.operators.select import ToPassages
from graphwright.search.snapshot import Snapshot


def graphrag_local(
    ix: Snapshot,
    top_k: int = CONTEXT_PASSAGES,
    entities: int = 10,
    relations: int = 10,
    communities: int = 3,
    level: int = 2,
    *,
    llm: LLM | None = None,
) -> Method:
    """Rank passages by the entities nearest to the question, their relations and communities (GraphRAG, local).

    `entities`: those nearest to the question; `relations`: relations of these that are shown; `communities`:
    communities whose summaries are shown; `level`: that of these communities, 0 for the widest. A language model writes
    the summaries when they are first needed, and answers from them, the relations and the best passages; without one a
    community gives its most central statements. Needs the extra `communities`.
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
    top_k: int = CONTEXT_PASSAGES,
    communities: int = 10,
    rated: int = 40,
    level: int = 2,
    *,
    llm: LLM | None = None,
) -> Method:
    """Rank passages by the communities whose summaries help most with the question (GraphRAG, global).

    `level`: that of the communities, 0 for the widest; `communities`: those that the answer uses; `rated`: the first
    ones by cosine, which a language model rates (map), where the paper rates all of a level. It writes the summaries,
    once a snapshot, and answers from the best (reduce). Without one communities are ranked by cosine, and the answer
    comes from their passages. Needs the extra `communities`.
    """
    summaries, sources = summaries_of(ix, llm), ToPassages(top_k, index=ix.passages)
    search = CommunitySearch(summaries, level)
    if llm is None:
        return Method(search % communities >> sources, *answering(ix))
    best = search % rated >> RateCommunities(llm, summaries, level) % communities
    return Method(best >> sources, *answering(ix, llm, ReportContext(CommunityReports(summaries, level, communities))))
