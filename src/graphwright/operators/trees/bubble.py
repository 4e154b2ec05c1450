"""Small connected trees that join the anchors (BubbleRAG): their expansion, their ranking, and their union."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast, Between
from graphwright.graph.evidence import Evidence, Ints, Piece
from graphwright.graph.graph import Graph
from graphwright.kernels.bubble import Meeting, bubble, node_costs
from graphwright.operators.operator import Operator, Ranker
from graphwright.operators.paths.path_evidence import edges_between
from graphwright.operators.run import Run
from graphwright.operators.state import Anchor, State
from graphwright.search.vector_index import VectorIndex

Item = tuple[list[int], list[int]]
"""Nodes and edges."""


Key = tuple[tuple[int, ...], tuple[int, ...]]
"""Nodes and edges of an item, as a key."""


@dataclass(frozen=True, repr=False)
class Bubble(Ranker):
    """Find connected items that join the anchors, in the order of discovery, unscored (BubbleRAG, Algorithm 1, Eq. 4).

    Each anchor is a group of terminals. Groups expand from their terminals through the graph by the sum of
    1 - cos(question, node), where terminals cost 0. When a group settles a node that others settled before, their paths
    to it form an item; so do the paths to two neighbours that one group settled from different terminals. An edge of an
    anchor makes both its ends terminals, and belongs to every item that starts at such a terminal. If no groups meet,
    the anchors' nodes and edges are the items. Between two nodes an item has the anchors' edge, else the smallest id.

    `index`: vectors of nodes; a node without one costs 1. `hops`: h, the
    largest distance from the anchors. `budget`: B, the number of items. An item is dropped if its nodes contain those
    of an earlier item that covers the same groups, or are contained in them.

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
        if state.anchors is None:
            return state
        graph, anchors = state.graph, [_inside(anchor, state.graph) for anchor in state.anchors]
        terminals, edges = _terminals(anchors, graph)
        meetings: list[Meeting] = []
        if len(terminals) > 1:
            budget = self.budget if k is None else min(self.budget, k)
            rows = () if self.index.row_of is None else self.index.row_of
            query, ids = self.index.encode(state.question.text, run), () if graph.whole else graph.nodes
            costs = node_costs(query, self.index.vectors, rows, ids)
            meetings = bubble(*graph.adjacency, terminals, costs, hops=self.hops, budget=budget)
        of_anchors = _by_ends((e for _, ids in anchors for e in ids), graph)
        items = [_item(graph, meeting, edges, of_anchors) for meeting in meetings]
        return state.with_(evidence=Evidence.of_trees(graph, items or _single_items(anchors, graph)).top(k))


def _inside(anchor: Anchor, graph: Graph) -> Item:
    """Return the anchor's nodes and edges that are in this graph, ascending."""
    nodes = np.unique(anchor.nodes)
    return nodes[graph.holds(nodes)].tolist(), graph.inside(np.unique(anchor.edges)).tolist()


def _terminals(anchors: Sequence[Item], graph: Graph) -> tuple[Ints, list[int]]:
    """Return the terminals: rows (group, node, other end or -1) for the kernel; and the anchor's edge of each or -1.

    An anchor with terminals in this graph is a group; nodes are local positions.
    """
    rows: list[tuple[int, int, int]] = []
    edges: list[int] = []
    group = 0
    for nodes, ids in anchors:
        terminals = dict.fromkeys(nodes, (-1, -1))
        for e in ids:
            head, tail = graph.ends([e]).tolist()
            terminals.setdefault(head, (tail, e))
            terminals.setdefault(tail, (head, e))
        for node, (other, e) in sorted(terminals.items()):
            rows.append((group, node, other))
            edges.append(e)
        group += bool(terminals)
    table = np.array(rows, np.int64).reshape(-1, 3)
    with_edge = table[:, 2] >= 0
    table[:, 1] = graph.local(table[:, 1])
    table[with_edge, 2] = graph.local(table[with_edge, 2])
    return table, edges


def _item(graph: Graph, meeting: Meeting, edge_of: Sequence[int], of_anchors: dict[tuple[int, int], int]) -> Item:
    """Return the nodes and edges of a meeting in snapshot ids, each once, in walk order.

    `edge_of`: the edge of each terminal; `of_anchors`: the anchors' edge between two nodes.
    """
    tied = [edge_of[origin] for origin in meeting.origins if edge_of[origin] >= 0]
    preferred = of_anchors | _by_ends(tied, graph)
    nodes: dict[int, None] = {}
    edges: dict[int, None] = {}
    for walk in meeting.walks:
        ids = graph.at(list(walk)).tolist()
        nodes.update(dict.fromkeys(ids))
        for a, b in pairwise(ids):
            edge = preferred.get((min(a, b), max(a, b)))
            edges[int(edges_between(graph, np.array([a]), np.array([b]))[0]) if edge is None else edge] = None
    return list(nodes), list(edges | dict.fromkeys(tied))


def _by_ends(edges: Iterable[int], graph: Graph) -> dict[tuple[int, int], int]:
    """Return the smallest of these edges for each pair of nodes, the smaller node first."""
    smallest: dict[tuple[int, int], int] = {}
    for e in sorted(edges):
        head, tail = graph.ends([e]).tolist()
        smallest.setdefault((min(head, tail), max(head, tail)), e)
    return smallest


def _single_items(anchors: Sequence[Item], graph: Graph) -> Iterable[Key]:
    """Return each node and each edge of the anchors as an item, in the order of the anchors."""
    items: dict[Key, None] = {}
    for nodes, edges in anchors:
        items |= {((node,), ()): None for node in nodes}
        items |= {(tuple(dict.fromkeys(graph.ends([e]).tolist())), (e,)): None for e in edges}
    return items


_EPSILON = 1e-6


_ONE_GROUP = 1.1  # divides the score of an item that covers one anchor only


@dataclass(frozen=True, repr=False)
class Coverage(Operator):
    """Rank items by the semantic cost of their nodes and the anchors that they miss (BubbleRAG, Eq. 5 and 6).

        Score(T) = 1 / (Cost_sem(T) · e^(alpha · r_miss) + 1e-6)

    Cost_sem is the mean of 1 - cos(question, node), at least 0, over all nodes of the item (1 for a node without a
    vector); r_miss is the weight of the anchors without a node or an edge in the item, as a share of all anchors. The
    score of an item of two or more nodes that covers one anchor only is divided by 1.1. `index`: vectors of nodes.
    `alpha`: α, 1 is balanced; far above 1 all anchors are required (AND), near 0 any one suffices (OR).

    >>> from graphwright import Evidence, Graph
    >>> from graphwright.models.fake import HashEncoder
    >>> from graphwright.operators.state import start
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c")])
    >>> index = VectorIndex.from_array(HashEncoder().encode(list(graph.names)), HashEncoder())
    >>> items = Evidence.of_paths(graph, [([0, 1], [0]), ([0, 1, 2], [0, 1])])
    >>> state = start("a or c?", graph, entities=["a", "c"], evidence=items)
    >>> (Coverage(index) % 1)(state).evidence.nodes.tolist()
    [0, 1, 2]
    """

    index: VectorIndex
    alpha: Annotated[float, Between(0, 700)] = 1.0  # e^701 is more than a float can hold
    needs = ("evidence", "anchors")
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        evidence, anchors = state.evidence, state.anchors
        if evidence is None or anchors is None:
            return state
        total = sum(anchor.weight for anchor in anchors) or 1.0
        items = [(np.union1d(nodes, state.graph.ends(edges)), edges) for nodes, edges in evidence]
        scores = []
        for (nodes, edges), cost in zip(items, self._semantic_costs(state, run, items), strict=True):
            covered = [_covers(nodes, edges, anchor) for anchor in anchors]
            missed = sum(a.weight for a, covers in zip(anchors, covered, strict=True) if not covers) / total
            score = 1 / (cost * math.exp(self.alpha * missed) + _EPSILON)
            scores.append(score / _ONE_GROUP if len(nodes) > 1 and sum(covered) == 1 else score)
        return state.with_(evidence=evidence.take(range(len(evidence)), scores))

    def _semantic_costs(self, state: State, run: Run, items: list[Piece]) -> list[float]:
        """Return Cost_sem of each item, 1 for an empty one."""
        if not items:
            return []
        every = np.unique(np.concatenate([nodes for nodes, _ in items]))
        costs = np.maximum(1 - self.index.cosines(every, self.index.encode(state.question.text, run)), 0)
        return [float(costs[np.searchsorted(every, nodes)].mean()) if len(nodes) else 1.0 for nodes, _ in items]


def _covers(nodes: Ints, edges: Ints, anchor: Anchor) -> bool:
    """Return whether an item has one of the anchor's nodes or edges."""
    pairs = ((anchor.nodes, nodes), (anchor.edges, edges))
    return any(not set(of_anchor.tolist()).isdisjoint(of_item.tolist()) for of_anchor, of_item in pairs)


@dataclass(frozen=True, repr=False)
class Unite(Operator):
    """Merge the items into one, each node and edge at its first position; unscored (BubbleRAG, section 3.6).

    A triple has the nodes of its ends.

    >>> from graphwright import Graph
    >>> from graphwright.operators.state import start
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("d", "r", "e")])
    >>> state = start("?", graph, evidence=Evidence.of_paths(graph, [([1, 0], [0]), ([3, 4], [2]), ([1, 2], [1])]))
    >>> [ids.tolist() for ids in Unite()(state).evidence.piece(0)]
    [[1, 0, 3, 4, 2], [0, 2, 1]]
    """

    needs = ("evidence",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        if state.evidence is None:
            return state
        nodes: dict[int, None] = {}
        for item_nodes, edges in state.evidence:
            nodes |= dict.fromkeys((item_nodes if len(item_nodes) else state.graph.ends(edges)).tolist())
        united = [(list(nodes), list(dict.fromkeys(state.evidence.edges.tolist())))] if len(state.evidence) else []
        return state.with_(evidence=Evidence.of_trees(state.graph, united))
