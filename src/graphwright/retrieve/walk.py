"""Graph searches that walk from seeds: personalised PageRank, k hops, random walks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence, Ints
from graphwright.kernels.hops import khop, random_walk
from graphwright.kernels.ppr import push_ppr
from graphwright.retrieve.operator import Operator, Ranker
from graphwright.retrieve.seeds import seed_groups, seeds
from graphwright.retrieve.state import State

__all__ = ["KHop", "PersonalizedPageRank", "RandomWalk"]

Found = tuple[NDArray[np.int32], NDArray[np.float64]]


@dataclass(frozen=True, repr=False)
class PersonalizedPageRank(Ranker):
    """Nodes by the share of time that a walk returning to the seeds spends there (LEGO-GraphRAG, SE by PPR).

    `restart`: probability of going back to the seeds at each step (1 minus the damping factor; LEGO
    does not state it). With `each`, one run per anchor (per piece of evidence), united: a node has
    its best score. The graph is seen undirected. Cut to k it pushes until the k best are stable.

    >>> from graphwright.retrieve.state import start; from graphwright.graph.graph import Graph
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

    def ranked(self, state: State, k: int | None) -> State:
        """Rank the nodes that the walk reaches."""
        groups = [[group] for group in seed_groups(state)] if self.each else [seed_groups(state)]
        runs = [self._run(state, *seeds(state, group), k) for group in groups]
        nodes, scores = runs[0] if len(runs) == 1 else _united(runs)
        return state.with_(evidence=Evidence.of_nodes(state.graph.nodes[nodes], scores).top(k or len(nodes)))

    def _run(self, state: State, nodes: Ints, weights: NDArray[np.float64], k: int | None) -> Found:
        return push_ppr(*state.graph.adjacency, nodes, weights, restart=self.restart, k=k)


@dataclass(frozen=True, repr=False)
class KHop(Operator):
    """Nodes within `k` hops of the seeds, nearest first; the score is 1/(1 + hops)."""

    k: int
    needs = ("evidence|anchors",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not hasattr(self.k, "__index__") or self.k < 0:
            raise OptionError(f"KHop({self.k!r}): the number of hops is a whole number, 0 or more.")

    def apply(self, state: State) -> State:
        """Find the nodes."""
        nodes, hops = khop(*state.graph.adjacency, seeds(state)[0], self.k)
        return state.with_(evidence=Evidence.of_nodes(state.graph.nodes[nodes], 1.0 / (1.0 + hops)))


@dataclass(frozen=True, repr=False)
class RandomWalk(Operator):
    """Nodes by how often seeded random walks from the seeds visit them.

    `walks` walks of at most `length` steps each, going back to a seed with probability `restart`; the
    same `seed` gives the same walks. The score is the share of all visits.
    """

    walks: int = 1000
    length: int = 10
    restart: float = 0.0
    seed: int = 0
    needs = ("evidence|anchors",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        if self.walks < 1 or self.length < 1 or not 0 <= self.restart < 1:
            raise OptionError(f"{self!r}: walks and length are 1 or more, restart is at least 0 and below 1.")

    def apply(self, state: State) -> State:
        """Walk, and count visits."""
        nodes, visits = random_walk(
            *state.graph.adjacency,
            *seeds(state),
            walks=self.walks,
            steps=self.length,
            restart=self.restart,
            seed=self.seed,
        )
        return state.with_(evidence=Evidence.of_nodes(state.graph.nodes[nodes], visits / max(visits.sum(), 1)))


def _united(runs: list[Found]) -> Found:
    if not runs:
        return np.empty(0, np.int32), np.empty(0)
    nodes, at = np.unique(np.concatenate([n for n, _ in runs]), return_inverse=True)
    scores = np.zeros(len(nodes))
    np.maximum.at(scores, at, np.concatenate([s for _, s in runs]))
    return nodes, scores
