"""Vectors of texts that are taken from an earlier snapshot where it has them, without copies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.kernels.strings import fingerprints
from graphwright.models.protocols import Floats

Sums = NDArray[np.uint64]


def row_sums(vectors: Floats) -> Sums:
    """Return a fingerprint of each vector, never 0: uint64[rows]."""
    rows = np.ascontiguousarray(vectors, np.float32)
    size = 4 * rows.shape[1] if rows.ndim == 2 else 0
    sums: Sums = fingerprints(rows.reshape(-1).view(np.uint8), np.arange(len(rows) + 1, dtype=np.int64) * size)
    return np.maximum(sums, np.uint64(1))


class VectorRows:
    """A matrix whose i-th row is row `row[i]` of `base`, followed by `new`; what is read is copied.

    `sums`: the fingerprint of each row of `base`, where they are known (see `row_sums`).

    >>> rows = VectorRows(np.float32([[1, 0], [0, 1]]), np.float32([[5, 5]]), np.array([2, 0]))
    >>> len(rows), rows[:1].tolist(), rows[[1]].tolist(), np.asarray(rows).tolist()
    (2, [[5.0, 5.0]], [[1.0, 0.0]], [[5.0, 5.0], [1.0, 0.0]])
    """

    def __init__(
        self, base: Floats, new: Floats | VectorRows, row: NDArray[np.integer[Any]], sums: Sums | None = None
    ) -> None:
        self.base, self.new, self.row, self.sums = base, new, np.asarray(row, np.int64), sums
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

    def take(self, at: NDArray[np.integer[Any]]) -> VectorRows:
        """Return some rows, without copies."""
        return VectorRows(self.base, self.new, self.row[at], self.sums)

    def fingerprints(self) -> Sums:
        """Return the fingerprint of each row."""
        base = row_sums(np.asarray(self.base)) if self.sums is None else np.asarray(self.sums)
        both: Sums = np.concatenate((base, row_sums(np.asarray(self.new))))[self.row]
        return both

    def positions(self) -> NDArray[np.int64]:
        """Return the position of each row of `base`, then of `new`, -1 for one that is left out."""
        at = np.full(len(self.base) + len(self.new), -1)
        at[self.row] = np.arange(len(self.row))
        return at

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self[:], dtype, copy=copy)
