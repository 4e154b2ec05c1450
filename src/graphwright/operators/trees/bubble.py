"""Bubble expansion: from what the question names to small connected pieces that join it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence, Ints
from graphwright.graph.graph import Graph
from graphwright.index.vector_index import VectorIndex
from graphwright.kernels.bubble import Costs, Meeting, bubble, node_costs
from graphwright.operators.operator import Ranker
from graphwright.operators.run import Run
from graphwright.operators.state import Anchor, State

__all__ = ["Bubble"]

Piece = tuple[list[int], list[int]]


@dataclass(frozen=True, repr=False)
class Bubble(Ranker):
    """Connected pieces that join the anchors, in the order found, unscored (BubbleRAG, Algorithm 1 and Eq. 4).

    Each anchor is a group of terminals. The groups grow from them through the graph, by the sum of 1 - cos(question,
    node), where terminals cost 0. Where a group comes to a node that others reached, their paths to it are a piece;
    so are those of two neighbours that one group reached from different terminals. An anchor's edge makes both its
    ends terminals, and belongs to every piece that such a terminal begins. Where nothing meets, the anchors' nodes
    and edges are the pieces. Between two nodes a piece has the edge that an anchor names, else the one of smallest id.

    `index`: vectors of nodes (`joined(a, b)` for those of two kinds); a node without one costs 1. `hops` (h): how far
    from the anchors to look. `budget` (B): how many pieces with different nodes to find.

    >>> from graphwright.operators.state import start; from graphwright.models.fake import HashEncoder
    >>> kin = Graph.from_triples([("Lothair II", "mother", "Ermengarde"), ("Ermengarde", "died in", "851")])
    >>> index = VectorIndex.from_array(HashEncoder().encode(list(kin.names)), HashEncoder())
    >>> state = start("When did Lothair II's mother die?", kin, entities=["Lothair II", "851"])
    >>> Bubble(index)(state).evidence.texts(kin)
    ['Lothair II mother Ermengarde; Ermengarde died in 851']
    """

    index: VectorIndex
    hops: int = 6
    budget: int = 10
    needs = ("anchors",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        for name, least in (("hops", 0), ("budget", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
                raise OptionError(f"Bubble({name}={value!r}): a whole number, {least} or more.")

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Find the first pieces."""
        if state.anchors is None:
            return state
        origins = _Origins.of(state.anchors, state.graph)
        budget = self.budget if k is None else min(self.budget, k)
        meetings: list[Meeting] = []
        if len(origins.rows) > 1:
            costs = _costs(self.index, state, run)
            meetings = bubble(*state.graph.adjacency, origins.rows, costs, hops=self.hops, budget=budget)
        pieces = [origins.piece(state.graph, found) for found in meetings]
        found = Evidence.of_pieces(pieces or _alone(state.anchors, state.graph))
        return state.with_(evidence=found if k is None else found.top(k))


@dataclass(frozen=True)
class _Origins:
    """The terminals: `rows` as the kernel takes them; `edges`, the edge each stands for, -1 for none.

    `named`: the edges of anchors, the smallest for each pair of nodes.
    """

    rows: Ints
    edges: list[int]
    named: dict[tuple[int, int], int]

    @classmethod
    def of(cls, anchors: Iterable[Anchor], graph: Graph) -> _Origins:
        """Return the terminals of all anchors that have some here; such an anchor is a group."""
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

    def piece(self, graph: Graph, found: Meeting) -> Piece:
        """Return what was found, as nodes and edges in snapshot ids, each once, as they are walked."""
        tied = [self.edges[o] for o in found.origins if self.edges[o] >= 0]
        known = self.named | _by_ends(tied, graph)
        nodes: dict[int, None] = {}
        edges: dict[int, None] = {}
        for walk in found.walks:
            ids = graph.at(list(walk)).tolist()
            nodes.update(dict.fromkeys(ids))
            for a, b in pairwise(ids):
                edge = known.get((min(a, b), max(a, b)))
                edges[_smallest_edge(graph, a, b) if edge is None else edge] = None
        return list(nodes), list(edges | dict.fromkeys(tied))


def _nodes(anchor: Anchor, graph: Graph) -> list[int]:
    ids = np.unique(anchor.nodes)
    return list(map(int, ids[graph.holds(ids)]))


def _edges(anchor: Anchor, graph: Graph) -> list[int]:
    """Return the anchor's edges that are here, ascending."""
    ids = np.unique(anchor.edges)
    if not graph.whole and len(ids):
        here = graph.edges
        at = np.minimum(np.searchsorted(here, ids), max(len(here) - 1, 0))
        ids = ids[here[at] == ids] if len(here) else ids[:0]
    return list(map(int, ids))


def _by_ends(edges: Iterable[int], graph: Graph) -> dict[tuple[int, int], int]:
    """Return the smallest of these edges for each pair of nodes, the smaller node first."""
    smallest: dict[tuple[int, int], int] = {}
    for e in sorted(edges):
        head, tail = graph.ends([e]).tolist()
        smallest.setdefault((min(head, tail), max(head, tail)), e)
    return smallest


def _smallest_edge(graph: Graph, a: int, b: int) -> int:
    """Return the smallest edge between two neighbours, looked for from the one with fewer edges."""
    out, into = graph.columns.out.indptr, graph.columns.into.indptr
    degrees = [int(p[v + 1] - p[v]) for v in (a, b) for p in (out, into)]
    fewer, other = (a, b) if sum(degrees[:2]) <= sum(degrees[2:]) else (b, a)
    return int(graph.edges_between(fewer, other)[0])


def _costs(index: VectorIndex, state: State, run: Run) -> Costs:
    (first, rows), *more = [(part.vectors, () if part.row_of is None else part.row_of) for part in index.parts]
    second, more_rows = more[0] if more else (None, ())
    ids = () if state.graph.whole else state.graph.nodes
    return node_costs(index.encode(state.question.text, run), first, rows, second, more_rows, ids)


def _alone(anchors: Iterable[Anchor], graph: Graph) -> list[Piece]:
    """Return each node and each edge of the anchors as a piece, in the order of the anchors."""
    pieces: dict[tuple[tuple[int, ...], tuple[int, ...]], None] = {}
    for anchor in anchors:
        pieces.update(dict.fromkeys(((v,), ()) for v in _nodes(anchor, graph)))
        ends = ((tuple(dict.fromkeys(graph.ends([e]).tolist())), (e,)) for e in _edges(anchor, graph))
        pieces.update(dict.fromkeys(ends))
    return [(list(nodes), list(edges)) for nodes, edges in pieces]
