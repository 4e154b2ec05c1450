"""Input arrays of a network over a graph: edges by position, distance encoding, and messages along directed edges.

Every edge is a directed edge twice, from head to tail and back. A *directed relation* is 2 · relation + 1 from head to
tail, and 2 · relation from tail to head, where `relation` is a row of the relation vectors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Graph
from graphwright.kernels.messages import Messages, aggregate, gradients
from graphwright.models.protocols import Floats
from graphwright.operators.rerank.scorer import distinct

__all__ = [
    "ArrayEdges",
    "DirectedEdges",
    "GraphView",
    "TensorEdges",
    "batch_edges",
    "directed_edges",
    "distance_encoding",
    "edge_positions",
    "encoding_width",
    "view_graph",
]

_ROOT = 0.25  # power of the distance encoding: hubs make its means small


@dataclass(frozen=True, eq=False)
class GraphView:
    """A graph as a network reads it.

    `nodes`: snapshot ids; `heads`, `tails`: of each edge, by position in nodes; `relation`: of each edge, by row of the
    relation vectors; `distances`: the distance encoding of each node, float[n, f].
    """

    nodes: NDArray[Any]
    heads: NDArray[Any]
    tails: NDArray[Any]
    relation: NDArray[Any]
    distances: NDArray[Any]

    @property
    def start(self) -> Floats:
        """1 at the query entities, else 0: float32[n, 1], the first column of the distance encoding."""
        return self.distances[:, :1].astype(np.float32)


def view_graph(graph: Graph, sources: Ints, rounds: int) -> tuple[GraphView, Ints]:
    """Return the view of a graph from some nodes (local positions), and the relation of each row of relation vectors.

    `rounds`: of the distance encoding. Edges are in the order of `graph.edges`.
    """
    edges = graph.edges
    ends = graph.local(graph.ends(edges)).reshape(-1, 2)
    relations, relation = distinct(graph.columns.relation[edges])
    heads, tails = ends[:, 0], ends[:, 1]
    distances = distance_encoding(len(graph), heads, tails, sources, rounds)
    return GraphView(graph.nodes, heads, tails, relation, distances), relations.astype(np.int64)


def edge_positions(graph: Graph, edges: Ints) -> Ints:
    """Return the position of each edge in `graph.edges`; their number for an edge that is not in the graph."""
    padded = np.append(graph.edges, -1)
    positions = np.searchsorted(graph.edges, edges)
    return np.where(padded[positions] == edges, positions, len(graph.edges))


def encoding_width(rounds: int) -> int:
    """Return the number of columns of a distance encoding."""
    return 1 + 3 * rounds


def distance_encoding(n: int, heads: Ints, tails: Ints, sources: Ints, rounds: int) -> Floats:
    """Return the directional distance encoding of n nodes (SubgraphRAG, section 3.1): float32[n, 1 + 3 · rounds].

    Column 0 is 1 at the sources and 0 elsewhere; a round gives each node the mean over its predecessors. There are
    `rounds` columns along the edges, against them, and in both directions: the last for graphs without inverse
    relations, in which edges into a hub do not continue along its outgoing edges. Values are fourth roots, so that
    small means keep their order of magnitude; 0 means unreachable.

    >>> columns = distance_encoding(3, np.array([0, 2]), np.array([1, 1]), np.array([0]), 2)
    >>> columns.astype(float).round(2).tolist()
    [[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.84], [0.0, 0.84, 0.0, 0.0, 0.0, 0.84, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.84]]
    """
    start: NDArray[np.float64] = np.zeros(n)
    start[sources] = 1.0
    columns = [start]
    both = np.concatenate((heads, tails)), np.concatenate((tails, heads))
    for source, target in ((heads, tails), (tails, heads), both):
        degree = np.maximum(np.bincount(target, minlength=n), 1)
        value = start
        for _ in range(rounds):
            value = np.bincount(target, value[source], n) / degree
            columns.append(value)
    return (np.stack(columns, axis=1) ** _ROOT).astype(np.float32)


@dataclass(frozen=True, eq=False)
class DirectedEdges(ABC):
    """The directed edges of a graph, ordered by target, as arrays of NumPy or torch.

    `source`, `directed_relation`: of each; `degree`: [n, 1], how many lead to each node, at least 1; those to node v
    are at `ptr[v] : ptr[v + 1]`.
    """

    source: Any
    directed_relation: Any
    degree: Any
    ptr: NDArray[Any]

    @abstractmethod
    def maximum(self, values: Any) -> Any:
        """Return the maximum of the values of the directed edges to each node; 0 where there is none."""

    @abstractmethod
    def aggregate(self, x: Any, gates: Any, gate: Any) -> Any:
        """Return mean, maximum, minimum and deviation of the messages to each node, [n, 4 · h].

        The message of a directed edge is `x[source] * gates[gate]`; see `kernels.messages`.
        """


class ArrayEdges(DirectedEdges):
    """Directed edges as NumPy arrays."""

    def maximum(self, values: Floats) -> Floats:
        """Return the maximum at each node."""
        result = np.zeros((len(self.ptr) - 1, values.shape[1]), np.float32)
        reached = np.flatnonzero(np.diff(self.ptr))
        if len(reached):
            result[reached] = np.maximum.reduceat(values, self.ptr[reached], axis=0)
        return result

    def aggregate(self, x: Floats, gates: Floats, gate: NDArray[Any]) -> Floats:
        """Return the aggregated messages."""
        return aggregate(Messages(self.ptr, self.source, gate, x, gates)).stats


@dataclass(frozen=True, eq=False)
class TensorEdges(DirectedEdges):
    """Directed edges of several graphs as tensors; `owner`: the graph of each."""

    torch: Any
    target: Any
    owner: Any

    def maximum(self, values: Any) -> Any:
        """Return the maximum at each node."""
        index = self.target[:, None].expand_as(values)
        zeros = self.torch.zeros(len(self.degree), values.shape[1])
        return zeros.scatter_reduce(0, index, values, "amax", include_self=False)

    def aggregate(self, x: Any, gates: Any, gate: Any) -> Any:
        """Return the aggregated messages, with their gradient."""
        return _aggregation(self.torch).apply(x, gates, self.ptr, self.source.numpy(), gate.numpy())


def directed_edges(view: GraphView) -> ArrayEdges:
    """Return the directed edges of a view as NumPy arrays."""
    source, _, *parts = _by_target(view, len(view.nodes))
    return ArrayEdges(source, *parts)


def batch_edges(torch: Any, views: Sequence[GraphView]) -> tuple[TensorEdges, Any]:
    """Return the directed edges of several graphs, their nodes numbered through, and where the nodes of each begin."""
    offsets = np.cumsum([0, *(len(view.nodes) for view in views)])
    heads, tails = (
        np.concatenate([side + offset for side, offset in zip(sides, offsets, strict=False)])
        for sides in ([view.heads for view in views], [view.tails for view in views])
    )
    relation = np.concatenate([view.relation for view in views])
    whole = GraphView(offsets, heads, tails, relation, np.empty(0))
    source, target, directed_relation, degree, ptr = _by_target(whole, int(offsets[-1]))
    owner = np.repeat(np.arange(len(views)), np.diff(offsets))[source]
    source, target, directed_relation, degree, owner = (
        torch.from_numpy(part) for part in (source, target, directed_relation, degree, owner)
    )
    return TensorEdges(source, directed_relation, degree, ptr, torch, target, owner), offsets


def _by_target(view: GraphView, nodes: int) -> tuple[NDArray[Any], ...]:
    """Return source, target and directed relation of the directed edges by target, and degree and ptr of the nodes."""
    source, target = np.concatenate((view.heads, view.tails)), np.concatenate((view.tails, view.heads))
    directed_relation = np.concatenate((2 * view.relation + 1, 2 * view.relation))
    order = np.argsort(target, kind="stable")
    source, target, directed_relation = (part[order].astype(np.int64) for part in (source, target, directed_relation))
    count = np.bincount(target, minlength=nodes)
    degree = np.maximum(count, 1).astype(np.float32)[:, None]
    return source, target, directed_relation, degree, np.concatenate(([0], np.cumsum(count)))


@cache
def _aggregation(torch: Any) -> Any:
    """Return the aggregation kernel with its gradient, as a function of torch."""

    class Aggregation(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any, gates: Any, ptr: Any, source: Any, gate: Any) -> Any:
            ctx.messages = Messages(ptr, source, gate, x.detach().numpy(), gates.detach().numpy())
            ctx.result = aggregate(ctx.messages)
            return torch.from_numpy(ctx.result.stats)

        @staticmethod
        def backward(ctx: Any, slope: Any) -> Any:
            to_x, to_gates = gradients(ctx.messages, ctx.result, slope.numpy())
            return torch.from_numpy(to_x), torch.from_numpy(to_gates), None, None, None

    return Aggregation
