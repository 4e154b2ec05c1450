"""Training the triple retriever (ReG, Eq. 33)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from graphwright.index.vector_index import VectorIndex
from graphwright.learn.retrievers.arcs import Seen, arcs_of
from graphwright.learn.retrievers.arrays import logistic
from graphwright.learn.retrievers.distances import width
from graphwright.learn.retrievers.gates import carried, gate_logits, gates_of
from graphwright.learn.retrievers.triple import triple_logits
from graphwright.learn.train.arcs import side_by_side
from graphwright.learn.train.fit import Schedule, drawn, fitted, parted, recalled, torch_or_error, weight
from graphwright.learn.train.gates import begun_gates, gate_loss
from graphwright.learn.train.samples import Sample, Samples
from graphwright.models.protocols import Floats

__all__ = ["train_triple"]


def train_triple(
    samples: Samples,
    *,
    names: VectorIndex | None = None,
    hidden: int = 128,
    steps: int = 3,
    schedule: Schedule | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> tuple[dict[str, Floats], dict[str, Any]]:
    """Return the weights of a triple retriever, and what is to be said about them.

    Binary cross-entropy over all positive triples and `schedule.negatives` times as many drawn from the rest, whose
    log-odds are corrected for the draw; to it comes that of the gates against the steps of the kept paths. The epoch
    is chosen by the share of positive triples among twice as many best, of the questions held out. `names`: vectors of
    nodes, to be read for heads and tails too; without them they are told apart by where they lie.
    """
    torch, plan = torch_or_error(), schedule or Schedule()
    learned, held = parted(samples, plan)
    draw = torch.Generator().manual_seed(plan.seed)
    dimension, features = samples.questions.shape[1], width(samples.rounds)
    sizes = {"question": dimension, "relation": dimension, "head near": features, "tail near": features}
    if names is not None:
        sizes |= {"head name": dimension, "tail name": dimension}
    start = {name: weight(torch, draw, size, hidden, unit=size == dimension) for name, size in sizes.items()}
    start |= {"asked": torch.zeros(hidden), "first": torch.zeros(hidden)}
    start |= {"second weights": weight(torch, draw, hidden, hidden // 2), "second": torch.zeros(hidden // 2)}
    start |= {"last weights": weight(torch, draw, hidden // 2, 1), "last": torch.zeros(1)}
    start |= begun_gates(torch, draw, dimension, hidden, steps)
    for step in range(steps):
        start[f"along {step}"], start[f"against {step}"] = weight(torch, draw, 2, hidden)
    relations = torch.from_numpy(samples.relations)

    def loss(w: Mapping[str, Any], batch: list[int], rng: np.random.Generator) -> Any:
        parts, above = zip(*(drawn(learned.rows[at].positive, rng, plan.negatives) for at in batch), strict=True)
        rows = [learned.rows[at] for at in batch]
        arcs, offset = side_by_side(torch, rows)
        heads, tails, relation, wanted = (
            np.concatenate(column)
            for column in zip(
                *(
                    (row.heads[e] + o, row.tails[e] + o, row.relation[e], row.positive[e])
                    for row, e, o in zip(rows, parts, offset, strict=False)
                ),
                strict=True,
            )
        )
        owner = np.repeat(np.arange(len(batch)), [len(part) for part in parts])
        near = torch.from_numpy(np.concatenate([row.near for row in rows]).astype(np.float32))
        named = None
        if names is not None:
            named = torch.from_numpy(names.of(np.concatenate([row.nodes for row in rows]).astype(np.int64)))
        asked, at_head, at_tail, at_relation, of = (
            torch.from_numpy(part.astype(np.int64)) if part.dtype != np.float32 else torch.from_numpy(part)
            for part in (learned.questions[batch], heads, tails, relation, owner)
        )
        said = gate_logits(w, asked, relations, steps)
        # What carries learns from the kept paths alone: led by the triples too, it learned neither.
        given = [gate.detach() for gate in gates_of(said)]
        reached = carried(given, arcs, near[:, :1], arcs.owner)
        logits = triple_logits(w, asked, relations, near, given, reached, at_head, at_tail, at_relation, named, of)
        entropy = torch.nn.functional.binary_cross_entropy
        target = torch.from_numpy(wanted.astype(np.float32))
        told = entropy(logistic(logits + torch.from_numpy(np.concatenate(above))), target, reduction="sum")
        return (told + gate_loss(torch, said, rows)) / len(batch)

    def measure(w: Mapping[str, Floats]) -> float:
        found = []
        for row, asked in zip(held.rows, held.questions, strict=True):
            logits = _logits(w, row, asked, samples.relations, names, steps)
            found.append(recalled(logits, row.positive))
        return float(np.mean(found))

    weights, measured = fitted(start, learned, loss, measure, plan, progress)
    return weights, {
        "rounds": samples.rounds,
        "steps": steps,
        "names": names is not None,
        "recall@2R": measured,
    }


def _logits(
    w: Mapping[str, Floats], row: Sample, asked: Floats, relations: Floats, names: VectorIndex | None, steps: int
) -> Floats:
    named = names.of(row.nodes.astype(np.int64)) if names is not None else None
    near = row.near.astype(np.float32)
    at = Seen(row.nodes, row.nodes, row.heads, row.tails, row.relation, row.relation, near)
    gates = gates_of(gate_logits(w, asked[None], relations, steps))
    reached = carried(gates, arcs_of(at), at.start)
    found: Floats = triple_logits(
        w, asked[None], relations, near, gates, reached, row.heads, row.tails, row.relation, named
    )
    return found
