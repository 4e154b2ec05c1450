"""HippoRAG and HippoRAG 2: PageRank from what the question names, or from triples and passages near to it."""

from __future__ import annotations

from graphwright.graph.graph import Kind
from graphwright.index.snapshot import Snapshot
from graphwright.methods.passages import answering
from graphwright.models.base import LLM
from graphwright.operators.anchors.keywords import Keywords
from graphwright.operators.anchors.link_entities import Link
from graphwright.operators.fallback import OrElse
from graphwright.operators.operator import Operator
from graphwright.operators.rerank.choose import Choose
from graphwright.operators.search.hipporag import PhraseSeeds, SharedWords, Specific
from graphwright.operators.search.search import VectorSearch
from graphwright.operators.search.triples import TripleSearch
from graphwright.operators.select.summed import SummedSources
from graphwright.operators.subgraph.narrow import Only
from graphwright.operators.subgraph.statements import OnStatements
from graphwright.operators.subgraph.walk import PersonalizedPageRank

__all__ = ["hipporag", "hipporag2"]


def hipporag(
    ix: Snapshot, passages: int = 20, nodes: int = 1000, restart: float = 0.5, *, llm: LLM | None = None
) -> Operator:
    """Passages by the PageRank of the entities that they mention, from those that the question names (HippoRAG).

    `restart`: 1 minus the damping factor; `nodes`: entities that are ranked. A language model lists the names, each
    linked to the nearest entity; without one they are found as Link finds them. Seeds weigh by node specificity. A
    question that names nothing is searched with by its vector.
    """
    named = (Link(ix.names) if llm is None else Keywords(llm)) >> Specific(ix.names)
    walk = named >> OnStatements(PersonalizedPageRank(restart) % nodes)
    found = OrElse(walk, VectorSearch(ix.passages) % passages)
    return found >> answering(ix, passages, llm, sources=SummedSources(passages))


def hipporag2(
    ix: Snapshot,
    passages: int = 20,
    pool: int = 20,
    triples: int = 5,
    nodes: int = 1000,
    restart: float = 0.5,
    weight: float = 0.05,
    *,
    llm: LLM | None = None,
) -> Operator:
    """Passages by PageRank from the triples that the question calls to mind, and from all passages (HippoRAG 2).

    `pool`, `triples`: triples that are looked at, and kept at most; a language model chooses them (recognition memory),
    without one those are kept that share the question's telling words. `weight`: what passages weigh beside the ends of
    these; `restart`: 1 minus the damping factor; `nodes`: nodes that are ranked. Where no triple is kept, passages come
    by their vectors.
    """
    recognised = SharedWords(ix.words) if llm is None else Choose(llm)
    near = Link(ix.names) >> TripleSearch(ix.triples, pool) >> recognised % triples
    walk = near >> PhraseSeeds(ix.passages, weight) >> PersonalizedPageRank(restart) % nodes >> Only(Kind.CHUNK)
    return OrElse(walk, VectorSearch(ix.passages)) % passages >> answering(ix, passages, llm)
