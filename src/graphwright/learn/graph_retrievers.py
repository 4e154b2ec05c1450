"""The triple and entity retrievers: networks that score triples or nodes of the narrowed graph (ReG, Eq. 33 and 34)."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphwright.graph import Evidence, Graph
from graphwright.graph.evidence import Ints, Scores
from graphwright.graph.walks import Ways
from graphwright.learn.network import (
    Batch,
    DirectedEdges,
    GraphView,
    StepLogits,
    WalkScores,
    best_walks,
    edge_positions,
    gate_logits,
    gate_loss,
    open_gates,
    relu,
    sigmoid,
    step_scores,
    walk_forward,
)
from graphwright.learn.retriever import MIN_PROBABILITY, Retriever, StepModel
from graphwright.learn.training import ROUNDS, Sample, Samples, Schedule, Trained, Training
from graphwright.models.protocols import Floats
from graphwright.operators import Operator, Rerank, Run, ScoreFunction, State, Triples
from graphwright.operators.rerank.scorer import means, owners
from graphwright.search import VectorIndex

if TYPE_CHECKING:
    from graphwright.learn.labels import Progress

_HIDDEN, _STEPS = 128, 3  # of the triple network: hidden size, steps of the gates
_WIDTH, _LAYERS, _GATES = 16, 3, 128  # of the entity network: width, layers, hidden size of the gates
_EXTRA_TRIPLES = 200  # beyond k, since the entity retriever does not distinguish parallel triples (ReG, appendix E)


class _GraphRetriever(Retriever):
    """A retriever with a network over the narrowed graph and the distances from the query entities."""

    @abstractmethod
    def network(self, batch: Batch) -> tuple[Any, StepLogits]:
        """Return the log-odds of the triples, or of the nodes, of one graph, and the logits of its gates."""

    @abstractmethod
    def probabilities(self, graph: Graph, values: Scores, nodes: Ints, edges: Ints) -> Scores:
        """Return the value of the triple, or of the node, of each step of walks: [walks, steps]."""

    def values(self, state: State, run: Run) -> Scores:
        """Return the probabilities of the graph's triples or nodes."""
        if not len(state.graph.edges):
            return np.zeros(len(state.graph))
        values: Scores = sigmoid(np.asarray(self.network(self.inputs(state, run))[0], np.float64))
        return values

    def step_model(self, state: State, run: Run) -> StepModel:
        """Return the probabilities of steps, the scores of their best walks, and the likelihood of relation paths."""
        graph = state.graph
        if not len(graph.edges):
            none = lambda nodes, edges: np.zeros(edges.shape)  # noqa: E731
            return StepModel(none, none, lambda ways: 0.0)
        batch = self.inputs(state, run)
        logits, step_logits = self.network(batch)
        values, walks = sigmoid(np.asarray(logits, np.float64)), best_walks(step_logits, batch.edges, batch.start)
        relations = np.unique(graph.columns.relation[graph.edges]).astype(np.int64)
        return StepModel(
            partial(self.probabilities, graph, values),
            partial(step_scores, graph, batch.views[0], walks),
            partial(path_log_likelihood, step_logits, relations),
        )


def path_log_likelihood(logits: StepLogits, relations: Ints, ways: Ways) -> float:
    """Return the log-probability of a relation path with its end by the gates, for one question.

    `relations`: the relation of each row of the gates, ascending. A step beyond the last gate has the probability
    0.001; an end beyond it does not count.
    """
    total = 0.0
    rows = [2 * int(np.searchsorted(relations, way >> 1)) + (way & 1) for way in ways]
    for step, row in enumerate([*rows, -1]):
        if step < len(logits):
            every = np.concatenate([part[0] for part in logits[step]]).astype(np.float64)
            total += float(every[row] - every.max() - np.log(np.exp(every - every.max()).sum()))
        elif row >= 0:
            total += math.log(MIN_PROBABILITY)
    return total


class TripleRetriever(_GraphRetriever):
    """Retriever that scores triples by an MLP over question, head, relation, tail, distances (ReG@Triple, SubgraphRAG).

    The score of a triple is the probability that it is in Ĝ+ (Eq. 33). Distances are those from the query entities
    within the narrowed graph.
    """

    def search(self, k: int) -> Operator:
        return Triples() >> Rerank(self) % k

    def network(self, batch: Batch) -> tuple[Any, StepLogits]:
        return _all_triples(self.weights, batch, int(self.checkpoint.about["steps"]))

    def prepare(self, state: State, run: Run) -> ScoreFunction:
        """Return the mean probability of an item's triples, 0 for one outside the graph."""
        graph, values = state.graph, np.append(self.values(state, run), 0.0)
        return lambda items: means(values[edge_positions(graph, items.edges)], owners(items.edge_ptr), len(items))

    def probabilities(self, graph: Graph, values: Scores, nodes: Ints, edges: Ints) -> Scores:
        """Return the probability of each step's triple."""
        return np.append(values, 0.0)[edge_positions(graph, edges)]


def triple_logits(
    w: Mapping[str, Any], batch: Batch, gates: Sequence[Any], heads: Any, tails: Any, relation: Any, owner: Any
) -> Any:
    """Return the log-odds of triples: an MLP over question, triple and distances.

    `gates`: of the directed relations at each step; `heads`, `tails`, `relation`, `owner`: the nodes, the relation and
    the question of each triple, by position in the batch.
    """
    forward = walk_forward(gates, batch.edges, batch.start)
    question = relu(batch.questions @ w["question"] + w["asked"])
    first = (batch.relations @ w["relation"])[relation] + w["first"]
    for side, nodes in (("head", heads), ("tail", tails)):
        part = batch.distances @ w[f"{side} near"]
        if batch.names is not None:
            part = part + batch.names @ w[f"{side} name"]
        first = first + part[nodes]
    for step, (gate, scores) in enumerate(zip(gates, forward, strict=False)):
        # A walk may take the triple at this step from its head, or from its tail.
        along = scores[heads][:, 0] * gate[owner, 2 * relation + 1]
        against = scores[tails][:, 0] * gate[owner, 2 * relation]
        first = first + along[:, None] * w[f"along {step}"] + against[:, None] * w[f"against {step}"]
    mixed = relu(first) * question[owner]
    return (relu(mixed @ w["second weights"] + w["second"]) @ w["last weights"] + w["last"])[:, 0]


def _all_triples(w: Mapping[str, Floats], batch: Batch, steps: int) -> tuple[Any, StepLogits]:
    """Return the log-odds of all triples of one graph, and the logits of its gates."""
    (view,), step_logits = batch.views, gate_logits(w, batch.questions, batch.relations, steps)
    gates = [gate for gate, _ in open_gates(step_logits)]
    owner = np.zeros(len(view.heads), np.int64)
    return triple_logits(w, batch, gates, view.heads, view.tails, view.relation, owner), step_logits


def train_triple(
    samples: Samples, names: VectorIndex | None, schedule: Schedule, progress: Progress | None = None
) -> Trained:
    """Return the weights of a triple retriever, and its configuration for the checkpoint.

    The loss is the sum of two cross-entropies: of the triples (all positive ones, and `schedule.negatives` times as
    many sampled others, with log-odds corrected for the sampling), and of the gates against the steps of the labelled
    paths. The best epoch has the highest recall of positive triples of the held-out questions. `names`: of nodes.
    """
    training = Training(samples, schedule, progress)
    torch, learned, held_out = training.torch, training.learned, training.held_out

    def loss(w: Mapping[str, Any], at: list[int], rng: np.random.Generator) -> Any:
        rows, batch = [learned.rows[i] for i in at], learned.batch(at, names, torch)
        places, corrections, targets = training.draw([row.positive for row in rows], rng)
        drawn = [
            np.stack((row.heads[edges] + offset, row.tails[edges] + offset, row.relation[edges], edges * 0 + graph))
            for graph, (row, edges, offset) in enumerate(zip(rows, places, batch.edges.offsets, strict=False))
        ]
        heads, tails, relation, owner = torch.from_numpy(np.concatenate(drawn, axis=1).astype(np.int64))
        step_logits = gate_logits(w, batch.questions, batch.relations, _STEPS)
        # The gates are trained on the labelled paths only; the loss of the triples made both worse.
        gates = [gate.detach() for gate, _ in open_gates(step_logits)]
        logits = triple_logits(w, batch, gates, heads, tails, relation, owner)
        chances = sigmoid(logits + corrections)
        entropy = torch.nn.functional.binary_cross_entropy(chances, targets, reduction="sum")
        return (entropy + gate_loss(torch, step_logits, [row.paths for row in rows])) / len(at)

    def measure(w: Mapping[str, Floats]) -> float:
        scores = lambda at: _all_triples(w, held_out.batch([at], names), _STEPS)[0]  # noqa: E731
        return training.mean_recall(scores, lambda row: row.positive)

    weights, measures = training.fit(_triple_weights(training, samples, names is not None), loss, measure)
    return weights, {"rounds": ROUNDS, "steps": _STEPS, "names": names is not None, "recall@2R": measures}


def _triple_weights(training: Training, samples: Samples, named: bool) -> dict[str, Any]:
    """Return the initial weights; the result for a seed depends on the order of the draws."""
    dimension, features = samples.questions.shape[1], samples.rows[0].distances.shape[1]
    sizes = {"question": dimension, "relation": dimension, "head near": features, "tail near": features}
    if named:
        sizes |= {"head name": dimension, "tail name": dimension}
    zeros, half = training.torch.zeros, _HIDDEN // 2
    w = {name: training.weight(size, _HIDDEN, unit=size == dimension) for name, size in sizes.items()}
    w |= {"asked": zeros(_HIDDEN), "first": zeros(_HIDDEN)}
    w |= {"second weights": training.weight(_HIDDEN, half), "second": zeros(half)}
    w |= {"last weights": training.weight(half, 1), "last": zeros(1)}
    w |= training.gate_weights(dimension, _HIDDEN, _STEPS)
    for step in range(_STEPS):
        w[f"along {step}"], w[f"against {step}"] = training.weight(2, _HIDDEN)
    return w


class EntityRetriever(_GraphRetriever):
    """Retriever that scores nodes by a graph network, conditioned on the question (ReG@Entity, GNN-RAG).

    The score of a node is the probability that it is in Ê+ (Eq. 34). The score of a triple is the sum of the scores of
    its two ends (ReG, appendix E). The score of any other item is the mean score of its nodes.
    """

    def search(self, k: int) -> Operator:
        """Return an operator that retrieves the k + 200 best triples of the graph."""
        return Triples() >> Rerank(self) % (k + _EXTRA_TRIPLES)

    def network(self, batch: Batch) -> tuple[Any, StepLogits]:
        about = self.checkpoint.about
        return _all_entities(self.weights, batch, int(about["layers"]), float(about["degree"]))

    def prepare(self, state: State, run: Run) -> ScoreFunction:
        graph, values = state.graph, self.values(state, run)

        def scores(items: Evidence) -> Scores:
            by_nodes = means(values[graph.local(items.nodes)], owners(items.node_ptr), len(items))
            owner = owners(items.edge_ptr)
            bare = (np.diff(items.node_ptr) == 0)[owner]
            by_ends = values[graph.local(graph.ends(items.edges[bare]))].reshape(-1, 2).sum(axis=1)
            return by_nodes + np.bincount(owner[bare], by_ends, len(items))

        return scores

    def probabilities(self, graph: Graph, values: Scores, nodes: Ints, edges: Ints) -> Scores:
        """Return the probability of the node that each step leads to."""
        return values[graph.local(nodes[:, 1:].ravel())].reshape(edges.shape)


def entity_logits(w: Mapping[str, Any], batch: Batch, walks: WalkScores, mean: float, layers: int) -> Any:
    """Return the log-odds of nodes: principal neighbourhood aggregation (PNA).

    A message is the state of its source times a gate of the question and the directed relation. A node aggregates mean,
    maximum, minimum and deviation of its messages, each unscaled, amplified and attenuated by its degree (Corso et al.,
    2020, Eq. 8). Its features are the distances and the scores of the question's best walks through it. `mean`: the
    mean of log(degree + 1) over the nodes of the training data.
    """
    edges, count = batch.edges, 2 * batch.relations.shape[0]
    join = np.concatenate if edges.torch is None else edges.torch.cat
    features, scales = join((batch.distances, *walks.nodes()), 1), degree_scales(edges, mean)
    x = features @ w["near"] + w["start"] + (batch.questions @ w["question"])[edges.node_owner]
    if batch.names is not None:
        x = x + batch.names @ w["name"]
    x, gate = relu(x), edges.owner * count + edges.directed_relation
    for layer in range(layers):
        # Two rows for each relation: against it and along it.
        keys = (batch.relations @ w[f"relation {layer}"]).reshape(1, count, -1)
        gates = relu(keys + (batch.questions @ w[f"ask {layer}"]).reshape(-1, 1, keys.shape[2]))
        messages = edges.aggregate(x, gates.reshape(-1, keys.shape[2]), gate) @ w[f"said {layer}"]
        messages = (messages.reshape(x.shape[0], 3, -1) * scales).sum(1)
        x = relu(x @ w[f"self {layer}"] + messages + w[f"bias {layer}"])
    return (x @ w["last weights"] + features @ w["last near"] + w["last"])[:, 0]


def degree_scales(edges: DirectedEdges, mean: float) -> Any:
    """Return the scales of messages: 1, s and 1 / s, where s is log(degree + 1) over its mean; [n, 3, 1]."""
    scale = np.log(np.asarray(edges.degree) + 1) / np.float32(mean)
    scales = np.stack((np.ones_like(scale), scale, 1 / scale), axis=1)
    return scales if edges.torch is None else edges.torch.from_numpy(scales)


def _all_entities(w: Mapping[str, Floats], batch: Batch, layers: int, mean: float) -> tuple[Any, StepLogits]:
    """Return the log-odds of the nodes of a batch, and the logits of its gates."""
    step_logits = gate_logits(w, batch.questions, batch.relations, layers)
    torch = batch.edges.torch
    # The gates learn from the labelled paths only.
    fixed = step_logits if torch is None else [tuple(part.detach() for part in step) for step in step_logits]
    walks = best_walks(fixed, batch.edges, batch.start)
    return entity_logits(w, batch, walks, mean, layers), step_logits


def train_entity(
    samples: Samples, names: VectorIndex | None, schedule: Schedule, progress: Progress | None = None
) -> Trained:
    """Return what `train_triple` does, of an entity retriever: nodes are positive as ends of positive triples."""
    training = Training(samples, schedule, progress)
    torch, learned, held_out = training.torch, training.learned, training.held_out
    mean = _mean_log_degree(learned.rows)

    def loss(w: Mapping[str, Any], at: list[int], rng: np.random.Generator) -> Any:
        rows, batch = [learned.rows[i] for i in at], learned.batch(at, names, torch)
        logits, step_logits = _all_entities(w, batch, _LAYERS, mean)
        places, corrections, targets = training.draw([_positive(row) for row in rows], rng)
        nodes = np.concatenate([part + offset for part, offset in zip(places, batch.edges.offsets, strict=False)])
        odds = logits[torch.from_numpy(nodes)] + corrections
        entropy = torch.nn.functional.binary_cross_entropy_with_logits(odds, targets, reduction="sum")
        return (entropy + gate_loss(torch, step_logits, [row.paths for row in rows])) / len(rows)

    def measure(w: Mapping[str, Floats]) -> float:
        tensors = training.tensors(w)
        scores = lambda at: _all_entities(tensors, held_out.batch([at], names, torch), _LAYERS, mean)[0].numpy()  # noqa: E731
        with torch.no_grad():
            return training.mean_recall(scores, _positive)

    weights, measures = training.fit(_entity_weights(training, samples, names is not None), loss, measure)
    about = {"rounds": ROUNDS, "layers": _LAYERS, "degree": mean, "names": names is not None}
    return weights, {**about, "recall@2R": measures}


def _entity_weights(training: Training, samples: Samples, named: bool) -> dict[str, Any]:
    """Return the initial weights; the result for a seed depends on the order of the draws."""
    weight, zeros = training.weight, training.torch.zeros
    dimension, features = samples.questions.shape[1], samples.rows[0].distances.shape[1] + _LAYERS + 1
    w = {
        "near": weight(features, _WIDTH),
        "question": weight(dimension, _WIDTH, unit=True),
        "start": zeros(_WIDTH),
        "last weights": weight(_WIDTH, 1),
        "last near": zeros(features, 1),
        "last": zeros(1),
    }
    if named:
        w["name"] = weight(dimension, _WIDTH, unit=True)
    for layer in range(_LAYERS):
        w[f"relation {layer}"] = weight(dimension, 2 * _WIDTH, unit=True)
        w[f"ask {layer}"] = weight(dimension, _WIDTH, unit=True)
        w[f"self {layer}"] = weight(_WIDTH, _WIDTH)
        w[f"bias {layer}"] = zeros(_WIDTH)
        w[f"said {layer}"] = weight(12 * _WIDTH, 3 * _WIDTH)[: 4 * _WIDTH]
    return w | training.gate_weights(dimension, _GATES, _LAYERS)


def _positive(row: Sample) -> NDArray[np.bool_]:
    """Return which nodes are ends of a positive triple: Ê+."""
    positive = np.zeros(len(row.nodes), bool)
    positive[row.heads[row.positive]] = True
    positive[row.tails[row.positive]] = True
    return positive


def _mean_log_degree(views: Sequence[GraphView]) -> float:
    """Return the mean of log(degree + 1) over all nodes (the δ of PNA)."""
    total, count = 0.0, 0
    for view in views:
        degree = np.bincount(np.concatenate((view.heads, view.tails)), minlength=len(view.nodes))
        total += float(np.log(np.maximum(degree, 1) + 1.0).sum())
        count += len(degree)
    return total / max(count, 1)
