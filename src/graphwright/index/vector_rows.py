"""Vectors of texts that are taken from an earlier snapshot where it has them, without copies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.models.protocols import Floats

__all__ = ["VectorRows"]


class VectorRows:
    """A matrix whose i-th row is row `row[i]` of `base`, followed by `new`; what is read is copied.

    >>> rows = VectorRows(np.float32([[1, 0], [0, 1]]), np.float32([[5, 5]]), np.array([2, 0]))
    >>> len(rows), rows[:1].tolist(), rows[[1]].tolist(), np.asarray(rows).tolist()
    (2, [[5.0, 5.0]], [[1.0, 0.0]], [[5.0, 5.0], [1.0, 0.0]])
    """

    def __init__(self, base: Floats, new: Floats | VectorRows, row: NDArray[np.integer[Any]]) -> None:
        self.base, self.new, self.row = base, new, np.asarray(row, np.int64)
        self.shape: tuple[int, int] = (len(self.row), new.shape[1] if len(new) or not len(base) else base.shape[1])

    @classmethod
    def of(cls, vectors: Floats | VectorRows) -> VectorRows:
        """Return rows as they are, or those of an array."""
        if isinstance(vectors, VectorRows):
            return vectors
        return cls(vectors, np.empty((0, vectors.shape[1]), np.float32), np.arange(len(vectors)))

    def __len__(self) -> int:
        return len(self.row)

    def __getitem__(self, at: ArrayLike | slice) -> Floats:
        rows = self.row[at if isinstance(at, slice) else np.asarray(at, np.int64)]
        n = len(self.base)
        old, out = rows < n, np.empty((len(rows), self.shape[1]), np.float32)
        for part, at_part, offset in ((self.base, old, 0), (self.new, ~old, n)):
            if at_part.any():  # one without rows may have another width
                out[at_part] = part[rows[at_part] - offset]
        return out

    def positions(self) -> NDArray[np.int64]:
        """Return the position of each row of `base`, then of `new`, -1 for one that is left out."""
        at = np.full(len(self.base) + len(self.new), -1)
        at[self.row] = np.arange(len(self.row))
        return at

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self[:], dtype, copy=copy)
