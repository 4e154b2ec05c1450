"""Train a retriever on labels, or load a trained one, by its level: triple, entity or path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

from graphwright.errors import DataError, OptionError
from graphwright.learn.confidence import calibration
from graphwright.learn.graph_retrievers import EntityRetriever, TripleRetriever, train_entity, train_triple
from graphwright.learn.labels import Labels, Progress
from graphwright.learn.path import PathRetriever, train_path
from graphwright.learn.retriever import Checkpoint, Retriever, read_checkpoint
from graphwright.learn.training import Schedule, Trained, samples_of
from graphwright.models import Encoder
from graphwright.search import Snapshot, VectorIndex

LEVELS: dict[str, tuple[type[Retriever], Callable[..., Trained]]] = {
    "triple": (TripleRetriever, train_triple),
    "entity": (EntityRetriever, train_entity),
    "path": (PathRetriever, train_path),
}
"""Retriever and training function of each level."""

_MAX_BATCH = {"entity": 8}  # whole graphs, in the memory of a laptop


def load_retriever(source: Path | str | Checkpoint, encoder: Encoder, names: VectorIndex | None = None) -> Retriever:
    """Return the retriever of a file or checkpoint, for an index with this encoder and these vectors of node names.

    Raises DataError for a file that is not a checkpoint, and OptionError where it was trained on other vectors.
    """
    checkpoint = source if isinstance(source, Checkpoint) else read_checkpoint(source)
    if checkpoint.level not in LEVELS:
        raise DataError(f"{checkpoint!r} has the level {checkpoint.level!r}; known levels: {', '.join(LEVELS)}.")
    return LEVELS[checkpoint.level][0](checkpoint, encoder, names)


def train_retriever(
    ix: Snapshot,
    labels: Labels,
    level: str = "triple",
    *,
    names: bool = False,
    schedule: Schedule | None = None,
    progress: Progress | None = None,
) -> Checkpoint:
    """Train a retriever on labels, for the method `reg` and for `load_retriever`. Only training needs torch.

    `level`: triple, entity or path. `names`: use the vectors of node names, which the index must have. The checkpoint
    holds the encoder's id, the configuration, the origin of the labels, the measure after each epoch, and at the level
    of paths its calibration, for which a second retriever is trained (see `calibration`). Raises
    OptionError for an unknown level, NeedsError without torch, and DataError where no label has a path.
    """
    if level not in LEVELS:
        raise OptionError(f"level is {level!r}; it must be one of {', '.join(LEVELS)}.")
    if names and ix.names is None:
        raise OptionError("names=True needs vectors of node names. Make the index with --embed names.")
    plan = schedule or Schedule()
    plan = replace(plan, batch=min(plan.batch, _MAX_BATCH.get(level, plan.batch)))
    checkpoint = _trained(ix, labels, level, names, plan, progress)
    if level != "path":
        return checkpoint

    def train(part: Labels) -> PathRetriever:
        return PathRetriever(_trained(ix, part, level, names, plan), ix.encoder)

    about = {**checkpoint.about, **calibration(ix.graph, labels, train, plan.seed)}
    return replace(checkpoint, about=about)


def _trained(
    ix: Snapshot, labels: Labels, level: str, names: bool, plan: Schedule, progress: Progress | None = None
) -> Checkpoint:
    """Train once."""
    samples = samples_of(ix.graph, labels, ix.encoder, progress)
    weights, about = LEVELS[level][1](samples, ix.names if names else None, plan, progress)
    return Checkpoint(
        level,
        weights,
        {
            "encoder": getattr(ix.encoder, "id", ""),
            "dimension": int(samples.questions.shape[1]),
            "questions": len(samples.rows),
            "labels": dict(labels.about),
            "schedule": asdict(plan),
            **about,
        },
    )
