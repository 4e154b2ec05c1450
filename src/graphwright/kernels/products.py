"""Matrix products on one core.

BLAS divides all but small products among its threads, which then wait for the next one at full load: of the products
of a few hundred rows that one question needs, this costs twenty times as much as the products themselves.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

_Number = TypeVar("_Number", np.float32, np.float64)

_OF_VECTOR, _OF_MATRIX = 9_216, 262_144  # multiplications up to which OpenBLAS uses one thread
_ALIGNED = 8  # rows that its kernels take together, so that the last digits do not depend on the blocks


def product(first: NDArray[_Number], second: NDArray[_Number]) -> NDArray[_Number]:
    """Return `first @ second`: float[n, d] by float[d] or float[d, m], computed in blocks of rows on one core.

    >>> float(product(np.ones((20_000, 2)), np.array([1.0, 2.0])).sum())
    60000.0
    """
    each = first.shape[1] * (second.shape[1] if second.ndim > 1 else 1)
    size = max(1, (_OF_VECTOR if second.ndim == 1 else _OF_MATRIX) // max(1, each) // _ALIGNED * _ALIGNED)
    if len(first) <= size:
        return first @ second
    return np.concatenate([first[start : start + size] @ second for start in range(0, len(first), size)])
