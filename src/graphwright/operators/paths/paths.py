"""Paths from the entities of a question, and orders of paths (LEGO-GraphRAG, PathRAG)."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence, Ints
from graphwright.graph.graph import Graph
from graphwright.kernels.paths import joining_edges, shortest_paths, simple_paths
from graphwright.operators.operator import Operator, Ranker
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.operators.subgraph.walk import seed_groups

__all__ = ["EnumeratedPaths", "HopFirst", "ShortestPaths", "Shuffled", "edges_between", "query_entities"]

Ragged = tuple[NDArray[np.int32], NDArray[np.int64]]


@dataclass(frozen=True, repr=False)
class ShortestPaths(Ranker):
    """A path of fewest edges from each query entity to each node that it reaches (SPR, section 3.3.1 b).

    Query entities are the nodes of the anchors, of the evidence where there are no anchors. Of several shortest
    paths the one whose nodes have the smallest ids, or with `all` every one. Paths are ranked by their number of edges,
    then by their nodes, with the score 1/(1 + edges); between two nodes the piece names the smallest edge id.
    There may be very many shortest paths: where there are more than `most` and no `% k` says which are wanted, that is
    an OptionError.

    >>> from graphwright.operators.state import start
    >>> square = Graph.from_triples([("a", "r", "b"), ("a", "r", "c"), ("d", "r", "b"), ("c", "r", "d")])
    >>> found = ShortestPaths()(start("?", square, entities=["a"])).evidence
    >>> [nodes.tolist() for nodes, _ in found], found.texts(square)[2]
    ([[0, 1], [0, 2], [0, 1, 3]], 'a r b; d r b')
    """

    all: bool = False
    most: int = 1_000_000
    needs = ("anchors|evidence",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        _count(self, "most", self.most)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Find the paths, no more than the first k."""
        at = query_entities(state)
        return _with(state, self, k, lambda limit: shortest_paths(*state.graph.adjacency, at, every=self.all, k=limit))


@dataclass(frozen=True, repr=False)
class EnumeratedPaths(Ranker):
    """All paths of at most `length` edges from each query entity, no node twice (EPR, section 3.3.1 a).

    Query entities, order, scores, edges and `most` as for ShortestPaths. The paper gives no length; their number grows
    with about the `length`-th power of the degrees, so narrow the graph first, or say `% k`.

    >>> from graphwright.operators.state import start
    >>> square = Graph.from_triples([("a", "r", "b"), ("a", "r", "c"), ("d", "r", "b"), ("c", "r", "d")])
    >>> found = EnumeratedPaths(length=2)(start("?", square, entities=["a"])).evidence
    >>> [nodes.tolist() for nodes, _ in found], found.scores.round(2).tolist()
    ([[0, 1], [0, 2], [0, 1, 3], [0, 2, 3]], [0.5, 0.5, 0.33, 0.33])
    """

    length: int
    most: int = 1_000_000
    needs = ("anchors|evidence",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        _count(self, "length", self.length)
        _count(self, "most", self.most)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Find the paths, no more than the first k."""
        at = query_entities(state)
        return _with(state, self, k, lambda limit: simple_paths(*state.graph.adjacency, at, self.length, limit))


def query_entities(state: State) -> Ints:
    """Return the nodes that paths begin at, as local positions in `state.graph`, distinct and ascending."""
    groups = seed_groups(state if state.anchors is None else state.with_(evidence=None))
    return state.graph.local(np.unique(np.concatenate([np.empty(0, np.int64), *(nodes for nodes, _ in groups)])))


def edges_between(graph: Graph, one: Ints, other: Ints) -> Ints:
    """Return the smallest edge of the graph between each pair of nodes that it joins; snapshot ids."""
    c = graph.columns
    held = None if graph.whole else graph.edges
    return joining_edges(one, other, c.out, c.into, c.heads, c.tails, held)


def _count(made: Ranker, name: str, value: int) -> None:
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < 1:
        raise OptionError(f"{type(made).__name__}({name}={value!r}): a whole number, 1 or more.")


def _with(state: State, asked: ShortestPaths | EnumeratedPaths, k: int | None, find: Callable[[int], Ragged]) -> State:
    """Return the state with the paths that `find` gives, having seen to it that there are not too many."""
    nodes, ptr = find(asked.most + 1 if k is None else k)
    if k is None and len(ptr) - 1 > asked.most:
        raise OptionError(
            f"{asked!r} finds more than {asked.most:,} paths in {state.graph!r}. Narrow the graph before it, ask for "
            f"shorter paths, or keep the first k: {asked!r} % k."
        )
    return state.with_(evidence=_evidence(state.graph, nodes, ptr))


def _evidence(graph: Graph, local: NDArray[np.int32], ptr: NDArray[np.int64]) -> Evidence:
    """Return paths that are in order as evidence, with the edges between their nodes."""
    nodes = graph.at(local)
    sizes = np.diff(ptr)
    last = np.zeros(len(nodes), bool)
    last[ptr[1:] - 1] = True
    at = np.flatnonzero(~last)
    edge_ptr = np.concatenate(([0], np.cumsum(sizes - 1)))
    parts = (nodes, ptr, edges_between(graph, nodes[at], nodes[at + 1]), edge_ptr, 1.0 / sizes)
    for part in parts:
        part.flags.writeable = False
    return Evidence(*parts)


@dataclass(frozen=True, repr=False)
class HopFirst(Operator):
    """Order the pieces by their edges, the fewest first, and those of as many as before (PathRAG, RQ2: hop-first).

    The pieces are without scores then: their order is the ranking. With the paper's decay of 0.7 paths of one edge are
    first by flow too (Eq. 4: more than 1 against 0.9725 at most), so that only longer ones change places.

    >>> from graphwright import Evidence, Graph, start
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c")])
    >>> paths = Evidence.of_pieces([([0, 1, 2], [0, 1]), ([1, 2], [1])], [0.9, 0.7])
    >>> [edges.tolist() for _, edges in HopFirst()(start("?", graph, evidence=paths)).evidence]
    [[1], [0, 1]]
    """

    needs = ("evidence",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        """Order the pieces."""
        found = state.evidence
        if found is None:
            return state
        order = np.argsort(np.diff(found.edge_ptr), kind="stable")
        return state.with_(evidence=found.unscored().take(order.tolist()))


@dataclass(frozen=True, repr=False)
class Shuffled(Operator):
    """Order the pieces at random (PathRAG, RQ2: random): another order for each question, the same for each run.

    `seed`: the paper averages over ten. The pieces are without scores then: their order is the ranking.

    >>> from graphwright import Evidence, Graph, start
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c")])
    >>> state = start("?", graph, evidence=Evidence.of_nodes([0, 1, 2], [0.3, 0.2, 0.1]))
    >>> {Shuffled(seed)(state).evidence.nodes[0].item() for seed in range(20)}
    {0, 1, 2}
    """

    seed: int = 0
    needs = ("evidence",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        if isinstance(self.seed, bool) or not hasattr(self.seed, "__index__") or self.seed < 0:
            raise OptionError(f"Shuffled(seed={self.seed!r}): a whole number, 0 or more.")

    def apply(self, state: State, run: Run) -> State:
        """Order the pieces."""
        found = state.evidence
        if found is None:
            return state
        drawn = np.random.default_rng([int(self.seed), zlib.crc32(state.question.text.encode(errors="replace"))])
        return state.with_(evidence=found.unscored().take(drawn.permutation(len(found)).tolist()))
