"""FastInsight: vector search, then graph-smoothed reranking alternating with semantic-topological expansion."""

from __future__ import annotations

from typing import Annotated

from graphwright.errors import OptionError
from graphwright.generate.passage_budget import CONTEXT_PASSAGES
from graphwright.methods.answering import answering
from graphwright.methods.house import blended, entity_means
from graphwright.methods.method import Method
from graphwright.methods.options import Blend, CorpusRelations, Help, OptionalCrossEncoder, OptionalLLM, TopK
from graphwright.models.embedded.cross_encoder import MiniLMCrossEncoder
from graphwright.models.protocols import CrossEncoder
from graphwright.operators.control import OnGraph, Reached, Repeat
from graphwright.operators.operator import Keep, Operator
from graphwright.operators.rerank.rerank import GRanker
from graphwright.operators.search.search import VectorSearch
from graphwright.operators.select import ToPassages
from graphwright.operators.subgraph.frontier import STeX
from graphwright.operators.subgraph.views import RELATIONS, EntityGraph, PassageGraph
from graphwright.search.snapshot import Snapshot
from graphwright.search.vector_index import VectorIndex

Batch = Annotated[int, Help("BATCH, the passages or entities added at a time")]
Budget = Annotated[int, Help("b_max, the passages or entities read in all")]
Alpha = Annotated[float, Help("share of a node's neighbours in its cross-encoder latents (see GRanker)")]
Beta = Annotated[float, Help("weight of the graph relative to similarity in the expansion (see STeX)")]


def fastinsight(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    batch: Batch = 10,
    budget: Budget = 100,
    alpha: Alpha = 0.2,
    beta: Beta = 1.0,
    relations: CorpusRelations = RELATIONS,
    blend: Blend = 1.0,
    *,
    cross_encoder: OptionalCrossEncoder = None,
    llm: OptionalLLM = None,
) -> Method:
    """Rank passages by a reranker smoothed over the graph, expanded along references (FastInsight, Algorithm 1).

    The `blend` with vector search is not in the paper.
    """
    search = _expanded(ix.passages, batch, budget, alpha, beta, cross_encoder)
    ranked = blended(VectorSearch(ix.passages) % budget, search, blend)
    return Method(OnGraph(PassageGraph(relations=relations), ranked) % top_k >> ToPassages(), *answering(ix, llm))


def fastinsight_entities(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    batch: Batch = 10,
    budget: Budget = 100,
    alpha: Alpha = 0.2,
    beta: Beta = 1.0,
    sentences: Annotated[
        int, Help("the first sentences that state an entity's edges, which are read with it (see EntityGraph)")
    ] = 5,
    *,
    cross_encoder: OptionalCrossEncoder = None,
    llm: OptionalLLM = None,
) -> Method:
    """Rank passages by the entities that FastInsight finds in the entity graph (FastInsight, section 4.2.2).

    As `fastinsight`, on a knowledge graph with texts: an entity is read as its name, its description, and sentences;
    its vector is the mean of those of its passages (see entity_vectors). Passages are ranked by the best entity that
    they mention.
    """
    search = _expanded(entity_means(ix), batch, budget, alpha, beta, cross_encoder)
    return Method(OnGraph(EntityGraph(sentences), search) >> ToPassages(top_k), *answering(ix, llm))


def _expanded(
    vectors: VectorIndex, batch: int, budget: int, alpha: float, beta: float, cross_encoder: CrossEncoder | None
) -> Operator:
    """Return Algorithm 1 over the nodes that have vectors."""
    if not 1 <= batch <= budget:
        raise OptionError(f"fastinsight(batch={batch!r}, budget={budget!r}): batch must be 1 to budget.")
    rank = GRanker(cross_encoder or MiniLMCrossEncoder(), alpha)
    expand = Repeat((Keep() | STeX(vectors, beta) % batch) >> rank, until=Reached(nodes=budget))
    return VectorSearch(vectors) % batch >> rank >> expand
