"""Relation gates of the triple and entity retrievers, with the array functions of both numpy and torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from graphwright.errors import NeedsError
from graphwright.graph.evidence import Ints, Scores
from graphwright.graph.graph import Graph
from graphwright.graph.walks import Ways
from graphwright.learn.graph_view import DirectedEdges, GraphView, edge_positions

__all__ = [
    "StepLogits",
    "WalkScores",
    "best_walks",
    "end_gates",
    "exp",
    "gate_logits",
    "gate_loss",
    "import_torch",
    "initial_gates",
    "initial_weight",
    "relation_gates",
    "relu",
    "row_max",
    "sigmoid",
    "step_scores",
    "walk_forward",
]


def relu(x: Any) -> Any:
    """Return max(x, 0). The gradient of a tensor's own method costs a seventh of that of `clip`.

    >>> relu(np.array([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    return x.relu() if hasattr(x, "relu") else np.maximum(x, 0)


def sigmoid(x: Any) -> Any:
    """Return 1 / (1 + exp(-x)).

    >>> sigmoid(np.array([0.0])).tolist()
    [0.5]
    """
    return x.sigmoid() if hasattr(x, "sigmoid") else 1 / (1 + np.exp(-np.clip(x, -80, 80)))


def exp(x: Any) -> Any:
    """Return e to the power of x.

    >>> exp(np.array([0.0])).tolist()
    [1.0]
    """
    return x.exp() if hasattr(x, "exp") else np.exp(x)


def row_max(x: Any) -> Any:
    """Return the maximum of each row, [rows, 1].

    >>> row_max(np.array([[1.0, 3.0]])).tolist()
    [[3.0]]
    """
    return x.amax(1, keepdim=True) if hasattr(x, "amax") else x.max(axis=1, keepdims=True)


def import_torch() -> Any:
    """Return torch. Raises NeedsError where it is not installed."""
    try:
        import torch
    except ImportError:
        raise NeedsError("Training needs torch: pip install 'graphwright[train]'. Asking does not need it.") from None
    return torch


def initial_weight(torch: Any, generator: Any, rows: int, columns: int, *, unit: bool = False) -> Any:
    """Return weights drawn as He et al. (2015) do; `unit`: for input vectors of length 1, whatever their size."""
    return torch.randn(rows, columns, generator=generator) * (2.0 if unit else 2.0 / max(rows, 1)) ** 0.5


_KEY = 64  # numbers by which question and relation are compared

StepLogits = Sequence[tuple[Any, Any]]
"""Logits of each step: those of the directed relations, [questions, 2 · r], and of the end, [questions, 1]."""


def gate_logits(w: Mapping[str, Any], questions: Any, relations: Any, steps: int) -> list[tuple[Any, Any]]:
    """Return the logits of the directed relations and of the end at each step, from arrays of NumPy or torch."""
    hidden = relu(questions @ w["gate question"] + w["gate asked"])
    keys = (relations @ w["gate relation"]).reshape(2 * relations.shape[0], -1)
    return [
        (hidden @ w[f"gate {step}"] @ keys.T, hidden @ w[f"gate end {step}"] + w[f"gate bias {step}"])
        for step in range(steps)
    ]


def relation_gates(logits: StepLogits) -> list[Any]:
    """Return the gates of the directed relations at each step: [questions, 2 · r] each."""
    return [exp(relations - _highest(relations, end)) for relations, end in logits]


def end_gates(logits: StepLogits) -> list[Any]:
    """Return the gates of the end at each step: [questions, 1] each."""
    return [exp(end - _highest(relations, end)) for relations, end in logits]


def _highest(relations: Any, end: Any) -> Any:
    highest = row_max(relations)
    return highest + relu(end - highest)


def walk_forward(gates: Sequence[Any], edges: DirectedEdges, start: Any, owner: Any = None) -> list[Any]:
    """Return the score of the best walk of 0, 1, 2, … steps from `start` to each node, [n, 1] each.

    `start`: [n, 1], 1 where walks begin; `owner`: the question of each directed edge, None where there is only one.
    """
    scores = [start]
    for gate in gates:
        by_edge = gate[0 if owner is None else owner, edges.directed_relation]
        scores.append(edges.maximum(scores[-1][edges.source] * by_edge[:, None]))
    return scores


class WalkScores(NamedTuple):
    """Scores of the best walks to each node and on from it, [n, 1] for each number of steps; and the gates."""

    gates: Sequence[Any]
    forward: Sequence[Any]
    backward: Sequence[Any]

    def nodes(self) -> list[Any]:
        """Return the score of the best walk that has each node as its first, second, … one: [n, 1] each."""
        return [there * on for there, on in zip(self.forward, self.backward, strict=True)]

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


def best_walks(
    logits: StepLogits, edges: DirectedEdges, start: Any, owner: Any = None, edge_owner: Any = None
) -> WalkScores:
    """Return the scores of the best walks that begin at `start`, never return there, and end where the question does.

    The gate of its end counts too, so that a walk to where the question does not end scores low (Viterbi, forward and
    backward). `start`: [n, 1], 1 where walks begin; `owner`, `edge_owner`: the question of each node and of each
    directed edge, None where there is only one.
    """
    node_row, edge_row = (0 if owner is None else owner), (0 if edge_owner is None else edge_owner)
    gates, ends, elsewhere = relation_gates(logits), end_gates(logits), 1 - start
    forward, backward = [start], [0 * start + 1]
    for gate in gates:
        along = gate[edge_row, edges.directed_relation][:, None]
        forward.append(edges.maximum(forward[-1][edges.source] * along) * elsewhere)
    for gate, end in zip(reversed(gates), reversed(ends), strict=True):
        backward[-1] = backward[-1] * elsewhere
        # A walk leaves a node against the directed edges that lead to it: by the opposite directed relation.
        against = gate[edge_row, edges.directed_relation ^ 1][:, None]
        on, stop = edges.maximum(backward[-1][edges.source] * against), end[node_row]
        backward.append(stop + relu(on - stop))
    return WalkScores(gates, forward, backward[::-1])


def step_scores(graph: Graph, view: GraphView, walks: WalkScores, nodes: Ints, edges: Ints) -> Scores:
    """Return the score of the best walk that takes each step of some walks, each at its place: [walks, steps].

    `nodes`: [walks, steps + 1], `edges`: [walks, steps], by snapshot id. A walk of one edge represents any step,
    in either direction. The score is 0 where there is no such edge or all walks are shorter. Unlike the probability of
    a triple or node, it depends on the step at which an edge is taken, and on its relation.
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


def initial_gates(torch: Any, generator: Any, dimension: int, hidden: int, steps: int) -> dict[str, Any]:
    """Return the initial weights of the gates."""
    w = {
        "gate question": initial_weight(torch, generator, dimension, hidden, unit=True),
        "gate asked": torch.zeros(hidden),
    }
    w["gate relation"] = initial_weight(torch, generator, dimension, 2 * _KEY, unit=True)
    for step in range(steps):
        w[f"gate {step}"], w[f"gate bias {step}"] = initial_weight(torch, generator, hidden, _KEY), torch.zeros(1)
        w[f"gate end {step}"] = initial_weight(torch, generator, hidden, 1)
    return w


def gate_loss(torch: Any, logits: StepLogits, paths: Sequence[Sequence[Ways]]) -> Any:
    """Return the cross-entropy of the gates against the steps of each question's labelled relation paths."""
    targets = torch.from_numpy(_step_shares(paths, len(logits), logits[0][0].shape[1]))
    return -sum(
        (torch.log_softmax(torch.cat(step, 1), 1) * target).sum() for step, target in zip(logits, targets, strict=True)
    )


def _step_shares(paths: Sequence[Sequence[Ways]], steps: int, count: int) -> Any:
    """Return the share of relation paths that take each of `count` directed relations, or end, at each step.

    float32[steps, questions, count + 1]. A path that has ended before counts at no step.
    """
    shares = np.zeros((steps, len(paths), count + 1), np.float32)
    for question, ways in enumerate(paths):
        for path in ways:
            for step, directed_relation in enumerate((*path, count)[:steps]):
                shares[step, question, directed_relation] += 1.0 / len(ways)
    return shares
