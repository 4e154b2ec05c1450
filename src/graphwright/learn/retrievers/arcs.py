"""What a retriever sees of a graph, and its arcs: each edge in both directions, in the order of where they lead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Graph
from graphwright.kernels.messages import Messages, gathered
from graphwright.learn.retrievers.distances import distances
from graphwright.models.protocols import Floats
from graphwright.operators.rerank.scorer import distinct

__all__ = ["Arcs", "Seen", "arcs_of", "ordered", "seen"]


@dataclass(frozen=True, eq=False)
class Seen:
    """What a retriever sees of a graph: its edges, with nodes and relations by their place in these lists.

    `nodes`, `edges`: snapshot ids; `heads`, `tails`: places in nodes; `relation`: places in `relations`, which are
    numbers of relations; `near`: the distance encoding of each node; `start: float32[n, 1]`, 1 at the query entities.
    """

    nodes: NDArray[Any]
    edges: NDArray[Any]
    heads: NDArray[Any]
    tails: NDArray[Any]
    relation: NDArray[Any]
    relations: NDArray[Any]
    near: Floats

    @property
    def start(self) -> Floats:
        """1 at the query entities, else 0: the first column of the distance encoding."""
        return self.near[:, :1]


def seen(graph: Graph, sources: Ints, rounds: int) -> Seen:
    """Return what a retriever sees from some nodes of a graph, which are local positions."""
    edges = graph.edges
    ends = graph.local(graph.ends(edges)).reshape(-1, 2)
    relations, relation = distinct(graph.columns.relation[edges])
    heads, tails = ends[:, 0], ends[:, 1]
    near = distances(len(graph), heads, tails, sources, rounds)
    return Seen(graph.nodes, edges, heads, tails, relation, relations.astype(np.int64), near)


class Arcs(Protocol):
    """The arcs of a graph, as arrays of numpy or of torch.

    `begin`, `way`: of each arc the node that it comes from, and 2 · (place of its relation) + (1 for head to tail);
    `count`: [n, 1], how many arcs lead to each node, 1 where none does.
    """

    @property
    def begin(self) -> Any:
        """The node that each arc comes from."""

    @property
    def way(self) -> Any:
        """The way of each arc."""

    @property
    def count(self) -> Any:
        """How many arcs lead to each node, at least 1."""

    def most(self, values: Any) -> Any:
        """Return for each node the maximum over the arcs that lead to it; 0 where none does."""
        ...

    def gathered(self, x: Any, gates: Any, gate: Any) -> Any:
        """Return for each node mean, maximum, minimum and deviation of its messages, [n, 4 · h]; see `gathered`."""
        ...


def ordered(
    heads: NDArray[Any], tails: NDArray[Any], relation: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return where each arc comes from, where it leads, and its way, in the order of where they lead."""
    begin, end = np.concatenate((heads, tails)), np.concatenate((tails, heads))
    way = np.concatenate((2 * relation + 1, 2 * relation))
    order = np.argsort(end, kind="stable")
    return begin[order], end[order], way[order]


@dataclass(frozen=True, eq=False)
class _Arcs:
    begin: NDArray[Any]
    way: NDArray[Any]
    ptr: NDArray[Any]

    @property
    def count(self) -> Floats:
        return np.maximum(np.diff(self.ptr), 1).astype(np.float32)[:, None]

    def most(self, values: Floats) -> Floats:
        found = np.zeros((len(self.ptr) - 1, values.shape[1]), np.float32)
        some = np.flatnonzero(np.diff(self.ptr))
        if len(some):
            found[some] = np.maximum.reduceat(values, self.ptr[some], axis=0)
        return found

    def gathered(self, x: Floats, gates: Floats, gate: NDArray[Any]) -> Floats:
        return gathered(Messages(self.ptr, self.begin, gate, x, gates)).said


def arcs_of(at: Seen) -> Arcs:
    """Return the arcs of what a retriever sees, as arrays of numpy."""
    begin, end, way = ordered(at.heads, at.tails, at.relation)
    ptr = np.concatenate(([0], np.cumsum(np.bincount(end, minlength=len(at.nodes)))))
    return _Arcs(begin, way, ptr)
