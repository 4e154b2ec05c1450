"""Path retrieval by flow: the most reliable paths between what was found (PathRAG)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence, Ints, item_text
from graphwright.graph.graph import Graph
from graphwright.kernels.flow import MAX_EDGES, flow_paths
from graphwright.operators.operator import Ranker
from graphwright.operators.paths.paths import edges_between
from graphwright.operators.run import Run
from graphwright.operators.state import State

__all__ = ["FlowPaths", "WithEdges"]

THRESHOLD = 1e-4


def path_text(graph: Graph, nodes: Ints, edges: Ints) -> str:
    """Return the texts of all parallel edges of each step of a path; an item that is no path has its usual text.

    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "t", "a"), ("b", "s", "c")])
    >>> Evidence.of_pieces([([0, 1, 2], [0, 2])], render=path_text).texts(graph)
    ['a r b; b t a; b s c']
    """
    if len(nodes) != len(edges) + 1 or not len(edges):
        return item_text(graph, nodes, edges)
    steps = (graph.edges_between(a, b).tolist() for a, b in pairwise(nodes.tolist()))
    return "; ".join(graph.edge_text(edge) for step in steps for edge in step)


@dataclass(frozen=True, repr=False)
class FlowPaths(Ranker):
    """Paths between the nodes of the evidence, by the resource that flows along them (PathRAG, Eq. 2 to 4).

    `decay`: the paper's α, the share of its resource that a node passes on. `threshold`: its θ; a node passes nothing
    on where resource / degree is below it. `hops`: edges of a path at most. `per_pair`: paths kept for each pair of
    nodes. The formulas are with graphwright.kernels.flow.flow_paths. The graph is seen undirected; between two nodes a
    path names the smallest edge, and its text has all of them. `most`: edges looked at from one node beyond which its
    paths are not made longer, once they have three hops; then the trace notes it (longer ones multiply with each hop).

    The paper does not state θ. The default was chosen on MuSiQue (100 questions, the graph of its OpenIE triples,
    without passages, N = 40, K = 15), where the 20 nearest passages behind the paths hold 38, 54, 57, 58 and 57 % of
    the gold ones at θ = 0.1, 0.01, 0.001, 0.0001 and 0: less than 0.0001 gains nothing, and takes far longer on large
    graphs.

    >>> from graphwright.operators.state import start
    >>> graph = Graph.from_triples([("Lothair II", "wife", "Waldrada"), ("Waldrada", "child", "Gisela")])
    >>> found = FlowPaths()(start("?", graph, evidence=Evidence.of_nodes([0, 2]))).evidence
    >>> found.piece(0)[0].tolist(), found.piece(0)[1].tolist(), found.scores.round(4).tolist()
    ([0, 1, 2], [0, 1], [0.9725])
    """

    decay: float = 0.7
    threshold: float = THRESHOLD
    hops: int = 3
    per_pair: int = 3
    most: int = MAX_EDGES
    needs = ("evidence",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        if not 0 < self.decay <= 1:
            raise OptionError(f"FlowPaths(decay={self.decay!r}): a share above 0, at most 1.")
        if not 0 <= self.threshold < float("inf"):
            raise OptionError(f"FlowPaths(threshold={self.threshold!r}): a number, 0 or more.")
        for name in ("hops", "per_pair", "most"):
            value = getattr(self, name)
            if isinstance(value, bool) or not hasattr(value, "__index__") or value < 1:
                raise OptionError(f"FlowPaths({name}={value!r}): a whole number, 1 or more.")

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Find the paths."""
        found, graph = state.evidence, state.graph
        if found is None:
            return state
        ends = graph.local(np.concatenate((found.nodes, graph.ends(found.edges))))
        table = flow_paths(
            *graph.adjacency,
            ends,
            decay=self.decay,
            threshold=self.threshold,
            hops=int(self.hops),
            per_pair=int(self.per_pair),
            max_edges=int(self.most),
        )
        if table.shortened:
            run.note(
                f"paths from {table.shortened} of {len(np.unique(ends))} nodes are shorter than {self.hops} hops, "
                f"which would mean to look at more than {self.most:,} edges each; raise the threshold, or `most`"
            )
        return state.with_(evidence=_pieces(graph, table.nodes[:k], table.scores[:k]))


def _pieces(graph: Graph, table: NDArray[np.int32], scores: NDArray[np.float64]) -> Evidence:
    """Return paths of local positions as evidence; their order stays right, as positions ascend with ids."""
    inside = table >= 0
    steps = np.stack((table[:, :-1], table[:, 1:]), axis=-1)[inside[:, 1:]]
    # Paths of one pair share most of their steps, and an edge is looked for once.
    pairs, at = np.unique(steps, axis=0, return_inverse=True)
    edges = edges_between(graph, *graph.at(pairs.T))[at.reshape(-1)]
    length = inside.sum(axis=1)
    parts = graph.at(table[inside]), _pointers(length), edges, _pointers(length - 1), scores.copy()
    for part in parts:
        part.flags.writeable = False
    return Evidence(*parts, path_text)


def _pointers(lengths: Ints) -> Ints:
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))


@dataclass(frozen=True)
class WithEdges:
    """The evidence with further edges as items, for `ToPassages(items=...)`.

    `edges`: a function that gives the edges, such as GlobalEdges.
    """

    edges: Callable[[State, Run], Ints]

    def __call__(self, state: State, run: Run) -> Evidence:
        """Return the evidence, unscored, with the edges after it."""
        evidence = Evidence.of_nodes([]) if state.evidence is None else state.evidence
        return evidence.unscored().union(Evidence.of_edges(self.edges(state, run)))
