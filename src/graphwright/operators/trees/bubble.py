"""Bubble expansion: small connected trees that join the anchors (BubbleRAG)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast
from graphwright.graph.evidence import Evidence, Ints
from graphwright.graph.graph import Graph
from graphwright.index.vector_index import VectorIndex
from graphwright.kernels.trees import Costs, Meeting, bubble, node_costs
from graphwright.operators.operator import Ranker
from graphwright.operators.run import Run
from graphwright.operators.state import Anchor, State

__all__ = ["Bubble"]

Item = tuple[list[int], list[int]]
"""Nodes and edges."""


@dataclass(frozen=True, repr=False)
class Bubble(Ranker):
    """Find connected items that join the anchors, in the order of discovery, unscored (BubbleRAG, Algorithm 1, Eq. 4).

    Each anchor is a group of terminals. Groups expand from their terminals through the graph by the sum of
    1 - cos(question, node), where terminals cost 0. When a group settles a node that others settled before, their paths
    to it form an item; so do the paths to two neighbours that one group settled from different terminals. An edge of an
    anchor makes both its ends terminals, and belongs to every item that starts at such a terminal. If no groups meet,
    the anchors' nodes and edges are the items. Between two nodes an item has the anchors' edge, else the smallest id.

    `index`: vectors of nodes (`joined(a, b)` for two kinds of nodes); a node without one costs 1. `hops`: h, the
    largest distance from the anchors. `budget`: B, the number of items with different nodes.

    >>> from graphwright.operators.state import start; from graphwright.models.fake import HashEncoder
    >>> kin = Graph.from_triples([("Lothair II", "mother", "Ermengarde"), ("Ermengarde", "died in", "851")])
    >>> index = VectorIndex.from_array(HashEncoder().encode(list(kin.names)), HashEncoder())
    >>> state = start("When did Lothair II's mother die?", kin, entities=["Lothair II", "851"])
    >>> Bubble(index)(state).evidence.texts(kin)
    ['Lothair II mother Ermengarde; Ermengarde died in 851']
    """

    index: VectorIndex
    hops: Annotated[int, AtLeast(0)] = 6
    budget: Annotated[int, AtLeast(1)] = 10
    needs = ("anchors",)
    gives = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Find the first items."""
        if state.anchors is None:
            return state
        terminals = _Terminals.of(state.anchors, state.graph)
        budget = self.budget if k is None else min(self.budget, k)
        meetings: list[Meeting] = []
        if len(terminals.rows) > 1:
            costs = _costs(self.index, state, run)
            meetings = bubble(*state.graph.adjacency, terminals.rows, costs, hops=self.hops, budget=budget)
        items = [terminals.item(state.graph, meeting) for meeting in meetings]
        evidence = Evidence.of_pieces(items or _single_items(state.anchors, state.graph))
        return state.with_(evidence=evidence if k is None else evidence.top(k))


@dataclass(frozen=True)
class _Terminals:
    """Terminals: `rows` (group, node, other end or -1) for the kernel; `edges`, the anchor's edge of each or -1.

    `anchor_edges`: the edges of anchors, the smallest for each pair of nodes.
    """

    rows: Ints
    edges: list[int]
    anchor_edges: dict[tuple[int, int], int]

    @classmethod
    def of(cls, anchors: Iterable[Anchor], graph: Graph) -> _Terminals:
        """Return the terminals of all anchors; an anchor with terminals in this graph is a group."""
        rows: list[tuple[int, int, int]] = []
        edges: list[int] = []
        group = 0
        anchors = list(anchors)
        for anchor in anchors:
            terminals = {v: (v, -1) for v in _nodes(anchor, graph)}
            for e in _edges(anchor, graph):
                head, tail = graph.ends([e]).tolist()
                terminals.setdefault(head, (tail, e))
                terminals.setdefault(tail, (head, e))
            for v, (other, e) in sorted(terminals.items()):
                rows.append((group, v, other if e >= 0 else -1))
                edges.append(e)
            group += bool(terminals)
        table = np.array(rows, np.int64).reshape(-1, 3)
        if not graph.whole:
            table[:, 1] = graph.local(table[:, 1])
            table[table[:, 2] >= 0, 2] = graph.local(table[table[:, 2] >= 0, 2])
        return cls(table, edges, _by_ends((e for anchor in anchors for e in _edges(anchor, graph)), graph))

    def item(self, graph: Graph, meeting: Meeting) -> Item:
        """Return the nodes and edges of a meeting in snapshot ids, each once, in walk order."""
        tied = [self.edges[origin] for origin in meeting.origins if self.edges[origin] >= 0]
        preferred = self.anchor_edges | _by_ends(tied, graph)
        nodes: dict[int, None] = {}
        edges: dict[int, None] = {}
        for walk in meeting.walks:
            ids = graph.at(list(walk)).tolist()
            nodes.update(dict.fromkeys(ids))
            for a, b in pairwise(ids):
                edge = preferred.get((min(a, b), max(a, b)))
                edges[_smallest_edge(graph, a, b) if edge is None else edge] = None
        return list(nodes), list(edges | dict.fromkeys(tied))


def _nodes(anchor: Anchor, graph: Graph) -> list[int]:
    ids = np.unique(anchor.nodes)
    return list(map(int, ids[graph.holds(ids)]))


def _edges(anchor: Anchor, graph: Graph) -> list[int]:
    """Return the anchor's edges in this graph, ascending."""
    ids = np.unique(anchor.edges)
    if not graph.whole and len(ids):
        ids = ids[np.isin(ids, graph.edges)]
    return list(map(int, ids))


def _by_ends(edges: Iterable[int], graph: Graph) -> dict[tuple[int, int], int]:
    """Return the smallest of these edges for each pair of nodes, the smaller node first."""
    smallest: dict[tuple[int, int], int] = {}
    for e in sorted(edges):
        head, tail = graph.ends([e]).tolist()
        smallest.setdefault((min(head, tail), max(head, tail)), e)
    return smallest


def _smallest_edge(graph: Graph, a: int, b: int) -> int:
    """Return the smallest edge between two neighbours, searched from the one with fewer edges."""
    out, into = graph.columns.out.indptr, graph.columns.into.indptr
    degrees = [int(p[v + 1] - p[v]) for v in (a, b) for p in (out, into)]
    fewer, other = (a, b) if sum(degrees[:2]) <= sum(degrees[2:]) else (b, a)
    return int(graph.edges_between(fewer, other)[0])


def _costs(index: VectorIndex, state: State, run: Run) -> Costs:
    (first, rows), *more = [(part.vectors, () if part.row_of is None else part.row_of) for part in index.parts]
    second, more_rows = more[0] if more else (None, ())
    ids = () if state.graph.whole else state.graph.nodes
    return node_costs(index.encode(state.question.text, run), first, rows, second, more_rows, ids)


def _single_items(anchors: Iterable[Anchor], graph: Graph) -> list[Item]:
    """Return each node and each edge of the anchors as an item, in the order of the anchors."""
    items: dict[tuple[tuple[int, ...], tuple[int, ...]], None] = {}
    for anchor in anchors:
        items.update(dict.fromkeys(((v,), ()) for v in _nodes(anchor, graph)))
        ends = ((tuple(dict.fromkeys(graph.ends([e]).tolist())), (e,)) for e in _edges(anchor, graph))
        items.update(dict.fromkeys(ends))
    return [(list(nodes), list(edges)) for nodes, edges in items]
