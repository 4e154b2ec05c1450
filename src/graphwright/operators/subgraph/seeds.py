"""Where a walk begins: the nodes of the evidence or of the anchors, with weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.evidence import Ints, Scores
from graphwright.operators.state import State

__all__ = ["seed_groups", "seeds"]


def seed_groups(state: State) -> list[tuple[Ints, float]]:
    """Return the seed nodes of each piece of evidence, or of each anchor where there is no evidence.

    Nodes are snapshot ids, and come with the group's weight: the scores when all are 0 or more and one is above 0,
    else 1/rank. The nodes of a group share its weight; an edge stands for both its ends.
    """
    graph = state.graph
    if state.evidence is not None:
        nodes = [nodes if len(nodes) else graph.ends(edges) for nodes, edges in state.evidence]
        weights = _weights(len(nodes), state.evidence.scores)
    else:
        anchors = state.anchors or ()
        nodes = [anchor.seeds(graph) for anchor in anchors]
        weights = _weights(len(nodes), np.array([anchor.weight for anchor in anchors], np.float64))
    return [(ids, float(w)) for ids, w in zip(nodes, weights, strict=True)]


def _weights(count: int, scores: Scores | None) -> Scores:
    if scores is not None and count and (scores >= 0).all() and (scores > 0).any():
        return scores
    return 1.0 / np.arange(1, count + 1)


def seeds(state: State, groups: list[tuple[Ints, float]] | None = None) -> tuple[Ints, NDArray[np.float64]]:
    """Return distinct seeds as local positions in `state.graph`, ascending, with weights that sum to 1.

    A seed outside the graph takes its share of the weight with it. No seed: two empty arrays.
    """
    total: dict[int, float] = {}
    for ids, weight in seed_groups(state) if groups is None else groups:
        for node in ids.tolist():
            total[node] = total.get(node, 0.0) + weight / len(ids)
    nodes = np.array(sorted(total), np.int64)
    inside = state.graph.holds(nodes) if len(nodes) else np.zeros(0, bool)
    weights = np.array([total[v] for v in nodes.tolist()], np.float64)[inside]
    positive = weights > 0
    weights = weights[positive]
    return state.graph.local(nodes[inside][positive]), weights / weights.sum() if len(weights) else weights
