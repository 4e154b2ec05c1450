"""G-Retriever: the subtree of the graph that collects the largest prizes at the least cost."""

from __future__ import annotations

from typing import Annotated

from graphwright.generate.passage_budget import CONTEXT_PASSAGES
from graphwright.generate.path_contexts import PathContext
from graphwright.methods.answering import answering
from graphwright.methods.method import Method
from graphwright.methods.options import Help, OptionalLLM, TopK
from graphwright.operators.select import ToPassages
from graphwright.operators.trees.prize_tree import PrizedItems, Prizes, PrizeTree
from graphwright.search.snapshot import Snapshot
from graphwright.search.vector_index import VectorIndex


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
