"""Rows of vectors from an earlier snapshot and new ones, without copies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.graph.columns import TextColumn
from graphwright.kernels.blocks import HalfArray
from graphwright.kernels.ranking import Numbering
from graphwright.kernels.strings import fingerprints
from graphwright.models.protocols import Floats

Sums = NDArray[np.uint64]
Keys = NDArray[np.uint64]
"""A fingerprint of 128 bits of the text of each vector: uint64[rows, 2], zeros for a row without a text."""
_SEED = 0x5851F42D4C957F2D  # of the second half of a key
_BLOCK = 4_096  # rows that are read at a time


def row_sums(vectors: Floats | HalfArray | VectorRows) -> Sums:
    """Return a fingerprint of each vector, of its numbers in float32, never 0: uint64[rows]."""
    parts = [np.empty(0, np.uint64)]
    for start in range(0, len(vectors), _BLOCK):
        rows = np.ascontiguousarray(vectors[start : start + _BLOCK], np.float32)
        size = np.arange(len(rows) + 1, dtype=np.int64) * rows[0].nbytes
        parts.append(np.maximum(fingerprints(rows.reshape(-1).view(np.uint8), size), np.uint64(1)))
    return np.concatenate(parts)


def text_keys(texts: TextColumn) -> Keys:
    """Return the key of each text."""
    halves = (fingerprints(texts.data, texts.offsets, seed) for seed in (0, _SEED))
    return np.maximum(np.stack(tuple(halves), axis=1), np.uint64(1))


class VectorRows:
    """A matrix whose i-th row is row `row[i]` of `base`, followed by `new`; reading it returns a copy, float32.

    `sums`: the fingerprint of each row of `base`, where they are known (see `row_sums`). `keys`: the key of the text of
    each row of `base` and `new`, by default none.

    >>> rows = VectorRows(np.float32([[1, 0], [0, 1]]), np.float32([[5, 5]]), np.array([2, 0]))
    >>> len(rows), rows[:1].tolist(), rows[[1]].tolist(), np.asarray(rows).tolist()
    (2, [[5.0, 5.0]], [[1.0, 0.0]], [[5.0, 5.0], [1.0, 0.0]])
    """

    def __init__(
        self,
        base: Floats | HalfArray,
        new: Floats | HalfArray | VectorRows,
        row: NDArray[np.integer[Any]],
        sums: Sums | None = None,
        keys: Keys | None = None,
    ) -> None:
        self.base, self.new, self.row, self.sums = base, new, np.asarray(row, np.int64), sums
        self.keys: Keys = np.zeros((len(base) + len(new), 2), np.uint64) if keys is None else keys
        self.shape: tuple[int, int] = (len(self.row), new.shape[1] if len(new) or not len(base) else base.shape[1])

    @classmethod
    def of(cls, vectors: Floats | HalfArray | VectorRows) -> VectorRows:
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
            if at_part.any():  # an empty matrix may have another width
                out[at_part] = part[rows[at_part] - offset]
        return out

    def find(self, keys: Keys) -> NDArray[np.int64]:
        """Return the row of `base` and `new` that has each key, -1 for none."""
        numbering = Numbering()
        number = numbering.take(self.keys[:, 0])
        first = np.full(len(numbering) + 1, -1)  # the last is that of unknown keys
        first[number[::-1]] = np.arange(len(number))[::-1]
        row = first[numbering.find(keys[:, 0])]
        equal = (np.concatenate((self.keys, np.zeros((1, 2), np.uint64)))[row] == keys).all(axis=1)
        return np.where(equal, row, -1)

    def extended(self, added: HalfArray, keys: Keys, row: NDArray[np.integer[Any]]) -> VectorRows:
        """Return these rows of `base`, `new`, and of `added` vectors with the keys of their texts."""
        if len(self.new):
            added = HalfArray.of(np.concatenate([np.asarray(part) for part in (self.new, added) if len(part)]))
        return VectorRows(self.base, added, row, self.sums, np.concatenate((self.keys, keys)))

    def halves(self) -> HalfArray:
        """Return a copy of all rows, in half precision."""
        return HalfArray.of(self[:])

    def take(self, at: NDArray[np.integer[Any]]) -> VectorRows:
        """Return some rows, without copies."""
        return VectorRows(self.base, self.new, self.row[at], self.sums, self.keys)

    def fingerprints(self) -> Sums:
        """Return the fingerprint of each row."""
        base = row_sums(self.base) if self.sums is None else np.asarray(self.sums)
        return np.concatenate((base, row_sums(self.new)))[self.row]

    def positions(self) -> NDArray[np.int64]:
        """Return the position of each row of `base`, then of `new`, -1 for a row that is left out."""
        at = np.full(len(self.base) + len(self.new), -1)
        at[self.row] = np.arange(len(self.row))
        return at

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self[:], dtype, copy=copy)
