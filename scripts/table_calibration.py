"""Calibration of the parser over tables: the probability that its best result is right."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

_UNITS = 8
_LESS = 0.3


class Calibrator(nn.Module):  # type: ignore[misc]
    """A network of one layer of whether the most probable result is right, as `TableScorer.probability` computes it."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(features, _UNITS), nn.Linear(_UNITS, 1)

    def forward(self, evidence: Tensor) -> Tensor:
        """Return log-odds."""
        return self.last(torch.tanh(self.first(evidence)))[:, 0]


def calibration(evidence: np.ndarray, right: np.ndarray, weights: np.ndarray) -> dict[str, np.ndarray]:
    """Return the weights of a calibrator; `weights`: how much each question counts."""
    torch.manual_seed(0)
    mean, scale = evidence.mean(0), evidence.std(0) + 1e-3
    x = torch.from_numpy(((evidence - mean) / scale).clip(-5, 5))
    y, w = torch.from_numpy(right.astype(np.float32)), torch.from_numpy(weights.astype(np.float32))
    model = Calibrator(x.shape[1])
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1.0)
    for _ in range(30):
        for rows in torch.randperm(len(x)).split(128):
            noisy = x[rows] + 0.1 * torch.randn_like(x[rows])
            loss = nn.functional.binary_cross_entropy_with_logits(model(noisy), y[rows], w[rows])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    state = {name.replace(".", "_"): value.numpy() for name, value in model.state_dict().items()}
    return {f"calibration_{n}": a for n, a in state.items()} | {"calibration_mean": mean, "calibration_scale": scale}


def even_weights(entries: list[dict[str, Any]]) -> np.ndarray:
    """Return weights by which questions with and without an answer count alike, and the sources of each.

    Those of overnight that have an answer count less: most ask for what no candidate gives.
    """
    kinds = [(bool(entry["answerable"]), str(entry["source"])) for entry in entries]
    counts = Counter(kinds)
    shares = {kind: _LESS if kind == (True, "overnight") else 1.0 for kind in counts}
    totals = {known: sum(share for kind, share in shares.items() if kind[0] == known) for known in (True, False)}
    weights = np.array([shares[kind] / (counts[kind] * totals[kind[0]]) for kind in kinds])
    normalised: np.ndarray = weights * len(weights) / weights.sum()
    return normalised


def summary(right: np.ndarray, probability: np.ndarray) -> str:
    """Return how many questions there are, accuracy, and the shares above two probabilities with their accuracy."""
    parts = [f"{len(right)} questions, {right.mean():.1%} right"]
    for least in (0.5, 0.75):
        shown = probability >= least
        parts.append(f"p >= {least}: {shown.mean():.1%}, of them right {right[shown].mean() if shown.any() else 0:.1%}")
    return "; ".join(parts)
