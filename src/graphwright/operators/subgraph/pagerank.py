"""Nodes near the seeds: by PageRank, within some hops, or by random walks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from graphwright.constraints import AtLeast, Between
from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.graph.graph import Graph
from graphwright.kernels.hops import khop, random_walk
from graphwright.kernels.ppr import push_ppr
from graphwright.operators.operator import Operator, Ranker
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.search.snapshot import SnapshotCache


def seed_groups(state: State) -> list[tuple[Ints, float]]:
    """Return the seed nodes and the weight of each item of evidence, or of each anchor if there is no evidence.

    Nodes are snapshot ids, both ends of an edge; those of a group share its weight: the scores if none is below 0 and
    any is above 0, else 1/rank.
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
    """Return distinct seeds in `state.graph` as local positions, ascending, with weights that sum to 1."""
    items = state.evidence
    if groups is None and items is not None and items.only_nodes:
        ids, shares = items.nodes, _weights(len(items), items.scores)
    else:
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
    return [seeds(state, [single]) for single in seed_groups(state)] if each else [seeds(state)]


Visited = tuple[NDArray[np.int32], NDArray[np.float64]]  # local nodes and their scores


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


_Ranking = tuple[Ints, Scores]


@dataclass(frozen=True, repr=False)
class PageRank(Ranker):
    """Rank all nodes by PageRank, the same for every question (LEGO-GraphRAG, SE by PageRank, section 3.2.1 c).

    `restart`: probability of a jump to any node at each step (1 minus the damping factor). The graph counts as
    undirected. The ranking of a whole graph is computed once. To have the query entities among the best: `(PageRank() %
    nodes | KHop(0)) >> Induce()`.
    """

    restart: Annotated[float, Between(0, 1, open_low=True, open_high=True)] = 0.15
    scale = "share of a random walk that is at a passage, from 0 to 1"

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        graph = state.graph
        if graph.whole:
            nodes, scores = _rankings.get(graph.columns, self.restart, lambda: _page_rank(graph, self.restart))
        else:
            nodes, scores = _page_rank(graph, self.restart)
        return state.with_(evidence=Evidence.of_nodes(nodes, scores).top(k))


def _page_rank(graph: Graph, restart: float) -> _Ranking:
    nodes, scores = push_ppr(*graph.adjacency, np.arange(len(graph)), restart=restart)
    return graph.at(nodes), scores


_rankings: SnapshotCache[_Ranking] = SnapshotCache()


@dataclass(frozen=True, repr=False)
class PersonalizedPageRank(Ranker):
    """Rank nodes by personalised PageRank from the seeds (LEGO-GraphRAG, SE by PPR).

    `restart`: probability of returning to the seeds at each step (1 minus the damping factor; LEGO does not state it).
    `each`: one computation per anchor (per item of evidence); a node has its best score. Undirected.

    >>> from graphwright.operators.state import start; from graphwright.graph.graph import Graph
    >>> line = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("c", "r", "d")])
    >>> PersonalizedPageRank()(start("?", line, entities=["a"])).evidence.nodes.tolist()
    [1, 0, 2, 3]
    """

    restart: Annotated[float, Between(0, 1, open_low=True, open_high=True)] = 0.15
    each: bool = False
    needs = ("evidence|anchors",)
    scale = PageRank.scale

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        starts, adjacency = seeds_of_runs(state, self.each), state.graph.adjacency
        nodes, scores = united_runs([push_ppr(*adjacency, *start, restart=self.restart, k=k) for start in starts])
        return state.with_(evidence=Evidence.of_nodes(state.graph.at(nodes), scores).top(k))


@dataclass(frozen=True, repr=False)
class KHop(Operator):
    """Find the nodes within `k` hops of the seeds, nearest first, scored 1/(1 + hops) (LEGO-GraphRAG, KSE, 3.2.1 b).

    The number of nodes grows with the k-th power of the degrees, and `%` cuts the farthest by id, so LEGO's systems
    apply PPR after it (footnote 19): `KHop(2) >> Induce() >> PersonalizedPageRank(each=True) % 1000 >> Induce()`.

    >>> from graphwright.operators.state import start; from graphwright.graph.graph import Graph
    >>> line = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("c", "r", "d")])
    >>> evidence = KHop(2)(start("?", line, entities=["a"])).evidence
    >>> evidence.nodes.tolist(), evidence.scores.round(2).tolist()
    ([0, 1, 2], [1.0, 0.5, 0.33])
    """

    k: Annotated[int, AtLeast(0)]
    needs = ("evidence|anchors",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        nodes, hops = khop(*state.graph.adjacency, seeds(state)[0], self.k)
        return state.with_(evidence=Evidence.of_nodes(state.graph.at(nodes), 1.0 / (1.0 + hops)))


@dataclass(frozen=True, repr=False)
class RandomWalk(Operator):
    """Rank nodes by the share of visits of random walks from the seeds (LEGO-GraphRAG, RW, section 3.2.1 a).

    `walks`: the number of walks; `length`: the most steps of each; `restart`: probability of returning to a seed at
    each step; `seed`: of the random numbers. `each`: so many per anchor (item of evidence).
    """

    walks: Annotated[int, AtLeast(1)] = 1000
    length: Annotated[int, AtLeast(1)] = 10
    restart: Annotated[float, Between(0, 1, open_high=True)] = 0.0
    seed: int = 0
    each: bool = False
    needs = ("evidence|anchors",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        nodes, scores = united_runs([self._visited(state, *start) for start in seeds_of_runs(state, self.each)])
        return state.with_(evidence=Evidence.of_nodes(state.graph.at(nodes), scores))

    def _visited(self, state: State, nodes: Ints, weights: NDArray[np.float64]) -> Visited:
        visited, counts = random_walk(
            *state.graph.adjacency,
            nodes,
            weights,
            walks=self.walks,
            steps=self.length,
            restart=self.restart,
            seed=self.seed,
        )
        return visited, counts / max(counts.sum(), 1)
