"""Paths between nodes: shortest, all of some length, ranked by flow (PathRAG), by length or at random."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from graphwright.constraints import AtLeast, Between
from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence, Ints, Render, Scores, item_text
from graphwright.graph.graph import Graph
from graphwright.graph.items import Item, ItemKind, Steps
from graphwright.kernels.flow import MAX_EDGES, flow_paths
from graphwright.kernels.paths import joining_edges, paths_between, shortest_paths, simple_paths
from graphwright.operators.operator import Operator, Ranker
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.operators.subgraph.pagerank import seed_groups


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
    """Return ranked paths by the smallest edges between nodes; path i is `nodes[ptr[i] : ptr[i + 1]]`."""
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
    """Return the texts of all parallel edges of each step of a path; for any other item its default text."""
    if item.kind != ItemKind.PATH:
        return item_text(graph, item)
    steps = (graph.edges_between(a, b).tolist() for a, b in pairwise(item.nodes))
    return "; ".join(graph.edge_text(edge) for step in steps for edge in step)


Ragged = tuple[NDArray[np.int32], NDArray[np.int64]]  # paths end to end as local nodes, and where each begins


@dataclass(frozen=True, repr=False)
class ShortestPaths(Ranker):
    """Find a path of fewest edges from each query entity to each node that it reaches (SPR, section 3.3.1 b).

    Query entities are the nodes of the anchors, or of the evidence if there are no anchors. Of several shortest paths
    it takes the path whose nodes have the smallest ids; with `all` it takes all. Paths are ranked by their number of
    edges, then by their nodes, and score 1/(1 + edges). Between two nodes the item has the smallest edge id.
    `max_paths`: more paths than this raise an OptionError, unless `% k` limits them. `to`: only the paths to a node of
    this name; without such a node a DataError is raised.

    >>> from graphwright import Graph, start
    >>> square = Graph.from_triples([("a", "r", "b"), ("a", "r", "c"), ("d", "r", "b"), ("c", "r", "d")])
    >>> evidence = ShortestPaths()(start("?", square, entities=["a"])).evidence
    >>> [nodes.tolist() for nodes, _ in evidence], evidence.texts(square)[2]
    ([[0, 1], [0, 2], [0, 1, 3]], 'a r b; d r b')
    >>> ShortestPaths(all=True, to="d")(start("?", square, entities=["a"])).evidence.texts(square)
    ['a r b; d r b', 'a r c; c r d']
    """

    all: bool = False
    max_paths: Annotated[int, AtLeast(1)] = 1_000_000
    to: str | None = None
    needs = ("anchors|evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        arguments = *state.graph.adjacency, query_entities(state)
        if self.to is not None:
            state.graph.id(self.to)  # raises DataError if no node has the name
            ends = state.graph.local(state.graph.ids(self.to)).tolist()
            return _with_paths(self, state, k, lambda limit: _between(*arguments, ends, self.all, limit))
        return _with_paths(self, state, k, lambda limit: shortest_paths(*arguments, every=self.all, k=limit))


@dataclass(frozen=True, repr=False)
class EnumeratedPaths(Ranker):
    """Find all paths of at most `length` edges from each query entity, no node twice (EPR, section 3.3.1 a).

    Query entities, order, scores, edges and `max_paths` as for ShortestPaths. The number of paths grows with about the
    `length`-th power of the degrees, so narrow the graph first, or limit them by `% k`.
    """

    length: Annotated[int, AtLeast(1)]
    max_paths: Annotated[int, AtLeast(1)] = 1_000_000
    needs = ("anchors|evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        arguments = *state.graph.adjacency, query_entities(state)
        return _with_paths(self, state, k, lambda limit: simple_paths(*arguments, self.length, limit))


def _between(indptr: Ints, values: NDArray[np.int32], sources: Ints, ends: list[int], every: bool, k: int) -> Ragged:
    """Return the first k shortest paths from each source to each end, by length and then by their nodes."""
    pairs = [(source, end) for source in sources.tolist() for end in ends if source != end]
    shortest = [path for pair in pairs for path in islice(paths_between(indptr, values, *pair), k if every else 1)]
    paths = sorted(shortest, key=lambda path: (len(path), path))[:k]
    nodes = np.array([node for path in paths for node in path], np.int32)
    return nodes, np.cumsum([0, *map(len, paths)]).astype(np.int64)


def _with_paths(
    operator: ShortestPaths | EnumeratedPaths, state: State, k: int | None, search: Callable[[int], Ragged]
) -> State:
    """Return the state with the paths of a search, which receives the number of paths to find."""
    limit = operator.max_paths
    nodes, ptr = search(limit + 1 if k is None else k)
    if k is None and len(ptr) - 1 > limit:
        raise OptionError(
            f"{operator!r} finds more than {limit:,} paths in {state.graph!r}. Narrow the graph before it, limit the "
            f"length of paths, or keep the first k: {operator!r} % k."
        )
    return state.with_(evidence=path_evidence(state.graph, state.graph.at(nodes), ptr, 1.0 / np.diff(ptr)))


THRESHOLD = 1e-4  # default θ of FlowPaths


@dataclass(frozen=True, repr=False)
class FlowPaths(Ranker):
    """Find paths between the evidence nodes, ranked by the resource that flows along them (PathRAG, Eq. 2 to 4).

    `decay`: α, the share of its resource that a node passes on. `threshold`: θ; a node passes nothing on where resource
    / degree is below it. `hops`: maximum edges of a path. `per_pair`: paths kept for each pair of nodes.
    `graphwright.kernels.flow.flow_paths` has the formulas. The graph counts as undirected. Between two nodes a path has
    the smallest edge, and its text has all edges. `max_edges`: maximum edges read from a node for paths of more than
    three hops; beyond it paths stay shorter, and the trace notes it.

    The paper does not state θ. On MuSiQue (100 questions, the graph of its OpenIE triples, without passages, N = 40, K
    = 15) the 20 nearest passages of the paths include 38, 54, 57, 58 and 57 % of the gold passages at θ = 0.1, 0.01,
    0.001, 0.0001 and 0. Below 0.0001 large graphs take far longer.

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

    def ranked(self, state: State, run: Run, k: int | None) -> State:
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
    """Select the evidence and the edges that a function returns, such as GlobalEdges, for `ToPassages(items=...)`."""

    edges: Callable[[State, Run], Ints]

    def __call__(self, state: State, run: Run) -> Evidence:
        """Return the evidence followed by the edges, each a path of one edge; all have the same score."""
        edges = self.edges(state, run)
        ends = state.graph.ends(edges).reshape(-1, 2)
        single = Evidence.of_paths(state.graph, [(pair, [edge]) for pair, edge in zip(ends, edges, strict=True)])
        items = state.items.unscored().union(single)
        return items.with_scores(np.ones(len(items)))


@dataclass(frozen=True, repr=False)
class HopFirst(Operator):
    """Order items by their number of edges, fewest first, ties as before (PathRAG, RQ2: hop-first); unscored."""

    needs = ("evidence",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        order = np.argsort(np.diff(state.items.edge_ptr), kind="stable")
        return state.with_(evidence=state.items.unscored().take(order.tolist()))


@dataclass(frozen=True, repr=False)
class Shuffled(Operator):
    """Order items at random, by question and `seed` (PathRAG, RQ2: random, a mean over ten seeds); unscored."""

    seed: Annotated[int, AtLeast(0)] = 0
    needs = ("evidence",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        rng = np.random.default_rng([int(self.seed), zlib.crc32(state.question.text.encode(errors="replace"))])
        return state.with_(evidence=state.items.unscored().take(rng.permutation(len(state.items)).tolist()))
