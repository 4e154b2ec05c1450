"""Paths between nodes, ranked by the resource that flows along them (PathRAG)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast, Between
from graphwright.graph.evidence import Evidence, Ints
from graphwright.kernels.flow import MAX_EDGES, flow_paths
from graphwright.operators.operator import Ranker
from graphwright.operators.paths.path_evidence import path_evidence, path_text
from graphwright.operators.run import Run
from graphwright.operators.state import State

THRESHOLD = 1e-4
"""Default θ of FlowPaths."""


@dataclass(frozen=True, repr=False)
class FlowPaths(Ranker):
    """Find paths between the evidence nodes, ranked by the resource that flows along them (PathRAG, Eq. 2 to 4).

    `decay`: α, the share of its resource that a node passes on. `threshold`: θ; a node passes nothing on where resource
    / degree is below it. `hops`: maximum edges of a path. `per_pair`: paths kept for each pair of nodes.
    `graphwright.kernels.flow.flow_paths` has the formulas. The graph counts as undirected. Between two nodes a path has
    the smallest edge, and its text has all edges. `max_edges`: maximum edges read from a node for paths of more than
    three hops; beyond it paths stay shorter, and the trace notes it.

    The paper does not state θ. The default was chosen on MuSiQue (100 questions, the graph of its OpenIE triples,
    without passages, N = 40, K = 15): the 20 nearest passages of the paths include 38, 54, 57, 58 and 57 % of the gold
    passages at θ = 0.1, 0.01, 0.001, 0.0001 and 0. Below 0.0001 nothing is gained, and large graphs take far longer.

    >>> from graphwright import Graph, start
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
        evidence, graph = state.items, state.graph
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
        inside = table.nodes[:k] >= 0
        ptr = np.concatenate((np.zeros(1, np.int64), np.cumsum(inside.sum(axis=1))))
        paths = path_evidence(graph, graph.at(table.nodes[:k][inside]), ptr, table.scores[:k].copy(), path_text)
        return state.with_(evidence=paths)


@dataclass(frozen=True)
class WithEdges:
    """Select the evidence and further edges, for `ToPassages(items=...)`.

    `edges`: a function that returns the edges, such as GlobalEdges.
    """

    edges: Callable[[State, Run], Ints]

    def __call__(self, state: State, run: Run) -> Evidence:
        """Return the evidence followed by the edges, each a path of one edge; all have the same score."""
        edges = self.edges(state, run)
        ends = state.graph.ends(edges).reshape(-1, 2)
        single = Evidence.of_paths(state.graph, [(pair, [edge]) for pair, edge in zip(ends, edges, strict=True)])
        items = state.items.unscored().union(single)
        return items.with_scores(np.ones(len(items)))
