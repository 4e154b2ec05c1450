"""LinearRAG: entities bridged by sentences, then PageRank over passages and entities, without any relation."""

from __future__ import annotations

from graphwright.generate.passage_budget import CONTEXT_PASSAGES
from graphwright.graph.graph import Kind
from graphwright.methods.answering import answering
from graphwright.methods.method import Method
from graphwright.models.protocols import LLM
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
    top_k: int = CONTEXT_PASSAGES,
    rounds: int = 2,
    sentences: int = 3,
    threshold: float = 0.4,
    ratio: float = 2.0,
    weight: float = 0.05,
    restart: float = 0.5,
    nodes: int = 1000,
    *,
    llm: LLM | None = None,
) -> Method:
    """Rank passages by PageRank from entities that sentences connect with the question's, no relation used (LinearRAG).

    `rounds`: in which active entities activate others; `sentences`: those that an active entity selects in a round;
    `threshold`: the least score of an entity that is activated (see Bridge). `ratio`: the weight of a passage's cosine
    beside that of its active entities; `weight`: that of passages as seeds (see BridgeSeeds). `restart`: 1 minus the
    damping factor; `nodes`: nodes that are ranked. A question that names no entity is searched by its vector.
    """
    active = LinkEntities(ix.names) >> Bridge(ix.triples, rounds, sentences, threshold)
    seeds = active >> BridgeSeeds(ix.passages, ratio, weight)
    walk = seeds >> OnGraph(MentionGraph(), PersonalizedPageRank(restart) % nodes) >> Only(Kind.CHUNK)
    search = walk % top_k >> If(HasEvidence(), Keep(), VectorSearch(ix.passages) % top_k)
    return Method(search >> ToPassages(), *answering(ix, llm))
