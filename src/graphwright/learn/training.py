"""Training data, and the training loop that all levels share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from graphwright.constraints import AtLeast, Between, Checked, MoreThan
from graphwright.errors import DataError
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Graph
from graphwright.graph.walks import Ways, labelled_edges
from graphwright.index.vector_index import VectorIndex, normalised
from graphwright.learn.candidates import ANSWER, ppr_subgraph
from graphwright.learn.gates import import_torch
from graphwright.learn.graph_view import GraphView, batch_edges, view_graph
from graphwright.learn.labels import Label, Labels, Progress, positive_edges
from graphwright.learn.refine import masked_question
from graphwright.learn.retriever import Inputs, relation_vectors
from graphwright.models.protocols import Encoder, Floats

__all__ = [
    "Batch",
    "Sample",
    "Samples",
    "Schedule",
    "Setup",
    "draw_negatives",
    "fit",
    "recall",
    "samples_of",
    "split",
]

_BLOCK = 1_024  # questions encoded at once
_EPOCHS, _PATIENCE = 20, 4
_MIN_STEPS = 400  # of a training, however few questions there are
_MIN_BATCH = 4  # questions
_MIN_POSITIVES = 10  # that negatives are drawn for


@dataclass(frozen=True, eq=False)
class Sample(GraphView):
    """One question: the view of its graph, which edges are positive, and its labelled relation paths.

    `relation`: int32, rows of `Samples.relations`; `distances`: float16; `positive`: bool[m], the edges of Ĝ+; `paths`:
    the relation paths of P̂+, as directed relations by row.
    """

    positive: NDArray[np.bool_]
    paths: tuple[Ways, ...]


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples with the vectors of their questions and of all relations in them; `rounds`: of the distance encoding."""

    rows: tuple[Sample, ...]
    questions: Floats
    relations: Floats
    rounds: int

    def part(self, positions: Sequence[int] | NDArray[np.int64]) -> Samples:
        """Return the samples at some positions."""
        chosen = [int(position) for position in positions]
        return Samples(tuple(self.rows[i] for i in chosen), self.questions[chosen], self.relations, self.rounds)

    def inputs(self, at: int, names: VectorIndex | None) -> Inputs:
        """Return the inputs of a network for one sample."""
        row = self.rows[at]
        view = GraphView(row.nodes, row.heads, row.tails, row.relation, row.distances.astype(np.float32))
        named = names.of(row.nodes.astype(np.int64)) if names is not None else None
        return Inputs(view, self.questions[at : at + 1], self.relations, named)


def samples_of(
    graph: Graph, labels: Labels, encoder: Encoder, *, rounds: int = 3, progress: Progress | None = None
) -> Samples:
    """Return the samples of the labels that have a path.

    `rounds`: of the distance encoding. Raises DataError where no label has a path.
    """
    usable = [row for row in labels.rows if row.paths]
    if not usable:
        raise DataError(
            f"None of {len(labels.rows):,} labelled questions has a path that explains its answers, so nothing can "
            "be learned. Check that the graph connects the entities of the questions with their answers."
        )
    edges, nodes, rows_of = labelled_edges(graph), int(labels.about.get("nodes", 1000)), dict[int, int]()
    rows = []
    for count, label in enumerate(usable, 1):
        rows.append(_sample(graph, label, edges, nodes, rounds, rows_of))
        if progress:
            progress("prepare samples", count, len(usable))
    texts = [masked_question(graph, label.example) for label in usable]
    vectors = np.concatenate([encoder.encode(texts[at : at + _BLOCK]) for at in range(0, len(texts), _BLOCK)])
    return Samples(tuple(rows), normalised(vectors), relation_vectors(encoder.encode, graph, list(rows_of)), rounds)


def _sample(graph: Graph, label: Label, edges: Any, nodes: int, rounds: int, rows_of: dict[int, int]) -> Sample:
    """Return the sample of a label; `rows_of`: the row of each relation, which grows."""
    subgraph = ppr_subgraph(graph, label.example, nodes)
    view, relations = view_graph(subgraph, subgraph.local(label.example.entities), rounds)
    rows = np.array([rows_of.setdefault(relation, len(rows_of)) for relation in relations.tolist()], np.int32)
    paths = dict.fromkeys(path.candidate.ways for path in label.paths if path.candidate.pool != ANSWER)
    return Sample(
        view.nodes.astype(np.int32),
        view.heads.astype(np.int32),
        view.tails.astype(np.int32),
        rows[view.relation] if len(rows) else np.empty(0, np.int32),
        view.distances.astype(np.float16),
        np.isin(subgraph.edges, positive_edges(graph, label, edges)),
        tuple(tuple(2 * rows_of.setdefault(d >> 1, len(rows_of)) + (d & 1) for d in path) for path in paths),
    )


@dataclass(frozen=True)
class Schedule(Checked):
    """Schedule of a training: epochs, batches and negatives.

    `epochs`: at most; None for 20, or as many as make 400 steps. Training stops `patience` epochs after the best one;
    None for 4, or as many as make 200 steps. `batch`: questions of a step, at most a tenth of all; `held_out`: share of
    questions that choose the best epoch; `negatives`: drawn for each positive triple or entity (ReG takes all, its
    graphs being smaller).
    """

    epochs: Annotated[int | None, AtLeast(1)] = None
    patience: Annotated[int | None, AtLeast(1)] = None
    batch: Annotated[int, AtLeast(1)] = 32
    rate: Annotated[float, MoreThan(0)] = 3e-3
    held_out: Annotated[float, Between(0, 1, open_low=True, open_high=True)] = 0.05
    negatives: Annotated[int, AtLeast(1)] = 6
    seed: int = 0


class Setup:
    """Torch with a seeded generator, and the samples split into those to learn from and those held out."""

    def __init__(self, samples: Samples, schedule: Schedule) -> None:
        """Split the samples. Raises NeedsError without torch."""
        self.torch, self.schedule = import_torch(), schedule
        self.learned, self.held_out = split(samples, schedule)
        self.generator = self.torch.Generator().manual_seed(schedule.seed)


class Batch:
    """The graphs of several samples side by side, as tensors.

    `edges`: directed edges; `offsets`: where the nodes of each graph begin; `owner`: the question of each node;
    `distances`, `names`: of the nodes; `questions`: their vectors.
    """

    def __init__(self, torch: Any, samples: Samples, at: Sequence[int], names: VectorIndex | None) -> None:
        """Concatenate the samples at some positions; `names`: vectors of nodes, where the network reads them."""
        rows = [samples.rows[position] for position in at]
        self.edges, self.offsets = batch_edges(torch, rows)
        self.owner = torch.from_numpy(np.repeat(np.arange(len(rows)), np.diff(self.offsets)))
        self.distances = torch.from_numpy(np.concatenate([row.distances for row in rows]).astype(np.float32))
        self.questions = torch.from_numpy(samples.questions[list(at)])
        self.names = None
        if names is not None:
            self.names = torch.from_numpy(names.of(np.concatenate([row.nodes for row in rows]).astype(np.int64)))


def split(samples: Samples, schedule: Schedule) -> tuple[Samples, Samples]:
    """Return the samples to learn from, and those held out; a single sample is both."""
    order = np.random.default_rng(schedule.seed).permutation(len(samples.rows))
    count = max(1, round(len(order) * schedule.held_out))
    return samples.part(order[count:] if count < len(order) else order), samples.part(order[:count])


def draw_negatives(positive: NDArray[np.bool_], rng: np.random.Generator, negatives: int) -> tuple[Ints, Floats]:
    """Return the positions of all positives and of some negatives, and the correction of each one's log-odds.

    `negatives`: drawn for each positive, as if there were at least ten. The correction is the difference of the
    log-odds among the drawn from those among all.
    """
    positives, others = np.flatnonzero(positive), np.flatnonzero(~positive)
    count = min(len(others), negatives * max(len(positives), _MIN_POSITIVES))
    positions = np.concatenate((positives, rng.choice(others, count, replace=False)))
    return positions, np.full(len(positions), np.log(max(len(others), 1) / max(count, 1)), np.float32)


def recall(scores: NDArray[Any], positive: NDArray[np.bool_]) -> float:
    """Return the recall of the positives among twice as many best scores; 1 where there are none.

    >>> recall(np.array([0.9, 0.8, 0.1, 0.2]), np.array([False, True, True, False]))
    1.0
    """
    count = int(positive.sum())
    best = np.argsort(-scores, kind="stable")[: 2 * count]
    return float(positive[best].sum()) / count if count else 1.0


def fit(
    weights: Mapping[str, Any],
    samples: Samples,
    loss: Callable[[Mapping[str, Any], list[int], np.random.Generator], Any],
    measure: Callable[[Mapping[str, Floats]], float],
    schedule: Schedule,
    progress: Progress | None = None,
) -> tuple[dict[str, Floats], list[float]]:
    """Train with Adam; return the weights of the best epoch, and the measure after each epoch.

    `loss` takes the weights, the positions of a batch of samples and a random generator; `measure` the weights as
    arrays. Of epochs with the same measure the last is taken, because it has trained longer.
    """
    torch = import_torch()
    tensors = {name: value.clone().requires_grad_(True) for name, value in weights.items()}
    adam = torch.optim.AdamW(tensors.values(), lr=schedule.rate, weight_decay=1e-4)
    size = min(schedule.batch, max(_MIN_BATCH, len(samples.rows) // 10))
    steps = -(-len(samples.rows) // size)
    epochs = schedule.epochs or max(_EPOCHS, -(-_MIN_STEPS // steps))
    patience = schedule.patience or max(_PATIENCE, -(-_MIN_STEPS // (2 * steps)))
    rate = torch.optim.lr_scheduler.OneCycleLR(adam, schedule.rate, total_steps=epochs * steps + 1)
    rng = np.random.default_rng(schedule.seed)
    best, measures = _arrays(tensors), list[float]()
    for epoch in range(epochs):
        for batch in _batches(rng.permutation(len(samples.rows)), size):
            adam.zero_grad()
            loss(tensors, batch, rng).backward()
            adam.step()
            rate.step()
        measures.append(measure(_arrays(tensors)))
        if measures[-1] >= max(measures):
            best = _arrays(tensors)
        if progress:
            progress("train", epoch + 1, epochs)
        if epoch - int(np.argmax(measures)) >= patience:
            break
    return best, measures


def _batches(order: Any, size: int) -> Iterable[list[int]]:
    for at in range(0, len(order), size):
        yield order[at : at + size].tolist()


def _arrays(tensors: Mapping[str, Any]) -> dict[str, Floats]:
    return {name: value.detach().numpy().copy() for name, value in tensors.items()}
