"""Graph search from seed nodes: personalised PageRank, k hops, random walks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.kernels.hops import khop, random_walk
from graphwright.kernels.ppr import push_ppr
from graphwright.operators.operator import Operator, Ranker
from graphwright.operators.run import Run
from graphwright.operators.state import State

__all__ = ["KHop", "PersonalizedPageRank", "RandomWalk", "seed_groups", "seeds"]


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


Found = tuple[NDArray[np.int32], NDArray[np.float64]]


@dataclass(frozen=True, repr=False)
class PersonalizedPageRank(Ranker):
    """Nodes by the share of time that a walk returning to the seeds spends there (LEGO-GraphRAG, SE by PPR).

    `restart`: probability of going back to the seeds at each step (1 minus the damping factor; LEGO
    does not state it). With `each`, one run per anchor (per piece of evidence), united: a node has
    its best score. The graph is seen undirected. Cut to k it pushes until the k best are stable.

    >>> from graphwright.operators.state import start; from graphwright.graph.graph import Graph
    >>> line = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("c", "r", "d")])
    >>> PersonalizedPageRank()(start("?", line, entities=["a"])).evidence.nodes.tolist()
    [1, 0, 2, 3]
    """

    restart: float = 0.15
    each: bool = False
    needs = ("evidence|anchors",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        if not 0 < self.restart < 1:
            raise OptionError(f"PersonalizedPageRank(restart={self.restart!r}): a probability between 0 and 1.")

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Rank the nodes that the walk reaches."""
        runs = [self._run(state, *at, k) for at in _starts(state, self.each)]
        nodes, scores = _united(runs)
        return state.with_(evidence=Evidence.of_nodes(state.graph.at(nodes), scores).top(k or len(nodes)))

    def _run(self, state: State, nodes: Ints, weights: NDArray[np.float64], k: int | None) -> Found:
        return push_ppr(*state.graph.adjacency, nodes, weights, restart=self.restart, k=k)


@dataclass(frozen=True, repr=False)
class KHop(Operator):
    """Nodes within `k` hops of the seeds, nearest first, with the score 1/(1 + hops) (LEGO-GraphRAG, KSE, 3.2.1 b).

    One search from all seeds finds what one from each would, united. The nodes grow with the k-th power of the degrees,
    and `%` cuts the farthest by id, so LEGO's systems rather put PPR behind it (footnote 19 of the paper):

        KHop(2) >> Induce() >> PersonalizedPageRank(each=True) % 1000 >> Induce()

    >>> from graphwright.operators.state import start; from graphwright.graph.graph import Graph
    >>> line = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("c", "r", "d")])
    >>> found = KHop(2)(start("?", line, entities=["a"])).evidence; found.nodes.tolist(), found.scores.round(2).tolist()
    ([0, 1, 2], [1.0, 0.5, 0.33])
    """

    k: int
    needs = ("evidence|anchors",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not hasattr(self.k, "__index__") or self.k < 0:
            raise OptionError(f"KHop({self.k!r}): the number of hops is a whole number, 0 or more.")

    def apply(self, state: State, run: Run) -> State:
        """Find the nodes."""
        nodes, hops = khop(*state.graph.adjacency, seeds(state)[0], self.k)
        return state.with_(evidence=Evidence.of_nodes(state.graph.at(nodes), 1.0 / (1.0 + hops)))


@dataclass(frozen=True, repr=False)
class RandomWalk(Operator):
    """Nodes by how often seeded random walks from the seeds visit them (LEGO-GraphRAG, RW, section 3.2.1 a).

    `walks` walks of at most `length` steps each, going back to a seed with probability `restart`; the
    same `seed` gives the same walks. The score is the share of all visits. With `each`, that many walks per anchor (per
    piece of evidence), united: a node has its best score. `% k` keeps the k most visited.

    >>> from graphwright.operators.state import start; from graphwright.graph.graph import Graph
    >>> line = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("c", "r", "d")])
    >>> (RandomWalk(length=1, each=True) % 3)(start("?", line, entities=["a", "d"])).evidence.scores.tolist()
    [0.5, 0.5, 0.5]
    """

    walks: int = 1000
    length: int = 10
    restart: float = 0.0
    seed: int = 0
    each: bool = False
    needs = ("evidence|anchors",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        if self.walks < 1 or self.length < 1 or not 0 <= self.restart < 1:
            raise OptionError(f"{self!r}: walks and length are 1 or more, restart is at least 0 and below 1.")

    def apply(self, state: State, run: Run) -> State:
        """Walk, and count visits."""
        nodes, scores = _united([self._run(state, *at) for at in _starts(state, self.each)])
        return state.with_(evidence=Evidence.of_nodes(state.graph.at(nodes), scores))

    def _run(self, state: State, nodes: Ints, weights: NDArray[np.float64]) -> Found:
        found, visits = random_walk(
            *state.graph.adjacency,
            nodes,
            weights,
            walks=self.walks,
            steps=self.length,
            restart=self.restart,
            seed=self.seed,
        )
        return found, visits / max(visits.sum(), 1)


def _starts(state: State, each: bool) -> list[tuple[Ints, NDArray[np.float64]]]:
    """Return the seeds and weights of each run: one from all of them, or one for each anchor or piece."""
    groups = seed_groups(state)
    return [seeds(state, group) for group in ([[one] for one in groups] if each else [groups])]


def _united(runs: list[Found]) -> Found:
    """Return every node that a run found, with the best of its scores."""
    if len(runs) == 1:
        return runs[0]
    if not runs:
        return np.empty(0, np.int32), np.empty(0)
    nodes, at = np.unique(np.concatenate([n for n, _ in runs]), return_inverse=True)
    scores = np.zeros(len(nodes))
    np.maximum.at(scores, at, np.concatenate([s for _, s in runs]))
    return nodes, scores
