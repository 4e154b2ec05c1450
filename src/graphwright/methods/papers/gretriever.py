"""G-Retriever: the subtree of the graph that collects the largest prizes at the least cost."""

from __future__ import annotations

from graphwright.generate.passage_budget import CONTEXT_PASSAGES
from graphwright.generate.path_contexts import PathContext
from graphwright.methods.answering import answering
from graphwright.methods.method import Method
from graphwright.models.protocols import LLM
from graphwright.operators.select import ToPassages
from graphwright.operators.trees.prize_tree import PrizedItems, Prizes, PrizeTree
from graphwright.search.snapshot import Snapshot
from graphwright.search.vector_index import VectorIndex


def g_retriever(
    ix: Snapshot,
    top_k: int = CONTEXT_PASSAGES,
    k: int = 10,
    cost: float = 0.5,
    *,
    nodes: VectorIndex | None = None,
    llm: LLM | None = None,
) -> Method:
    """Rank passages by the subtree with the largest sum of prizes less edge costs (G-Retriever).

    `k`: the nodes, and the edges, nearest to the question, which have the prizes k, k - 1, …, 1; `cost`: that of an
    edge, C_e. `nodes`: vectors of the nodes that get prizes, by default those of passages, which are nodes of the graph
    here; give `ix.names` for entities alone. Edges have prizes if triples are embedded.

    A language model is shown the tree and the best passages; the paper's trained graph encoder is not included.
    """
    prizes = Prizes(nodes or ix.passages, ix.triples, k)
    sources = ToPassages(top_k, items=PrizedItems(prizes), summed=True)
    return Method(PrizeTree(prizes, cost) >> sources, *answering(ix, llm, PathContext()))
