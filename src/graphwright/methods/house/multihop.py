"""Methods of this package for questions over several passages: PageRank with pairs, and cross-encoder reranking."""

from __future__ import annotations

from graphwright.graph.graph import Kind
from graphwright.index.snapshot import Snapshot
from graphwright.methods.house.baselines import answering, both
from graphwright.models.embedded.cross_encoder import MiniLMCrossEncoder
from graphwright.models.protocols import LLM, CrossEncoder
from graphwright.operators.anchors.link_entities import LinkEntities
from graphwright.operators.control import ReciprocalRank
from graphwright.operators.operator import Keep, Operator
from graphwright.operators.rerank.rerank import MultiHopRerank, Rerank
from graphwright.operators.search.support import SupportSearch
from graphwright.operators.select import Pairs
from graphwright.operators.subgraph.narrow import Only
from graphwright.operators.subgraph.walk import PersonalizedPageRank

__all__ = ["DEPTH", "connected", "multihop_rerank", "ppr", "rerank"]

DEPTH = 200  # passages of each part of a first search, as in `hybrid`


def connected(ix: Snapshot, k: int, seeds: int = 20, pool: int = 100, restart: float = 0.5) -> Operator:
    """Return the search of `ppr` for k passages."""
    first = LinkEntities(ix.names) >> SupportSearch(ix.passages, ix.words) % seeds
    # About one node in three that PageRank reaches is a passage.
    walk = PersonalizedPageRank(restart) % (5 * pool) >> Only(Kind.CHUNK) % pool | Keep()
    return first >> walk >> Pairs(ix.passages, ix.words) % k


def ppr(
    ix: Snapshot, top_k: int = 20, seeds: int = 20, pool: int = 100, restart: float = 0.5, *, llm: LLM | None = None
) -> Operator:
    """Rank passages by PageRank over passages and entities, rescored in connected pairs (the default).

    `seeds`: passages of the first search, from which PageRank starts with a `restart` probability; `pool`: passages
    that are rescored.
    """
    return connected(ix, top_k, seeds, pool, restart) >> answering(ix, llm)


def rerank(
    ix: Snapshot,
    top_k: int = 20,
    budget: int = 100,
    *,
    first: Operator | None = None,
    cross_encoder: CrossEncoder | None = None,
    llm: LLM | None = None,
) -> Operator:
    """Rerank the passages of a hybrid search by a cross-encoder (retrieve, then rerank).

    `budget`: the passages that are read; `first`: the search, by default that of `hybrid`; `cross_encoder`: by default
    the embedded one.
    """
    model = cross_encoder or MiniLMCrossEncoder()
    return (first or both(ix, max(budget, DEPTH))) % budget >> Rerank(model) % top_k >> answering(ix, llm)


def multihop_rerank(
    ix: Snapshot,
    top_k: int = 20,
    pool: int = 30,
    contexts: int = 3,
    *,
    first: Operator | None = None,
    cross_encoder: CrossEncoder | None = None,
    llm: LLM | None = None,
) -> Operator:
    """Rerank the passages of `ppr` by a cross-encoder, alone and together with entities of the best; fuse both ranks.

    `pool`: the passages that are read; the others keep their order after them. `contexts`: the best passages whose
    entities are added to the question, each for one more reading of the pool (see MultiHopRerank). `first`: the
    search, by default that of `ppr`; `cross_encoder`: by default the embedded one.
    """
    model = cross_encoder or MiniLMCrossEncoder()
    # A small model and the search err on different passages, so both ranks count, the first ranks most.
    fused = ReciprocalRank(Keep(), Keep() % pool >> MultiHopRerank(model, contexts), constant=5)
    depth = max(pool, top_k)
    search = connected(ix, depth) if first is None else first % depth
    return search >> fused % top_k >> answering(ix, llm)
