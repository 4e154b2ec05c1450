"""The entity retriever: a graph network that scores nodes as parts of an explanation (ReG@Entity, Eq. 34)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.index.vector_index import VectorIndex
from graphwright.learn.gates import (
    best_walks,
    gate_logits,
    gate_loss,
    initial_gates,
    initial_weight,
    relu,
    sigmoid,
    step_scores,
)
from graphwright.learn.graph_view import DirectedEdges, GraphView, directed_edges, encoding_width
from graphwright.learn.labels import Progress
from graphwright.learn.retriever import Retriever, StepProbabilities
from graphwright.learn.training import Batch, Sample, Samples, Schedule, Setup, draw_negatives, fit, recall
from graphwright.models.protocols import Floats
from graphwright.operators.operator import Operator
from graphwright.operators.rerank.rerank import Rerank
from graphwright.operators.rerank.scorer import ScoreFunction, means, owners
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.operators.subgraph.narrow import Triples

__all__ = ["EntityRetriever", "degree_scales", "entity_logits", "train_entity"]

_MORE = 200  # triples beyond k, since parallel ones are not distinguished (ReG, appendix E)
_GATES = 128  # numbers by which the gates read a question


def entity_logits(
    w: Mapping[str, Any], questions: Any, relations: Any, features: Any, edges: DirectedEdges, scales: Any, layers: int,
    names: Any = None, owner: Any = None, edge_owner: Any = None,
) -> Any:  # fmt: skip
    """Return the log-odds of nodes: principal neighbourhood aggregation (PNA), for arrays of NumPy or torch.

    A message is the state of its source times a gate of the question and the directed relation. A node takes mean,
    maximum, minimum and deviation of its messages, each unscaled, amplified and attenuated by its degree (Corso et al.,
    2020, Eq. 8). `questions`: [questions, d]; `relations`: [r, d]; `features`: [n, f], the distances and the scores of
    the question's best walks through each node; `names`: [n, d] or None; `scales`: of `degree_scales`; `owner`,
    `edge_owner`: the question of each node and directed edge, None where there is only one.
    """
    x = features @ w["near"] + w["start"]
    question = questions @ w["question"]
    x = x + (question if owner is None else question[owner])
    if names is not None:
        x = x + names @ w["name"]
    x, count = relu(x), 2 * relations.shape[0]
    gate = edges.directed_relation if edge_owner is None else edge_owner * count + edges.directed_relation
    for layer in range(layers):
        # Two rows for each relation: against it and along it.
        keys = (relations @ w[f"relation {layer}"]).reshape(1, count, -1)
        gates = relu(keys + (questions @ w[f"ask {layer}"]).reshape(-1, 1, keys.shape[2]))
        messages = edges.aggregate(x, gates.reshape(-1, keys.shape[2]), gate) @ w[f"said {layer}"]
        messages = (messages.reshape(x.shape[0], 3, -1) * scales).sum(1)
        x = relu(x @ w[f"self {layer}"] + messages + w[f"bias {layer}"])
    return (x @ w["last weights"] + features @ w["last near"] + w["last"])[:, 0]


def degree_scales(edges: DirectedEdges, mean: float) -> Floats:
    """Return the scales of messages: 1, s and 1 / s, where s is log(degree + 1) over its mean; [n, 3, 1]."""
    scale = np.log(np.asarray(edges.degree) + 1) / np.float32(mean)
    return np.stack((np.ones_like(scale), scale, 1 / scale), axis=1)


@dataclass(frozen=True, repr=False)
class EntityRetriever(Retriever):
    """Scores nodes by a graph network over the narrowed graph, conditioned on the question (ReG@Entity, GNN-RAG).

    The score of a node is the probability that it is in Ê+ (Eq. 34), that of a triple the sum over its two ends (ReG,
    appendix E), and that of any other item the mean over its nodes.
    """

    def search(self, k: int) -> Operator:
        """Return an operator that retrieves the k + 200 best triples of the graph."""
        return Triples() >> Rerank(self) % (k + _MORE)

    def prepare(self, state: State, run: Run) -> ScoreFunction:
        """Return the scores of items; a triple is an item that lists no nodes."""
        graph, probability = state.graph, self._probabilities(state, run)[0]

        def scores(items: Evidence) -> Scores:
            by_nodes = means(probability(items.nodes), owners(items.node_ptr), len(items))
            owner = owners(items.edge_ptr)
            bare = (np.diff(items.node_ptr) == 0)[owner]
            by_ends = probability(graph.ends(items.edges[bare])).reshape(-1, 2).sum(axis=1)
            return by_nodes + np.bincount(owner[bare], by_ends, len(items))

        return scores

    def step_probabilities(self, state: State, run: Run) -> StepProbabilities:
        """Return the probability of the node that each step leads to, times the score of the best walk that takes it.

        The walk identifies the relation where several lead to the node, and the step at which the node is reached.
        """
        probability, walks = self._probabilities(state, run)
        return lambda nodes, edges: probability(nodes[:, 1:]) * walks(nodes, edges)

    def _probabilities(self, state: State, run: Run) -> tuple[Callable[[Ints], Scores], StepProbabilities]:
        """Return the probability of nodes, and the scores of walks by their steps."""
        graph, about = state.graph, self.checkpoint.about
        if not len(graph.edges):
            return lambda nodes: np.zeros(nodes.shape), lambda nodes, edges: np.zeros(edges.shape)
        (view, question, relations, names), layers = self.inputs(state, run), int(about["layers"])
        edges = directed_edges(view)
        walks = best_walks(gate_logits(self.weights, question, relations, layers), edges, view.start)
        features = np.concatenate((view.distances, *walks.nodes()), axis=1)
        scales = degree_scales(edges, float(about["degree"]))
        logits = entity_logits(self.weights, question, relations, features, edges, scales, layers, names)
        values = sigmoid(logits.astype(np.float64))
        return lambda nodes: values[graph.local(nodes.ravel())].reshape(nodes.shape), partial(
            step_scores, graph, view, walks
        )


def train_entity(
    samples: Samples,
    *,
    names: VectorIndex | None = None,
    hidden: int = 16,
    layers: int = 3,
    schedule: Schedule | None = None,
    progress: Progress | None = None,
) -> tuple[dict[str, Floats], dict[str, Any]]:
    """Return the weights of an entity retriever, and its configuration for the checkpoint.

    The loss is the binary cross-entropy over the ends of all positive triples and `schedule.negatives` times as many
    other nodes, whose log-odds are corrected for the draw, plus that of the gates against the steps of the labelled
    paths. The epoch is chosen by the recall of positive nodes of the held-out questions. `layers`: steps of a
    question.
    """
    setup = Setup(samples, schedule or Schedule(batch=8))
    torch, learned, held_out = setup.torch, setup.learned, setup.held_out
    dimension, mean = samples.questions.shape[1], _mean_log_degree(learned.rows)
    features = encoding_width(samples.rounds) + layers + 1
    start = _initial(torch, setup.generator, dimension, features, hidden, layers, names is not None)
    start |= initial_gates(torch, setup.generator, dimension, _GATES, layers)
    relations = torch.from_numpy(samples.relations)

    def logits_and_gate_loss(w: Mapping[str, Any], part: Samples, batch: Sequence[int]) -> tuple[Any, Any]:
        graphs = Batch(torch, part, batch, names)
        edges, near = graphs.edges, graphs.distances
        step_logits = gate_logits(w, graphs.questions, relations, layers)
        with torch.no_grad():  # the gates learn from the labelled paths only
            walks = best_walks(step_logits, edges, near[:, :1], graphs.owner, edges.owner)
            near = torch.cat((near, *walks.nodes()), 1)
        scales = torch.from_numpy(degree_scales(edges, mean))
        logits = entity_logits(
            w, graphs.questions, relations, near, edges, scales, layers, graphs.names, graphs.owner, edges.owner
        )
        return logits, gate_loss(torch, step_logits, [part.rows[at].paths for at in batch])

    def loss(w: Mapping[str, Any], batch: list[int], rng: np.random.Generator) -> Any:
        logits, from_gates = logits_and_gate_loss(w, learned, batch)
        positives = [_positive(learned.rows[at]) for at in batch]
        offsets = np.cumsum([0, *map(len, positives)])
        draws = [draw_negatives(positive, rng, setup.schedule.negatives) for positive in positives]
        nodes = np.concatenate([places + offset for (places, _), offset in zip(draws, offsets, strict=False)])
        corrections = torch.from_numpy(np.concatenate([correction for _, correction in draws]))
        target = torch.from_numpy(np.concatenate(positives)[nodes].astype(np.float32))
        odds = logits[torch.from_numpy(nodes)] + corrections
        entropy = torch.nn.functional.binary_cross_entropy_with_logits(odds, target, reduction="sum")
        return (entropy + from_gates) / len(batch)

    def measure(w: Mapping[str, Floats]) -> float:
        tensors = {name: torch.from_numpy(value) for name, value in w.items()}
        with torch.no_grad():
            logits = [logits_and_gate_loss(tensors, held_out, [at])[0].numpy() for at in range(len(held_out.rows))]
        return float(np.mean([recall(row, _positive(of)) for row, of in zip(logits, held_out.rows, strict=True)]))

    weights, measures = fit(start, learned, loss, measure, setup.schedule, progress)
    about = {"rounds": samples.rounds, "layers": layers, "degree": mean, "names": names is not None}
    return weights, {**about, "recall@2R": measures}


def _initial(
    torch: Any, generator: Any, dimension: int, features: int, hidden: int, layers: int, named: bool
) -> dict[str, Any]:
    """Return the initial weights; the result for a seed depends on the order of the draws."""

    def weight(rows: int, columns: int, unit: bool = False) -> Any:
        return initial_weight(torch, generator, rows, columns, unit=unit)

    w = {
        "near": weight(features, hidden),
        "question": weight(dimension, hidden, unit=True),
        "start": torch.zeros(hidden),
        "last weights": weight(hidden, 1),
        "last near": torch.zeros(features, 1),
        "last": torch.zeros(1),
    }
    if named:
        w["name"] = weight(dimension, hidden, unit=True)
    for layer in range(layers):
        w[f"relation {layer}"] = weight(dimension, 2 * hidden, unit=True)
        w[f"ask {layer}"] = weight(dimension, hidden, unit=True)
        w[f"self {layer}"] = weight(hidden, hidden)
        w[f"bias {layer}"] = torch.zeros(hidden)
        w[f"said {layer}"] = weight(12 * hidden, 3 * hidden)[: 4 * hidden]
    return w


def _positive(view: Sample) -> Any:
    """Return which nodes are ends of a positive triple: Ê+."""
    positive = np.zeros(len(view.nodes), bool)
    positive[view.heads[view.positive]] = True
    positive[view.tails[view.positive]] = True
    return positive


def _mean_log_degree(views: Sequence[GraphView]) -> float:
    """Return the mean of log(degree + 1) over all nodes (the δ of PNA)."""
    total, count = 0.0, 0
    for view in views:
        degree = np.bincount(np.concatenate((view.heads, view.tails)), minlength=len(view.nodes))
        total += float(np.log(np.maximum(degree, 1) + 1.0).sum())
        count += len(degree)
    return total / max(count, 1)
