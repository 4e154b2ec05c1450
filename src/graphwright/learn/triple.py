"""The triple retriever: the probability that a triple is part of an explanation of the answer (ReG@Triple, Eq. 33)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.index.vector_index import VectorIndex
from graphwright.learn.gates import (
    StepLogits,
    best_walks,
    gate_logits,
    gate_loss,
    initial_gates,
    initial_weight,
    relation_gates,
    relu,
    sigmoid,
    step_scores,
    walk_forward,
)
from graphwright.learn.graph_view import directed_edges, edge_positions, encoding_width
from graphwright.learn.labels import Progress
from graphwright.learn.retriever import Inputs, Retriever, StepProbabilities
from graphwright.learn.training import Batch, Samples, Schedule, Setup, draw_negatives, fit, recall
from graphwright.models.protocols import Floats
from graphwright.operators.operator import Operator
from graphwright.operators.rerank.rerank import Rerank
from graphwright.operators.rerank.scorer import ScoreFunction, means, owners
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.operators.subgraph.narrow import Triples

__all__ = ["TripleRetriever", "train_triple", "triple_logits"]


def triple_logits(
    w: Mapping[str, Any], questions: Any, relations: Any, distances: Any, gates: Sequence[Any],
    forward: Sequence[Any], heads: Any, tails: Any, relation: Any, names: Any = None, owner: Any = None,
) -> Any:  # fmt: skip
    """Return the log-odds of triples: an MLP over question, triple and distances, for arrays of NumPy or torch.

    `questions`: [questions, d]; `relations`: [r, d]; `distances`: [n, f]; `names`: [n, d] or None; `gates`, `forward`:
    of `relation_gates` and `walk_forward`; `heads`, `tails`, `relation`: [m], rows of these; `owner`: the question of
    each triple, None where there is only one.
    """
    question = relu(questions @ w["question"] + w["asked"])
    first = (relations @ w["relation"])[relation] + w["first"]
    for side, nodes in (("head", heads), ("tail", tails)):
        part = distances @ w[f"{side} near"]
        if names is not None:
            part = part + names @ w[f"{side} name"]
        first = first + part[nodes]
    row = 0 if owner is None else owner
    for step, (gate, scores) in enumerate(zip(gates, forward, strict=False)):
        # A walk may take the triple at this step from its head, or from its tail.
        along = scores[heads][:, 0] * gate[row, 2 * relation + 1]
        against = scores[tails][:, 0] * gate[row, 2 * relation]
        first = first + along[:, None] * w[f"along {step}"] + against[:, None] * w[f"against {step}"]
    mixed = relu(first) * (question if owner is None else question[owner])
    return (relu(mixed @ w["second weights"] + w["second"]) @ w["last weights"] + w["last"])[:, 0]


@dataclass(frozen=True, repr=False)
class TripleRetriever(Retriever):
    """Scores triples by an MLP over question, head, relation, tail and distances (ReG@Triple, SubgraphRAG).

    The score of a triple is the probability that it is in Ĝ+ (Eq. 33). Distances are those from the query entities
    within the narrowed graph.
    """

    def search(self, k: int) -> Operator:
        """Return an operator that retrieves the k best triples of the graph."""
        return Triples() >> Rerank(self) % k

    def prepare(self, state: State, run: Run) -> ScoreFunction:
        """Return the mean probability of an item's triples."""
        probability = self._probabilities(state, run)[0]

        def scores(items: Evidence) -> Scores:
            return means(probability(items.edges), owners(items.edge_ptr), len(items))

        return scores

    def step_probabilities(self, state: State, run: Run) -> StepProbabilities:
        """Return the probability of each step's triple, times the score of the best walk that takes the step."""
        probability, walks = self._probabilities(state, run)
        return lambda nodes, edges: probability(edges) * walks(nodes, edges)

    def _probabilities(self, state: State, run: Run) -> tuple[Callable[[Ints], Scores], StepProbabilities]:
        """Return the probability of triples, 0 for one outside the graph; and the scores of walks by their steps."""
        graph = state.graph
        if not len(graph.edges):
            return lambda edges: np.zeros(edges.shape), lambda nodes, edges: np.zeros(edges.shape)
        inputs = self.inputs(state, run)
        logits, step_logits = _logits(self.weights, inputs, int(self.checkpoint.about["steps"]))
        values = np.append(sigmoid(np.asarray(logits, np.float64)), 0.0)
        walks = best_walks(step_logits, directed_edges(inputs.view), inputs.view.start)
        return lambda edges: values[edge_positions(graph, edges)], partial(step_scores, graph, inputs.view, walks)


def _logits(w: Mapping[str, Floats], inputs: Inputs, steps: int) -> tuple[Floats, StepLogits]:
    """Return the log-odds of all triples of a graph, and the logits of its gates."""
    view = inputs.view
    step_logits = gate_logits(w, inputs.question, inputs.relations, steps)
    gates = relation_gates(step_logits)
    forward = walk_forward(gates, directed_edges(view), view.start)
    logits: Floats = triple_logits(
        w, inputs.question, inputs.relations, view.distances, gates, forward,
        view.heads, view.tails, view.relation, inputs.names,
    )  # fmt: skip
    return logits, step_logits


def train_triple(
    samples: Samples,
    *,
    names: VectorIndex | None = None,
    hidden: int = 128,
    steps: int = 3,
    schedule: Schedule | None = None,
    progress: Progress | None = None,
) -> tuple[dict[str, Floats], dict[str, Any]]:
    """Return the weights of a triple retriever, and its configuration for the checkpoint.

    The loss is the binary cross-entropy over all positive triples and `schedule.negatives` times as many drawn from the
    rest, whose log-odds are corrected for the draw, plus that of the gates against the steps of the labelled paths. The
    epoch is chosen by the recall of positive triples of the held-out questions. `names`: vectors of nodes, read for
    heads and tails; without them nodes differ by their distances only.
    """
    setup = Setup(samples, schedule or Schedule())
    torch, learned, held_out = setup.torch, setup.learned, setup.held_out
    start = _initial(torch, setup.generator, samples, hidden, steps, names is not None)
    relations = torch.from_numpy(samples.relations)

    def loss(w: Mapping[str, Any], batch: list[int], rng: np.random.Generator) -> Any:
        rows = [learned.rows[at] for at in batch]
        draws = [draw_negatives(row.positive, rng, setup.schedule.negatives) for row in rows]
        graphs = Batch(torch, learned, batch, names)
        parts = [
            (row.heads[edges] + offset, row.tails[edges] + offset, row.relation[edges], row.positive[edges])
            for row, (edges, _), offset in zip(rows, draws, graphs.offsets, strict=False)
        ]
        heads, tails, relation, positive = (np.concatenate(column) for column in zip(*parts, strict=True))
        owner = np.repeat(np.arange(len(batch)), [len(edges) for edges, _ in draws])
        heads, tails, relation, owner = (
            torch.from_numpy(part.astype(np.int64)) for part in (heads, tails, relation, owner)
        )
        step_logits = gate_logits(w, graphs.questions, relations, steps)
        # The gates are trained on the labelled paths only; the loss of the triples made both worse.
        gates = [gate.detach() for gate in relation_gates(step_logits)]
        forward = walk_forward(gates, graphs.edges, graphs.distances[:, :1], graphs.edges.owner)
        logits = triple_logits(
            w, graphs.questions, relations, graphs.distances, gates, forward,
            heads, tails, relation, graphs.names, owner,
        )  # fmt: skip
        corrections = torch.from_numpy(np.concatenate([correction for _, correction in draws]))
        target = torch.from_numpy(positive.astype(np.float32))
        entropy = torch.nn.functional.binary_cross_entropy(sigmoid(logits + corrections), target, reduction="sum")
        return (entropy + gate_loss(torch, step_logits, [row.paths for row in rows])) / len(batch)

    def measure(w: Mapping[str, Floats]) -> float:
        return float(np.mean([
            recall(_logits(w, held_out.inputs(at, names), steps)[0], row.positive)
            for at, row in enumerate(held_out.rows)
        ]))  # fmt: skip

    weights, measures = fit(start, learned, loss, measure, setup.schedule, progress)
    return weights, {"rounds": samples.rounds, "steps": steps, "names": names is not None, "recall@2R": measures}


def _initial(torch: Any, generator: Any, samples: Samples, hidden: int, steps: int, named: bool) -> dict[str, Any]:
    """Return the initial weights; the result for a seed depends on the order of the draws."""
    dimension, features = samples.questions.shape[1], encoding_width(samples.rounds)
    sizes = {"question": dimension, "relation": dimension, "head near": features, "tail near": features}
    if named:
        sizes |= {"head name": dimension, "tail name": dimension}

    def weight(rows: int, columns: int) -> Any:
        return initial_weight(torch, generator, rows, columns, unit=rows == dimension)

    w = {name: weight(size, hidden) for name, size in sizes.items()}
    w |= {"asked": torch.zeros(hidden), "first": torch.zeros(hidden)}
    w |= {"second weights": initial_weight(torch, generator, hidden, hidden // 2), "second": torch.zeros(hidden // 2)}
    w |= {"last weights": initial_weight(torch, generator, hidden // 2, 1), "last": torch.zeros(1)}
    w |= initial_gates(torch, generator, dimension, hidden, steps)
    for step in range(steps):
        w[f"along {step}"], w[f"against {step}"] = initial_weight(torch, generator, 2, hidden)
    return w
