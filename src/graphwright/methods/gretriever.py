"""G-Retriever: the tree of the graph that collects most of what is near the question at the least cost."""

from __future__ import annotations

from graphwright.generate.paths import PathPrompt
from graphwright.index.snapshot import Snapshot
from graphwright.index.vector_index import VectorIndex
from graphwright.methods.passages import answering
from graphwright.models.protocols import LLM
from graphwright.operators.operator import Operator
from graphwright.operators.trees.prize_tree import Prizes, PrizeSources, PrizeTree

__all__ = ["g_retriever"]

_SHOWN = 5  # passages beside the tree, to be quoted


def g_retriever(
    ix: Snapshot,
    passages: int = 20,
    k: int = 10,
    cost: float = 0.5,
    *,
    nodes: VectorIndex | None = None,
    llm: LLM | None = None,
) -> Operator:
    """Passages behind the tree of most prizes: what is nearest to the question, and what joins it (G-Retriever).

    `k`: the nodes, and the edges, that have prizes k, k - 1, …, 1; `cost`: of an edge, C_e. `nodes`: the vectors by
    which nodes have them, by default those of passages, which are nodes of the graph here; give `ix.names` for entities
    alone. Edges have them where triples are embedded (Settings(embed=("passages", "triples"))). A language model is
    shown the tree and the best passages; the paper's trained graph encoder is not a part of it.
    """
    prizes = Prizes(nodes or ix.passages, ix.triples, k)
    prompt = PathPrompt(passages=_SHOWN)
    return PrizeTree(prizes, cost) >> answering(
        ix, passages, llm, sources=PrizeSources(passages, prizes), prompt=prompt
    )
