"""Training the gates that the triple and the entity retriever share: by the steps of the paths that were kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphwright.learn.train.fit import weight
from graphwright.learn.train.samples import Sample

__all__ = ["begun_gates", "gate_loss"]

_GATE = 64  # numbers that question and relation are compared by


def begun_gates(torch: Any, draw: Any, dimension: int, hidden: int, steps: int) -> dict[str, Any]:
    """Return the weights of gates to begin with."""
    start = {"gate question": weight(torch, draw, dimension, hidden, unit=True), "gate asked": torch.zeros(hidden)}
    start["gate relation"] = weight(torch, draw, dimension, 2 * _GATE, unit=True)
    for step in range(steps):
        start[f"gate {step}"], start[f"gate bias {step}"] = weight(torch, draw, hidden, _GATE), torch.zeros(1)
        start[f"gate end {step}"] = weight(torch, draw, hidden, 1)
    return start


def gate_loss(torch: Any, said: Sequence[tuple[Any, Any]], rows: Sequence[Sample]) -> Any:
    """Return the cross-entropy of the gates, as `gate_logits` gives them, against the steps of the kept paths."""
    taught = torch.from_numpy(_steps(rows, len(said), said[0][0].shape[1]))
    return -sum(
        (torch.log_softmax(torch.cat(one, 1), 1) * share).sum() for one, share in zip(said, taught, strict=True)
    )


def _steps(rows: Sequence[Sample], steps: int, ways: int) -> Any:
    """Return the share of kept relation paths that takes each way, or ends, at each step: [steps, questions, ways + 1].

    A path that has ended before counts at no step.
    """
    taken = np.zeros((steps, len(rows), ways + 1), np.float32)
    for at, row in enumerate(rows):
        for one in row.ways:
            for step, way in enumerate((*one, ways)[:steps]):
                taken[step, at, way] += 1.0 / len(row.ways)
    return taken
