"""LinearRAG: entities bridged by sentences, then PageRank over passages and entities, without any relation."""

from __future__ import annotations

from typing import Annotated

from graphwright.generate.passage_budget import CONTEXT_PASSAGES
from graphwright.graph.graph import Kind
from graphwright.methods.answering import answering
from graphwright.methods.method import Method
from graphwright.methods.options import Help, OptionalLLM, RankedNodes, Restart, SeedWeight, TopK
from graphwright.operators.anchors.link_entities import LinkEntities
from graphwright.operators.control import HasEvidence, If, OnGraph
from graphwright.operators.operator import Keep
from graphwright.operators.search.bridge import Bridge
from graphwright.operators.search.search import VectorSearch
from graphwright.operators.search.seeds import BridgeSeeds
from graphwright.operators.select import ToPassages
from graphwright.operators.subgraph.narrow import Only
from graphwright.operators.subgraph.pagerank import PersonalizedPageRank
from graphwright.operators.subgraph.views import MentionGraph
from graphwright.search.snapshot import Snapshot


def linearrag(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    rounds: Annotated[int, Help("rounds in which active entities activate others")] = 2,
    sentences: Annotated[int, Help("sentences that an active entity selects in a round")] = 3,
    threshold: Annotated[float, Help("the least score of an entity that is activated (see Bridge)")] = 0.4,
    ratio: Annotated[float, Help("weight of a passage's cosine beside that of its active entities")] = 2.0,
    weight: SeedWeight = 0.05,
    restart: Restart = 0.5,
    nodes: RankedNodes = 1000,
    *,
    llm: OptionalLLM = None,
) -> Method:
    """Rank passages by PageRank from entities that share sentences with the question's, without relations (LinearRAG).

    A question that names no entity is searched by its vector.
    """
    active = LinkEntities(ix.names) >> Bridge(ix.triples, rounds, sentences, threshold)
    seeds = active >> BridgeSeeds(ix.passages, ratio, weight)
    walk = seeds >> OnGraph(MentionGraph(), PersonalizedPageRank(restart) % nodes) >> Only(Kind.CHUNK)
    search = walk % top_k >> If(HasEvidence(), Keep(), VectorSearch(ix.passages) % top_k)
    return Method(search >> ToPassages(), *answering(ix, llm))
