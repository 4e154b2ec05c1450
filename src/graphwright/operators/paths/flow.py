"""Flow-based path retrieval: the most reliable paths between the evidence nodes (PathRAG)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from graphwright.constraints import AtLeast, Between
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
    """Return the texts of all parallel edges of each step of a path; for an item that is not a path, its default text.

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
    """Find paths between the evidence nodes, ranked by the resource that flows along them (PathRAG, Eq. 2 to 4).

    `decay`: α, the share of its resource that a node passes on. `threshold`: θ; a node passes nothing on where
    resource / degree is below it. `hops`: the most edges of a path. `per_pair`: paths kept for each pair of nodes.
    `graphwright.kernels.flow.flow_paths` has the formulas. The graph counts as undirected. Between two nodes a path
    names the smallest edge, and its text has all of them. `max_edges`: the most edges looked at from one node for paths
    of more than three hops; where they do not suffice its paths stay shorter, and the trace notes it.

    The paper does not state θ. The default was chosen on MuSiQue (100 questions, the graph of its OpenIE triples,
    without passages, N = 40, K = 15): the 20 nearest passages behind the paths include 38, 54, 57, 58 and 57 % of the
    gold ones at θ = 0.1, 0.01, 0.001, 0.0001 and 0. Below 0.0001 nothing is gained, and large graphs take far longer.

    >>> from graphwright.operators.state import start
    >>> graph = Graph.from_triples([("Lothair II", "wife", "Waldrada"), ("Waldrada", "child", "Gisela")])
    >>> evidence = FlowPaths()(start("?", graph, evidence=Evidence.of_nodes([0, 2]))).evidence
    >>> evidence.piece(0)[0].tolist(), evidence.piece(0)[1].tolist(), evidence.scores.round(4).tolist()
    ([0, 1, 2], [0, 1], [0.9725])
    """

    decay: Annotated[float, Between(0, 1, open_low=True)] = 0.7
    threshold: Annotated[float, AtLeast(0)] = THRESHOLD
    hops: Annotated[int, AtLeast(1)] = 3
    per_pair: Annotated[int, AtLeast(1)] = 3
    max_edges: Annotated[int, AtLeast(1)] = MAX_EDGES
    needs = ("evidence",)
    gives = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Find the paths."""
        evidence, graph = state.evidence, state.graph
        if evidence is None:
            return state
        ends = graph.local(np.concatenate((evidence.nodes, graph.ends(evidence.edges))))
        table = flow_paths(
            *graph.adjacency,
            ends,
            decay=self.decay,
            threshold=self.threshold,
            hops=int(self.hops),
            per_pair=int(self.per_pair),
            max_edges=int(self.max_edges),
        )
        if table.shortened:
            run.note(
                f"paths from {table.shortened} of {len(np.unique(ends))} nodes are shorter than {self.hops} hops: the "
                f"limit of {self.max_edges:,} edges is reached; raise `threshold` or `max_edges`"
            )
        return state.with_(evidence=_path_evidence(graph, table.nodes[:k], table.scores[:k]))


def _path_evidence(graph: Graph, table: NDArray[np.int32], scores: NDArray[np.float64]) -> Evidence:
    """Return paths of local positions, best first, as evidence; local positions ascend with ids."""
    inside = table >= 0
    steps = np.stack((table[:, :-1], table[:, 1:]), axis=-1)[inside[:, 1:]]
    # Paths of one pair of nodes share most of their steps; each edge is searched once.
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
    """Select the evidence and further edges, for `ToPassages(items=...)`.

    `edges`: a function that returns the edges, such as GlobalEdges.
    """

    edges: Callable[[State, Run], Ints]

    def __call__(self, state: State, run: Run) -> Evidence:
        """Return the evidence, unscored, followed by the edges."""
        evidence = Evidence.of_nodes([]) if state.evidence is None else state.evidence
        return evidence.unscored().union(Evidence.of_edges(self.edges(state, run)))
