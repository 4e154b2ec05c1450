"""Shared parts of the triple and entity networks: input, relation gates, and the best walks by these gates.

The input is NumPy arrays for inference, and torch tensors for training. Every edge makes two directed edges, from head
to tail and back. A *directed relation* is 2 · relation + 1 from head to tail, and 2 · relation from tail to head, where
`relation` is a row of the relation vectors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import NeedsError
from graphwright.graph import Graph
from graphwright.graph.evidence import Ints, Scores
from graphwright.graph.walks import Ways
from graphwright.kernels.messages import Messages, aggregate, gradients
from graphwright.models.protocols import Floats
from graphwright.operators.rerank.scorer import distinct
from graphwright.search import VectorIndex

KEY = 64  # dimension in which the gates compare question and relation
_ROOT = 0.25  # power of the distance encoding: hubs make its means small

StepLogits = Sequence[tuple[Any, Any]]  # of each step: of the relations, [questions, 2 · r], and the end, [.., 1]


def import_torch() -> Any:
    """Return torch. Raises NeedsError where it is not installed."""
    try:
        import torch
    except ImportError:
        raise NeedsError("Training needs torch: pip install 'graphwright[train]'. Asking does not need it.") from None
    return torch


def relu(x: Any) -> Any:
    """Return max(x, 0). The gradient of a tensor's own method costs a seventh of that of `clip`."""
    return x.relu() if hasattr(x, "relu") else np.maximum(x, 0)


def sigmoid(x: Any) -> Any:
    """Return 1 / (1 + exp(-x))."""
    return x.sigmoid() if hasattr(x, "sigmoid") else 1 / (1 + np.exp(-np.clip(x, -80, 80)))


@dataclass(frozen=True, eq=False)
class GraphView:
    """A graph as input of a network.

    `nodes`: snapshot ids; `heads`, `tails`: of each edge, by position in nodes; `relation`: of each edge, by row of the
    relation vectors; `distances`: the distance encoding of each node, float[n, f].
    """

    nodes: NDArray[Any]
    heads: NDArray[Any]
    tails: NDArray[Any]
    relation: NDArray[Any]
    distances: NDArray[Any]


def view_graph(graph: Graph, sources: Ints, rounds: int) -> tuple[GraphView, Ints]:
    """Return the view of a graph from local `sources`, edges in its order, and the relation of each row of vectors."""
    ends = graph.local(graph.ends(graph.edges)).reshape(-1, 2)
    relations, relation = distinct(graph.columns.relation[graph.edges])
    heads, tails = ends[:, 0], ends[:, 1]
    distances = distance_encoding(len(graph), heads, tails, sources, rounds)
    return GraphView(graph.nodes, heads, tails, relation, distances), relations.astype(np.int64)


def edge_positions(graph: Graph, edges: Ints) -> Ints:
    """Return the position of each edge in `graph.edges`; their number for an edge that is not in the graph."""
    padded = np.append(graph.edges, -1)
    positions = np.searchsorted(graph.edges, edges)
    return np.where(padded[positions] == edges, positions, len(graph.edges))


def distance_encoding(n: int, heads: Ints, tails: Ints, sources: Ints, rounds: int) -> Floats:
    """Return the directional distance encoding of n nodes (SubgraphRAG, section 3.1): float32[n, 1 + 3 · rounds].

    Column 0 is 1 at the sources and 0 elsewhere; a round gives each node the mean over its predecessors. There are
    `rounds` columns along the edges, against them, and in both directions (for graphs without inverse relations).
    Values are fourth roots, so that small means keep their order of magnitude; 0 means unreachable.

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
class DirectedEdges:
    """The directed edges of a batch of graphs, ordered by target, as NumPy arrays, or as tensors if `torch` is given.

    `source`, `target`, `directed_relation`, `owner`: the nodes, the relation and the graph of each; `degree`: [n, 1],
    how many lead to each node, at least 1; those to node v are at `ptr[v] : ptr[v + 1]`; `node_owner`: the graph of
    each node; `offsets`: where the nodes of each graph begin.
    """

    source: Any
    target: Any
    directed_relation: Any
    owner: Any
    node_owner: Any
    degree: Any
    ptr: NDArray[Any]
    offsets: Ints
    torch: Any = None

    def maximum(self, values: Any) -> Any:
        """Return the maximum of the values of the directed edges to each node; 0 where there is none."""
        if self.torch is not None:
            index = self.target[:, None].expand_as(values)
            zeros = self.torch.zeros(len(self.degree), values.shape[1])
            return zeros.scatter_reduce(0, index, values, "amax", include_self=False)
        result = np.zeros((len(self.degree), values.shape[1]), np.float32)
        reached = np.flatnonzero(np.diff(self.ptr))
        if len(reached):
            result[reached] = np.maximum.reduceat(values, self.ptr[reached], axis=0)
        return result

    def aggregate(self, x: Any, gates: Any, gate: Any) -> Any:
        """Return mean, maximum, minimum, deviation of messages `x[source] * gates[gate]` to each node, [n, 4 · h]."""
        if self.torch is not None:
            return _aggregation(self.torch).apply(x, gates, self.ptr, self.source.numpy(), gate.numpy())
        return aggregate(Messages(self.ptr, self.source, gate, x, gates)).stats


def directed_edges(views: Sequence[GraphView], torch: Any = None) -> DirectedEdges:
    """Return the directed edges of some graphs, their nodes numbered consecutively."""
    offsets = np.cumsum([0, *(len(view.nodes) for view in views)])
    heads = np.concatenate([view.heads + offset for view, offset in zip(views, offsets, strict=False)])
    tails = np.concatenate([view.tails + offset for view, offset in zip(views, offsets, strict=False)])
    relation = np.concatenate([view.relation for view in views])
    target = np.concatenate((tails, heads))
    order = np.argsort(target, kind="stable")
    source = np.concatenate((heads, tails))[order].astype(np.int64)
    directed_relation = np.concatenate((2 * relation + 1, 2 * relation))[order].astype(np.int64)
    node_owner = np.repeat(np.arange(len(views)), np.diff(offsets))
    count = np.bincount(target, minlength=int(offsets[-1]))
    degree = np.maximum(count, 1).astype(np.float32)[:, None]
    parts = source, target[order].astype(np.int64), directed_relation, node_owner[source], node_owner, degree
    if torch is not None:
        parts = tuple(torch.from_numpy(part) for part in parts)
    return DirectedEdges(*parts, np.concatenate(([0], np.cumsum(count))), offsets, torch)


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


class Batch(NamedTuple):
    """The input of a network: a batch of graphs with their questions, as NumPy arrays or torch tensors.

    `distances`: [n, f]; `questions`, `relations`: vectors, [questions, d] and [r, d]; `names`: vectors of the nodes'
    names, [n, d], if the network uses them.
    """

    views: Sequence[GraphView]
    edges: DirectedEdges
    distances: Any
    questions: Any
    relations: Any
    names: Any = None

    @classmethod
    def of(
        cls,
        views: Sequence[GraphView],
        questions: Floats,
        relations: Floats,
        names: VectorIndex | None = None,
        torch: Any = None,
    ) -> Batch:
        """Make a batch of graphs, of tensors if `torch` is given. `names`: vectors of nodes."""
        parts: list[Any] = [np.concatenate([view.distances for view in views]).astype(np.float32), questions, relations]
        if names is not None:
            parts.append(names.of(np.concatenate([view.nodes for view in views]).astype(np.int64)))
        if torch is not None:
            parts = [torch.from_numpy(part) for part in parts]
        return cls(views, directed_edges(views, torch), *parts)

    @property
    def start(self) -> Any:
        """1 at the query entities, else 0: [n, 1], the first column of the distance encoding."""
        return self.distances[:, :1]


def gate_logits(w: Mapping[str, Any], questions: Any, relations: Any, steps: int) -> StepLogits:
    """Return the logits of the directed relations and of the end at each step."""
    hidden = relu(questions @ w["gate question"] + w["gate asked"])
    keys = (relations @ w["gate relation"]).reshape(2 * relations.shape[0], -1)
    return [
        (hidden @ w[f"gate {step}"] @ keys.T, hidden @ w[f"gate end {step}"] + w[f"gate bias {step}"])
        for step in range(steps)
    ]


def open_gates(logits: StepLogits) -> list[tuple[Any, Any]]:
    """Return the gates of the directed relations and of the end at each step; the largest of a question is 1."""
    gates = []
    for relations, end in logits:
        tensor = hasattr(relations, "amax")
        highest = relations.amax(1, keepdim=True) if tensor else relations.max(axis=1, keepdims=True)
        highest = highest + relu(end - highest)
        exp = type(relations).exp if tensor else np.exp
        gates.append((exp(relations - highest), exp(end - highest)))
    return gates


def walk_forward(gates: Sequence[Any], edges: DirectedEdges, start: Any) -> list[Any]:
    """Return the best score of walks of 0, 1, … steps to each node, [n, 1] each, by `gates`, from `start` ([n, 1])."""
    scores = [start]
    for gate in gates:
        along = gate[edges.owner, edges.directed_relation][:, None]
        scores.append(edges.maximum(scores[-1][edges.source] * along))
    return scores


class WalkScores(NamedTuple):
    """Scores of the best walks to each node and from it to an end, [n, 1] for each number of steps; and the gates."""

    gates: Sequence[Any]
    forward: Sequence[Any]
    backward: Sequence[Any]

    def nodes(self) -> list[Any]:
        """Return the score of the best walk with each node in first, second, … place: [n, 1] each."""
        return [forward * backward for forward, backward in zip(self.forward, self.backward, strict=True)]

    def steps(self, step: int, source: Any, target: Any, directed_relation: Any) -> Any:
        """Return the score of the best walk that takes each of these edges at `step`, counted from 0; NumPy only."""
        gate = self.gates[step][0, directed_relation]
        return self.forward[step][source, 0] * gate * self.backward[step + 1][target, 0]

    def edges(self, heads: Any, tails: Any, relation: Any) -> Any:
        """Return the score of the best walk that takes each edge, at any step, in either direction: [m]; NumPy only."""
        scores = np.zeros(len(heads), np.float32)
        for step in range(len(self.gates)):
            for source, target, directed in ((heads, tails, 2 * relation + 1), (tails, heads, 2 * relation)):
                scores = np.maximum(scores, self.steps(step, source, target, directed))
        return scores


def best_walks(logits: StepLogits, edges: DirectedEdges, start: Any) -> WalkScores:
    """Return the scores of the best walks from `start` ([n, 1], 1 where they begin) to their ends, as Viterbi does."""
    gates = open_gates(logits)
    relations = [gate for gate, _ in gates]
    forward, backward = walk_forward(relations, edges, start), [0 * start + 1]
    for gate, end in reversed(gates):
        # A step away from a node takes a directed edge to it backwards: the opposite directed relation.
        against = gate[edges.owner, edges.directed_relation ^ 1][:, None]
        longer, stop = edges.maximum(backward[-1][edges.source] * against), end[edges.node_owner]
        backward.append(stop + relu(longer - stop))
    return WalkScores(relations, forward, backward[::-1])


def step_scores(graph: Graph, view: GraphView, walks: WalkScores, nodes: Ints, edges: Ints) -> Scores:
    """Return, for each step of some walks, the score of the best walk with the same edge at this step: [walks, steps].

    `nodes`: [walks, steps + 1], `edges`: [walks, steps], by snapshot id. The edge of a walk of one step may be at any
    step of the best walk, in either direction. The score is 0 where there is no such edge or all walks are shorter.
    """
    scores = np.zeros(edges.shape)
    local = graph.local(nodes.ravel()).reshape(nodes.shape)
    for step in range(min(edges.shape[1], len(walks.gates))):
        positions = edge_positions(graph, edges[:, step])
        rows = np.flatnonzero(positions < len(graph.edges))
        heads, tails, relation = (column[positions[rows]] for column in (view.heads, view.tails, view.relation))
        if edges.shape[1] == 1:
            scores[rows, 0] = walks.edges(heads, tails, relation)
        else:
            source, target = local[rows, step], local[rows, step + 1]
            scores[rows, step] = walks.steps(step, source, target, 2 * relation + (heads == source))
    return scores


def gate_loss(torch: Any, logits: StepLogits, paths: Sequence[Sequence[Ways]]) -> Any:
    """Return the cross-entropy of the gates against the steps of each question's labelled relation paths.

    The target of a step is the share of the paths that take each directed relation there, or end there.
    """
    count = logits[0][0].shape[1]
    shares = np.zeros((len(logits), len(paths), count + 1), np.float32)
    for question, ways in enumerate(paths):
        for path in ways:
            for step, directed_relation in enumerate((*path, count)[: len(logits)]):
                shares[step, question, directed_relation] += 1.0 / len(ways)
    return -sum(
        (torch.log_softmax(torch.cat(step, 1), 1) * target).sum()
        for step, target in zip(logits, torch.from_numpy(shares), strict=True)
    )
