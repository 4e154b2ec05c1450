"""GraphRAG: answers from communities of entities and their summaries, near what is asked about or over all there is."""

from __future__ import annotations

from graphwright.generate.answer import Answer
from graphwright.generate.reports import CommunityReports, ReportPrompt
from graphwright.index.snapshot import Snapshot
from graphwright.methods.passages import answering
from graphwright.models.base import LLM
from graphwright.operators.communities.communities import CommunitySearch, EntitySearch, Helpful, Surroundings
from graphwright.operators.communities.summaries import Summaries
from graphwright.operators.operator import Operator
from graphwright.operators.select.weighed import WeighedSources

__all__ = ["graphrag_global", "graphrag_local"]


def graphrag_local(
    ix: Snapshot,
    passages: int = 20,
    entities: int = 20,
    relations: int = 20,
    communities: int = 3,
    level: int = 2,
    *,
    llm: LLM | None = None,
) -> Operator:
    """Passages of the entities nearest to the question, of their relations and of their communities (GraphRAG, local).

    `entities`, `relations`: how many of each; `communities`: those of `level` whose summaries are told. A language
    model writes these when they are first needed, and answers from them, the relations and the best passages; without
    one a community's most central statements bring in their passages, and the answer is found in these. Needs the extra
    `communities`.
    """
    summaries = Summaries(ix.passages, ix.triples, llm)
    found = EntitySearch(ix.passages, ix.names, ix.triples) % entities
    around = Surroundings(summaries, level, relations, communities)
    prompt = ReportPrompt(CommunityReports(summaries, level, max(communities, 1)))
    return found >> around >> answering(ix, passages, llm, sources=WeighedSources(passages, ix.passages), prompt=prompt)


def graphrag_global(
    ix: Snapshot,
    passages: int = 20,
    communities: int = 10,
    rated: int = 40,
    level: int = 1,
    *,
    llm: LLM | None = None,
) -> Operator:
    """Passages of the communities whose summaries help most with the question, wherever they are (GraphRAG, global).

    `level`: of the communities, `communities`: how many are answered from. A language model writes and rates the
    summaries of the first `rated` by cosine (map), where the paper has all of a level rated, and answers from the best
    (reduce); a summary is written once for a snapshot. Without one the cosine ranks them, and the answer is found in
    their passages. Needs the extra `communities`.
    """
    summaries, sources = Summaries(ix.passages, ix.triples, llm), WeighedSources(passages, ix.passages)
    search = CommunitySearch(summaries, level)
    if llm is None:
        return search % communities >> answering(ix, passages, sources=sources)
    # Not as other methods end: a broad question that names nothing is what the communities are for.
    best = search % rated >> Helpful(llm, summaries, level) % communities
    return best >> sources >> ReportPrompt(CommunityReports(summaries, level, communities)) >> Answer(llm)
