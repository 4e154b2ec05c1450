"""What is most central among vectors: in an order that repeats nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.evidence import Ints
from graphwright.models.protocols import Floats

__all__ = ["most_central"]

_WEIGHT = 0.7
_SAME = 0.9


def most_central(
    vectors: Floats, counts: Floats, k: int, group: Ints | None = None
) -> tuple[Ints, NDArray[np.float64]]:
    """Return the positions of the k best by maximal marginal relevance, and their values, which descend.

    The value of i is 0.7 · counts[i] / max(counts) - 0.3 · s, with s its largest cosine with one taken before; what
    says the same as that one (s of 0.9 or more) is not taken. `vectors`: unit rows, float32[n, d]. `group`: of those
    with equal numbers only one is taken.
    """
    value = _WEIGHT * counts.astype(np.float64) / max(float(counts.max(initial=0.0)), 1e-9)
    likeness = np.zeros(len(value))
    best: list[int] = []
    values: list[float] = []
    free = np.ones(len(value), bool)
    while len(best) < k and free.any():
        current = np.where(free, value - (1 - _WEIGHT) * likeness, -np.inf)
        at = int(current.argmax())
        best.append(at)
        values.append(float(current[at]))
        likeness = np.maximum(likeness, vectors @ vectors[at])
        free &= likeness < _SAME
        free &= np.arange(len(value)) != at if group is None else group != group[at]
    return np.array(best, np.int64), np.array(values)
