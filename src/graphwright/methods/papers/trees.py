"""Connected subgraphs: BubbleRAG and G-Retriever."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from graphwright.generate.answer import AnswerIfEnough
from graphwright.generate.contexts import CONTEXT_PASSAGES, HybridContext
from graphwright.generate.path_contexts import PathContext
from graphwright.methods.answering import answering, either
from graphwright.methods.house import entity_means
from graphwright.methods.method import Help, Method, OptionalLLM, TopK
from graphwright.models.protocols import LLM
from graphwright.operators.anchors.group_anchors import GroupAnchors, GroupByModel
from graphwright.operators.anchors.keywords import (
    LatentKeywords,
    NamesAndPhrases,
    Relax,
    Specialise,
    SpecialiseInContext,
)
from graphwright.operators.control import Fallback, OnGraph
from graphwright.operators.grow import Grow, GrowByModel
from graphwright.operators.operator import Operator
from graphwright.operators.search.search import SharedBudget, VectorSearch
from graphwright.operators.select import ToPassages
from graphwright.operators.subgraph.views import StatementGraph
from graphwright.operators.trees import Bubble, Coverage, PrizedItems, Prizes, PrizeTree, Unite
from graphwright.search.snapshot import Snapshot
from graphwright.search.vector_index import VectorIndex


def anchor_groups(ix: Snapshot, llm: LLM | None = None, preview: int = CONTEXT_PASSAGES) -> Operator:
    """Return the steps from a question, and a preview of its passages, to weighted groups of anchors."""
    latent = partial(LatentKeywords, passages=preview)
    keywords = either(llm, latent, NamesAndPhrases()) >> either(llm, Specialise, SpecialiseInContext())
    offline = GroupAnchors(ix.names, ix.triples, ix.words)
    if llm is None:
        return keywords >> offline
    return keywords >> Relax(llm) >> Fallback(GroupByModel(ix.names, ix.triples, llm), offline)


def evidence_graphs(
    ix: Snapshot,
    n: int = 3,
    hops: int = 6,
    budget: int = 10,
    alpha: float = 1.0,
    depth: int = 6,
    llm: LLM | None = None,
) -> Operator:
    """Return the steps that find, rank and expand subgraphs that join groups of anchors; symbols as in `bubblerag`."""
    vectors = node_vectors(ix)
    best = OnGraph(StatementGraph(), Bubble(vectors, hops, budget) >> Coverage(vectors, alpha) % n)
    grow = Grow(ix.triples, depth) if llm is None else GrowByModel(ix.triples, depth, model=llm)
    return best >> grow


def node_vectors(ix: Snapshot) -> VectorIndex:
    """Return the vectors of entities: of their names, without those the means of their passages."""
    return entity_means(ix) if ix.names is None else ix.names


def bubblerag(
    ix: Snapshot,
    top_k: Annotated[int, Help("passages read in all, in the preview and at the end")] = CONTEXT_PASSAGES,
    n: Annotated[int, Help("subgraphs that remain")] = 3,
    hops: Annotated[int, Help("h, the largest distance from the anchors")] = 6,
    budget: Annotated[int, Help("B, the items of the expansion")] = 10,
    alpha: Annotated[float, Help("weight of covering all groups of anchors")] = 1.0,
    depth: Annotated[int, Help("d, the steps of the guided expansion of the subgraphs that remain")] = 6,
    preview: Annotated[int | None, Help("passages of the preview, by default a third of `top_k`")] = None,
    *,
    groups: Annotated[
        Operator | None, Help("replaces the steps to anchors, by default `anchor_groups`, for ablations")
    ] = None,
    graphs: Annotated[
        Operator | None, Help("replaces the steps to subgraphs, by default `evidence_graphs`, for ablations")
    ] = None,
    llm: OptionalLLM = None,
) -> Method:
    """Rank the passages behind connected subgraphs that join the concepts of the question (BubbleRAG).

    Passages that state the subgraphs come first, then those that name their entities; they and the preview are at most
    `top_k` together, and what they leave of it vector search fills (SharedBudget). With a language model each step is
    the paper's; without one AnswerIfEnough and Relax are left out, and the other steps have a twin.
    """
    count = max(top_k // 3, 1) if preview is None else min(preview, top_k)
    first = VectorSearch(ix.passages) % top_k >> ToPassages()
    if llm is not None:
        first >>= AnswerIfEnough(llm, count)
    steps = groups or anchor_groups(ix, llm, count)
    steps >>= graphs or evidence_graphs(ix, n, hops, budget, alpha, depth, llm)
    sources = Unite() >> SharedBudget(ToPassages(index=ix.passages), top_k, count)
    return Method(first >> steps >> sources, *answering(ix, llm, HybridContext()))


def g_retriever(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    k: Annotated[
        int, Help("the nodes, and the edges, nearest to the question, which have the prizes k, k - 1, …, 1")
    ] = 10,
    cost: Annotated[float, Help("C_e, the cost of an edge")] = 0.5,
    *,
    nodes: Annotated[
        VectorIndex | None,
        Help("vectors of the nodes that get prizes, by default those of passages; `ix.names` for entities alone"),
    ] = None,
    llm: OptionalLLM = None,
) -> Method:
    """Rank passages by the subtree with the largest sum of prizes less edge costs (G-Retriever).

    Edges have prizes if triples are embedded. A language model is shown the tree and the best passages; the paper's
    trained graph encoder is not included.
    """
    prizes = Prizes(nodes or ix.passages, ix.triples, k)
    sources = ToPassages(top_k, items=PrizedItems(prizes), summed=True)
    return Method(PrizeTree(prizes, cost) >> sources, *answering(ix, llm, PathContext()))
