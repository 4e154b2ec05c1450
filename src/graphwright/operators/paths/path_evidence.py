"""Paths as evidence: their start nodes, edges and texts."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from graphwright.graph.evidence import Evidence, Ints, Render, Scores, item_text
from graphwright.graph.graph import Graph
from graphwright.graph.items import Item, ItemKind, Steps
from graphwright.kernels.paths import joining_edges
from graphwright.operators.state import State
from graphwright.operators.subgraph.seed_nodes import seed_groups


def query_entities(state: State) -> Ints:
    """Return the start nodes of paths, as local positions in `state.graph`, distinct and ascending."""
    groups = seed_groups(state if state.anchors is None else state.with_(evidence=None))
    return state.graph.local(np.unique(np.concatenate([np.empty(0, np.int64), *(nodes for nodes, _ in groups)])))


def edges_between(graph: Graph, sources: Ints, targets: Ints) -> Ints:
    """Return the smallest edge, in either direction, of each pair of joined nodes; nodes and edges by snapshot id."""
    c = graph.columns
    inside = None if graph.whole else graph.edges
    return joining_edges(sources, targets, c.out, c.into, c.heads, c.tails, inside)


def path_evidence(
    graph: Graph, nodes: Ints, ptr: Ints, scores: Scores | None = None, render: Render = item_text
) -> Evidence:
    """Return ranked paths as evidence, with the smallest edges between their nodes.

    `nodes`: of all paths, end to end, by snapshot id; path i is `nodes[ptr[i] : ptr[i + 1]]`.
    """
    last = np.zeros(len(nodes), bool)
    last[ptr[1:] - 1] = True
    at = np.flatnonzero(~last)
    edges, edge_ptr = edges_between(graph, nodes[at], nodes[at + 1]), ptr - np.arange(len(ptr))
    forward, kinds = graph.columns.heads[edges] == nodes[at], np.full(len(ptr) - 1, ItemKind.PATH, np.uint8)
    for part in (nodes, ptr, edges, edge_ptr, scores):
        if part is not None:
            part.flags.writeable = False
    return Evidence(nodes, ptr, edges, edge_ptr, kinds, Steps(edges, forward, edge_ptr), scores, render)


def path_text(graph: Graph, item: Item) -> str:
    """Return the texts of all parallel edges of each step of a path; for an item that is not a path, its default text.

    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "t", "a"), ("b", "s", "c")])
    >>> Evidence.of_paths(graph, [([0, 1, 2], [0, 2])], render=path_text).texts(graph)
    ['a r b; b t a; b s c']
    """
    if item.kind != ItemKind.PATH:
        return item_text(graph, item)
    steps = (graph.edges_between(a, b).tolist() for a, b in pairwise(item.nodes))
    return "; ".join(graph.edge_text(edge) for step in steps for edge in step)
