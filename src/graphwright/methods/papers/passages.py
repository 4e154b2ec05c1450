"""Passages found in turns: GAR, FastInsight, HyDE and IRCoT."""

from __future__ import annotations

from typing import Annotated

from graphwright.errors import OptionError
from graphwright.generate.contexts import CONTEXT_PASSAGES
from graphwright.methods.answering import answering
from graphwright.methods.house import DEPTH, blended, both, entity_means
from graphwright.methods.method import (
    Blend,
    CorpusRelations,
    FirstSearch,
    Help,
    Method,
    OptionalCrossEncoder,
    OptionalLLM,
    TopK,
)
from graphwright.models.embedded.cross_encoder import MiniLMCrossEncoder
from graphwright.models.protocols import CrossEncoder
from graphwright.operators.control import OnGraph, Reached, Repeat
from graphwright.operators.operator import Keep, Operator
from graphwright.operators.rerank.rerank import GRanker, Rerank
from graphwright.operators.search.reword import (
    Feedback,
    FollowUp,
    HasThoughts,
    HypotheticalPassage,
    SentenceThought,
    Think,
)
from graphwright.operators.search.search import VectorSearch
from graphwright.operators.select import ToPassages
from graphwright.operators.subgraph.narrow import Frontier, STeX, Unseen
from graphwright.operators.subgraph.views import RELATIONS, EntityGraph, PassageGraph
from graphwright.search.snapshot import Snapshot
from graphwright.search.vector_index import VectorIndex


def gar(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    batch: Annotated[int, Help("b, the passages read at a time")] = 10,
    budget: Annotated[int, Help("c, the passages read in all")] = 100,
    relations: CorpusRelations = RELATIONS,
    blend: Blend = 1.0,
    *,
    first: FirstSearch = None,
    cross_encoder: OptionalCrossEncoder = None,
    llm: OptionalLLM = None,
) -> Method:
    """Rerank by a cross-encoder that alternates between search results and neighbours of the best (GAR, Algorithm 1).

    Without neighbours, only search results are added. The `blend` with the search is not in the paper.
    """
    if not 1 <= batch <= budget:
        raise OptionError(f"gar(batch={batch!r}, budget={budget!r}): batch must be 1 to budget.")
    search = first or both(ix, max(budget, DEPTH))
    rank = Rerank(cross_encoder or MiniLMCrossEncoder())
    alternate = (Keep() | Frontier() % batch) >> rank >> (Keep() | Unseen(search) % batch) >> rank
    adaptive = search % batch >> rank >> Repeat(alternate, until=Reached(nodes=budget))
    ranked = blended(search % budget, adaptive, blend)
    return Method(OnGraph(PassageGraph(relations=relations), ranked) % top_k >> ToPassages(), *answering(ix, llm))


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


def hyde(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    feedback: Annotated[
        int, Help("without a language model, the first passages of a search, which move the question's vector")
    ] = 5,
    beta: Annotated[float, Help("weight of the feedback passages relative to the question")] = 0.75,
    *,
    llm: OptionalLLM = None,
) -> Method:
    """Rank passages by nearness to a hypothetical passage that answers the question, offline by feedback (HyDE)."""
    if llm is not None:
        return Method(HypotheticalPassage(ix.passages, llm) % top_k >> ToPassages(), *answering(ix, llm))
    first = VectorSearch(ix.passages) % feedback
    return Method(first >> Feedback(ix.passages, beta) % top_k >> ToPassages(), *answering(ix))


def ircot(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    k: Annotated[int, Help("K, the passages of each search")] = 20,
    steps: Annotated[int, Help("the most thoughts")] = 3,
    shown: Annotated[int, Help("the best passages so far, from which the next thought comes")] = 5,
    *,
    first: FirstSearch = None,
    llm: OptionalLLM = None,
) -> Method:
    """Rank passages of successive searches, by the question and then by each thought (IRCoT).

    A language model writes the thoughts, and stops when the passages are enough. Without a language model the next
    query is the question with the nearest sentence of the best passages. The paper searches by BM25.
    """
    if steps < 1:
        raise OptionError(f"ircot(steps={steps!r}): steps must be at least 1.")
    search = FollowUp((first or both(ix, max(k, DEPTH))) % k)
    thought = SentenceThought(ix.encoder, shown) if llm is None else Think(llm, shown)
    loop = Repeat(thought >> search, until=HasThoughts(steps))
    return Method((search >> loop) % top_k >> ToPassages(), *answering(ix, llm))
