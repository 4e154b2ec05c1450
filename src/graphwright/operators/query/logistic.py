"""Logistic regressions, with weights in files of the package."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from graphwright.models.protocols import Floats


def logistic(weights: Floats, values: Floats) -> float:
    """Return the probability of a logistic regression: weights, the constant last."""
    return float(1 / (1 + np.exp(-float(values @ weights[:-1] + weights[-1]))))


def logistic_of(file: Path, values: Floats) -> float:
    """Return the probability of a logistic regression whose weights are in a file, read once."""
    return logistic(_read(file), values)


@cache
def _read(file: Path) -> Floats:
    weights: Floats = np.load(file)
    return weights
