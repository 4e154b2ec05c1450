"""Seeds of searches through a graph: nodes with weights, of the evidence or the anchors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.evidence import Ints, Scores
from graphwright.operators.state import State


def seed_groups(state: State) -> list[tuple[Ints, float]]:
    """Return the seed nodes and the weight of each item of evidence, or of each anchor if there is no evidence.

    Nodes are snapshot ids; an edge counts for both its ends. Weights are the scores if none is below 0 and any is above
    0, else 1/rank. The nodes of a group share its weight.
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

    The weight of a seed outside the graph is dropped. Without seeds both arrays are empty.
    """
    groups = seed_groups(state) if groups is None else groups
    ids = np.concatenate([np.empty(0, np.int64), *(nodes for nodes, _ in groups)])
    sizes = np.array([len(nodes) for nodes, _ in groups], np.int64)
    shares = np.repeat(np.array([weight for _, weight in groups]) / np.maximum(sizes, 1), sizes)
    nodes, position = np.unique(ids, return_inverse=True)
    weights = np.bincount(position, shares, len(nodes)).astype(np.float64, copy=False)
    inside = state.graph.holds(nodes) & (weights > 0)
    nodes, weights = state.graph.local(nodes[inside]), weights[inside]
    return nodes, weights / weights.sum() if len(weights) else weights


def seeds_of_runs(state: State, each: bool) -> list[tuple[Ints, NDArray[np.float64]]]:
    """Return the seeds and weights of each computation: of all together, or of each anchor or item."""
    groups = seed_groups(state)
    return [seeds(state, group) for group in ([[single] for single in groups] if each else [groups])]


Visited = tuple[NDArray[np.int32], NDArray[np.float64]]
"""Local nodes and their scores."""


def united_runs(runs: list[Visited]) -> Visited:
    """Return every node that is reached, with its best score."""
    if len(runs) == 1:
        return runs[0]
    if not runs:
        return np.empty(0, np.int32), np.empty(0)
    nodes, position = np.unique(np.concatenate([ids for ids, _ in runs]), return_inverse=True)
    scores = np.zeros(len(nodes))
    np.maximum.at(scores, position, np.concatenate([values for _, values in runs]))
    return nodes, scores
