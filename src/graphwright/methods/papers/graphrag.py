"""GraphRAG: answers from communities of entities and their summaries, local and global."""

from __future__ import annotations

from graphwright.generate.prompts import CONTEXT_PASSAGES, CommunityReports, ReportPrompt
from graphwright.methods.house import answering
from graphwright.models.protocols import LLM
from graphwright.operators.communities.communities import CommunitySearch, EntitySearch, LocalContext, RateCommunities
from graphwright.operators.communities.summaries import Summaries
from graphwright.operators.operator import Operator
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
) -> Operator:
    """Rank passages by the entities nearest to the question, their relations and communities (GraphRAG, local).

    `entities`: those nearest to the question; `relations`: relations of these that are shown; `communities`:
    communities whose summaries are shown; `level`: that of these communities, 0 for the widest. A language model writes
    the summaries when they are first needed, and answers from them, the relations and the best passages; without one a
    community gives its most central statements. Needs the extra `communities`.
    """
    summaries = Summaries(ix.passages, ix.triples, llm)
    search = EntitySearch(ix.passages, ix.names, ix.triples) % entities
    around = LocalContext(summaries, level, relations, communities)
    prompt = ReportPrompt(CommunityReports(summaries, level, max(communities, 1)))
    return search >> around >> answering(ix, llm, sources=ToPassages(top_k, index=ix.passages), prompt=prompt)


def graphrag_global(
    ix: Snapshot,
    top_k: int = CONTEXT_PASSAGES,
    communities: int = 10,
    rated: int = 40,
    level: int = 2,
    *,
    llm: LLM | None = None,
) -> Operator:
    """Rank passages by the communities whose summaries help most with the question (GraphRAG, global).

    `level`: that of the communities, 0 for the widest; `communities`: those that the answer uses; `rated`: the first
    ones by cosine, which a language model rates (map), where the paper rates all of a level. It writes the summaries,
    once a snapshot, and answers from the best (reduce). Without one communities are ranked by cosine, and the answer
    comes from their passages. Needs the extra `communities`.
    """
    summaries, sources = Summaries(ix.passages, ix.triples, llm), ToPassages(top_k, index=ix.passages)
    search = CommunitySearch(summaries, level)
    if llm is None:
        return search % communities >> answering(ix, sources=sources)
    best = search % rated >> RateCommunities(llm, summaries, level) % communities
    prompt = ReportPrompt(CommunityReports(summaries, level, communities))
    return best >> answering(ix, llm, sources=sources, prompt=prompt)
