"""The loop that all trainings share: batches, Adam, and the weights of the epoch that retrieved best."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import NeedsError, OptionError
from graphwright.graph.evidence import Ints
from graphwright.learn.train.samples import Samples
from graphwright.models.protocols import Floats

__all__ = ["Schedule", "drawn", "fitted", "parted", "recalled", "torch_or_error", "weight"]


_EPOCHS, _PATIENCE = 20, 4
_STEPS = 400  # at least, however few questions there are
_SMALL = 4  # questions of a batch, at least
_LEAST = 10  # positive ones that negatives are drawn as for, at least


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to learn.

    `epochs`: at most; None for 20, or of few questions as many as make 400 steps. It ends `patience` epochs after the
    best; None for 4, or as many as make 200 steps. `batch`: questions of a step, a tenth of all at most; `held_out`:
    the share of questions by which the best epoch is chosen; `negatives`: how many negative triples or entities are
    drawn for each positive one (ReG takes all: the graphs of its sets are smaller).
    """

    epochs: int | None = None
    patience: int | None = None
    batch: int = 32
    rate: float = 3e-3
    held_out: float = 0.05
    negatives: int = 6
    seed: int = 0

    def __post_init__(self) -> None:
        counts = (self.batch, self.negatives, *(n for n in (self.epochs, self.patience) if n is not None))
        if any(isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in counts):
            raise OptionError(f"{self!r}: epochs, patience, batch and negatives are whole numbers, 1 or more.")
        if not (self.rate > 0 and 0 < self.held_out < 1):
            raise OptionError(f"{self!r}: rate is above 0, and held_out between 0 and 1.")


def torch_or_error() -> Any:
    """Return torch. Raises NeedsError where it is not installed."""
    try:
        import torch
    except ImportError:
        raise NeedsError("training needs torch: pip install 'graphwright[train]'. Asking does not.") from None
    return torch


def weight(torch: Any, generator: Any, inside: int, outside: int, *, unit: bool = False) -> Any:
    """Return a table of weights, drawn as He et al. (2015) do; `unit`: for vectors of length 1, whatever their size."""
    return torch.randn(inside, outside, generator=generator) * (2.0 if unit else 2.0 / max(inside, 1)) ** 0.5


def parted(samples: Samples, schedule: Schedule) -> tuple[Samples, Samples]:
    """Return the samples to learn from, and those held out; with a single one it is both."""
    order = np.random.default_rng(schedule.seed).permutation(len(samples.rows))
    held = max(1, round(len(order) * schedule.held_out))
    return samples.part(order[held:] if held < len(order) else order), samples.part(order[:held])


def drawn(positive: NDArray[np.bool_], rng: np.random.Generator, negatives: int) -> tuple[Ints, Floats]:
    """Return the places of all that are positive and of some others, and a correction for each.

    `negatives`: of these for each positive one, as if there were at least ten. The correction is by how much the
    log-odds among those drawn are above those among all.
    """
    chosen, others = np.flatnonzero(positive), np.flatnonzero(~positive)
    count = min(len(others), negatives * max(len(chosen), _LEAST))
    places = np.concatenate((chosen, rng.choice(others, count, replace=False)))
    return places, np.full(len(places), np.log(max(len(others), 1) / max(count, 1)), np.float32)


def recalled(scores: NDArray[Any], wanted: NDArray[np.bool_]) -> float:
    """Return the share of what is wanted among twice as many best; 1 where nothing is.

    >>> recalled(np.array([0.9, 0.8, 0.1, 0.2]), np.array([False, True, True, False]))
    1.0
    """
    count = int(wanted.sum())
    best = np.argsort(-scores, kind="stable")[: 2 * count]
    return float(wanted[best].sum()) / count if count else 1.0


def fitted(
    weights: Mapping[str, Any],
    samples: Samples,
    loss: Callable[[Mapping[str, Any], list[int], np.random.Generator], Any],
    measure: Callable[[Mapping[str, Floats]], float],
    schedule: Schedule,
    progress: Callable[[str, int, int], None] | None = None,
) -> tuple[dict[str, Floats], list[float]]:
    """Return the weights that measured best, and what was measured after each epoch.

    `loss` is given the weights, the places of a batch of samples, and what draws; `measure` the weights as arrays.
    """
    torch = torch_or_error()
    show = progress or (lambda what, at, most: None)
    held = {name: value.clone().requires_grad_(True) for name, value in weights.items()}
    adam = torch.optim.AdamW(held.values(), lr=schedule.rate, weight_decay=1e-4)
    size = min(schedule.batch, max(_SMALL, len(samples.rows) // 10))
    steps = -(-len(samples.rows) // size)
    epochs = schedule.epochs or max(_EPOCHS, -(-_STEPS // steps))
    patience = schedule.patience or max(_PATIENCE, -(-_STEPS // (2 * steps)))
    falling = torch.optim.lr_scheduler.OneCycleLR(adam, schedule.rate, total_steps=epochs * steps + 1)
    rng = np.random.default_rng(schedule.seed)
    best, measured = _arrays(held), list[float]()
    for epoch in range(epochs):
        for batch in _batches(rng.permutation(len(samples.rows)), size):
            adam.zero_grad()
            loss(held, batch, rng).backward()
            adam.step()
            falling.step()
        measured.append(measure(_arrays(held)))
        if measured[-1] >= max(measured):
            best = _arrays(held)
        show("learn", epoch + 1, epochs)
        if epoch - int(np.argmax(measured)) >= patience:
            break
    return best, measured


def _batches(order: Any, size: int) -> Iterable[list[int]]:
    for at in range(0, len(order), size):
        yield order[at : at + size].tolist()


def _arrays(held: Mapping[str, Any]) -> dict[str, Floats]:
    return {name: value.detach().numpy().copy() for name, value in held.items()}
