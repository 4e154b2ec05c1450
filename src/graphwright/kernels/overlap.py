"""What rows of a compressed sparse array have in common."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.kernels.compiled import Floats, Ids, Pointers, kernel, readonly

__all__ = ["heaviest_common"]


@kernel
def _heaviest_common(indptr: Pointers, values: Ids, weights: Floats, out: Floats) -> None:
    """Walk each pair of rows side by side, as a merge does."""
    rows = indptr.size - 1
    for a in range(rows):
        for b in range(a):
            i, j = indptr[a], indptr[b]
            best = 0.0
            while i < indptr[a + 1] and j < indptr[b + 1]:
                if values[i] < values[j]:
                    i += 1
                elif values[j] < values[i]:
                    j += 1
                else:
                    best = max(best, weights[values[i]])
                    i += 1
                    j += 1
            out[a * rows + b] = best
            out[b * rows + a] = best


def heaviest_common(indptr: ArrayLike, values: ArrayLike, weights: ArrayLike) -> NDArray[np.float64]:
    """Return for each pair of rows the largest weight of a value that both hold, 0 where they share none.

    `indptr: int64[r + 1]`, `values: int32`, ascending in each row, and `weights: float64`, by value, 0 or
    more. Returns float64[r, r], symmetric, 0 on the diagonal. O(r · len(values)).

    >>> heaviest_common([0, 2, 4, 5], [0, 1, 1, 2, 2], [.1, .5, .9]).tolist()
    [[0.0, 0.5, 0.0], [0.5, 0.0, 0.9], [0.0, 0.9, 0.0]]
    """
    pointers = readonly(indptr, np.int64)
    rows = pointers.size - 1
    out = np.zeros(rows * rows, np.float64)
    _heaviest_common(pointers, readonly(values, np.int32), readonly(weights, np.float64), out)
    return out.reshape(rows, rows)
