"""Training data and the training loop of all levels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphwright.constraints import AtLeast, Between, Checked, MoreThan
from graphwright.errors import DataError
from graphwright.graph import Graph
from graphwright.graph.evidence import Ints
from graphwright.graph.walks import Ways
from graphwright.learn.candidates import ANSWER, ppr_subgraph
from graphwright.learn.labels import Label, Labels, Progress, positive_edges
from graphwright.learn.network import KEY, Batch, GraphView, import_torch, view_graph
from graphwright.learn.refine import masked_question
from graphwright.learn.retriever import relation_vectors
from graphwright.models import Encoder
from graphwright.models.protocols import Floats
from graphwright.search import VectorIndex
from graphwright.search.vector_index import normalised

ROUNDS = 3  # rounds of the distance encoding
_BLOCK = 1_024  # questions encoded at once
_EPOCHS, _PATIENCE = 20, 4
_MIN_STEPS = 400  # of a training with few questions
_MIN_BATCH = 4  # questions
_MIN_POSITIVES = 10  # for the number of negatives

Example = TypeVar("Example")
Trained = tuple[dict[str, Floats], dict[str, Any]]  # a retriever's weights, and its configuration


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
    """Samples with the vectors of their questions and of all relations in them."""

    rows: tuple[Sample, ...]
    questions: Floats
    relations: Floats

    def part(self, positions: Sequence[int] | NDArray[np.int64]) -> Samples:
        """Return the samples at some positions."""
        chosen = [int(position) for position in positions]
        return Samples(tuple(self.rows[i] for i in chosen), self.questions[chosen], self.relations)

    def batch(self, positions: Sequence[int], names: VectorIndex | None, torch: Any = None) -> Batch:
        """Return the input of a network for the samples at some positions; tensors where `torch` is given."""
        rows = [self.rows[position] for position in positions]
        return Batch.of(rows, self.questions[list(positions)], self.relations, names, torch)


def samples_of(graph: Graph, labels: Labels, encoder: Encoder, progress: Progress | None = None) -> Samples:
    """Return the samples of the labels that have a path. Raises DataError where none has one."""
    usable = [row for row in labels.rows if row.paths]
    if not usable:
        raise DataError(
            f"None of {len(labels.rows):,} labelled questions has a path that explains its answers, so nothing can "
            "be learned. Check that the graph connects the entities of the questions with their answers."
        )
    nodes, rows_of = int(labels.about.get("nodes", 1000)), dict[int, int]()
    rows = []
    for count, label in enumerate(usable, 1):
        rows.append(_sample(graph, label, nodes, rows_of))
        if progress:
            progress("prepare samples", count, len(usable))
    texts = [masked_question(graph, label.example) for label in usable]
    vectors = np.concatenate([encoder.encode(texts[at : at + _BLOCK]) for at in range(0, len(texts), _BLOCK)])
    return Samples(tuple(rows), normalised(vectors), relation_vectors(encoder.encode, graph, list(rows_of)))


def _sample(graph: Graph, label: Label, nodes: int, rows_of: dict[int, int]) -> Sample:
    """Return the sample of a label; `rows_of`: the row of each relation, which grows."""
    subgraph = ppr_subgraph(graph, label.example, nodes)
    view, relations = view_graph(subgraph, subgraph.local(label.example.entities), ROUNDS)
    rows = np.array([rows_of.setdefault(relation, len(rows_of)) for relation in relations.tolist()], np.int32)
    paths = dict.fromkeys(path.candidate.ways for path in label.paths if path.candidate.pool != ANSWER)
    return Sample(
        view.nodes.astype(np.int32),
        view.heads.astype(np.int32),
        view.tails.astype(np.int32),
        rows[view.relation] if len(rows) else np.empty(0, np.int32),
        view.distances.astype(np.float16),
        np.isin(subgraph.edges, positive_edges(graph, label)),
        tuple(tuple(2 * rows_of.setdefault(d >> 1, len(rows_of)) + (d & 1) for d in path) for path in paths),
    )


@dataclass(frozen=True)
class Schedule(Checked):
    """Schedule of a training: epochs, batches and negatives.

    `epochs`: at most; None for 20, or as many as make 400 steps (of relation paths 2,000). Training stops `patience`
    epochs after the best one; None for 4, or as many as make half of these steps. The paper has 80 epochs and stops
    none. `batch`: questions of a step, at most a tenth of all; `held_out`: share of questions that choose the best
    epoch; `negatives`: drawn for each positive triple or entity (ReG uses all, as its graphs are smaller).
    """

    epochs: Annotated[int | None, AtLeast(1)] = None
    patience: Annotated[int | None, AtLeast(1)] = None
    batch: Annotated[int, AtLeast(1)] = 32
    rate: Annotated[float, MoreThan(0)] = 3e-3
    held_out: Annotated[float, Between(0, 1, open_low=True, open_high=True)] = 0.05
    negatives: Annotated[int, AtLeast(1)] = 6
    seed: int = 0


class Training:
    """Training of one retriever: samples to learn and held out (one alone is both), initial weights, and the loop."""

    def __init__(self, samples: Samples, schedule: Schedule, progress: Progress | None = None) -> None:
        """Split the samples. Raises NeedsError without torch."""
        self.torch, self.schedule, self.progress = import_torch(), schedule, progress
        self.generator = self.torch.Generator().manual_seed(schedule.seed)
        order = np.random.default_rng(schedule.seed).permutation(len(samples.rows))
        count = max(1, round(len(order) * schedule.held_out))
        self.learned = samples.part(order[count:] if count < len(order) else order)
        self.held_out = samples.part(order[:count])

    def weight(self, rows: int, columns: int, *, unit: bool = False) -> Any:
        """Return weights drawn as He et al. (2015) do; `unit`: for input vectors of length 1, whatever their size."""
        drawn = self.torch.randn(rows, columns, generator=self.generator)
        return drawn * (2.0 if unit else 2.0 / max(rows, 1)) ** 0.5

    def gate_weights(self, dimension: int, hidden: int, steps: int) -> dict[str, Any]:
        """Return the initial weights of relation gates."""
        w = {"gate question": self.weight(dimension, hidden, unit=True), "gate asked": self.torch.zeros(hidden)}
        w["gate relation"] = self.weight(dimension, 2 * KEY, unit=True)
        for step in range(steps):
            w[f"gate {step}"], w[f"gate bias {step}"] = self.weight(hidden, KEY), self.torch.zeros(1)
            w[f"gate end {step}"] = self.weight(hidden, 1)
        return w

    def tensors(self, arrays: Mapping[str, Floats]) -> dict[str, Any]:
        """Return arrays as tensors."""
        return {name: self.torch.from_numpy(array) for name, array in arrays.items()}

    def draw(self, positives: Sequence[NDArray[np.bool_]], rng: np.random.Generator) -> tuple[list[Ints], Any, Any]:
        """Draw negatives: return the positions of all positives and some negatives of each graph; corrections; targets.

        `schedule.negatives` are drawn for each positive, and for at least ten. A correction is added to the log-odds:
        the log-odds of the sample minus those of the whole.
        """
        places, corrections = [], []
        for positive in positives:
            others = np.flatnonzero(~positive)
            count = min(len(others), self.schedule.negatives * max(int(positive.sum()), _MIN_POSITIVES))
            places.append(np.concatenate((np.flatnonzero(positive), rng.choice(others, count, replace=False))))
            corrections.append(np.full(len(places[-1]), np.log(max(len(others), 1) / max(count, 1)), np.float32))
        targets = np.concatenate([positive[at] for positive, at in zip(positives, places, strict=True)])
        as_tensor = self.torch.from_numpy
        return places, as_tensor(np.concatenate(corrections)), as_tensor(targets.astype(np.float32))

    def mean_recall(
        self, scores: Callable[[int], NDArray[Any]], positive: Callable[[Sample], NDArray[np.bool_]]
    ) -> float:
        """Return the mean recall of the held-out samples; `scores` are those of the sample at a position."""
        rows = self.held_out.rows
        return float(np.mean([recall(scores(at), positive(row)) for at, row in enumerate(rows)]))

    def fit(
        self,
        weights: Mapping[str, Any],
        loss: Callable[[Mapping[str, Any], list[int], np.random.Generator], Any],
        measure: Callable[[Mapping[str, Floats]], float],
        min_steps: int = _MIN_STEPS,
    ) -> tuple[dict[str, Floats], list[float]]:
        """Train with Adam; return the weights of the last of the best epochs, and the measure after each epoch.

        `loss` takes the weights, the positions of a batch of samples and a random generator; `measure` the weights as
        arrays; `min_steps`: of all epochs, unless the schedule has their number.
        """
        schedule, optim, count = self.schedule, self.torch.optim, len(self.learned.rows)
        tensors = {name: value.clone().requires_grad_(True) for name, value in weights.items()}
        adam = optim.AdamW(tensors.values(), lr=schedule.rate, weight_decay=1e-4)
        size = min(schedule.batch, max(_MIN_BATCH, count // 10))
        steps = -(-count // size)
        epochs = schedule.epochs or max(_EPOCHS, -(-min_steps // steps))
        patience = schedule.patience or max(_PATIENCE, -(-min_steps // (2 * steps)))
        rate = optim.lr_scheduler.OneCycleLR(adam, schedule.rate, total_steps=epochs * steps + 1)
        rng = np.random.default_rng(schedule.seed)
        best, measures = _arrays(tensors), list[float]()
        for epoch in range(epochs):
            order = rng.permutation(count).tolist()
            for at in range(0, count, size):
                adam.zero_grad()
                loss(tensors, order[at : at + size], rng).backward()
                adam.step()
                rate.step()
            measures.append(measure(_arrays(tensors)))
            if measures[-1] >= max(measures):
                best = _arrays(tensors)
            if self.progress:
                self.progress("train", epoch + 1, epochs)
            if epoch - int(np.argmax(measures)) >= patience:
                break
        return best, measures


def recall(scores: NDArray[Any], positive: NDArray[np.bool_]) -> float:
    """Return the recall of the positives among twice as many best scores; 1 where there are none."""
    count = int(positive.sum())
    best = np.argsort(-scores, kind="stable")[: 2 * count]
    return float(positive[best].sum()) / count if count else 1.0


def _arrays(tensors: Mapping[str, Any]) -> dict[str, Floats]:
    return {name: value.detach().numpy().copy() for name, value in tensors.items()}
