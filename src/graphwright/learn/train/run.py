"""Training as one call: labels and a snapshot in, a checkpoint out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from graphwright.errors import OptionError
from graphwright.index.snapshot import Snapshot
from graphwright.learn.retrievers.checkpoint import Checkpoint
from graphwright.learn.retrievers.load import LEVELS
from graphwright.learn.train.entity import train_entity
from graphwright.learn.train.fit import Schedule
from graphwright.learn.train.labels import Labels
from graphwright.learn.train.path import train_path
from graphwright.learn.train.samples import Samples, samples_of
from graphwright.learn.train.triple import train_triple
from graphwright.models.protocols import Floats

__all__ = ["train_retriever"]

_BATCH = {"entity": 8}  # whole graphs, in the memory of a laptop


def train_retriever(
    ix: Snapshot,
    labels: Labels,
    level: str = "triple",
    *,
    names: bool = False,
    rounds: int = 3,
    schedule: Schedule | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Checkpoint:
    """Train a retriever on labels, for the method `reg` and for `load_retriever`; needs torch, which asking does not.

    `level`: triple, entity or path, what is retrieved. `names`: whether to read the vectors of nodes' names, which the
    index must have. `rounds`: how many steps from what the question names are told apart. The checkpoint carries the
    encoder's id, its configuration, where its labels are from, and what was measured while training. Raises OptionError
    for another level, NeedsError without torch, and DataError where no label has a path to learn.
    """
    if level not in LEVELS:
        raise OptionError(f"level={level!r}: there are {', '.join(LEVELS)}.")
    if names and ix.names is None:
        raise OptionError("names=True needs vectors of names; make the index with them (--embed names).")
    plan = schedule or Schedule()
    plan = replace(plan, batch=min(plan.batch, _BATCH.get(level, plan.batch)))
    samples = samples_of(ix.graph, labels, ix.encoder, rounds=rounds, progress=progress)
    weights, said = _trained(level, samples, ix if names else None, plan, progress)
    about = {
        "encoder": getattr(ix.encoder, "id", ""),
        "dimension": int(samples.questions.shape[1]),
        "questions": len(samples.rows),
        "labels": dict(labels.about),
        "schedule": {name: getattr(plan, name) for name in plan.__dataclass_fields__},
        **said,
    }
    return Checkpoint(level, weights, about)


def _trained(
    level: str,
    samples: Samples,
    ix: Snapshot | None,
    plan: Schedule,
    progress: Callable[[str, int, int], None] | None,
) -> tuple[dict[str, Floats], dict[str, Any]]:
    if level == "path":
        return train_path(samples, schedule=plan, progress=progress)
    train = train_triple if level == "triple" else train_entity
    return train(samples, names=ix.names if ix is not None else None, schedule=plan, progress=progress)
