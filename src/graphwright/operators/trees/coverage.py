"""Rank items by the semantic cost of their nodes and the anchors that they miss (BubbleRAG)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from graphwright.constraints import Between
from graphwright.graph.evidence import Ints, Piece
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import Anchor, State
from graphwright.search.vector_index import VectorIndex

_EPSILON = 1e-6


_ONE_GROUP = 1.1  # divides the score of an item that covers one anchor only


@dataclass(frozen=True, repr=False)
class Coverage(Operator):
    """Rank items by the semantic cost of their nodes and the anchors that they miss (BubbleRAG, Eq. 5 and 6).

        Score(T) = 1 / (Cost_sem(T) · e^(alpha · r_miss) + 1e-6)

    Cost_sem is the mean of 1 - cos(question, node), at least 0, over all nodes of the item (1 for a node without a
    vector); r_miss is the weight of the anchors without a node or an edge in the item, as a share of all anchors. The
    score of an item of two or more nodes that covers one anchor only is divided by 1.1. `index`: vectors of nodes.
    `alpha`: α, 1 is balanced; far above 1 all anchors are required (AND), near 0 any one suffices (OR).

    >>> from graphwright import Evidence, Graph
    >>> from graphwright.models.fake import HashEncoder
    >>> from graphwright.operators.state import start
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c")])
    >>> index = VectorIndex.from_array(HashEncoder().encode(list(graph.names)), HashEncoder())
    >>> items = Evidence.of_paths(graph, [([0, 1], [0]), ([0, 1, 2], [0, 1])])
    >>> state = start("a or c?", graph, entities=["a", "c"], evidence=items)
    >>> (Coverage(index) % 1)(state).evidence.nodes.tolist()
    [0, 1, 2]
    """

    index: VectorIndex
    alpha: Annotated[float, Between(0, 700)] = 1.0  # e^701 is more than a float can hold
    needs = ("evidence", "anchors")
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        evidence, anchors = state.evidence, state.anchors
        if evidence is None or anchors is None:
            return state
        total = sum(anchor.weight for anchor in anchors) or 1.0
        items = [(np.union1d(nodes, state.graph.ends(edges)), edges) for nodes, edges in evidence]
        scores = []
        for (nodes, edges), cost in zip(items, self._semantic_costs(state, run, items), strict=True):
            covered = [_covers(nodes, edges, anchor) for anchor in anchors]
            missed = sum(a.weight for a, covers in zip(anchors, covered, strict=True) if not covers) / total
            score = 1 / (cost * math.exp(self.alpha * missed) + _EPSILON)
            scores.append(score / _ONE_GROUP if len(nodes) > 1 and sum(covered) == 1 else score)
        return state.with_(evidence=evidence.take(range(len(evidence)), scores))

    def _semantic_costs(self, state: State, run: Run, items: list[Piece]) -> list[float]:
        """Return Cost_sem of each item, 1 for an empty one."""
        if not items:
            return []
        every = np.unique(np.concatenate([nodes for nodes, _ in items]))
        costs = np.maximum(1 - self.index.cosines(every, self.index.encode(state.question.text, run)), 0)
        return [float(costs[np.searchsorted(every, nodes)].mean()) if len(nodes) else 1.0 for nodes, _ in items]


def _covers(nodes: Ints, edges: Ints, anchor: Anchor) -> bool:
    """Return whether an item has one of the anchor's nodes or edges."""
    pairs = ((anchor.nodes, nodes), (anchor.edges, edges))
    return any(not set(of_anchor.tolist()).isdisjoint(of_item.tolist()) for of_anchor, of_item in pairs)
