"""PropRAG: PageRank from paths of propositions, which a beam search finds without a language model."""

from __future__ import annotations

from typing import Annotated

from graphwright.generate.passage_budget import CONTEXT_PASSAGES
from graphwright.graph.graph import Kind
from graphwright.methods.answering import answering
from graphwright.methods.house import both
from graphwright.methods.method import Method
from graphwright.methods.options import Help, OptionalLLM, SeedWeight, TopK
from graphwright.operators.control import HasEvidence, If
from graphwright.operators.operator import Keep
from graphwright.operators.paths.propositions import PropositionPaths
from graphwright.operators.search.search import VectorSearch
from graphwright.operators.search.seeds import PathSeeds
from graphwright.operators.select import ToPassages
from graphwright.operators.subgraph.narrow import Induce, Only
from graphwright.operators.subgraph.pagerank import PersonalizedPageRank
from graphwright.operators.subgraph.random_walk import KHop
from graphwright.search.snapshot import Snapshot


def proprag(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    focus: Annotated[int, Help("passages that the first stage finds")] = 50,
    width: Annotated[int, Help("paths that stay in the beam")] = 4,
    length: Annotated[int, Help("the most propositions of a path")] = 3,
    reread: Annotated[
        int, Help("paths of each length that are encoded again as one text (40 in the paper; 0 for means of vectors)")
    ] = 0,
    nodes: Annotated[int, Help("nodes that the first PageRank ranks")] = 1000,
    weight: SeedWeight = 0.05,
    *,
    llm: OptionalLLM = None,
) -> Method:
    """Rank passages by PageRank from entities of the best paths of propositions, after a beam search (PropRAG).

    Two stages: PageRank from the 40 entities of the 20 nearest propositions finds some passages; over these and their
    entities a beam search finds paths of propositions, whose best entities seed a second PageRank. Without vectors
    of triples the first stage is the search of `hybrid`.
    """
    dense = If(HasEvidence(), Keep(), VectorSearch(ix.passages))
    near = PropositionPaths(ix.triples, width=20, length=1) >> PathSeeds(ix.passages, 20, 40, weight, scored=False)
    wide = near >> PersonalizedPageRank(0.25) % nodes >> Only(Kind.CHUNK)
    first = both(ix, focus) if ix.triples is None else wide >> dense
    paths = PropositionPaths(ix.triples, width, length, reread=reread) >> PathSeeds(ix.passages, weight=weight)
    walk = paths >> PersonalizedPageRank(0.55) >> Only(Kind.CHUNK) >> dense
    return Method(first % focus >> KHop(1) >> Induce() >> walk % top_k >> ToPassages(), *answering(ix, llm))
