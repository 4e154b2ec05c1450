"""Whether a question is in English, the only language that the weights of the parser over graphs were fitted for."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from graphwright.models.protocols import Floats
from graphwright.operators.query.graphs.scorer import WEIGHTS

ENGLISH = WEIGHTS.parent / "english.npy"


def english_probability(vector: Floats, file: Path = ENGLISH) -> float:
    """Return the probability that a question is in English: a logistic regression on its vector, float32[384]."""
    weights = _read(file)
    return float(1 / (1 + np.exp(-(vector @ weights[:-1] + weights[-1]))))


@cache
def _read(file: Path) -> Floats:
    weights: Floats = np.load(file)
    return weights
