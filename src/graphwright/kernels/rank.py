"""The k best of many scores, without sorting them all."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["top"]


def top(scores: NDArray[np.floating[Any]], k: int) -> NDArray[np.int64]:
    """Return the ids (positions) of the k highest of `scores`, float[n]: best first, then smaller id.

    One partition in O(n), then a sort of what is kept; n ids when k is larger. Ties at the boundary go
    to the smaller ids too.
    Raises ValueError for a negative k, scores that are not one-dimensional, or a score that is NaN.

    >>> top(np.array([0.1, 0.9, 0.5, 0.9]), 3).tolist()
    [1, 3, 2]
    """
    if k < 0:
        raise ValueError(f"k is {k}. Pass how many to keep, 0 or more.")
    if scores.ndim != 1:
        raise ValueError(f"scores has {scores.ndim} dimensions; ranking takes one. Pass one row at a time.")
    if k == 0 or not scores.size:
        return np.empty(0, np.int64)
    k = min(k, scores.size)
    best = np.partition(scores, scores.size - k)[scores.size - k :]
    if np.isnan(best).any():  # NaN sorts last, so if there is one, there is one here
        raise ValueError(f"scores holds {np.isnan(scores).sum()} NaN, which have no rank. Replace them.")
    kept = np.flatnonzero(scores >= best[0])
    return kept[np.lexsort((kept, -scores[kept]))][:k]
