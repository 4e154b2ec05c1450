"""Training the entity retriever (ReG, Eq. 34)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from graphwright.index.vector_index import VectorIndex
from graphwright.learn.retrievers.distances import width
from graphwright.learn.retrievers.entity import entity_logits, scaled
from graphwright.learn.retrievers.gates import gate_logits, walked
from graphwright.learn.train.arcs import side_by_side
from graphwright.learn.train.fit import Schedule, drawn, fitted, parted, recalled, torch_or_error, weight
from graphwright.learn.train.gates import begun_gates, gate_loss
from graphwright.learn.train.samples import Sample, Samples
from graphwright.models.protocols import Floats

__all__ = ["train_entity"]

_GATES = 128  # numbers that a question is read by for its gates


def train_entity(
    samples: Samples,
    *,
    names: VectorIndex | None = None,
    hidden: int = 16,
    layers: int = 3,
    schedule: Schedule | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> tuple[dict[str, Floats], dict[str, Any]]:
    """Return the weights of an entity retriever, and what is to be said about them.

    Binary cross-entropy over the ends of all positive triples and `schedule.negatives` times as many other nodes, whose
    log-odds are corrected for the draw; to it comes that of the gates against the steps of the kept paths. The epoch is
    chosen by the share of positive nodes among twice as many best, of the questions held out. `layers`: how many steps
    a question may take.
    """
    torch, plan = torch_or_error(), schedule or Schedule(batch=8)
    learned, held = parted(samples, plan)
    draw = torch.Generator().manual_seed(plan.seed)
    dimension = samples.questions.shape[1]
    mean = _mean_degree(learned.rows)
    start = _begun(torch, draw, dimension, width(samples.rounds) + layers + 1, hidden, layers, names is not None)
    start |= begun_gates(torch, draw, dimension, _GATES, layers)
    relations = torch.from_numpy(samples.relations)

    def logits(w: Mapping[str, Any], part: Samples, batch: Sequence[int]) -> tuple[Any, Any]:
        """Return the log-odds of all nodes of a batch, and what its gates have yet to learn."""
        rows = [part.rows[at] for at in batch]
        arcs, offsets = side_by_side(torch, rows)
        owner = torch.from_numpy(np.repeat(np.arange(len(rows)), np.diff(offsets)))
        near = torch.from_numpy(np.concatenate([row.near for row in rows]).astype(np.float32))
        named = None
        if names is not None:
            named = torch.from_numpy(names.of(np.concatenate([row.nodes for row in rows]).astype(np.int64)))
        asked = torch.from_numpy(part.questions[list(batch)])
        said = gate_logits(w, asked, relations, layers)
        with torch.no_grad():  # The gates learn from the kept paths alone.
            near = torch.cat((near, *walked(said, arcs, near[:, :1], owner, arcs.owner).nodes()), 1)
        scales = torch.from_numpy(scaled(arcs, mean))
        found = entity_logits(w, asked, relations, near, arcs, scales, layers, named, owner, arcs.owner)
        return found, gate_loss(torch, said, rows)

    def loss(w: Mapping[str, Any], batch: list[int], rng: np.random.Generator) -> Any:
        (found, lost), chosen, above, offset = logits(w, learned, batch), [], [], 0
        wanted = np.concatenate([_positive(learned.rows[at]) for at in batch])
        for at in batch:
            size = len(learned.rows[at].nodes)
            positive = wanted[offset : offset + size]
            places, more = drawn(positive, rng, plan.negatives)
            chosen.append(places + offset)
            above.append(more)
            offset += size
        every = np.concatenate(chosen)
        target = torch.from_numpy(wanted[every].astype(np.float32))
        odds = found[torch.from_numpy(every)] + torch.from_numpy(np.concatenate(above))
        told = torch.nn.functional.binary_cross_entropy_with_logits(odds, target, reduction="sum")
        return (told + lost) / len(batch)

    def measure(w: Mapping[str, Floats]) -> float:
        tensors = {name: torch.from_numpy(value) for name, value in w.items()}
        found = []
        with torch.no_grad():
            for at, row in enumerate(held.rows):
                wanted = _positive(row)
                found.append(recalled(logits(tensors, held, [at])[0].numpy(), wanted))
        return float(np.mean(found))

    weights, measured = fitted(start, learned, loss, measure, plan, progress)
    said = {"rounds": samples.rounds, "layers": layers, "degree": mean, "names": names is not None}
    return weights, {**said, "recall@2R": measured}


def _begun(
    torch: Any, draw: Any, dimension: int, features: int, hidden: int, layers: int, named: bool
) -> dict[str, Any]:
    """Return the weights to begin with."""
    start = {
        "near": weight(torch, draw, features, hidden),
        "question": weight(torch, draw, dimension, hidden, unit=True),
        "start": torch.zeros(hidden),
        "last weights": weight(torch, draw, hidden, 1),
        "last near": torch.zeros(features, 1),
        "last": torch.zeros(1),
    }
    if named:
        start["name"] = weight(torch, draw, dimension, hidden, unit=True)
    for layer in range(layers):
        start[f"relation {layer}"] = weight(torch, draw, dimension, 2 * hidden, unit=True)
        start[f"ask {layer}"] = weight(torch, draw, dimension, hidden, unit=True)
        start[f"self {layer}"] = weight(torch, draw, hidden, hidden)
        start[f"bias {layer}"] = torch.zeros(hidden)
        start[f"said {layer}"] = weight(torch, draw, 12 * hidden, 3 * hidden)[: 4 * hidden]
    return start


def _positive(row: Sample) -> Any:
    """Return which nodes are at a positive triple: Ê+."""
    found = np.zeros(len(row.nodes), bool)
    found[row.heads[row.positive]] = True
    found[row.tails[row.positive]] = True
    return found


def _mean_degree(rows: Sequence[Sample]) -> float:
    """Return the mean of log(degree + 1) over all nodes (the δ of PNA)."""
    total, count = 0.0, 0
    for row in rows:
        degree = np.bincount(np.concatenate((row.heads, row.tails)), minlength=len(row.nodes))
        total += float(np.log(np.maximum(degree, 1) + 1.0).sum())
        count += len(degree)
    return total / max(count, 1)
